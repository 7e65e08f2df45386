"""`python -m gblint.devtools.fit` fits the confidence of findings and writes `gblint/findings/confidence.json`.

It judges findings by the corpus, as `python -m gblint.devtools.score` does and with the same options: in libraries
those on traced lines, in programs those that nothing masks. A small logistic model then learns how often findings of a
rule, a certainty, a kind of root hit a break. Weights are shrunk towards 0, so that a rule seen a few times stays near
its prior. Programs are written to show a break and so are easier than other code: how much easier is fitted too, and
left out of the table. What is printed as "fitted" is cross-validated: no finding is judged by a model that saw its
folder or program; as "library out", by none that saw anything of its library. With --check nothing is written, and the
exit code is 1 if the calibration error of either is above 0.05 on recorded truth.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import click
import msgspec
import numpy as np
from numpy.typing import NDArray

from gblint.devtools.accuracy import Predicted, program_verdicts, score_truth, truth_verdicts
from gblint.devtools.options import corpus_options
from gblint.devtools.programs import collections_in, main_file
from gblint.devtools.score import Runner, judged_libraries, judged_programs
from gblint.devtools.sources import CACHE, SETS, find_sources, requirements
from gblint.devtools.truth import Truth
from gblint.findings.confidence import MOST_GUARDS, TABLE, RuleWeight, Source, Table, doubt, log_odds, probability
from gblint.registry import load_rules

Array = NDArray[np.float64]

ROOT_KINDS = ("assumed", "guessed")  # as against explicit
SHARED = ("intercept", "certainty", "guard", "inline", "masked", *ROOT_KINDS, "program")
# Strength of the pull towards 0, as 1 / variance: weights are expected within ±1.
# Cross-validation is flat around these.
PULL_RULE, PULL_SHARED = 1.0, 1.0
PULL_PROGRAM = 2.0  # stronger, or how sure explicit roots are would be lost: they are seen in programs alone
PULL_CERTAINTY, CERTAINTY = 4.0, 1.0  # towards taking the interpreter's certainties at their word
FOLDS = 10
BINS = 10
MOST_ERROR = 0.05  # calibration error on recorded truth that a table was not fitted on
UNKNOWN_PRIOR = 0.9  # of a rule that is no longer there
THRESHOLDS = (0.0, 0.2, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7)
FIGURES = ("recall_lines", "precision", "recall_lines_id", "precision_id")


class Example(msgspec.Struct, frozen=True):
    """A judged finding. part: of the corpus; group: what is left out together with it in cross-validation."""

    finding: Predicted
    hit: bool
    part: str
    group: str
    prior: float

    @property
    def rule(self) -> str:
        return f"{self.finding.code} {self.finding.name}"

    @property
    def library(self) -> str:
        """The library that it is in, or else its program."""
        return self.group.partition("/")[0] if self.part in SETS else self.group


class Collected(msgspec.Struct):
    """What the corpus says. libraries: findings and truth by set."""

    examples: list[Example] = []
    libraries: dict[str, tuple[list[Predicted], Truth]] = {}


# ------------------------------------------------------------------------------------------------------- collecting


def collect(corpus: Path, folders: Sequence[Path], runner: Runner, of_programs: Runner | None = None) -> Collected:
    """Judge the findings of every part of the corpus; sets of libraries that are in no folder are left out.

    of_programs: gives the findings in programs, where that is another runner.
    """
    priors = {f"{rule.meta.code} {rule.meta.slug}": rule.meta.confidence for rule in load_rules()}
    collected = Collected()

    def add(part: str, finding: Predicted, hit: bool, group: str) -> None:
        prior = priors.get(f"{finding.code} {finding.name}", UNKNOWN_PRIOR)
        collected.examples.append(Example(finding, hit, part, f"{part} {group}", prior))

    for part, collection in collections_in(corpus).items():
        with judged_programs(collection, of_programs or runner) as (findings, programs):
            for program in programs:
                for finding, hit in program_verdicts(findings, [program]):
                    add(part, finding, hit, main_file(program).name if program.is_file() else program.name)
    for part in SETS:
        sources = find_sources([*folders, CACHE / part], requirements(corpus, part))
        if sources is None:
            continue
        findings, truth = collected.libraries[part] = judged_libraries(part, corpus, sources, runner)
        for finding, hit in truth_verdicts(findings, truth):
            add(part, finding, hit, _folder(truth.place(finding.file)))
    return collected


def _folder(file: str) -> str:
    """Models copy from each other mostly within a folder, and a small library has few folders."""
    return file.rpartition("/")[0]


# ---------------------------------------------------------------------------------------------------------- fitting


def fit(examples: Sequence[Example]) -> Table:
    """The table that explains the examples best, weights being pulled towards 0.

    Whatever they say, certainty never speaks against a finding and guards never for it.
    """
    rules = sorted({example.rule for example in examples})
    names = [*SHARED, *rules]
    features = _features(examples, rules)
    offset = np.array([log_odds(example.prior) for example in examples])
    hits = np.array([float(example.hit) for example in examples])
    special = {"certainty": PULL_CERTAINTY, "program": PULL_PROGRAM}
    pull = np.array([special.get(name, PULL_SHARED) for name in SHARED] + [PULL_RULE] * len(rules))
    target = np.array([CERTAINTY if name == "certainty" else 0.0 for name in names])
    used = np.ones(len(names), dtype=bool)
    weights = _maximum(features, offset, hits, pull, target, used)
    for name, sign in (("certainty", 1), ("guard", -1), ("inline", -1)):
        used[names.index(name)] &= weights[names.index(name)] * sign >= 0
    if not used.all():
        weights = _maximum(features, offset, hits, pull, target, used)
    return _table(examples, dict(zip(names, weights.tolist(), strict=True)), rules)


def _features(examples: Sequence[Example], rules: Sequence[str]) -> Array:
    """A row for each example, with a column for each name in SHARED and then for each rule."""
    place = {rule: len(SHARED) + index for index, rule in enumerate(rules)}
    features = np.zeros((len(examples), len(SHARED) + len(rules)))
    for row, example in zip(features, examples, strict=True):
        finding = example.finding
        kinds = [finding.root_kind == kind for kind in ROOT_KINDS]
        guards = min(finding.guards, MOST_GUARDS)
        own = guards, finding.inline > 0, finding.masked
        row[: len(SHARED)] = 1.0, doubt(finding.certainty), *own, *kinds, example.part not in SETS
        row[place[example.rule]] = 1.0
    return features


def _maximum(features: Array, offset: Array, hits: Array, pull: Array, target: Array, used: NDArray[np.bool_]) -> Array:
    """Newton's method on the penalised likelihood; columns that are not used get weight 0."""
    x, pull, target = features[:, used], pull[used], target[used]

    def loss(at: Array) -> float:
        odds = offset + x @ at
        return float(np.sum(np.logaddexp(0, odds) - hits * odds) + np.sum(pull * (at - target) ** 2) / 2)

    found = target.copy()
    for _ in range(100):
        p = 1 / (1 + np.exp(-(offset + x @ found)))
        slope = x.T @ (hits - p) - pull * (found - target)
        step = np.linalg.solve((x.T * (p * (1 - p))) @ x + np.diag(pull), slope)
        while loss(found + step) > loss(found) and np.abs(step).max() > 1e-9:
            step /= 2  # a full step may overshoot where nearly all is certain
        found = found + step
        if np.abs(step).max() < 1e-8:
            break
    weights = np.zeros(len(used))
    weights[used] = found
    return weights


def _table(examples: Sequence[Example], weights: dict[str, float], rules: Sequence[str]) -> Table:
    def counts(chosen: list[Example]) -> tuple[int, int]:
        return len(chosen), sum(example.hit for example in chosen)

    rounded = {name: round(weight, 3) + 0.0 for name, weight in weights.items()}
    parts = dict.fromkeys(example.part for example in examples)
    return Table(
        about="Written by `python -m gblint.devtools.fit`; a rule has its weight, findings and hits.",
        fitted_on={part: Source(*counts([e for e in examples if e.part == part])) for part in parts},
        intercept=rounded["intercept"],
        certainty=rounded["certainty"],
        guard=rounded["guard"],
        inline=rounded["inline"],
        masked=rounded["masked"],
        roots={kind: rounded[kind] for kind in ROOT_KINDS},
        rules={rule: RuleWeight(rounded[rule], *counts([e for e in examples if e.rule == rule])) for rule in rules},
    )


def text(table: Table) -> str:
    """The table as JSON with one rule a line, so that a change shows where it is."""
    plain = msgspec.to_builtins(table)
    rules = ",\n".join(f"  {json.dumps(rule)}: {json.dumps(fitted)}" for rule, fitted in plain.pop("rules").items())
    rest = "".join(f" {json.dumps(key)}: {json.dumps(value)},\n" for key, value in plain.items())
    return f'{{\n{rest} "rules": {{\n{rules}\n }}\n}}\n'


# ------------------------------------------------------------------------------------------------------- evaluating


def confidence(example: Example, table: Table) -> float:
    f = example.finding
    return probability(example.rule, example.prior, f.certainty, f.guards, f.root_kind, f.masked, f.inline, table)


def cross_validated(examples: Sequence[Example]) -> list[float]:
    """The confidence of each example by a table fitted on other groups than its own."""
    groups = sorted({example.group for example in examples})
    random.Random(0).shuffle(groups)
    fold = {group: number % FOLDS for number, group in enumerate(groups)}
    tables = [fit([e for e in examples if fold[e.group] != number]) for number in range(min(FOLDS, len(groups)))]
    return [confidence(example, tables[fold[example.group]]) for example in examples]


def libraries_left_out(examples: Sequence[Example]) -> list[float]:
    """The confidence of each example by a table fitted without its library; in programs, the cross-validated one."""
    known = cross_validated(examples)
    libraries = sorted({example.library for example in examples if example.part in SETS})
    tables = {library: fit([e for e in examples if e.library != library]) for library in libraries}
    return [
        confidence(example, tables[example.library]) if example.library in tables else by_folds
        for example, by_folds in zip(examples, known, strict=True)
    ]


def brier(confidences: Iterable[float], hits: Iterable[bool]) -> float:
    """Mean squared distance between confidence and what happened."""
    return float(np.mean([(p - hit) ** 2 for p, hit in zip(confidences, hits, strict=True)]))


def calibration_error(confidences: Sequence[float], hits: Sequence[bool]) -> float:
    """How far confidence and share of hits lie apart, in ten bins of equal width, weighted by findings."""
    p, hit = np.array(confidences), np.array(hits, dtype=float)
    bins = np.minimum((p * BINS).astype(int), BINS - 1)
    return float(sum(abs(p[bins == b].sum() - hit[bins == b].sum()) for b in range(BINS)) / len(p))


def average_precision(confidences: Sequence[float], hits: Sequence[bool]) -> float:
    """Precision averaged over the hits, in order of confidence; equal confidences are one step."""
    p, hit = np.array(confidences), np.array(hits, dtype=float)
    at_least = [hit[p >= level].mean() for level in p[hit > 0]]
    return float(np.mean(at_least)) if at_least else 0.0


# --------------------------------------------------------------------------------------------------------- printing


def report(collected: Collected) -> Iterator[str]:
    """Lines that say how good confidences are: those reported, those of the priors alone, and fitted ones."""
    examples = collected.examples
    fitted = cross_validated(examples)
    kinds = {
        "reported": [example.finding.confidence for example in examples],
        "priors": [confidence(example, Table()) for example in examples],
        "fitted": fitted,
        "library out": libraries_left_out(examples),
    }
    yield f"{'part':<12}{'confidence':<12}{'findings':>8}{'hits':>7}{'Brier':>8}{'calibration':>13}{'AP':>8}"
    for part in ("all", "truth", *dict.fromkeys(example.part for example in examples)):
        chosen = _chosen(examples, part)
        hits = [examples[n].hit for n in chosen]
        for kind, confidences in kinds.items():
            mine = [confidences[n] for n in chosen]
            if mine:
                counts = f"{part:<12}{kind:<12}{len(chosen):8}{sum(hits):7}{brier(mine, hits):8.4f}"
                yield f"{counts}{calibration_error(mine, hits):13.4f}{average_precision(mine, hits):8.4f}"
    truth = _chosen(examples, "truth")
    for kind in ("fitted", "library out"):
        yield ""
        yield f"recorded truth, {kind}"
        yield from _bins([kinds[kind][n] for n in truth], [examples[n].hit for n in truth])
    yield ""
    yield from _trade_off(collected, fitted)


def _chosen(examples: Sequence[Example], part: str) -> list[int]:
    """The places of a part's examples; "truth" are all of recorded truth."""
    return [n for n, e in enumerate(examples) if part in ("all", e.part) or (part == "truth" and e.part in SETS)]


def errors(examples: Sequence[Example]) -> dict[str, float]:
    """Calibration error on recorded truth by how it was left out of the fit."""
    truth = _chosen(examples, "truth")
    hits = [examples[n].hit for n in truth]
    kinds = {"fitted": cross_validated(examples), "library out": libraries_left_out(examples)}
    return {kind: calibration_error([found[n] for n in truth], hits) for kind, found in kinds.items()}


def _bins(confidences: Sequence[float], hits: Sequence[bool]) -> Iterator[str]:
    yield f"{'confidence':<12}{'findings':>8}{'mean':>8}{'hit':>8}"
    for number in range(BINS):
        low, high = number / BINS, (number + 1) / BINS
        mine = [(p, hit) for p, hit in zip(confidences, hits, strict=True) if low <= p < high]
        if mine:
            mean, share = np.mean(mine, axis=0)
            yield f"{low:.1f}-{high:.1f}{'':<5}{len(mine):8}{mean:8.3f}{share:8.3f}"


def _trade_off(collected: Collected, fitted: Sequence[float]) -> Iterator[str]:
    """What each minimum confidence would give, by the cross-validated confidences."""
    by_finding = {id(e.finding): p for e, p in zip(collected.examples, fitted, strict=True)}
    yield f"{'part':<12}{'at least':>8}" + "".join(f"{name:>16}" for name in FIGURES)
    for part, (findings, truth) in collected.libraries.items():
        judged = [msgspec.structs.replace(f, confidence=by_finding[id(f)]) for f in findings if id(f) in by_finding]
        for threshold in THRESHOLDS:
            figures = score_truth(judged, truth, threshold).figures
            yield f"{part:<12}{threshold:8.2f}" + "".join(f"{figures[name] or 0:16.3f}" for name in FIGURES)
        yield f"{part:<12}average precision {score_truth(judged, truth).figures['average_precision']}"
    yield f"{'programs':<12}{'at least':>8}{'hits lost':>16}{'false':>16}"
    programs = [(p, e.hit) for e, p in zip(collected.examples, fitted, strict=True) if e.part not in SETS]
    for threshold in THRESHOLDS:
        lost = sum(hit and p < threshold for p, hit in programs)
        false = sum(not hit and p >= threshold for p, hit in programs)
        yield f"{'programs':<12}{threshold:8.2f}{lost:16}{false:16}"


# ---------------------------------------------------------------------------------------------------------- command


def check_complete(collected: Collected) -> None:
    """Raises click.ClickException if the sources of a set of libraries were not to be found."""
    if missing := [part for part in SETS if part not in collected.libraries]:
        raise click.ClickException(
            f"the sources of {' and '.join(missing)} are in none of the folders: give them with --sources, "
            "or fetch them with `python -m gblint.devtools.sources`"
        )


@click.command(help=__doc__)
@corpus_options("Fit on the findings of this JSON report, made with --min-confidence 0")
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), default=TABLE, show_default=True)
@click.option("--check", "checking", is_flag=True, help="Write nothing; exit with 1 if confidences do not hold.")
def main(
    folders: tuple[Path, ...], reports: tuple[Path, ...], corpus: Path, output: Path, checking: bool, jobs: int
) -> None:
    collected = collect(corpus, folders, Runner(reports, jobs))
    check_complete(collected)
    if not collected.examples:
        raise click.ClickException("no finding is in the corpus: the reports seem to be about other files")
    for line in report(collected):
        click.echo(line)
    if checking:
        high = {kind: error for kind, error in errors(collected.examples).items() if error > MOST_ERROR}
        if high:
            raise click.ClickException(f"calibration error above {MOST_ERROR}: {high}")
        return
    output.write_text(text(fit(collected.examples)), encoding="utf8")
    click.echo(f"{output}: written")


if __name__ == "__main__":
    main()
