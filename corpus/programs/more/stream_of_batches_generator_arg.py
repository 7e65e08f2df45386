# expect: GB4347 @ 11
# also: GB7000 @ 11
# silent: GB0003 @ 15
import torch


@torch.compile
def average(stream, steps):
    total = torch.zeros(3)
    for _ in range(steps):
        total = total + next(stream)
    return total / steps


average((torch.full((3,), float(i)) for i in range(4)), 3)
