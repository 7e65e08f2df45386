# expect: GB0170 @ 34
# also: GB7000 @ 34
# note: a wrapper puts a configured value in the place of one argument; the model behind it drops layers at random
import functools
import torch
from torch import nn


def configured(forward):
    @functools.wraps(forward)
    def wrapper(self, *args, **kwargs):
        position = forward.__code__.co_varnames.index("scale") - 1
        if len(args) > position and args[position] is None:
            args = list(args)
            args[position] = self.scale
            args = tuple(args)
        return forward(self, *args, **kwargs)

    return wrapper


class Encoder(nn.Module):
    def __init__(self, layerdrop):
        super().__init__()
        self.scale = 2.0
        self.layerdrop = layerdrop
        self.layers = nn.ModuleList(nn.Linear(3, 3) for _ in range(2))

    @configured
    def forward(self, x, scale=None):
        for layer in self.layers:
            if self.training and self.layerdrop > 0.0:
                dropout_probability = torch.rand([])
                if dropout_probability < self.layerdrop:
                    continue
            x = layer(x) * scale
        return x


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = None
        self.encoder = Encoder(0.1)

    @configured
    def forward(self, x, scale=None):
        return self.encoder(x, scale).sum()


if __name__ == "__main__":
    torch.compile(Model(), backend="eager")(torch.ones(2, 3), None)
