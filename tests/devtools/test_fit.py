"""Fitting confidence: known weights are found again, figures mean what they say, the command does the whole thing."""

from __future__ import annotations

import json
import random
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner, Result

from gblint.devtools import fit
from gblint.devtools.accuracy import Predicted
from gblint.devtools.fit import Example, average_precision, brier, calibration_error, confidence, cross_validated
from gblint.devtools.score import Runner
from gblint.findings.confidence import RuleWeight, Table

TRUE = Table(
    intercept=0.4, certainty=0.8, guard=-0.3, masked=-1.0, roots={"assumed": 0.0, "guessed": -1.0},
    rules={"GB0001 good": RuleWeight(1.0, 0, 0), "GB0002 bad": RuleWeight(-1.5, 0, 0)},
)  # fmt: skip


def example(dice: random.Random, table: Table, number: int) -> Example:
    code, name = dice.choice([("GB0001", "good"), ("GB0002", "bad"), ("GB0003", "plain")])
    finding = Predicted(
        f"lib/{number % 40}.py", number, number, code, 0.5, dice.random() < 0.1, name,
        dice.choice([0.3, 0.6, 0.9, 1.0]), dice.randrange(5), dice.choice(["explicit", "assumed", "guessed"]),
    )  # fmt: skip
    blank = Example(finding, False, "libraries", finding.file, 0.8)
    return msgspec.structs.replace(blank, hit=dice.random() < confidence(blank, table))


def examples(count: int, table: Table = TRUE) -> list[Example]:
    dice = random.Random(7)
    return [example(dice, table, number) for number in range(count)]


def test_known_weights_are_found_again() -> None:
    found = fit.fit(examples(6000))
    assert found.certainty == pytest.approx(TRUE.certainty, abs=0.15)
    assert found.guard == pytest.approx(TRUE.guard, abs=0.1)
    assert found.masked == pytest.approx(TRUE.masked, abs=0.35)
    assert found.roots["guessed"] - found.roots["assumed"] == pytest.approx(-1.0, abs=0.25)
    weights = {rule: known.weight for rule, known in found.rules.items()}
    assert weights["GB0001 good"] - weights["GB0002 bad"] == pytest.approx(2.5, abs=0.3)


def test_counts_are_kept() -> None:
    data = examples(300)
    found = fit.fit(data)
    assert found.fitted_on["libraries"].findings == 300
    assert found.fitted_on["libraries"].hits == sum(e.hit for e in data)
    assert sum(known.findings for known in found.rules.values()) == 300


def test_a_rule_seen_once_stays_near_its_prior() -> None:
    data = examples(400)
    rare = msgspec.structs.replace(data[0].finding, code="GB0009", name="rare")
    miss = msgspec.structs.replace(data[0], finding=rare, hit=False)
    once, often = (fit.fit([*data, *[miss] * times]).rules["GB0009 rare"].weight for times in (1, 50))
    assert often < 3 * once < 0


@pytest.mark.parametrize(("certainty", "guard"), [(-1.5, 0.0), (0.8, 1.5)])
def test_monotone_whatever_the_examples_say(certainty: float, guard: float) -> None:
    backwards = msgspec.structs.replace(TRUE, certainty=certainty, guard=guard)
    found = fit.fit(examples(1500, backwards))
    assert found.certainty >= 0
    assert found.guard <= 0


def test_how_easy_programs_are_is_left_out() -> None:
    hard = [msgspec.structs.replace(e, hit=n % 2 == 0) for n, e in enumerate(examples(400))]
    easy = [msgspec.structs.replace(e, hit=True) for e in examples(400)]
    programs = [msgspec.structs.replace(e, part="catalogue") for e in easy]

    def mean(table: Table) -> float:
        return sum(confidence(e, table) for e in hard) / len(hard)

    assert 0.5 <= mean(fit.fit([*hard, *programs])) < mean(fit.fit([*hard, *easy])) - 0.05


def test_cross_validated_confidence_is_calibrated() -> None:
    data = examples(3000)
    hits = [e.hit for e in data]
    fitted = cross_validated(data)
    priors = [confidence(e, Table()) for e in data]
    assert calibration_error(fitted, hits) < 0.05 < calibration_error(priors, hits)
    assert brier(fitted, hits) < brier(priors, hits)
    assert average_precision(fitted, hits) > average_precision(priors, hits)


def test_no_library_judges_itself() -> None:
    """One whose findings of a rule never hit is taken for better than it is by what the others say."""
    dice = random.Random(3)
    data = [
        msgspec.structs.replace(e, group=f"libraries lib{n % 5}/{n % 20}", hit=n % 5 > 0 and dice.random() < 0.9)
        for n, e in enumerate(examples(600))
    ]
    odd = [n for n, e in enumerate(data) if e.library == "libraries lib0"]
    left_out, folds = fit.libraries_left_out(data), cross_validated(data)
    assert len({e.library for e in data}) == 5
    assert sum(left_out[n] for n in odd) / len(odd) > 0.85 > sum(folds[n] for n in odd) / len(odd)
    found = fit.errors(data)
    assert found["library out"] > fit.MOST_ERROR
    assert found["library out"] > found["fitted"]


def test_figures() -> None:
    assert brier([1.0, 0.5], [True, False]) == pytest.approx(0.125)
    assert calibration_error([0.75, 0.75, 0.75, 0.75], [True, True, True, False]) == pytest.approx(0)
    assert calibration_error([0.95, 0.05], [False, False]) == pytest.approx(0.5)
    assert average_precision([0.9, 0.8, 0.7], [True, False, True]) == pytest.approx((1 + 2 / 3) / 2)
    assert average_precision([0.5, 0.5], [True, False]) == pytest.approx(0.5)


def test_the_text_is_read_as_the_same_table_and_has_one_rule_a_line() -> None:
    table = fit.fit(examples(100))
    text = fit.text(table)
    assert msgspec.json.decode(text, type=Table) == table
    assert sum('"GB000' in line for line in text.splitlines()) == len(table.rules)


# --------------------------------------------------------------------------------------------------------- command


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    folder = tmp_path / "corpus"
    programs = folder / "programs" / "small"
    programs.mkdir(parents=True)
    (programs / "breaks.py").write_text("# expect: GB0059 @ 3\nimport torch\nprint(1)\n")
    (folder / "truth").mkdir()
    for part in ("modeling", "libraries"):
        lines = [
            json.dumps({
                "file": f"lib{number}/a.py", "traced": "1-9",
                "sites": [{"row": 5, "function": "f", "ids": ["GB0059"], "types": ["t"], "text": str(number)}],
            })
            for number in range(4)
        ]  # fmt: skip
        (folder / "truth" / f"{part}.jsonl").write_text("\n".join(lines) + "\n")
        (folder / "truth" / f"{part}-requirements.txt").write_text("my-lib==1.0\n")
    return folder


@pytest.fixture
def site_packages(tmp_path: Path) -> Path:
    folder = tmp_path / "env" / "site-packages"
    (folder / "My_Lib-1.0.dist-info").mkdir(parents=True)
    return folder


def run(corpus: Path, *arguments: str) -> Result:
    return CliRunner().invoke(fit.main, ["--corpus", str(corpus), *arguments])


def shaped(file: Path, row: int) -> dict[str, object]:
    return {
        "filename": str(file), "location": {"row": row}, "code": "GB0059", "name": "print-call", "certainty": 0.9,
        "guards": 1, "root_kind": "assumed", "consequence": "splits-graph", "confidence": 0.8,
    }  # fmt: skip


def test_the_command_fits_on_reports_and_prints_its_figures(corpus: Path, site_packages: Path, tmp_path: Path) -> None:
    program = corpus / "programs" / "small" / "breaks.py"
    findings = [shaped(program, 3), shaped(program, 2)]
    findings += [shaped(site_packages / f"lib{n}" / "a.py", row) for n in range(4) for row in (5, 8, 50)]
    (tmp_path / "one.json").write_text(json.dumps(findings[:3]))
    (tmp_path / "two.json").write_text(json.dumps(findings[3:]))
    output = tmp_path / "table.json"
    reports = ["--findings", str(tmp_path / "one.json"), "--findings", str(tmp_path / "two.json")]
    result = run(corpus, *reports, "--sources", str(site_packages), "-o", str(output))
    assert result.exit_code == 0, result.output
    table = msgspec.json.decode(output.read_bytes(), type=Table)
    assert {part: (s.findings, s.hits) for part, s in table.fitted_on.items()} == {
        "small": (2, 1), "modeling": (8, 4), "libraries": (8, 4),
    }  # fmt: skip
    assert table.rules["GB0059 print-call"].findings == 18
    lines = result.output.splitlines()
    assert any(line.split()[:4] == ["all", "fitted", "18", "9"] for line in lines)
    assert any(line.split()[:5] == ["truth", "library", "out", "16", "8"] for line in lines)
    assert any(line.split()[:4] == ["modeling", "0.00", "1.000", "0.500"] for line in lines)
    output.unlink()
    checked = run(corpus, *reports, "--sources", str(site_packages), "-o", str(output), "--check")
    error = fit.errors(
        fit.collect(corpus, [site_packages], Runner([tmp_path / "one.json", tmp_path / "two.json"], 1)).examples
    )
    assert checked.exit_code == int(max(error.values()) > fit.MOST_ERROR)
    assert not output.exists()


def test_missing_sources_are_said(corpus: Path, tmp_path: Path) -> None:
    output = tmp_path / "table.json"
    result = run(corpus, "--sources", str(tmp_path), "-o", str(output))
    assert result.exit_code == 1
    assert "the sources of modeling and libraries are in none of the folders" in result.output
    assert not output.exists()


def test_findings_elsewhere_are_said(corpus: Path, site_packages: Path, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    report.write_text("[]")
    result = run(corpus, "--findings", str(report), "--sources", str(site_packages), "-o", str(tmp_path / "t.json"))
    assert result.exit_code == 1
    assert "no finding is in the corpus" in result.output
