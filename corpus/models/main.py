# expect: GB0033 @ zoo/detection.py:73
# expect: GB0036 @ zoo/detection.py:100
# expect: GB0007 @ zoo/diffusion.py:82
# expect: GB0124 @ zoo/diffusion.py:91
# expect: GB0007 @ zoo/language.py:62
# expect: GB0170 @ zoo/language.py:77
# expect: GB0036 @ zoo/moe.py:73
# expect: GB0291 @ zoo/moe.py:84
# expect: GB0170 @ zoo/policy.py:41
# expect: GB0170 @ zoo/policy.py:81
# expect: GB0124 @ zoo/policy.py:83
# also: GB7000 @ zoo/detection.py:73
# also: GB7000 @ zoo/detection.py:100
# also: GB7000 @ zoo/moe.py:73
# also: GB7000 @ zoo/moe.py:84
"""Trains each model for a few steps on made-up data, compiled."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from zoo.detection import Detections, Detector, PostProcess
from zoo.diffusion import AveragedWeights, Denoiser, DiffusionLoss, NoiseSchedule
from zoo.language import LanguageConfig, LanguageModel, sample
from zoo.policy import ActorCritic, PolicyLoss, advantages


def optimizer_for(module: nn.Module, rate: float = 1e-3) -> torch.optim.Optimizer:
    return torch.optim.AdamW(module.parameters(), lr=rate)


def train_language_model(steps: int = 2) -> LanguageModel:
    config = LanguageConfig()
    model = LanguageModel(config)
    compiled = torch.compile(model)
    optimizer = optimizer_for(model)
    for _ in range(steps):
        tokens = torch.randint(1, config.vocab, (2, 12))
        tokens[0, -3:] = config.pad_id
        loss = compiled(tokens, labels=tokens)["loss"]
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    model.eval()
    sample(compiled, torch.randint(1, config.vocab, (1, config.max_length)), steps=2)
    return model


def detect(images: Tensor) -> list[Detections]:
    detector = Detector().eval()
    predict = torch.compile(detector, fullgraph=True)
    finish = torch.compile(PostProcess())
    with torch.no_grad():
        boxes, scores = predict(images)
        sizes = torch.tensor([images.shape[-2:]] * len(images))
        return finish(boxes, scores, sizes)


def train_diffusion(steps: int = 2) -> nn.Module:
    loss_of = DiffusionLoss(Denoiser(), NoiseSchedule())
    average = AveragedWeights(loss_of.model)
    optimizer = optimizer_for(loss_of.model)
    step = torch.compile(loss_of, dynamic=False)
    for _ in range(steps):
        step(torch.randn(4, 3, 16, 16), torch.randint(0, 4, (4,))).backward()
        optimizer.step()
        optimizer.zero_grad()
        average.update(loss_of.model)
    return average.model


def train_policy(updates: int = 2) -> dict[str, object]:
    loss_of = PolicyLoss(ActorCritic())
    optimizer = optimizer_for(loss_of)
    compiled = torch.compile(loss_of)
    estimate = torch.compile(advantages)
    info: dict[str, object] = {}
    for _ in range(updates):
        advantage = estimate(torch.randn(5, 8), torch.randn(6, 8), torch.zeros(5, 8))
        batch = {
            "observation": torch.randn(40, 6),
            "action": torch.randint(0, 3, (40,)),
            "log_prob": torch.full((40,), -1.1),
            "advantage": advantage.flatten(),
            "return": torch.randn(40),
        }
        loss, info = compiled(batch)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    return info


def main() -> None:
    torch.manual_seed(0)
    train_language_model()
    found = detect(torch.rand(2, 3, 32, 32))
    train_diffusion()
    info = train_policy()
    print(f"{sum(len(d.boxes) for d in found)} boxes, kl {info['kl']:.4f}")


if __name__ == "__main__":
    main()
