"""A one-stage detector: a small convolutional backbone, dense predictions, suppression of duplicates."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn


class Detections(NamedTuple):
    boxes: Tensor
    scores: Tensor
    labels: Tensor


class ConvBlock(nn.Module):
    def __init__(self, inner: int, outer: int, stride: int = 2) -> None:
        super().__init__()
        self.conv = nn.Conv2d(inner, outer, 3, stride=stride, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(outer)
        self.act = nn.SiLU(inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        return self.act(self.norm(self.conv(x)))


class Detector(nn.Module):
    def __init__(self, classes: int = 3, width: int = 8, stride: int = 8) -> None:
        super().__init__()
        self.classes = classes
        self.stride = stride
        self.backbone = nn.Sequential(ConvBlock(3, width), ConvBlock(width, 2 * width), ConvBlock(2 * width, 4 * width))
        self.head = nn.Conv2d(4 * width, 4 + classes, 1)

    def forward(self, images: Tensor) -> tuple[Tensor, Tensor]:
        """Boxes (batch, cells, 4) as corners in pixels, and class scores (batch, cells, classes)."""
        raw = self.head(self.backbone(images))
        height, width = raw.shape[-2:]
        raw = raw.flatten(2).transpose(1, 2)
        centres = cell_centres(height, width, self.stride, raw.device)
        size = raw[..., 2:4].clamp(-4, 4).exp() * self.stride
        middle = centres + raw[..., :2].tanh() * self.stride
        boxes = torch.cat((middle - size / 2, middle + size / 2), dim=-1)
        return boxes, raw[..., 4:].sigmoid()


def cell_centres(height: int, width: int, stride: int, device: torch.device) -> Tensor:
    ys, xs = torch.meshgrid(
        torch.arange(height, device=device), torch.arange(width, device=device), indexing="ij"
    )
    return (torch.stack((xs, ys), dim=-1).reshape(1, -1, 2) + 0.5) * stride


def box_iou(a: Tensor, b: Tensor) -> Tensor:
    low = torch.maximum(a[:, None, :2], b[None, :, :2])
    high = torch.minimum(a[:, None, 2:], b[None, :, 2:])
    overlap = (high - low).clamp_min(0).prod(-1)
    area_a = (a[:, 2:] - a[:, :2]).prod(-1)
    area_b = (b[:, 2:] - b[:, :2]).prod(-1)
    return overlap / (area_a[:, None] + area_b[None] - overlap).clamp_min(1e-6)


def suppress(boxes: Tensor, scores: Tensor, threshold: float) -> Tensor:
    """Greedy non-maximum suppression; indices of the boxes that stay, best first."""
    order = scores.argsort(descending=True)
    overlaps = box_iou(boxes, boxes)
    keep = []
    while order.numel() > 0:
        best = order[0]
        keep.append(best)
        rest = order[1:]
        order = rest[overlaps[best, rest] <= threshold]
    return torch.stack(keep) if keep else order


class PostProcess(nn.Module):
    """Turns dense predictions into one `Detections` per image."""

    def __init__(self, min_score: float = 0.4, max_overlap: float = 0.5, limit: int = 20) -> None:
        super().__init__()
        self.min_score = min_score
        self.max_overlap = max_overlap
        self.limit = limit

    def forward(self, boxes: Tensor, scores: Tensor, sizes: Tensor) -> list[Detections]:
        best, labels = scores.max(dim=-1)
        boxes = self.clip(boxes, sizes)
        found = []
        for index in range(boxes.shape[0]):
            found.append(self.image(boxes[index], best[index], labels[index]))
        return found

    def clip(self, boxes: Tensor, sizes: Tensor) -> Tensor:
        bound = sizes.flip(-1).repeat(1, 2)[:, None].to(boxes.dtype)
        return torch.minimum(boxes.clamp_min(0), bound)

    def image(self, boxes: Tensor, scores: Tensor, labels: Tensor) -> Detections:
        sure = scores > self.min_score
        boxes, scores, labels = boxes[sure], scores[sure], labels[sure]
        keep = suppress(boxes, scores, self.max_overlap)[: self.limit]
        return Detections(boxes[keep], scores[keep], labels[keep])
