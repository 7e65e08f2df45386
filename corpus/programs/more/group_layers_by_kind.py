# expect: GB0152 @ 12
# expect: GB0811 @ 12
# also: GB0115 @ 12
import itertools

import torch


@torch.compile
def pooled(pairs):
    out = []
    for key, group in itertools.groupby(pairs, key=lambda p: p[0]):
        out.append(torch.stack([v for _, v in group]).mean(0))
    return torch.stack(out)


pooled([(torch.tensor(0), torch.ones(2)), (torch.tensor(0), torch.ones(2)), (torch.tensor(1), torch.ones(2))])
