# expect: GB0036 @ 20
# expect: GB0036 @ 21
# expect: GB0036 @ 22
# expect: GB0036 @ 31
# expect: GB0036 @ 32
# expect: GB0036 @ 33
# expect: GB0036 @ 38
# expect: GB0036 @ 39
# expect: GB0036 @ 40
# expect: GB0036 @ 41
# expect: GB0033 @ 57
# expect: GB0033 @ 58
# expect: GB0033 @ 59
# expect: GB0033 @ 60
import torch


@torch.compile
def diagonals(x, y, n: int):
    a = x[torch.eye(3).bool()] + x[torch.eye(3, dtype=torch.bool)]
    b = x[torch.logical_not(~torch.eye(n).bool())] + y[..., torch.eye(n).bool()]
    kept = x[torch.eye(3).to(torch.bool)]
    kept += 1
    return a, b, kept


@torch.compile
def rest(x, y, n: int):
    eye = torch.eye(n, dtype=torch.bool)
    off = ~eye
    a = x[off] + x[~torch.eye(3).bool()] + x[torch.logical_not(eye)]
    b = y[..., off].sum() + y[..., ~torch.eye(3).bool()].mean()
    return a, b, (x + 1)[torch.eye(n - 0) == 0], x[~torch.eye(n + 0).bool()]


@torch.compile
def unlike(x, y, n: int, mask):
    a = x[torch.eye(3, n).bool()] + x[mask]
    b = x[torch.eye(n=n).bool()] + y[0, torch.eye(3).bool()]
    x[torch.eye(3).bool()] += 1
    x[torch.eye(3).bool()] = x[torch.eye(3).bool()]
    return a, b


@torch.compile
def picked(x, i, flag):
    a = x[i].float() + x[..., i].sum() + x[:, i] * 2 + x[None, i].abs()
    b = x[i, 0], x[1:, i], x[i, i], x[..., i, :]
    c = -x[i] > x[:, :, i].mean()
    return a, b, c


@torch.compile
def written(x, i, flag, v):
    x[i] = 1.0
    x[:, i] += v
    x[flag] = 0
    x[flag] = v
    x[flag] += 1
    x[i, flag] = 2
    return x[flag] if x.shape[0] > 3 else x


x, y, i = torch.rand(3, 3), torch.rand(2, 3, 3), torch.tensor(1)
diagonals(x, y, 3)
rest(x, y, 3)
unlike(x, y, 3, torch.eye(3).bool())
picked(y.sum(0).reshape(3, 3, 1).expand(3, 3, 3).clone(), i, i > 0)
written(x, i, i > 0, torch.tensor(1.0))
