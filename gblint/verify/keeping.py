"""Verdicts of a run, kept for the project."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from gblint.findings.local import FILE, Verdict, load, merge, save
from gblint.verify.matching import CONFIRMED, MISSED, REFUTED, Judged, real
from gblint.verify.rows import rows_of

KEPT = (CONFIRMED, REFUTED, MISSED)


def keep(judged: Sequence[Judged], folders: Iterable[Path], torch: str) -> dict[Path, int]:
    """Add verdicts to the files of the projects they are about; how many each got. Raises OSError."""
    kept: dict[Path, int] = {}
    for folder in folders:
        new = list(_verdicts(judged, folder, torch))
        if new:
            path = folder / FILE
            known = load(path)
            merge(known, new)
            save(path, known)
            kept[path] = len(new)
    return kept


def _verdicts(judged: Sequence[Judged], folder: Path, torch: str) -> Iterator[Verdict]:
    top = os.path.join(real(str(folder)), "")
    release = ".".join(torch.split("+")[0].split(".")[:2])
    for item in judged:
        finding, path = item.finding, real(item.finding.filename)
        if item.verdict in KEPT and path.startswith(top):
            yield Verdict(
                rule=item.rule if item.verdict != MISSED else finding.code,
                file=Path(path[len(top) :]).as_posix(),
                function=finding.function.rpartition(".")[2],
                text=_digest(path, finding.row),
                confidence=finding.confidence,
                verdict=item.verdict,
                torch=release,
            )


def _digest(filename: str, row: int) -> str:
    """Of the statement, so that a verdict is about the same text wherever it has moved to."""
    rows = rows_of(filename)
    first, last = rows.statement(row)
    text = "\n".join(line.strip() for line in rows.lines[first - 1 : last])
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:12]
