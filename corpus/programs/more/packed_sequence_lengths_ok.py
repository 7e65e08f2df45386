# expect: none
import torch
import torch.nn as nn


class MeanOverLengths(nn.Module):
    def forward(self, padded, lengths):
        steps = torch.arange(padded.size(1), device=padded.device)
        mask = steps.unsqueeze(0) < lengths.unsqueeze(1)
        return (padded * mask.unsqueeze(-1)).sum(1) / lengths.unsqueeze(1)


pool = torch.compile(MeanOverLengths())
pool(torch.randn(3, 5, 4), torch.tensor([5, 2, 3]))
