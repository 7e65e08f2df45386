# expect: GB0170 @ 7
import torch


def fill_invalid(x: torch.Tensor, valid: torch.Tensor) -> torch.Tensor:
    invalid = ~valid
    if invalid.any():
        x = x.masked_fill(invalid, x.min())
    return x


@torch.compile
def step(x, valid):
    return fill_invalid(x, valid).softmax(-1)


step(torch.randn(2, 4), torch.tensor([[True, False, True, True]] * 2))
