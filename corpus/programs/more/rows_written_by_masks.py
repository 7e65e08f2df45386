# expect: GB0036 @ 39
# expect: GB0036 @ 40
# expect: GB0036 @ 42
# expect: GB0036 @ 43
# expect: GB0036 @ 45
# expect: GB0036 @ 46
# expect: GB0036 @ 55
# expect: GB0036 @ 56
# expect: GB0036 @ 57
# expect: GB0036 @ 58
# expect: GB0036 @ 66
# expect: GB0036 @ 67
# expect: GB0036 @ 69
# expect: GB0036 @ 70
# expect: GB0036 @ 71
# expect: GB0036 @ 72
# expect: GB0036 @ 79
# expect: GB0036 @ 80
# expect: GB0036 @ 81
# expect: GB0036 @ 83
# expect: GB0036 @ 91
# expect: GB0036 @ 92
# expect: GB0036 @ 93
# expect: GB0036 @ 100
# expect: GB0036 @ 102
# expect: GB0036 @ 109
# expect: GB0036 @ 111
import torch


class Holder:
    pass


@torch.compile
@torch.no_grad()
def halves(x, y, mask):
    a = torch.empty_like(x)
    a[mask] = x[mask] * 2
    a[~mask] = y[~mask] + 1
    b = torch.zeros_like(x)
    b[torch.logical_not(mask)] = x[torch.logical_not(mask)]
    b[mask] = y[mask]
    c = torch.zeros_like(x)
    c[mask] = x[mask]
    c[~mask] = c[~mask] + y[~mask]
    return a + b + c


@torch.compile
@torch.no_grad()
def apart(x, y, mask, other):
    a = torch.empty_like(x)
    b = torch.empty_like(x)
    a[mask] = x[mask]
    b[~mask] = y[~mask]
    a[other] = y[other]
    a[~mask] = y[~mask]; b[mask] = x[mask]
    return a.nan_to_num() + b


@torch.compile
@torch.no_grad()
def added(x, y, mask):
    a = x.clone()
    a[mask] += y[mask]
    a[mask] -= y[mask] + 1
    b = x.clone()
    b[mask] *= 2
    b[mask] *= y[mask]
    b[mask] /= y[mask] + 1
    b[mask] **= y[mask].abs()
    return a + b


@torch.compile
@torch.no_grad()
def placed(x, y, mask, holder):
    holder.rows[mask] = x[mask]
    holder.rows.data[mask] = y[mask]
    x.T[mask] = y[mask]
    rows = [x, y]
    rows[0][mask] = y[mask]
    return holder.rows + rows[0]


@torch.compile
@torch.no_grad()
def wide(x, mask, values):
    x = x * 1
    x[mask] = x[mask] * 2
    x[mask] = values[mask].exp()
    x[mask > 0] = x[mask > 0].sum(0)
    return x


@torch.compile
def with_gradients(x, y, mask):
    a = x * 1
    a[mask] = torch.log(y[mask])
    b = x * 2
    b[mask] = y[mask].sqrt() + b[mask]
    return a + b


@torch.compile
@torch.no_grad()
def totals(x, mask):
    a = x[mask].sum() + x[mask].mean()
    y = x * 1
    y[mask] = x[mask] - x[mask].mean()
    return a + y


holder = Holder()
holder.rows = torch.zeros(3)
x, y = torch.tensor([1.0, 2.0, 3.0]), torch.tensor([3.0, 1.0, 2.0])
mask = torch.tensor([True, False, True])
halves(x, y, mask)
apart(x, y, mask, ~mask)
added(x, y, mask)
placed(x, y, mask, holder)
wide(torch.ones(3, 2), mask, torch.ones(3, 2))
with_gradients(x, y, mask)
totals(x, mask)
