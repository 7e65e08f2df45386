# expect: GB0088 @ 17
# expect: GB0088 @ 31
# note: the default of the mask is filled in only outside of compiled code, and used all the same
import torch
from torch import nn


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.proj = nn.Linear(4, 4)

    def forward(self, x, mask=None):
        if mask is None and not torch.compiler.is_compiling():
            mask = torch.ones(x.shape[:2])
        x = self.proj(x)
        return x * mask[:, :, None]


class Guarded(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = Encoder()
        self.calls = []

    def forward(self, x, mask=None):
        x = x + 1
        try:
            y = self.encoder(x, mask)
        finally:
            self.calls.clear()
        return y


if __name__ == "__main__":
    for model in (Encoder(), Guarded()):
        try:
            torch.compile(model, backend="eager")(torch.ones(2, 3, 4))
        except TypeError:
            pass
