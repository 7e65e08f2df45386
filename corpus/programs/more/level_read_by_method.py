# expect: GB0124 @ 11
# expect: GB0036 @ 21
import torch


class Meter:
    def __init__(self):
        self.total = torch.ones(())

    def level(self):
        return self.total.item()


meter = Meter()


@torch.compile
def scaled(x):
    y = x * 2
    level = meter.level()
    kept = y[y > 1.0]
    return kept * level


scaled(torch.rand(4))
