# expect: GB0125 @ 7
import torch


@torch.compile
def sensitivity(x, w):
    x.requires_grad_()
    y = torch.tanh(x @ w)
    return y.sum()


sensitivity(torch.randn(2, 3), torch.randn(3, 1))
