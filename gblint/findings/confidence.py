"""From what the interpreter knows of a finding to a probability that Dynamo breaks there when it traces the line.

A logistic model over few features, its weights in `confidence.json` beside this module. They are fitted on recorded
truth and labelled programs by `python -m gblint.devtools.fit`, never by hand.
"""

from __future__ import annotations

import math
from functools import lru_cache
from pathlib import Path

import msgspec

TABLE = Path(__file__).with_name("confidence.json")
MOST_GUARDS = 6  # a further condition on the way tells nothing more
SUREST = 0.98  # certainties closer to 0 or 1 than this say the same
LEAST = 0.001  # a probability is never closer to 0 or 1


class RuleWeight(msgspec.Struct, frozen=True, array_like=True):
    """What a rule's findings were worth beyond its prior: the weight, and the findings and hits it was fitted on."""

    weight: float
    findings: int
    hits: int


class Source(msgspec.Struct, frozen=True):
    """One part of the corpus that the table was fitted on."""

    findings: int
    hits: int


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """Weights of the model, in log odds.

    A finding starts from its rule's prior. certainty: per log odds that the certainty lies below `SUREST`, never
    negative. guard: per unresolved condition on the way from the root, never positive; inline: if one of them is in the
    statement itself, never positive. roots: by kind of root; masked:
    for code behind a break that takes the frame away. rules: by "CODE slug". fitted_on: by part of the corpus.
    """

    about: str = ""
    fitted_on: dict[str, Source] = {}
    intercept: float = 0.0
    certainty: float = 1.0
    guard: float = 0.0
    inline: float = 0.0
    masked: float = 0.0
    roots: dict[str, float] = {}
    rules: dict[str, RuleWeight] = {}


@lru_cache(maxsize=1)
def shipped() -> Table:
    """The table that comes with gblint."""
    return msgspec.json.decode(TABLE.read_bytes(), type=Table)


def probability(
    rule: str,
    prior: float,
    certainty: float,
    guards: int = 0,
    root_kind: str = "explicit",
    masked: bool = False,
    inline: int = 0,
    table: Table | None = None,
) -> float:
    """The confidence of a finding, never 0 or 1.

    rule: "CODE slug"; one that the table lacks is taken at its prior. prior: how often a fully certain finding of the
    rule is thought to be right. certainty: of the values involved. guards: unresolved conditions between root and
    finding. inline: those of them within the statement. root_kind: "explicit", "assumed" or "guessed".
    """
    table = table or shipped()
    known = table.rules.get(rule)
    odds = (
        log_odds(prior)
        + (known.weight if known else 0.0)
        + table.intercept
        + table.certainty * doubt(certainty)
        + table.guard * min(guards, MOST_GUARDS)
        + table.inline * (inline > 0)
        + table.roots.get(root_kind, 0.0)
        + table.masked * masked
    )
    return round(min(1 - LEAST, max(LEAST, 1 / (1 + math.exp(-odds)))), 4)


def doubt(certainty: float) -> float:
    """How far a certainty is below a full one, in log odds: 0 or less."""
    return log_odds(certainty) - log_odds(SUREST)


def log_odds(share: float) -> float:
    """log(p / (1 - p)), with p kept where it is finite."""
    kept = min(SUREST, max(1 - SUREST, share))
    return math.log(kept / (1 - kept))
