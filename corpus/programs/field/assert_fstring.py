# expect: GB0170 @ 9
# source: https://github.com/pytorch/pytorch/issues/96529
# fix: assert-async ; auto: unsafe (a constant message is traced, but the value in the text and the AssertionError are lost)
import torch


def cross_entropy_checked(logits, target):
    n = logits.size(-1)
    assert (target >= 0).all() and (target < n).all(), f"targets outside [0, {n}): {target.max()}"
    return -logits.log_softmax(-1).gather(1, target[:, None]).mean()


torch.manual_seed(0)
fn = torch.compile(cross_entropy_checked, backend="eager")
print(f"checksum {fn(torch.randn(5, 4), torch.randint(0, 4, (5,))).item():.4f}")
