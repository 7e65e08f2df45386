"""What a check could not see: why silence is no proof that there is nothing. Each is counted and said; with `--strict`
each makes the check fail."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gblint.checking import GAP, Outcome, Problem
from gblint.report.style import plural, printable

_NAMED = 5  # of many names


class Gap(NamedTuple):
    """name: of its kind; amount: how many there are; text: a sentence without its full stop."""

    name: str
    amount: int
    text: str


def gaps(outcome: Outcome) -> list[Gap]:
    """The gaps of a check, none twice. What settings leave out by choice (rules, confidence, paths) is no gap."""
    return [gap for gap in _gaps(outcome) if gap.amount]


def _gaps(outcome: Outcome) -> Iterator[Gap]:
    stats = outcome.stats
    missing = sorted(set(stats.unfound))
    listed = ", ".join(map(printable, missing[:_NAMED])) + (", …" if len(missing) > _NAMED else "")
    yield Gap(
        "unfound-import",
        len(missing),
        f"{plural(len(missing), 'imported package was', 'imported packages were')} not found ({listed}): calls into "
        f"{'it' if len(missing) == 1 else 'them'} are not followed; `python` in the settings says where libraries are",
    )
    yield Gap(
        "unresolved-call",
        stats.unresolved,
        f"{plural(stats.unresolved, 'called name')} could not be resolved: breaks behind them can be missing",
    )
    yield Gap(
        "out-of-budget",
        stats.cut,
        f"{plural(stats.cut, 'function')} ran out of budget: breaks behind them can be missing",
    )
    yield Gap(
        "internal-error", len(stats.internal), f"{plural(len(stats.internal), 'internal error')}: a bug of gblint"
    )
    assumed = stats.assumed_roots
    yield Gap(
        "assumed-root",
        assumed,
        f"{plural(assumed, 'root is', 'roots are')} assumed to be compiled; name yours in `roots`",
    )
    yield Gap(
        "twin",
        stats.twins,
        f"{plural(stats.twins, 'file repeats', 'files repeat')} classes of others and had no roots taken from "
        f"{'it' if stats.twins == 1 else 'them'} (--roots modules takes all)",
    )
    yield Gap(
        "stale-baseline",
        outcome.stale,
        f"{plural(outcome.stale, 'entry of the baseline is', 'entries of the baseline are')} no longer needed: "
        "--update-baseline drops such",
    )
    for name, text in outcome.doubts:
        yield Gap(name, 1, text)


def failing(outcome: Outcome) -> list[Problem]:
    """The gaps as what `--strict` reports."""
    place = next((str(s.source or s.root) for s in outcome.scopes), ".")
    return [Problem(GAP, gap.name, gap.text, place, 1) for gap in gaps(outcome)]
