# expect: none
import torch
import torch.nn as nn


class RandomShift(nn.Module):
    def __init__(self, pad=2):
        super().__init__()
        self.pad = pad

    def forward(self, img):
        flip = torch.rand(()) < 0.5
        img = torch.where(flip, img.flip(-1), img)
        noise = torch.randn_like(img) * 0.01
        return nn.functional.pad(img + noise, (self.pad,) * 4)


aug = torch.compile(RandomShift())
aug(torch.rand(3, 8, 8))
