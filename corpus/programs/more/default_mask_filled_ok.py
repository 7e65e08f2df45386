# expect: none
# note: the default of the mask is filled in for compiled code as well
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
        if mask is None:
            return x
        return x * mask[:, :, None]


if __name__ == "__main__":
    torch.compile(Encoder(), backend="eager")(torch.ones(2, 3, 4))
