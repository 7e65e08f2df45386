# expect: none
import torch


def accumulate(params, grads, scale):
    acc = 0
    for i, (w, g) in enumerate(zip(params, reversed(list(reversed(grads))))):
        acc = acc + (w * g).sum() * scale / (i + 1)
    return acc


params = [torch.randn(3), torch.randn(2)]
grads = [torch.randn(3), torch.randn(2)]
torch.compile(accumulate)(params, grads, 0.5)
