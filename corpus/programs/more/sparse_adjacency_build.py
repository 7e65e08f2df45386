# expect: GB0007 @ 14
# expect: GB0015 @ 15
import torch
import torch.nn as nn


class GraphConv(nn.Module):
    def __init__(self, dim=4):
        super().__init__()
        self.lin = nn.Linear(dim, dim)

    def forward(self, x, edge_index, weight):
        n = x.size(0)
        adj = torch.sparse_coo_tensor(edge_index, weight, (n, n))
        return torch.sparse.mm(adj, self.lin(x))


torch.compile(GraphConv())(torch.randn(3, 4), torch.tensor([[0, 1], [1, 2]]), torch.ones(2))
