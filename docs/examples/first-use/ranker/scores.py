"""What is done to scores before they are compared."""

import torch


def clipped(scores: torch.Tensor, limit: float) -> torch.Tensor:
    """Scores within the limit; all are scaled down if one is above it."""
    if scores.abs().max() > limit:
        scores = scores * (limit / scores.abs().max())
    return scores
