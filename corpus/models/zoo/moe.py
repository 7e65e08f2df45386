"""A mixture-of-experts feed-forward layer with top-k routing."""

from __future__ import annotations

import logging
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

logger = logging.getLogger(__name__)


@dataclass
class RouterOutput:
    experts: Tensor
    weights: Tensor
    balance_loss: Tensor


class Expert(nn.Module):
    def __init__(self, dim: int, hidden: int) -> None:
        super().__init__()
        self.gate = nn.Linear(dim, hidden, bias=False)
        self.up = nn.Linear(dim, hidden, bias=False)
        self.down = nn.Linear(hidden, dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.down(F.silu(self.gate(x)) * self.up(x))


class TopKRouter(nn.Module):
    def __init__(self, dim: int, n_experts: int, top_k: int, jitter: float = 0.01) -> None:
        super().__init__()
        self.n_experts = n_experts
        self.top_k = top_k
        self.jitter = jitter
        self.proj = nn.Linear(dim, n_experts, bias=False)

    def forward(self, tokens: Tensor) -> RouterOutput:
        if self.training and self.jitter > 0:
            tokens = tokens * torch.empty_like(tokens).uniform_(1 - self.jitter, 1 + self.jitter)
        probs = self.proj(tokens).float().softmax(dim=-1)
        weights, experts = probs.topk(self.top_k, dim=-1)
        weights = weights / weights.sum(dim=-1, keepdim=True)
        return RouterOutput(experts, weights.to(tokens.dtype), self.balance(probs, experts))

    def balance(self, probs: Tensor, experts: Tensor) -> Tensor:
        """Switch-style auxiliary loss: share of tokens times share of probability, per expert."""
        share = F.one_hot(experts, self.n_experts).float().mean(dim=(0, 1))
        return self.n_experts * (share * probs.mean(dim=0)).sum()


class MoELayer(nn.Module):
    def __init__(self, dim: int, hidden: int, n_experts: int = 4, top_k: int = 2) -> None:
        super().__init__()
        self.router = TopKRouter(dim, n_experts, top_k)
        self.experts = nn.ModuleList(Expert(dim, hidden) for _ in range(n_experts))
        self.balance_loss: Tensor | None = None

    def forward(self, x: Tensor) -> Tensor:
        tokens = x.reshape(-1, x.shape[-1])
        routed = self.router(tokens)
        self.balance_loss = routed.balance_loss
        if self.training:
            self.report(routed)
        return self.dispatch(tokens, routed).view_as(x)

    def dispatch(self, tokens: Tensor, routed: RouterOutput) -> Tensor:
        out = torch.zeros_like(tokens)
        for index, expert in enumerate(self.experts):
            token, slot = torch.where(routed.experts == index)
            if token.numel() == 0:
                continue
            weight = routed.weights[token, slot].unsqueeze(-1)
            out.index_add_(0, token, expert(tokens[token]) * weight)
        return out

    def report(self, routed: RouterOutput) -> None:
        load = torch.zeros(len(self.experts), device=routed.experts.device)
        load.scatter_add_(0, routed.experts.flatten(), torch.ones_like(routed.weights).flatten().float())
        peak = (load / load.mean()).max()
        logger.debug("peak expert load %s, balance loss %s", peak, routed.balance_loss)
