# expect: none
import torch


def propagate(edge_index, x, hops: int):
    src, dst = edge_index.unbind(0)
    for _ in range(hops):
        x = torch.zeros_like(x).index_add(0, dst, x[src])
    return x


torch.compile(propagate)(torch.tensor([[0, 1], [1, 2]]), torch.randn(3, 4), 2)
