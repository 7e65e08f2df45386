# expect: GB0007 @ 16
# expect: GB0015 @ 17
# source: https://github.com/pytorch/pytorch/issues/130687
# fix: keep-tensor ; auto: manual (sparse matmul becomes gather and scatter)
import torch
import torch.nn as nn


class GCN(nn.Module):
    def __init__(self, dim=4):
        super().__init__()
        self.lin = nn.Linear(dim, dim)

    def forward(self, x, edge_index, weight):
        n = x.size(0)
        adj = torch.sparse_coo_tensor(edge_index, weight, (n, n))
        return torch.relu(torch.sparse.mm(adj, self.lin(x)))


torch.manual_seed(0)
gcn = torch.compile(GCN(), backend="eager")
edges = torch.tensor([[0, 1, 2, 3, 0], [1, 2, 3, 0, 2]])
print(f"checksum {gcn(torch.randn(4, 4), edges, torch.rand(5)).sum().item():.4f}")
