# expect: none
import torch
import torch.nn as nn


class Finetune(nn.Module):
    def __init__(self, freeze=True):
        super().__init__()
        self.backbone = nn.Linear(4, 4).requires_grad_(not freeze)
        self.head = nn.Linear(4, 2)
        self.freeze = freeze

    def forward(self, x):
        feats = self.backbone(x)
        if self.freeze:
            feats = feats.detach()
        with torch.set_grad_enabled(not self.freeze):
            feats = torch.tanh(feats)
        return self.head(feats)


torch.compile(Finetune())(torch.randn(2, 4))
