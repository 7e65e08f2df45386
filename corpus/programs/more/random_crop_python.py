# expect: GB0007 @ 16
# expect: GB0213 @ 19
import random

import torch
import torch.nn as nn


class RandomShift(nn.Module):
    def __init__(self, pad=2):
        super().__init__()
        self.pad = pad

    def forward(self, img):
        padded = nn.functional.pad(img, (self.pad,) * 4)
        if random.random() < 0.5:
            padded = padded.flip(-1)
        top = random.randint(0, 2 * self.pad)
        return padded[..., top:top + img.shape[-2], self.pad:self.pad + img.shape[-1]]


aug = torch.compile(RandomShift())
aug(torch.rand(3, 8, 8))
