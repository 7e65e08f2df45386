# expect: GB0036 @ 13
# expect: GB0036 @ 20
# expect: GB0036 @ 27
# expect: GB0036 @ 34
# expect: GB0036 @ 42
# expect: GB0036 @ 45
import torch
from torch.nn.functional import one_hot

@torch.compile
def several(x, mask):
    mask = one_hot(mask, num_classes=2) + one_hot(mask, 3)[:, :2]
    for e in torch.argwhere(mask):
        x = x + e[0]
    return x

@torch.compile
def column(x, mask):
    mask = one_hot(mask, num_classes=3)
    for e in mask.sum(0).nonzero():
        x = x + e + e[-1] + mask[e].squeeze(1) + abs(e)
    return x

@torch.compile
def pairs(x, mask):
    mask = one_hot(mask, num_classes=3)
    for row, slot in mask.nonzero():
        x = x + row
    return x

@torch.compile
def again(x, mask):
    mask = one_hot(mask, num_classes=3)
    hit = mask.sum(0).nonzero()
    for e in hit:
        x = x + e[0]
    return x + hit.shape[0]

@torch.compile
def listed(x, mask):
    mask = one_hot(mask, num_classes=3)
    first = last = mask.sum(0).nonzero()
    for e in first:
        x = x + e[0]
    for e in list(mask.nonzero()):
        x = x + e[0]
    return x + len(last)

x, ids = torch.ones(3), torch.tensor([1, 0, 0])
for f in (several, column, pairs, again, listed):
    f(x, ids)
