# expect: none
import torch


class DropSelfLoops(torch.nn.Module):
    def forward(self, edge_index, edge_weight, num_nodes: int):
        row, col = edge_index
        edge_weight = edge_weight * (row != col)
        degree = torch.zeros(num_nodes).index_add(0, col, edge_weight)
        degree[degree == 0] = 1.0
        return edge_weight / degree[col]


torch.compile(DropSelfLoops())(torch.tensor([[0, 1, 2], [0, 2, 1]]), torch.rand(3), 3)
