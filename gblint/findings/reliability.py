"""How well probabilities hold: Brier score, calibration error, and what happened in ten bins."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

BINS = 10


class Bin(msgspec.Struct, frozen=True):
    """Findings whose confidence lies in [low, high): how many, their mean confidence, the share that came true."""

    low: float
    high: float
    count: int
    mean: float
    share: float


def brier(confidences: Sequence[float], hits: Sequence[bool]) -> float:
    """Mean squared distance between confidence and what happened; 0 for no findings."""
    return sum((p - hit) ** 2 for p, hit in zip(confidences, hits, strict=True)) / max(1, len(hits))


def bins(confidences: Sequence[float], hits: Sequence[bool]) -> list[Bin]:
    """The bins that hold findings, of ten of equal width."""
    return list(_bins(list(zip(confidences, hits, strict=True))))


def _bins(pairs: list[tuple[float, bool]]) -> Iterator[Bin]:
    for number in range(BINS):
        mine = [(p, hit) for p, hit in pairs if min(int(p * BINS), BINS - 1) == number]
        if mine:
            count = len(mine)
            mean, share = sum(p for p, _ in mine) / count, sum(hit for _, hit in mine) / count
            yield Bin(number / BINS, (number + 1) / BINS, count, mean, share)


def calibration_error(confidences: Sequence[float], hits: Sequence[bool]) -> float:
    """How far confidence and share lie apart, weighted by findings, over the bins; 0 for no findings."""
    found = bins(confidences, hits)
    return sum(b.count * abs(b.mean - b.share) for b in found) / max(1, len(hits))
