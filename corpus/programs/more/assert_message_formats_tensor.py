# expect: GB0170 @ 8
import torch


@torch.compile
def normalise(p):
    total = p.sum()
    assert total > 0, f"probabilities sum to {total}"
    return p / total


normalise(torch.rand(4))
