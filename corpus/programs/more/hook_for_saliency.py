# expect: GB0467 @ 15
# expect: GB0013 @ 17
import torch
import torch.nn as nn


class GradCam(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 2, 3)
        self.fc = nn.Linear(2, 2)
        self.saved = []

    def forward(self, x):
        handle = self.conv.register_forward_hook(lambda mod, args, out: self.saved.append(out))
        feats = self.conv(x)
        handle.remove()
        return self.fc(feats.mean((2, 3)))


torch.compile(GradCam())(torch.randn(1, 1, 5, 5))
