# expect: none
"""An option that is a number or a word: with a number the word's way is not taken."""
import torch


def divide(num: torch.Tensor, denom: torch.Tensor, zero_division: float = 0.0) -> torch.Tensor:
    if zero_division == "warn" and torch.any(denom == 0):
        print("zero in a denominator")
    filled = torch.full_like(num, 0.0 if zero_division == "warn" else zero_division)
    return torch.where(denom != 0, num / denom, filled)


@torch.compile
def accuracy(preds: torch.Tensor, target: torch.Tensor, zero_division: float = 0.0) -> torch.Tensor:
    right = (preds == target).float()
    return divide(right.sum(), torch.ones_like(right).sum(), zero_division)


print("checksum", accuracy(torch.tensor([1, 0, 1]), torch.tensor([1, 1, 1]), 1.0).item() > 0.5)
