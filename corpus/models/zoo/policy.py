"""An actor-critic policy and its clipped surrogate loss."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.distributions import Categorical


class ActorCritic(nn.Module):
    def __init__(self, observations: int = 6, actions: int = 3, hidden: int = 32) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(observations, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh())
        self.actor = nn.Linear(hidden, actions)
        self.critic = nn.Linear(hidden, 1)

    def forward(self, observation: Tensor) -> tuple[Tensor, Tensor]:
        features = self.body(observation)
        return self.actor(features), self.critic(features).squeeze(-1)


class RunningNorm(nn.Module):
    """Normalises observations by statistics gathered on the way; the first batch sets them."""

    def __init__(self, size: int, momentum: float = 0.05) -> None:
        super().__init__()
        self.momentum = momentum
        self.register_buffer("mean", torch.zeros(size))
        self.register_buffer("var", torch.ones(size))
        self.register_buffer("started", torch.tensor(False))

    def forward(self, x: Tensor) -> Tensor:
        if self.training:
            self.gather(x.detach())
        return (x - self.mean) / (self.var + 1e-5).sqrt()

    def gather(self, x: Tensor) -> None:
        mean, var = x.mean(0), x.var(0)
        if not self.started:
            self.mean.copy_(mean)
            self.var.copy_(var)
            self.started.fill_(True)
        else:
            self.mean.lerp_(mean, self.momentum)
            self.var.lerp_(var, self.momentum)


def advantages(rewards: Tensor, values: Tensor, dones: Tensor, gamma: float = 0.99, lam: float = 0.95) -> Tensor:
    """Generalised advantage estimates over (time, envs); `values` has one more row."""
    out = torch.zeros_like(rewards)
    running = torch.zeros_like(rewards[0])
    for t in range(rewards.shape[0] - 1, -1, -1):
        alive = 1.0 - dones[t]
        delta = rewards[t] + gamma * values[t + 1] * alive - values[t]
        running = delta + gamma * lam * alive * running
        out[t] = running
    return out


class PolicyLoss(nn.Module):
    def __init__(self, policy: ActorCritic, observations: int = 6, clip: float = 0.2, max_kl: float = 0.05) -> None:
        super().__init__()
        self.policy = policy
        self.norm = RunningNorm(observations)
        self.clip = clip
        self.max_kl = max_kl

    def forward(self, batch: dict[str, Tensor]) -> tuple[Tensor, dict[str, Any]]:
        logits, values = self.policy(self.norm(batch["observation"]))
        dist = Categorical(logits=logits)
        log_ratio = dist.log_prob(batch["action"]) - batch["log_prob"]
        ratio = log_ratio.exp()
        advantage = self.normalised(batch["advantage"])
        clipped = ratio.clamp(1 - self.clip, 1 + self.clip)
        surrogate = -torch.min(ratio * advantage, clipped * advantage).mean()
        value_loss = (values - batch["return"]).pow(2).mean()
        loss = surrogate + 0.5 * value_loss - 0.01 * dist.entropy().mean()
        kl = (ratio - 1 - log_ratio).mean().detach()
        if kl > self.max_kl:
            loss = loss * 0.0
        return loss, {"kl": float(kl), "clipped": ((ratio - 1).abs() > self.clip).float().mean()}

    def normalised(self, advantage: Tensor) -> Tensor:
        return (advantage - advantage.mean()) / advantage.std().clamp_min(1e-6)
