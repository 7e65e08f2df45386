# expect: GB0170 @ 11
# source: https://github.com/pytorch/xla/pull/848
# fix: where ; auto: safe (the scale is 1 on the other arm)
import torch
import torch.nn as nn


@torch.no_grad()
def clip_grads(grads, max_norm):
    total_norm = torch.stack([g.norm() for g in grads]).norm()
    if total_norm > max_norm:
        for g in grads:
            g.mul_(max_norm / (total_norm + 1e-6))
    return total_norm


torch.manual_seed(0)
fn = torch.compile(clip_grads, backend="eager")
total = 0.0
for scale in (0.01, 10.0):
    model = nn.Linear(6, 3)
    (model(torch.randn(4, 6)).pow(2).sum() * scale).backward()
    grads = [p.grad for p in model.parameters()]
    norm = fn(grads, 1.0)
    total += norm.item() + sum(g.abs().sum().item() for g in grads)
print(f"checksum {total:.3f}")
