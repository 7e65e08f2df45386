# expect: none
import itertools
import operator
from functools import reduce

import torch


@torch.compile
def pooled(pairs):
    out = {}
    for key, group in itertools.groupby(pairs, key=operator.itemgetter(0)):
        out[key] = reduce(torch.add, (v for _, v in group))
    return torch.stack([out[k] for k in sorted(out)])


pooled([("a", torch.ones(2)), ("a", torch.ones(2)), ("b", torch.ones(2))])
