# expect: GB0036 @ 19
# also: GB7000 @ 19
"""Adaptive output layer: tokens are split over frequency clusters."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class ClusteredLoss(nn.Module):
    def __init__(self, dim, vocab, cutoffs):
        super().__init__()
        self.edges = [0, *cutoffs, vocab]
        self.heads = nn.ModuleList([nn.Linear(dim, hi - lo) for lo, hi in zip(self.edges, self.edges[1:])])

    def forward(self, hidden, target):
        loss = hidden.new_zeros(())
        for head, lo, hi in zip(self.heads, self.edges, self.edges[1:]):
            inside = (target >= lo) & (target < hi)
            idx = inside.nonzero().squeeze(1)
            if idx.numel():
                logits = head(hidden.index_select(0, idx))
                loss = loss + F.cross_entropy(logits, target[idx] - lo, reduction="sum")
        return loss / target.numel()


crit = torch.compile(ClusteredLoss(8, 20, [5, 12]))
crit(torch.randn(6, 8), torch.randint(0, 20, (6,)))
