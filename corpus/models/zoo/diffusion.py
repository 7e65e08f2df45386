"""A denoising diffusion model on small images, with the training loss and an averaged copy of the weights."""

from __future__ import annotations

import copy
import random

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .layers import sinusoidal


class ResidualBlock(nn.Module):
    def __init__(self, channels: int, time_dim: int) -> None:
        super().__init__()
        self.norm = nn.GroupNorm(4, channels)
        self.conv = nn.Conv2d(channels, channels, 3, padding=1)
        self.modulate = nn.Linear(time_dim, 2 * channels)

    def forward(self, x: Tensor, time: Tensor) -> Tensor:
        scale, shift = self.modulate(time)[..., None, None].chunk(2, dim=1)
        return x + self.conv(F.silu(self.norm(x) * (1 + scale) + shift))


class Denoiser(nn.Module):
    """Predicts the noise in a noisy image, given the step and (perhaps) a class."""

    def __init__(self, channels: int = 16, classes: int = 4, depth: int = 2, time_dim: int = 32) -> None:
        super().__init__()
        self.time_dim = time_dim
        self.classes = classes
        self.embed_class = nn.Embedding(classes + 1, time_dim)
        self.embed_time = nn.Sequential(nn.Linear(time_dim, time_dim), nn.SiLU(), nn.Linear(time_dim, time_dim))
        self.stem = nn.Conv2d(3, channels, 3, padding=1)
        self.blocks = nn.ModuleList(ResidualBlock(channels, time_dim) for _ in range(depth))
        self.out = nn.Conv2d(channels, 3, 3, padding=1)

    def forward(self, noisy: Tensor, steps: Tensor, labels: Tensor | None = None) -> Tensor:
        if labels is None:
            labels = torch.full_like(steps, self.classes)
        time = self.embed_time(sinusoidal(steps, self.time_dim)) + self.embed_class(labels)
        x = self.stem(noisy)
        for block in self.blocks:
            x = block(x, time)
        return self.out(x)


class NoiseSchedule(nn.Module):
    """Cosine schedule; `weights` are signal-to-noise weights of the loss, clipped at `gamma`."""

    def __init__(self, steps: int = 100, gamma: float = 5.0) -> None:
        super().__init__()
        self.steps = steps
        self.gamma = gamma
        angle = (torch.linspace(0, 1, steps + 1) + 0.008) / 1.008 * torch.pi / 2
        self.register_buffer("signal", (angle.cos() ** 2)[1:].clamp(1e-4, 0.9999))

    def add_noise(self, clean: Tensor, noise: Tensor, steps: Tensor) -> Tensor:
        signal = self.signal[steps][:, None, None, None]
        return signal.sqrt() * clean + (1 - signal).sqrt() * noise

    def weights(self, steps: Tensor) -> Tensor:
        ratio = self.signal[steps] / (1 - self.signal[steps])
        return ratio.clamp_max(self.gamma) / ratio


class DiffusionLoss(nn.Module):
    def __init__(self, model: Denoiser, schedule: NoiseSchedule, drop_labels: float = 0.1) -> None:
        super().__init__()
        self.model = model
        self.schedule = schedule
        self.drop_labels = drop_labels
        self.register_buffer("seen", torch.zeros((), dtype=torch.long))
        self.history: list[float] = []

    def forward(self, clean: Tensor, labels: Tensor) -> Tensor:
        steps = torch.randint(0, self.schedule.steps, (clean.shape[0],), device=clean.device)
        noise = torch.randn_like(clean)
        noisy = self.schedule.add_noise(clean, noise, steps)
        given = None if random.random() < self.drop_labels else labels
        predicted = self.model(noisy, steps, given)
        per_image = F.mse_loss(predicted, noise, reduction="none").mean(dim=(1, 2, 3))
        loss = (per_image * self.schedule.weights(steps)).mean()
        self.seen += clean.shape[0]
        self.track(loss)
        return loss

    def track(self, loss: Tensor) -> None:
        self.history.append(loss.detach().item())
        if len(self.history) > 100:
            self.history.pop(0)


class AveragedWeights:
    """Exponential moving average of a model's weights, updated between compiled steps."""

    def __init__(self, model: nn.Module, decay: float = 0.99) -> None:
        self.decay = decay
        self.model = copy.deepcopy(model).eval().requires_grad_(False)

    @torch.no_grad()
    def update(self, model: nn.Module) -> None:
        for average, current in zip(self.model.parameters(), model.parameters()):
            average.lerp_(current, 1 - self.decay)
