# expect: GB0170 @ 27
# expect: GB0170 @ 29
# expect: GB0036 @ 30
# expect: GB0170 @ 31
# expect: GB0170 @ 33
# expect: GB0170 @ 40
# expect: GB0170 @ 48
# expect: GB0170 @ 61
# expect: GB0170 @ 71
# expect: GB0170 @ 73
# expect: GB0170 @ 75
# expect: GB0170 @ 77
# expect: GB0170 @ 79
# expect: GB0170 @ 86
# expect: GB0170 @ 95
# expect: GB0170 @ 102
# expect: GB0170 @ 104
# expect: GB0170 @ 106
# also: GB7000 @ 61
import torch


@torch.compile
@torch.no_grad()
def in_place(x, bad):
    y = x * 2
    if bad.sum() != 0:
        y.masked_fill_(bad, 0.0)
    if torch.count_nonzero(bad) > 0:
        y[bad] += 1
    if not torch.all(~bad):
        y[bad], x[bad] = 1.0, 2.0
    if bad.max():
        y.masked_scatter_((bad), torch.ones(3))
    return y, x


@torch.compile
def kept(x, bad, training: bool):
    if bad.sum() == 0:
        return x
    x = torch.where(~bad, x, torch.tanh(x) * 2 + 1)
    return x


@torch.compile
def by_name(x, bad, training: bool):
    if training and torch.any(bad):
        x = torch.where(~(bad), x, 0.5)
        x = x.masked_scatter(bad, torch.ones(3))
    if training or (~bad).all():
        return x
    x = x.masked_fill((bad), x.mean())
    return x


@torch.compile
def rounds(x, bad):
    y = x + 1
    for _ in range(2):
        if (~bad).all():
            continue
        y[bad] = y[bad] * 2 - torch.exp(y[bad])
    if (bad).any():
        y[:, 0][bad[:, 0]] = 0
    return y


@torch.compile
def counted(x, bad, ids):
    if bad.sum() > 1:
        x = torch.where(bad, 0, x)
    if 0 < bad.sum():
        x = torch.where(bad, 0, x)
    if bad.any(0).any():
        x = torch.where(bad, 0, x)
    if ids.any():
        x = x.masked_fill(ids > 0, 0)
    if ids.sum() > 0:
        x[ids] = 0
    return x


@torch.compile
def elsewhere(x, bad):
    if not bad.any():
        return x * 2
    x = torch.where(bad, 0, x)
    return x


@torch.compile
def nothing(x, bad):
    y = x + 1
    if not bad.any():
        return
    y[bad] = 0


@torch.compile
def other(x, bad):
    if bad.any():
        x = torch.where(x > 0, x, 0)
    if bad.any():
        x[bad], rest = 0, x[0]
    if bad.any():
        x.clamp_(0)
        x[bad] = 1
    return x


x = torch.linspace(-1, 1, 3)
for bad in (x > 0, x > 2):
    in_place(x, bad)
    kept(x, bad, True)
    by_name(x, bad, True)
    rounds(x[:, None] + torch.zeros(1, 2), bad[:, None] & torch.ones(1, 2, dtype=torch.bool))
    counted(x, bad, torch.arange(3))
    elsewhere(x, bad)
    nothing(x, bad)
    other(x, bad)
