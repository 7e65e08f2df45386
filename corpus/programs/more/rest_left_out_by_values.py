# expect: GB0170 @ 26
# expect: GB0170 @ 35
# expect: GB0170 @ 44
# expect: GB0170 @ 52
# expect: GB0170 @ 61
# expect: GB0170 @ 70
# expect: GB0170 @ 80
# expect: GB0170 @ 91
# expect: GB0170 @ 104
# expect: GB0170 @ 115
# also: GB7000 @ 44
# also: GB7000 @ 61
# also: GB7000 @ 70
# also: GB7000 @ 80
# also: GB7000 @ 91
# also: GB7000 @ 104
# also: GB7000 @ 115
import torch


@torch.compile
def inner(x, flag: bool):
    y = x + 1
    if flag:
        y = y * 2
        if y.sum() > 9:
            return y
    return y - 1


@torch.compile
def nothing(x, flag: bool):
    y = x + 1
    if flag:
        if y.sum() > 9:
            return y
    x.copy_(y - 1)


@torch.compile
def last(x):
    for _ in range(2):
        x = x + 1
        if x.sum() > 9:
            continue
    return x


@torch.compile
def left(x):
    for _ in range(2):
        if x.sum() > 9:
            return
        x.add_(1)


@torch.compile
def both(x, flag: bool, other: bool):
    for _ in range(2):
        if flag:
            if other and x.sum() > 9:
                continue
        x = x + 1
    return x


@torch.compile
def ended(x):
    for _ in range(2):
        if x.sum() > 9:
            continue
        x = x + 1
        break
    return x


@torch.compile
def three(x, flag: bool):
    for _ in range(2):
        if flag and x.sum() > 9: continue
        y = x + 1
        z = y * 2
        x = z - y
    return x


@torch.compile
def more(x):
    y = x * 2
    for _ in range(2):
        if x.sum() > 9:
            y = x + 2
            continue
        x = x + 1
        for row in x:
            y = y + row
    return x + y


@torch.compile
def loop(x):
    y = x * 2
    for _ in range(2):
        if x.sum() > 9:
            continue
        for row in x:
            y = y + row
        x = x + 1
    return x + y


@torch.compile
def noted(x, seen: list):
    for _ in range(2):
        if x.sum() > 9:
            continue
        seen.append(1)
        x = x + 1
    return x


x = torch.ones(3)
inner(x, True)
nothing(x, True)
last(x)
left(x)
both(x, True, True)
ended(x)
three(x, True)
more(x)
loop(x)
noted(x, [])
