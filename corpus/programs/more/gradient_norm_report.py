# expect: GB0124 @ 10
import torch


@torch.compile
def clip_and_report(grads, max_norm):
    total = torch.stack([g.pow(2).sum() for g in grads]).sum().sqrt()
    coef = (max_norm / (total + 1e-6)).clamp(max=1.0)
    clipped = [g * coef for g in grads]
    stats = {"grad_norm": total.item(), "clipped": bool(coef < 1)}
    return clipped, stats


clip_and_report([torch.randn(3), torch.randn(2, 2)], 1.0)
