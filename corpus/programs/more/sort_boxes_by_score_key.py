# expect: GB0207 @ 7
import torch


@torch.compile
def best_first(candidates):
    ranked = sorted(candidates, key=lambda c: c["score"], reverse=True)
    return torch.stack([c["box"] for c in ranked])


best_first([{"score": torch.rand(()), "box": torch.rand(4)} for _ in range(3)])
