# expect: GB4695 @ 18
import torch
import torch.nn as nn


class Swish(nn.Module):
    def forward(self, x):
        return x * torch.sigmoid(x)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)
        self.act = torch.jit.script(Swish())

    def forward(self, x):
        return self.act(self.fc(x))


torch.compile(Net())(torch.randn(2, 3))
