# expect: GB0811 @ 7
import torch


def accumulate(pairs, scale):
    acc = 0
    for w, g in pairs:
        acc = acc + (w * g).sum() * scale
    return acc


params = [torch.randn(3), torch.randn(2)]
grads = [torch.randn(3), torch.randn(2)]
torch.compile(accumulate)(zip(params, grads), 0.5)
