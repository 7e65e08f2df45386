# expect: GB0036 @ 19
# note: a docstring says that an argument is a boolean mask; indices beside it are none
import torch
from torch import nn


class Embedder(nn.Module):
    def forward(self, x: torch.Tensor, drop: torch.Tensor, order: torch.Tensor, use_order: bool = True):
        """Drops some rows and reorders the rest.

        Args:
            x (`torch.Tensor` of shape `(rows, width)`): The rows.
            drop (`torch.Tensor` of shape `(rows,)`):
                Boolean mask of the rows that are set to zero.
            order (`torch.Tensor`): Where each row comes from; no boolean mask.
            use_order (`bool`): Boolean switch.
        """
        y = x * 1
        y[drop] *= 0.0
        return y[order] if use_order else y


if __name__ == "__main__":
    drop = torch.tensor([True, False, True])
    y = torch.compile(Embedder(), backend="eager")(torch.ones(3, 4), drop, torch.tensor([2, 0, 1]))
    print("checksum", y.sum().item())
