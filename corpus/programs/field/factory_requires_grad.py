# expect: GB0225 @ 12
# source: https://github.com/pytorch/pytorch/pull/113277
# fix: hoist ; auto: manual (the leaf is made by the caller)
import torch
import torch.nn as nn

torch.manual_seed(0)
critic = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))


def interpolate_score(real, fake):
    alpha = torch.ones(real.size(0), 1, requires_grad=True)
    mixed = alpha * 0.3 * real + (1 - alpha * 0.3) * fake
    return critic(mixed), alpha


fn = torch.compile(interpolate_score, backend="eager")
score, alpha = fn(torch.randn(5, 4), torch.randn(5, 4))
score.sum().backward()
print(f"checksum {(score.sum() + alpha.grad.abs().sum()).item():.4f}")
