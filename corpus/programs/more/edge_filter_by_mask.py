# expect: GB0036 @ 10
# expect: GB0124 @ 11
import torch


class DropSelfLoops(torch.nn.Module):
    def forward(self, edge_index, edge_weight):
        row, col = edge_index
        keep = row != col
        edge_index, edge_weight = edge_index[:, keep], edge_weight[keep]
        n = int(edge_index.max()) + 1
        return torch.zeros(n).index_add(0, edge_index[1], edge_weight)


torch.compile(DropSelfLoops())(torch.tensor([[0, 1, 2], [0, 2, 1]]), torch.rand(3))
