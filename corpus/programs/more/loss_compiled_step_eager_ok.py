# expect: none
import torch
import torch.nn.functional as F

model = torch.nn.Linear(4, 2)
opt = torch.optim.SGD(model.parameters(), lr=0.1)


@torch.compile
def loss_fn(x, y):
    logits = model(x)
    return F.cross_entropy(logits, y), logits.detach().argmax(-1)


def train_step(x, y):
    opt.zero_grad(set_to_none=True)
    loss, guess = loss_fn(x, y)
    loss.backward()
    opt.step()
    return loss.item(), (guess == y).float().mean().item()


train_step(torch.randn(3, 4), torch.tensor([0, 1, 1]))
