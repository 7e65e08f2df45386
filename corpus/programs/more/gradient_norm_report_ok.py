# expect: none
import torch


@torch.compile
def clip_and_report(grads, max_norm):
    total = torch.stack([g.pow(2).sum() for g in grads]).sum().sqrt()
    coef = (max_norm / (total + 1e-6)).clamp(max=1.0)
    clipped = [g * coef for g in grads]
    stats = {"grad_norm": total, "clipped": coef < 1, "count": len(grads), "numel": sum(g.numel() for g in grads)}
    return clipped, stats


_, stats = clip_and_report([torch.randn(3), torch.randn(2, 2)], 1.0)
print({k: float(v) for k, v in stats.items()})
