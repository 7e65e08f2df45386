# expect: GB0092 @ 17
# expect: GB0170 @ 17
import torch
import torch.nn as nn


class EarlyExit(nn.Module):
    def __init__(self, depth=3, dim=4, classes=2):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(dim, dim) for _ in range(depth))
        self.exits = nn.ModuleList(nn.Linear(dim, classes) for _ in range(depth))

    def forward(self, x, threshold=0.9):
        for layer, head in zip(self.layers, self.exits):
            x = torch.relu(layer(x))
            probs = head(x).softmax(-1)
            if not self.training and probs.max(-1).values.min() > threshold:
                return probs
        return probs


torch.compile(EarlyExit().eval())(torch.randn(2, 4))
