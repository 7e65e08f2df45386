# expect: GB0008 @ 13
# expect: GB0123 @ 15
# expect: GB0025 @ 16
import torch
import torch.nn.functional as F

model = torch.nn.Linear(4, 2)
opt = torch.optim.SGD(model.parameters(), lr=0.1)


@torch.compile
def train_step(x, y):
    opt.zero_grad()
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    opt.step()
    return loss.detach()


train_step(torch.randn(3, 4), torch.tensor([0, 1, 1]))
