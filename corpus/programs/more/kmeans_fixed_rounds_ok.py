# expect: none
import torch


@torch.compile
def kmeans(points, centers, max_iter: int = 4):
    for _ in range(max_iter):
        labels = torch.cdist(points, centers).argmin(dim=1)
        hot = torch.nn.functional.one_hot(labels, centers.size(0)).to(points.dtype)
        counts = hot.sum(0).clamp(min=1)
        centers = (hot.t() @ points) / counts[:, None]
    if max_iter > 3 and centers.size(0) > 1:
        centers = centers - centers.mean(0)
    return centers


kmeans(torch.randn(12, 2), torch.randn(3, 2))
