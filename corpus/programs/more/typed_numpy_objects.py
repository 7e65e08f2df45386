# expect: GB0250 @ 11
# expect: GB0185 @ 12
# needs: numpy
import numpy as np
import torch


@torch.compile
def ragged(x):
    arr = x.numpy()
    col = arr.astype(object)
    return torch.as_tensor(arr * 2), col


ragged(torch.ones(2))
