"""A decoder-only language model whose every second block is a mixture of experts."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .layers import Attention, RMSNorm
from .moe import MoELayer


@dataclass
class LanguageConfig:
    vocab: int = 97
    dim: int = 32
    heads: int = 4
    layers: int = 2
    max_length: int = 48
    pad_id: int = 0
    moe_every: int = 2
    balance_weight: float = 0.01
    tie_embeddings: bool = True
    extra: dict[str, int] = field(default_factory=dict)


class DenseMLP(nn.Sequential):
    def __init__(self, dim: int) -> None:
        super().__init__(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))


class Block(nn.Module):
    def __init__(self, config: LanguageConfig, index: int) -> None:
        super().__init__()
        self.norm_in = RMSNorm(config.dim)
        self.attention = Attention(config.dim, config.heads)
        self.norm_out = RMSNorm(config.dim)
        sparse = (index + 1) % config.moe_every == 0
        self.mlp = MoELayer(config.dim, 2 * config.dim) if sparse else DenseMLP(config.dim)

    def forward(self, x: Tensor, positions: Tensor, padding: Tensor | None) -> Tensor:
        x = x + self.attention(self.norm_in(x), positions, padding)
        return x + self.mlp(self.norm_out(x))


class LanguageModel(nn.Module):
    def __init__(self, config: LanguageConfig) -> None:
        super().__init__()
        self.config = config
        self.embed = nn.Embedding(config.vocab, config.dim, padding_idx=config.pad_id)
        self.blocks = nn.ModuleList(Block(config, index) for index in range(config.layers))
        self.norm = RMSNorm(config.dim)
        self.head = nn.Linear(config.dim, config.vocab, bias=False)
        if config.tie_embeddings:
            self.head.weight = self.embed.weight

    def forward(self, tokens: Tensor, labels: Tensor | None = None) -> dict[str, Tensor]:
        if tokens.shape[1] > self.config.max_length:
            warnings.warn(f"cut to {self.config.max_length} tokens", stacklevel=2)
            tokens = tokens[:, -self.config.max_length :]
        padding = self.padding_of(tokens)
        positions = position_ids(tokens, padding)
        x = self.embed(tokens)
        for block in self.blocks:
            x = block(x, positions, padding)
        logits = self.head(self.norm(x))
        output = {"logits": logits}
        if labels is not None:
            output["loss"] = self.loss(logits, labels) + self.balance_loss()
        return output

    def padding_of(self, tokens: Tensor) -> Tensor | None:
        padding = tokens == self.config.pad_id
        return padding if padding.any() else None

    def balance_loss(self) -> Tensor | float:
        losses = [b.mlp.balance_loss for b in self.blocks if isinstance(b.mlp, MoELayer)]
        return self.config.balance_weight * sum(losses) if losses else 0.0

    def loss(self, logits: Tensor, labels: Tensor) -> Tensor:
        shifted = logits[:, :-1].reshape(-1, self.config.vocab)
        return F.cross_entropy(shifted, labels[:, 1:].reshape(-1), ignore_index=self.config.pad_id)


def position_ids(tokens: Tensor, padding: Tensor | None) -> Tensor:
    if padding is None:
        return torch.arange(tokens.shape[1], device=tokens.device).expand_as(tokens)
    return ((~padding).long().cumsum(-1) - 1).clamp_min(0)


@torch.no_grad()
def sample(model: nn.Module, prompt: Tensor, steps: int, temperature: float = 1.0, eos_id: int = 1) -> Tensor:
    """Autoregressive sampling; runs outside the compiled region and calls into it at every step."""
    tokens = prompt
    for _ in range(steps):
        logits = model(tokens)["logits"][:, -1] / max(temperature, 1e-4)
        chosen = torch.multinomial(logits.softmax(-1), 1)
        tokens = torch.cat((tokens, chosen), dim=1)
        if (chosen == eos_id).all():
            break
    return tokens
