# expect: GB0170 @ 13
"""Several checks in one condition, each on a row of its own: Python 3.11 lets all of them jump from the row of the `if`."""
import torch
import torch.nn as nn


class Correlation(nn.Module):
    def forward(self, x, y):
        x, y = x - x.mean(), y - y.mean()
        spread = (x * x).sum().sqrt() * (y * y).sum().sqrt()
        together = (x * y).sum()
        # a correlation needs some spread
        if (
            (spread < 1e-6).any()
            or ~torch.isfinite(spread).any()
            or ~torch.isfinite(together).any()
        ):
            return together * 0
        return together / spread


correlation = torch.compile(Correlation())
print("checksum", round(correlation(torch.arange(6.0), torch.arange(6.0) ** 2).item(), 4))
