# expect: GB0264 @ 12
import torch
import torch.nn as nn


class PromptPool(nn.Module):
    def __init__(self, n, dim):
        super().__init__()
        self.n, self.dim = n, dim

    def forward(self, x):
        prompt = nn.Parameter(torch.zeros(self.n, self.dim))
        return torch.cat([prompt.expand(x.size(0), -1, -1), x], dim=1)


torch.compile(PromptPool(2, 4))(torch.randn(3, 5, 4))
