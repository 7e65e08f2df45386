# expect: none
import torch


@torch.compile
def biggest_first(tensors):
    ranked = sorted(tensors, key=lambda t: t.numel(), reverse=True)
    names = sorted({str(t.dim()) for t in ranked})
    return torch.cat([t.flatten() for t in ranked]) * len(names)


biggest_first([torch.randn(2, 3), torch.randn(4), torch.randn(3, 3)])
