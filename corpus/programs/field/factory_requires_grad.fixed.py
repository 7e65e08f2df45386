# expect: none
# source: https://github.com/pytorch/pytorch/pull/113277
# fix: hoist ; auto: manual (the leaf is made by the caller)
# fixes: factory_requires_grad.py
import torch
import torch.nn as nn

torch.manual_seed(0)
critic = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))


def interpolate_score(real, fake, alpha):
    mixed = alpha * 0.3 * real + (1 - alpha * 0.3) * fake
    return critic(mixed), alpha


fn = torch.compile(interpolate_score, backend="eager")
leaf = torch.ones(5, 1, requires_grad=True)
score, alpha = fn(torch.randn(5, 4), torch.randn(5, 4), leaf)
score.sum().backward()
print(f"checksum {(score.sum() + alpha.grad.abs().sum()).item():.4f}")
