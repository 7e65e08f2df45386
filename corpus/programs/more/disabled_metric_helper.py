# expect: GB0098 @ 18
import torch
import torch.nn as nn


@torch.compiler.disable
def accuracy(logits, target):
    return (logits.argmax(-1) == target).float().mean()


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 3)

    def forward(self, x, y):
        logits = self.fc(x)
        acc = accuracy(logits, y)
        return logits.log_softmax(-1), acc


torch.compile(Classifier())(torch.randn(2, 4), torch.tensor([0, 2]))
