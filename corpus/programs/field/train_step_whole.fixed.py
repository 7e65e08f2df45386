# expect: none
# source: https://github.com/pytorch/pytorch/issues/120814
# fix: hoist ; auto: manual (compile the loss, leave backward and step outside)
# fixes: train_step_whole.py
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 3))
opt = torch.optim.SGD(model.parameters(), lr=0.1)


@torch.compile(backend="eager")
def compute_loss(x, y):
    return F.cross_entropy(model(x), y)


def train_step(x, y):
    loss = compute_loss(x, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    return loss.detach()


total = sum(train_step(torch.randn(5, 6), torch.randint(0, 3, (5,))).item() for _ in range(3))
print(f"checksum {total:.4f}")
