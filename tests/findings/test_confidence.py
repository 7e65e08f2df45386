"""The shipped table of confidence: it loads quickly, knows the rules, and gives probabilities that make sense."""

from __future__ import annotations

import itertools
import math
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gblint.config import MIN_CONFIDENCE
from gblint.findings.confidence import LEAST, TABLE, RuleWeight, Table, probability, shipped
from gblint.registry import load_rules

PRIORS = {f"{rule.meta.code} {rule.meta.slug}": rule.meta.confidence for rule in load_rules()}
WELL_PROVEN = {rule for rule, known in shipped().rules.items() if known.findings >= 20 and known.hits == known.findings}
MOSTLY_WRONG = {rule for rule, known in shipped().rules.items() if known.hits < known.findings / 2}
KINDS = ("explicit", "assumed", "guessed")
SHARES = st.floats(0, 1)


def test_the_table_says_what_it_was_fitted_on() -> None:
    table = shipped()
    assert {"catalogue", "field", "modeling", "libraries"} <= set(table.fitted_on)
    assert all(0 < source.hits <= source.findings for source in table.fitted_on.values())
    assert sum(known.findings for known in table.rules.values()) == sum(s.findings for s in table.fitted_on.values())
    assert sum(known.hits for known in table.rules.values()) == sum(s.hits for s in table.fitted_on.values())


def test_rules_in_the_table_exist() -> None:
    gone = set(shipped().rules) - set(PRIORS)
    assert not gone, "fit the table again: python -m gblint.devtools.fit"


def test_the_table_is_small_and_read_in_no_time() -> None:
    def seconds() -> float:
        shipped.cache_clear()
        start = time.perf_counter()
        shipped()
        return time.perf_counter() - start

    assert min(seconds() for _ in range(20)) < 0.002
    assert TABLE.stat().st_size < 20_000


def test_the_table_is_installed_with_the_package() -> None:
    import tomli

    project = tomli.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf8"))
    assert TABLE.name in project["tool"]["setuptools"]["package-data"]["gblint.findings"]


@given(st.sampled_from(sorted(PRIORS)), SHARES, SHARES, st.integers(0, 50), st.sampled_from(KINDS), st.booleans())
def test_surer_values_and_fewer_guards_never_lower_it(
    rule: str, one: float, other: float, guards: int, kind: str, masked: bool
) -> None:
    low, high = sorted((one, other))
    less = probability(rule, PRIORS[rule], low, guards, kind, masked)
    more = probability(rule, PRIORS[rule], high, guards, kind, masked)
    assert LEAST <= less <= more <= 1 - LEAST
    assert more <= probability(rule, PRIORS[rule], high, max(0, guards - 1), kind, masked)


def test_certainty_counts() -> None:
    assert shipped().certainty > 0
    rule = next(iter(PRIORS))
    confidences = [probability(rule, PRIORS[rule], certainty) for certainty in (0.1, 0.4, 0.6, 0.8, 0.9)]
    assert all(a < b for a, b in itertools.pairwise(confidences))


def test_a_certain_finding_of_a_well_proven_rule_is_near_certain() -> None:
    assert WELL_PROVEN
    for rule in WELL_PROVEN:
        assert probability(rule, PRIORS[rule], 1.0) >= 0.95


@pytest.mark.parametrize("rule", sorted(set(PRIORS) - MOSTLY_WRONG))
def test_a_certain_finding_near_an_explicit_root_is_shown(rule: str) -> None:
    assert probability(rule, PRIORS[rule], 1.0, 2) >= MIN_CONFIDENCE


def test_a_rule_the_table_lacks_is_taken_at_its_prior() -> None:
    assert probability("GB0000 new", 0.8, 1.0, table=Table()) == pytest.approx(0.8)
    table = Table(intercept=1.0, rules={"GB0001 known": RuleWeight(-1.0, 9, 3)})
    assert probability("GB0000 new", 0.8, 1.0, table=table) == pytest.approx(1 / (1 + math.exp(-1) / 4), abs=1e-4)
    assert probability("GB0001 known", 0.8, 1.0, table=table) == pytest.approx(0.8)
