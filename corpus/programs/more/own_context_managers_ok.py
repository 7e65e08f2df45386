# expect: none
import contextlib

import torch

_scale = [1.0]


@contextlib.contextmanager
def loss_scale(value):
    _scale.append(value)
    try:
        yield value
    finally:
        _scale.pop()


class eval_mode:
    def __init__(self, module):
        self.module = module

    def __enter__(self):
        self.was = self.module.training
        self.module.training = False
        return self.module

    def __exit__(self, *exc):
        self.module.training = self.was


net = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Tanh())


@torch.compile
def scaled(x):
    with loss_scale(8.0) as s, eval_mode(net):
        return net(x) * s * _scale[-1]


scaled(torch.randn(2, 3))
