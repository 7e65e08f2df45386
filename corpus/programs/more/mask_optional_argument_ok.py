# expect: none
from typing import Optional

import torch


def fill_invalid(x: torch.Tensor, valid: Optional[torch.Tensor]) -> torch.Tensor:
    if valid is None or valid.dim() == 0:
        return x
    return x.masked_fill(~valid, torch.finfo(x.dtype).min)


@torch.compile
def step(x, valid=None, causal=True):
    if causal and x.size(-1) == x.size(-2):
        x = x.tril()
    return fill_invalid(x, valid).softmax(-1)


step(torch.randn(4, 4), torch.tensor([True, False, True, True]))
step(torch.randn(4, 4))
