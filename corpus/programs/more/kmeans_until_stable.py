# expect: GB0170 @ 19
# also: GB7000 @ 19
import torch


def assign(points, centers):
    return torch.cdist(points, centers).argmin(dim=1)


@torch.compile
def kmeans(points, centers, max_iter: int = 10, tol: float = 1e-4):
    for _ in range(max_iter):
        labels = assign(points, centers)
        sums = torch.zeros_like(centers).index_add(0, labels, points)
        counts = torch.zeros(centers.size(0)).index_add(0, labels, torch.ones(points.size(0)))
        updated = sums / counts.clamp(min=1).unsqueeze(1)
        shift = (updated - centers).norm()
        centers = updated
        if shift < tol:
            break
    return centers


kmeans(torch.randn(12, 2), torch.randn(3, 2))
