# expect: none
# note: the bounds of a slice are members of a tuple
import torch


@torch.compile(backend="eager")
def lookup(features, spans):
    first, last = spans["user"]
    return features[:, first:last].long()


if __name__ == "__main__":
    lookup(torch.ones(2, 6), {"user": (1, 3)})
