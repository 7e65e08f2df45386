# expect: GB0294 @ 12
# expect: GB0033 @ 15
# also: GB7000 @ 15
# source: https://github.com/roboflow/rf-detr/pull/1281
# fix: custom-op ; auto: manual (needs a fake version and a schema)
import numpy as np
import torch


def greedy_match(cost):
    rows, cols = cost.shape
    order = np.lexsort((np.arange(rows * cols), cost.ravel()))
    rows_used, match = set(), {}
    for flat in order:
        r, c = divmod(int(flat), cols)
        if r not in rows_used and c not in match:
            rows_used.add(r)
            match[c] = r
    return np.array([match[c] for c in range(cols)])


def set_loss(pred, target):
    cost = torch.cdist(pred, target)
    match = torch.from_numpy(greedy_match(cost.detach().numpy()))
    return (pred[match] - target).abs().mean()


torch.manual_seed(0)
fn = torch.compile(set_loss, backend="eager")
print(f"checksum {fn(torch.randn(5, 2), torch.randn(3, 2)).item():.4f}")
