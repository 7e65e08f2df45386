# expect: none
# source: https://github.com/pytorch/pytorch/issues/130687
# fix: keep-tensor ; auto: manual (sparse matmul becomes gather and scatter)
# fixes: gcn_sparse_adj.py
import torch
import torch.nn as nn


class GCN(nn.Module):
    def __init__(self, dim=4):
        super().__init__()
        self.lin = nn.Linear(dim, dim)

    def forward(self, x, edge_index, weight):
        row, col = edge_index
        h = self.lin(x)
        out = torch.zeros_like(h).index_add(0, row, weight[:, None] * h[col])
        return torch.relu(out)


torch.manual_seed(0)
gcn = torch.compile(GCN(), backend="eager")
edges = torch.tensor([[0, 1, 2, 3, 0], [1, 2, 3, 0, 2]])
print(f"checksum {gcn(torch.randn(4, 4), edges, torch.rand(5)).sum().item():.4f}")
