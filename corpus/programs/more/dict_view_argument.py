# expect: GB0811 @ 7
import torch


@torch.compile
def total_norm(tensors):
    return torch.stack([t.norm() for t in tensors]).norm()


state = {"a": torch.randn(3), "b": torch.randn(4)}
total_norm(state.values())
