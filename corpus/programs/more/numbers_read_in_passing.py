# expect: GB0124 @ 27
# expect: GB0124 @ 28
# expect: GB0059 @ 29
# expect: GB0124 @ 29
# expect: GB0124 @ 30
# expect: GB0124 @ 36
# expect: GB0124 @ 38
# expect: GB0124 @ 45
# expect: GB0124 @ 46
# expect: GB0124 @ 47
# expect: GB0124 @ 48
# expect: GB0124 @ 49
# expect: GB0124 @ 55
# expect: GB0033 @ 67
# expect: GB0124 @ 68
# expect: GB0109 @ 70
import itertools
import math

import torch

NAMES = ["a", "b", "c", "d"]


@torch.compile
def kept(x, n, flags):
    a = x * float(x.sum().item()) + x * int(n.sum().item()) + float(x.sum() + 1)
    b = x * int(x[0]) + x * bool(n[0]) + x * float(n[1]) + int(n[0].item()) * x
    c = x * torch.Tensor.item(x[1].detach()) + x * bool(flags.any()) + x * complex(x[0]).real
    d = (x + (x.mean() * 2).item()) * (3 in n) + (x[0] in n)
    return a + b + c + d + x * (1 not in n) + x * (1 in n in [n])


@torch.compile
def changed(x, count):
    before = count.sum().item()
    count += 1
    first = x[0].item()
    x[0] = 2.0
    return x * before + first


@torch.compile
def used(x, n):
    label = f"{n[0].item()}"
    names = {0: "a", 1: "b"}[n[0].item()]
    other = NAMES[n[1].item()]
    area = math.gamma(x[0].item()) + math.sqrt(x[1].item())
    size = torch.zeros(n[1].item()).sum()
    return x * len(label + names + other) + area + size


@torch.compile
def sizes(x, n):
    rows = x[: n[1]] + 1
    pair = torch.split(x, [n[0], n[1]]) if n.shape[0] > 1 else torch.split(x, n[1])
    many = torch.arange(n[1]) + torch.zeros(n[1], 1)
    again = x.repeat(n[0]) if x.shape[0] else x.expand(n[0], 2)
    for i in range(n[1]):
        x = x + i
    picked = [x, x + 1][n[0]]
    return rows.sum() + pair[0] + many.sum() + again.sum() + picked


@torch.compile
def listed(x, n):
    low, high = n.tolist()
    for value in itertools.islice([1, 2, 3], n[1].item()):
        x = x + value
    return x * low + high * sum(x.tolist())


x, n = torch.tensor([1.0, 2.0]), torch.tensor([1, 1])
kept(x, n, n > 0)
changed(x, n + 0)
used(x, n - 0)
sizes(x, n)
listed(x, n)
