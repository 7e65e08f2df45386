# expect: GB0206 @ 16
# also: GB7000 @ 16
import torch
import torch.nn as nn


class Finetune(nn.Module):
    def __init__(self, freeze=True):
        super().__init__()
        self.backbone = nn.Linear(4, 4)
        self.head = nn.Linear(4, 2)
        self.freeze = freeze

    def forward(self, x):
        for p in self.backbone.parameters():
            p.requires_grad = not self.freeze
        return self.head(self.backbone(x))


torch.compile(Finetune())(torch.randn(2, 4))
