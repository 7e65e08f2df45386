# expect: GB0015 @ 7
import torch


def propagate(adj, x, hops: int):
    for _ in range(hops):
        x = adj @ x
    return x


adj = torch.eye(3).to_sparse()
torch.compile(propagate)(adj, torch.randn(3, 4), 2)
