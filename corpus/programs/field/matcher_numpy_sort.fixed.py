# expect: none
# source: https://github.com/roboflow/rf-detr/pull/1281
# fix: custom-op ; auto: manual (needs a fake version and a schema)
# fixes: matcher_numpy_sort.py
import numpy as np
import torch


@torch.library.custom_op("field::greedy_match", mutates_args=())
def greedy_match(cost: torch.Tensor) -> torch.Tensor:
    rows, cols = cost.shape
    order = np.lexsort((np.arange(rows * cols), cost.numpy().ravel()))
    rows_used, match = set(), {}
    for flat in order:
        r, c = divmod(int(flat), cols)
        if r not in rows_used and c not in match:
            rows_used.add(r)
            match[c] = r
    return torch.tensor([match[c] for c in range(cols)])


@greedy_match.register_fake
def _(cost):
    return cost.new_empty(cost.shape[1], dtype=torch.int64)


def set_loss(pred, target):
    cost = torch.cdist(pred, target)
    return (pred[greedy_match(cost.detach())] - target).abs().mean()


torch.manual_seed(0)
fn = torch.compile(set_loss, backend="eager")
print(f"checksum {fn(torch.randn(5, 2), torch.randn(3, 2)).item():.4f}")
