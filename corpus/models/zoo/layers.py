"""Building blocks shared by the models."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class RMSNorm(nn.Module):
    def __init__(self, dim: int, eps: float = 1e-6) -> None:
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x: Tensor) -> Tensor:
        scale = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)
        return x * scale * self.weight


class RotaryEmbedding(nn.Module):
    """Rotary position embedding; the tables grow when a longer sequence comes by."""

    def __init__(self, head_dim: int, max_positions: int = 64, base: float = 10_000.0) -> None:
        super().__init__()
        self.base = base
        self.head_dim = head_dim
        self._build(max_positions)

    def _build(self, positions: int) -> None:
        exponent = torch.arange(0, self.head_dim, 2).float() / self.head_dim
        angles = torch.outer(torch.arange(positions).float(), self.base**-exponent)
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)

    def forward(self, q: Tensor, k: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
        if positions.shape[-1] > self.cos.shape[0]:
            self._build(2 * positions.shape[-1])
        cos = self.cos[positions].unsqueeze(1)
        sin = self.sin[positions].unsqueeze(1)
        return rotate(q, cos, sin), rotate(k, cos, sin)


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack((even * cos - odd * sin, even * sin + odd * cos), dim=-1).flatten(-2)


class Attention(nn.Module):
    def __init__(self, dim: int, heads: int, dropout: float = 0.0) -> None:
        super().__init__()
        if dim % heads:
            raise ValueError(f"{heads} heads do not divide {dim}")
        self.heads = heads
        self.head_dim = dim // heads
        self.dropout = dropout
        self.qkv = nn.Linear(dim, 3 * dim, bias=False)
        self.out = nn.Linear(dim, dim, bias=False)
        self.rotary = RotaryEmbedding(self.head_dim)

    def forward(self, x: Tensor, positions: Tensor, padding: Tensor | None = None) -> Tensor:
        batch, length, _ = x.shape
        q, k, v = (
            part.view(batch, length, self.heads, self.head_dim).transpose(1, 2) for part in self.qkv(x).chunk(3, dim=-1)
        )
        q, k = self.rotary(q, k, positions)
        dropout = self.dropout if self.training else 0.0
        if padding is None:
            mixed = F.scaled_dot_product_attention(q, k, v, dropout_p=dropout, is_causal=True)
        else:
            causal = torch.ones(length, length, dtype=torch.bool, device=x.device).tril()
            mask = causal & ~padding[:, None, None, :]
            mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=dropout)
        return self.out(mixed.transpose(1, 2).reshape(batch, length, -1))


def sinusoidal(steps: Tensor, dim: int) -> Tensor:
    """Embedding of diffusion steps, (batch,) to (batch, dim)."""
    half = dim // 2
    frequencies = torch.exp(-math.log(10_000.0) * torch.arange(half, device=steps.device) / half)
    angles = steps.float()[:, None] * frequencies[None]
    return torch.cat((angles.sin(), angles.cos()), dim=-1)
