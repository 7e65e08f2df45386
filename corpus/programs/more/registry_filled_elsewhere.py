# expect: GB0467 @ 19
# also: GB7000 @ 19
# note: the hooks a model asks for stand in a table that its constructor fills
import torch
from torch import nn

WANTED = {}


class Recorder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)
        self.seen = []
        WANTED[type(self).__name__] = {"layer": True}

    def install(self):
        for name in (WANTED.get(type(self).__name__) or {}):
            getattr(self, name).register_forward_hook(lambda module, args, output: None)

    def forward(self, x):
        x = x * 2
        self.install()
        return self.layer(x)


if __name__ == "__main__":
    torch.compile(Recorder(), backend="eager")(torch.ones(2, 3))
