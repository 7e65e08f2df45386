# expect: GB8985 @ 21
# expect: GB9186 @ 23
import torch
import torch.nn as nn


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))

    def forward(self, x):
        return self.net(x)


critic = Critic()


@torch.compile
def penalty(real, fake):
    mix = torch.lerp(real, fake, 0.5).requires_grad_(True)
    score = critic(mix).sum()
    (grad,) = torch.autograd.grad(score, mix, create_graph=True)
    return (grad.norm(2, dim=1) - 1).pow(2).mean()


penalty(torch.randn(3, 4), torch.randn(3, 4))
