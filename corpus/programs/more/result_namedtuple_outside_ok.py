# expect: none
from typing import NamedTuple

import torch


class Stats(NamedTuple):
    mean: torch.Tensor
    std: torch.Tensor

    @property
    def inverse(self):
        return self.std.reciprocal()


@torch.compile
def statistics(x):
    s = Stats(x.mean(), x.std())
    mean, _ = s
    return (x - mean) * s.inverse, s._replace(std=s.std + 1)


statistics(torch.randn(5))
