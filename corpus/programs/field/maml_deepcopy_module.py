# expect: GB4198 @ 14
# source: https://github.com/pytorch/pytorch/issues/115122
# fix: functional-call ; auto: manual
import copy
import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))


@torch.no_grad()
def adapted_loss(x, y, step):
    fast = copy.deepcopy(net)
    for p in fast.parameters():
        p.add_(step * p.sign())
    return ((fast(x) - y) ** 2).mean()


fn = torch.compile(adapted_loss, backend="eager")
x, y = torch.randn(6, 4), torch.randn(6, 1)
print(f"checksum {(fn(x, y, 0.1) + fn(x, y, 0.1)).item():.4f}")
