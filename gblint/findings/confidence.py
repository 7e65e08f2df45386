"""From what the interpreter knows of a finding to a probability that Dynamo breaks there."""

from __future__ import annotations

ROOT_WEIGHT = {"explicit": 1.0, "assumed": 0.97, "guessed": 0.8}
GUARD = 0.97  # each unresolved condition on the way


def probability(code: str, prior: float, certainty: float, guards: int, root_kind: str) -> float:
    """The confidence of a finding, 0..1.

    prior: how often a fully certain finding of the rule is right. certainty: of the values involved.
    guards: unresolved conditions between root and finding. root_kind: "explicit", "assumed" or "guessed".
    """
    return round(prior * certainty * GUARD ** min(guards, 12) * ROOT_WEIGHT[root_kind], 4)
