# expect: GB0033 @ 9
import torch
import torch.nn as nn


class MeanOverLengths(nn.Module):
    def forward(self, padded, lengths):
        chunks = []
        for row, n in zip(padded, lengths.tolist()):
            chunks.append(row[:n].mean(dim=0))
        return torch.stack(chunks)


pool = torch.compile(MeanOverLengths())
pool(torch.randn(3, 5, 4), torch.tensor([5, 2, 3]))
