"""Verdicts of a project's own runs: kept, merged, forgotten, and what they make of confidences."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gblint.checking import Options, check
from gblint.cli.calibrate import held_out
from gblint.findings.local import FILE, Verdict, load, localized, merge, save, shifts
from gblint.findings.reliability import bins, brier, calibration_error
from gblint.verify.keeping import keep
from gblint.verify.matching import CONFIRMED, MASKED, MISSED, REFUTED, Judged
from tests.conftest import Recorded, Write, finding

CORPUS = Path(__file__).parents[2] / "corpus"
RULE = "GB0170 branch-on-tensor"


def verdict(text: str = "a", hit: bool = True, confidence: float = 0.8, **more: str) -> Verdict:
    fields = {"rule": RULE, "file": "m.py", "function": "f", **more}
    return Verdict(text=text, confidence=confidence, verdict="confirmed" if hit else "refuted", **fields)


def several(hits: int, misses: int, confidence: float = 0.8, **more: str) -> list[Verdict]:
    outcomes = [True] * hits + [False] * misses
    return [verdict(str(n), hit, confidence, **more) for n, hit in enumerate(outcomes)]


# ------------------------------------------------------------------------------------------------------- confidence


def test_without_verdicts_nothing_moves() -> None:
    assert shifts([]).moved(RULE, 0.8123) == 0.8123


def test_refuted_rules_sink_and_confirmed_ones_rise() -> None:
    assert shifts(several(0, 10)).moved(RULE, 0.8) < 0.4
    assert shifts(several(10, 0)).moved(RULE, 0.8) > 0.88
    assert shifts(several(8, 2)).moved(RULE, 0.8) == pytest.approx(0.8, abs=0.01)


def test_one_verdict_says_little_and_many_say_all() -> None:
    assert 0.6 < shifts(several(0, 1)).moved(RULE, 0.8) < 0.8
    assert shifts(several(0, 500)).moved(RULE, 0.8) < 0.03


def test_a_rule_without_verdicts_follows_the_project_a_little() -> None:
    by = shifts(several(0, 10))
    assert by.moved(RULE, 0.8) < by.moved("GB0059 print-call", 0.8) < 0.8


def test_missed_breaks_move_nothing() -> None:
    assert (
        shifts([Verdict(rule="GB0059", file="m", function="f", text="t", confidence=1.0, verdict="missed")]).project
        == 0
    )


@given(
    st.lists(st.tuples(st.floats(0, 1), st.booleans()), max_size=40), st.floats(0.001, 0.999), st.floats(0.001, 0.999)
)
def test_confidences_stay_probabilities_in_order(pairs: list[tuple[float, bool]], low: float, high: float) -> None:
    by = shifts(verdict(str(n), hit, p) for n, (p, hit) in enumerate(pairs))
    low, high = sorted((low, high))
    assert 0 < by.moved(RULE, low) <= by.moved(RULE, high) < 1


def test_twenty_runs_of_a_project_with_habits_of_its_own() -> None:
    """A project simulated from the corpus: of its findings, those of some rules never come true, since what it does is
    not what the corpus does. Twenty runs judge a part of them; the others are what confidence is measured on."""
    outcome = check(
        Options(paths=(str(CORPUS / "programs" / "catalogue"),), isolated=True, min_confidence=0.0, no_cache=True)
    )
    rules = sorted({f"{f.code} {f.name}" for f in outcome.findings})
    chooser = random.Random(4)
    strange = set(chooser.sample(rules, len(rules) // 3))
    places = [(f"{f.code} {f.name}", f.confidence, f"{f.filename}:{f.row}:{f.column}") for f in outcome.findings]
    everything = [verdict(text, rule not in strange, p, rule=rule) for rule, p, text in places]
    chooser.shuffle(everything)
    half = len(everything) // 2
    seen, unseen = everything[:half], everything[half:]
    kept: dict[tuple[str, ...], Verdict] = {}
    for run in range(20):
        merge(kept, chooser.sample(seen[: half * (run + 1) // 20], half * (run + 1) // 20))
    by = shifts(kept.values())
    hits = [v.verdict == "confirmed" for v in unseen]
    before = [v.confidence for v in unseen]
    after = [by.moved(v.rule, v.confidence) for v in unseen]
    assert calibration_error(after, hits) < 0.7 * calibration_error(before, hits)
    assert brier(after, hits) < 0.8 * brier(before, hits)


def test_held_out_confidence_does_not_know_its_own_verdict() -> None:
    judged = [*several(5, 0), verdict("odd", False)]
    assert held_out(judged)[-1] > 0.8


def test_reliability() -> None:
    assert [(b.low, b.count, b.mean, b.share) for b in bins([0.05, 1.0, 0.92], [False, True, False])] == [
        (0.0, 1, 0.05, 0.0),
        (0.9, 2, 0.96, 0.5),
    ]
    assert calibration_error([0.5, 0.5], [True, False]) == 0
    assert calibration_error([0.9], [False]) == pytest.approx(0.9)
    assert brier([0.9, 0.2], [True, True]) == pytest.approx((0.01 + 0.64) / 2)
    assert (brier([], []), calibration_error([], [])) == (0, 0)


# ------------------------------------------------------------------------------------------------------------- file


def test_saved_in_order_and_read_again(tmp_path: Path) -> None:
    file = tmp_path / FILE
    found = {v.key: v for v in several(2, 2)}
    save(file, dict(reversed(found.items())))
    assert load(file) == found
    assert file.read_text().splitlines() == sorted(file.read_text().splitlines())
    assert list(tmp_path.iterdir()) == [file]


def test_a_break_outweighs_a_run_without_it() -> None:
    into: dict[tuple[str, ...], Verdict] = {}
    for hit in (False, True, False):
        merge(into, [verdict(hit=hit, torch="2.13")])
    assert [v.verdict for v in into.values()] == ["confirmed"]
    merge(into, [verdict(hit=False, torch="2.14")])
    assert [v.verdict for v in into.values()] == ["refuted"]


def test_what_is_no_verdict_is_left_out(tmp_path: Path) -> None:
    file = tmp_path / FILE
    save(file, {verdict().key: verdict()})
    line = file.read_bytes()
    file.write_bytes(b"<<<<<<< mine\n" + line + b"=======\n\xff\x00\n{}\n" + line[:30] + b"\n\n[1]\n" + line)
    assert list(load(file).values()) == [verdict()]
    assert load(tmp_path / "absent") == {}


def test_verdicts_of_a_run_are_kept_by_project(project: Write) -> None:
    folder = project({"a/m.py": "x = 1\n", "b/m.py": "x = 2\n"})
    judged = [
        Judged(finding(folder / "a/m.py", 1), CONFIRMED),
        Judged(finding(folder / "a/m.py", 1, code="GB0124"), REFUTED),
        Judged(finding(folder / "a/m.py", 1, code="GB0036"), MASKED),
        Judged(finding(folder / "b/m.py", 1), MISSED),
    ]
    kept = keep(judged, [folder / "a", folder / "b"], "2.13.0+cpu")
    assert {path.parent.name: n for path, n in kept.items()} == {"a": 2, "b": 1}
    found = sorted((v.rule, v.file, v.verdict, v.torch) for v in load(folder / "a" / FILE).values())
    assert found == [
        ("GB0124 branch-on-tensor", "m.py", "refuted", "2.13"),
        ("GB0170 branch-on-tensor", "m.py", "confirmed", "2.13"),
    ]
    assert keep(judged, [folder / "a"], "2.13.0+cpu") == {folder / "a" / FILE: 2}
    assert len(load(folder / "a" / FILE)) == 2


# --------------------------------------------------------------------------------------------------------- commands


def test_checks_use_the_verdicts_of_the_project(project: Write, analyzer: Recorded) -> None:
    folder = project({"gblint.toml": "", "model.py": "x\n"})
    analyzer.findings = [finding(folder / "model.py", 1, confidence=0.8)]
    options = Options(paths=(".",), no_cache=True)
    assert [f.confidence for f in check(options).findings] == [0.8]
    save(folder / FILE, {v.key: v for v in several(0, 30)})
    outcome = check(options)
    assert (outcome.findings, outcome.low) == ([], 1)  # it has sunk below the minimum confidence
    assert [f.confidence for f in check(Options(paths=(".",), no_cache=True, local=False)).findings] == [0.8]
    assert [f.confidence for f in check(Options(paths=(".",), no_cache=True, isolated=True)).findings] == [0.8]
    assert analyzer.findings[0].confidence == 0.8
    assert localized(analyzer.findings, folder)[0].confidence < 0.3


def test_calibrate(project: Write, gblint: Callable) -> None:
    folder = project({"gblint.toml": "", "pkg/model.py": "x\n"})
    assert "`gblint verify` makes some" in gblint("calibrate").out
    save(folder / FILE, {v.key: v for v in several(1, 19)})
    out = gblint("calibrate", "pkg").out
    assert f"20 verdicts and 0 missed breaks in {FILE}" in out
    lines = [line.split() for line in out.splitlines()]
    shipped = next(line for line in lines if line[:1] == ["shipped"] and len(line) == 5)
    moved = next(line for line in lines if line[:2] == ["with", "verdicts"] and len(line) == 6)
    assert shipped[1:3] == ["20", "1"]
    assert float(moved[-1]) < 0.3 * float(shipped[-1])
    assert lines[-1][2:5] == ["20", "1", "0.80"]
    assert ["0.8–0.9", "20", "0.800", "0.050"] in lines


def test_calibrate_merges_and_forgets(project: Write, gblint: Callable, tmp_path: Path) -> None:
    folder = project({"gblint.toml": ""})
    other = tmp_path / "theirs.jsonl"
    save(other, {v.key: v for v in several(2, 1)})
    assert "3 verdicts" in gblint("calibrate", "--merge", other).out
    assert len(load(folder / FILE)) == 3
    assert "forgot 3 verdicts" in gblint("calibrate", "--reset").out
    assert not (folder / FILE).exists()
    assert "no verdicts" in gblint("calibrate", "--reset").out
    assert gblint("calibrate", "--sources", ".").code == 2


def test_calibrate_by_a_corpus(project: Write, gblint: Callable, tmp_path: Path) -> None:
    program = (
        "# expect: GB0059 @ 6\nimport torch\n\n@torch.compile\ndef f(x):\n"
        "    print(x)\n    return x\n\nf(torch.ones(2))\n"
    )
    folder = project({"corpus/programs/own/a.py": program, "corpus/programs/own/b.py": program})
    table = tmp_path / "table.json"
    result = gblint("calibrate", "--corpus", folder / "corpus", "-o", table)
    assert result.code == 0
    rows = [line.split()[:4] for line in result.out.splitlines() if line.startswith("own")]
    assert rows[0] == ["own", "reported", "2", "2"]
    assert json.loads(table.read_text())["rules"]["GB0059 print-call"][1:] == [2, 2]
