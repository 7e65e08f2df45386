"""The model."""

import logging

import torch
from torch import nn

from ranker.scores import clipped

logger = logging.getLogger(__name__)


class Ranker(nn.Module):
    """Scores items for a user."""

    def __init__(self, items: int, width: int = 32) -> None:
        super().__init__()
        self.items = nn.Embedding(items, width)
        self.user = nn.Linear(width, width)

    def forward(self, user: torch.Tensor) -> torch.Tensor:
        scores = self.user(user) @ self.items.weight.T
        logger.debug("scored %d items", scores.shape[-1])
        return clipped(scores, limit=10.0).softmax(-1)
