# expect: none
# source: https://github.com/NVIDIA/torch-harmonics/issues/209
# note: asserts on shapes, and on tensors with a constant message, are traced
import torch
import torch.nn as nn


class Transform(nn.Module):
    def __init__(self, nlat=4, nlon=6):
        super().__init__()
        self.nlat, self.nlon = nlat, nlon
        self.weight = nn.Parameter(torch.randn(nlat, 3))

    def forward(self, x):
        assert x.shape[-2] == self.nlat, f"latitudes: {x.shape[-2]}"
        assert x.shape[-1] == self.nlon
        assert (x >= 0).all(), "fields must not be negative"
        assert torch.isfinite(x).all()
        return torch.einsum("...ln,lm->...mn", x, self.weight)


torch.manual_seed(0)
sht = torch.compile(Transform(), backend="eager")
total = sht(torch.rand(4, 6)).sum() + sht(torch.rand(5, 4, 6)).sum()
print(f"checksum {total.item():.4f}")
