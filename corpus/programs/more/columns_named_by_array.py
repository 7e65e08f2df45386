# expect: GB0033 @ 11
# needs: numpy
# note: the bounds of a slice are members of a NumPy array
import numpy as np
import torch


@torch.compile(backend="eager")
def lookup(features, spans):
    span = np.array(spans["user"])
    return features[:, span[0]:span[1]].long()


if __name__ == "__main__":
    lookup(torch.ones(2, 6), {"user": (1, 3)})
