# expect: none
# source: https://github.com/pytorch/pytorch/issues/160757
# note: a custom autograd.Function broke in 2.8; traced now, backward included
import torch
import torch.nn as nn


class Spike(torch.autograd.Function):
    @staticmethod
    def forward(ctx, mem, slope):
        ctx.save_for_backward(mem)
        ctx.slope = slope
        ctx.set_materialize_grads(False)
        return (mem > 0).float()

    @staticmethod
    def backward(ctx, grad):
        (mem,) = ctx.saved_tensors
        return grad / (ctx.slope * mem.abs() + 1.0) ** 2, None


class Leaky(nn.Module):
    def __init__(self, dim=6):
        super().__init__()
        self.fc = nn.Linear(dim, dim)

    def forward(self, x, mem):
        mem = 0.9 * mem + self.fc(x)
        spk = Spike.apply(mem - 0.1, 25.0)
        return spk, mem - spk * 0.1


torch.manual_seed(0)
cell = Leaky()
step = torch.compile(cell, backend="eager")
spk, mem = step(torch.randn(3, 6), torch.zeros(3, 6))
(spk.sum() + mem.sum()).backward()
print(f"checksum {(spk.sum() + cell.fc.weight.grad.abs().sum()).item():.3f}")
