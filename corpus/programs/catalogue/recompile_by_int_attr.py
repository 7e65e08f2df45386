# expect: none
# silent: GB0039 @ 12
import torch
from torch import nn


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.step = 0

    def forward(self, x):
        self.step += 1
        return x * self.step


if __name__ == "__main__":
    net = torch.compile(Counter(), backend="eager", fullgraph=False)
    for _ in range(12):
        net(torch.ones(2))
