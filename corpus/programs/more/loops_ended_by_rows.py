# expect: GB0170 @ 32
# expect: GB0170 @ 43
# expect: GB0170 @ 56
# expect: GB0170 @ 67
# expect: GB0170 @ 78
# expect: GB0170 @ 89
# expect: GB0170 @ 100
# expect: GB0170 @ 110
# expect: GB0170 @ 119
# expect: GB0170 @ 134
# expect: GB0170 @ 148
# expect: GB0170 @ 157
# also: GB7000 @ 32
# also: GB7000 @ 43
# also: GB7000 @ 56
# also: GB7000 @ 67
# also: GB7000 @ 78
# also: GB7000 @ 89
# also: GB7000 @ 100
# also: GB7000 @ 110
# also: GB7000 @ 119
# also: GB7000 @ 134
import torch


@torch.compile
def flagged(x):
    done = torch.zeros(2, dtype=torch.bool)
    for _ in range(3):
        x = torch.where(done[:, None], x, x + 1)
        done = done | (x[:, 0] > 2)
        if done.all():
            break
    return x


@torch.compile
def alive_rows(x):
    alive = torch.ones(2)
    for _ in range(3):
        x = x + 1 * alive[:, None]
        alive *= x[:, 0] < 2
        if not alive.any():
            break
    return x


@torch.compile
def joined(x):
    done = torch.zeros(2, dtype=torch.bool)
    open_rows = ~done
    for _ in range(3):
        x = x.masked_fill(done[:, None], 0.0) + 1
        open_rows &= x[:, 0] < 2
        done = torch.logical_or(x[:, 0] > 2, done)
        if torch.all(done):
            break
    return x, open_rows


@torch.compile
def products(x):
    alive = torch.ones(2)
    for _ in range(3):
        alive = torch.mul(alive, x[:, 0] < 3)
        x = x + torch.mul(x, (alive)[:, None])
        if alive.sum() == 0:
            break
    return x


@torch.compile
def renewed(x):
    done = torch.zeros(2, dtype=torch.bool)
    for _ in range(3):
        x = torch.where(done[:, None], x, x + 1)
        done = x[:, 0] > 2
        if done.all():
            break
    return x


@torch.compile
def summed(x):
    done = torch.zeros(2)
    for _ in range(3):
        x = x + (1 - done)[:, None]
        done += 1.0 * (x[:, 0] > 2)
        if done.sum() > 1:
            break
    return x


@torch.compile
def unused(x):
    done = torch.zeros(2, dtype=torch.bool)
    for _ in range(3):
        x = x + 1
        done = done | (x[:, 0] > 2)
        if done.all():
            break
    return x


@torch.compile
def deeper(x, flag: bool):
    for _ in range(3):
        x = x + 1
        if flag:
            if x.sum() > 8:
                break
    return x


@torch.compile
def otherwise(x):
    for _ in range(3):
        x = x + 1
        if x.sum() > 8:
            break
    else:
        x = x * 2
    for _ in range(3):
        x = x + 1
        if x.sum() > 30:
            x = x - 1
            break
    return x


@torch.compile
def middle(x, flag: bool):
    for _ in range(3):
        if x.sum() > 8:
            break
        x = x + 1
    for _ in range(3):
        x = x + 1
        if flag and x.sum() > 30:
            break
    return x


@torch.compile
def returned(x, flag: bool):
    for _ in range(3):
        x = x + 1
        if flag and x.sum() > 30:
            return x * 2
    return x


@torch.compile
def nothing(x):
    for _ in range(3):
        y = x + 1
        if y.sum() > 30:
            return
    return


x = torch.ones(2, 2)
flagged(x)
alive_rows(x)
joined(x)
products(x)
renewed(x)
summed(x)
unused(x)
deeper(x, True)
otherwise(x)
middle(x, True)
returned(x, True)
nothing(x)
