"""`python -m gblint.devtools.score` scores the analyzer on the corpus: labelled programs and recorded truth.

The parts `torch-X.Y` are all programs, with `--target-torch X.Y`, by what they did under that release.
Library sources are taken from the first folder given with --sources, else `.cache/sources/SET`, that
holds the pinned versions (`python -m gblint.devtools.sources` fetches them); without one, that part is
skipped with a message. With --findings, the findings in JSON reports of `gblint check` are scored
instead of running the analyzer. Recall and precision are of findings at the default confidence,
average precision is over all of them (so a JSON report is best made with `--min-confidence 0`).
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import click
import msgspec
import tomli
from rich.console import Console
from rich.table import Table

from gblint.checking import Options, check
from gblint.config import MIN_CONFIDENCE
from gblint.devtools.accuracy import Predicted, Score, Tally, from_finding, from_json, score_programs, score_truth
from gblint.devtools.labels import Labels
from gblint.devtools.options import corpus_options
from gblint.devtools.programs import LABELLED, collections_in, labels_of, programs_in
from gblint.devtools.releases import load_releases
from gblint.devtools.sources import CACHE, SETS, find_sources, requirements
from gblint.devtools.truth import Truth, library_of, load_truth

ROOTS = {"modeling": "auto", "libraries": "all"}  # the libraries set was measured on functions of any kind
FIGURES_OF_PROGRAMS = ("recall", "precision", "recall_id", "precision_id", "exact")
FIGURES_OF_TRUTH = (
    "recall", "recall_lines", "precision", "recall_lines_id", "precision_id", "average_precision", "executed_precision",
)  # fmt: skip


class Runner:
    """Gives the findings in paths: from the analyzer, or those of JSON reports."""

    def __init__(self, reports: Sequence[Path], jobs: int, target_torch: str | None = None) -> None:
        self.jobs = jobs
        self._target_torch = target_torch
        given = [from_json(f) for report in reports for f in json.loads(report.read_text("utf8"))]
        self._given = given if reports else None

    @property
    def has_report(self) -> bool:
        return self._given is not None

    def findings(self, paths: Iterable[Path], roots: str = "auto") -> list[Predicted]:
        if self._given is not None:
            return self._given
        options = Options(
            paths=tuple(str(path) for path in paths),
            isolated=True,
            no_cache=True,
            min_confidence=0.0,
            roots=(roots, ()),
            jobs=self.jobs,
            target_torch=self._target_torch,
        )
        return [from_finding(finding) for finding in check(options).findings]


@contextmanager
def judged_programs(collection: Path, runner: Runner) -> Iterator[tuple[list[Predicted], list[Path]]]:
    """The findings in one collection and its programs: a copy, so that it is not taken for a part of the project
    around it."""
    if runner.has_report:
        yield runner.findings([]), list(programs_in(collection))
        return
    with tempfile.TemporaryDirectory(prefix="gblint-score-") as scratch:
        copy = Path(scratch).resolve() / collection.name
        shutil.copytree(collection, copy, ignore=shutil.ignore_patterns("__pycache__"))
        yield runner.findings([copy]), list(programs_in(copy))


def programs_score(collection: Path, runner: Runner) -> Score:
    """Score one collection of programs."""
    with judged_programs(collection, runner) as (findings, programs):
        return score_programs(_sure(findings), programs)


def release_score(corpus: Path, minor: str, jobs: int) -> Score:
    """Score `--target-torch` on the programs of all collections, by what they did under that release.

    Programs that are newer than the record are left out.
    """
    runner, release = Runner((), jobs, minor), load_releases(corpus).get(minor)
    found: list[Predicted] = []
    truth: dict[Path, Labels] = {}
    with ExitStack() as copies:
        for name, collection in collections_in(corpus).items():
            findings, programs = copies.enter_context(judged_programs(collection, runner))
            found += findings
            truth |= release.labels(name, programs) if release else {p: labels_of(p) for p in programs}
        return score_programs(_sure(found), list(truth), truth)


def scored_releases(corpus: Path) -> dict[str, str]:
    """Each release whose programs' behaviour is known, by the name of the part: "torch-2.9"."""
    minors = sorted({*load_releases(corpus), LABELLED}, key=lambda minor: int(minor.rpartition(".")[2]))
    return {f"torch-{minor}": minor for minor in minors}


def _sure(findings: Iterable[Predicted]) -> Iterator[Predicted]:
    return (finding for finding in findings if finding.confidence >= MIN_CONFIDENCE)


def judged_libraries(name: str, corpus: Path, sources: Path, runner: Runner) -> tuple[list[Predicted], Truth]:
    """The findings in the libraries of one truth set, of which `sources` is the site-packages folder, and the truth."""
    truth = load_truth(corpus / "truth" / f"{name}.jsonl")
    packages = sorted({library_of(file) for file in truth.traced} & {entry.name for entry in sources.iterdir()})
    return runner.findings((sources / package for package in packages), ROOTS[name]), truth


def truth_score(name: str, corpus: Path, sources: Path, runner: Runner) -> Score:
    """Score the libraries of one truth set."""
    return score_truth(*judged_libraries(name, corpus, sources, runner), MIN_CONFIDENCE)


# ---------------------------------------------------------------------------------------------------------- floors


def below_floors(
    figures: Mapping[str, Mapping[str, float | None]], floors: Mapping[str, Mapping[str, float]]
) -> list[str]:
    """In words, each figure that is below its floor; parts that were not scored are passed over."""
    problems = []
    for part, least in floors.items():
        if part not in figures:
            continue
        for name, floor in least.items():
            figure = figures[part].get(name)
            if figure is None or figure < floor:
                problems.append(f"{part}: {name} is {figure}, below {floor}")
    return problems


def load_floors(path: Path) -> dict[str, dict[str, float]]:
    """Floors by part ("catalogue", "modeling") and figure.

    Raises OSError, tomli.TOMLDecodeError, msgspec.ValidationError.
    """
    return msgspec.convert(tomli.loads(path.read_text(encoding="utf8")), dict[str, dict[str, float]])


# --------------------------------------------------------------------------------------------------------- printing


def print_score(console: Console, part: str, score: Score, names: tuple[str, ...], show: bool) -> None:
    console.rule(part)
    console.print("  ".join(f"{name} {_text(score.figures.get(name))}" for name in names))
    console.print(_table("rule", score.rules))
    if len(score.groups) > 1:
        console.print(_table("library", score.groups))
    if show:
        for kind, lines in (("missed", score.missed), ("noisy", score.noisy)):
            for line in lines:
                console.print(f"{kind:7} {line}", soft_wrap=True, markup=False)


def _table(title: str, tallies: Mapping[str, Tally]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column(title)
    for column in ("breaks", "found", "with id", "findings", "hits", "with id", "recall", "precision"):
        table.add_column(column, justify="right")
    for name, tally in sorted(tallies.items(), key=lambda item: (-item[1].breaks, -item[1].findings, item[0])):
        figures = tally.figures()
        counts = (tally.breaks, tally.found, tally.found_id, tally.findings, tally.hits, tally.hits_id)
        table.add_row(name, *map(str, counts), _text(figures["recall_id"]), _text(figures["precision_id"]))
    return table


def _text(figure: float | None) -> str:
    return "–" if figure is None else f"{figure:.3f}"


# ---------------------------------------------------------------------------------------------------------- command


@click.command(help=__doc__)
@click.argument("parts", nargs=-1)
@corpus_options("Score the findings of this JSON report")
@click.option("--check", "checking", is_flag=True, help="Exit with 1 when a figure is below corpus/floors.toml.")
@click.option("--show", is_flag=True, help="List every missed break and every noisy finding.")
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON only.")
def main(
    parts: tuple[str, ...], folders: tuple[Path, ...], reports: tuple[Path, ...], corpus: Path, checking: bool,
    show: bool, as_json: bool, jobs: int,
) -> None:  # fmt: skip
    console = Console(quiet=as_json)
    scores = dict(_scores(parts, folders, Runner(reports, jobs), corpus, console, show))
    figures = {part: score.figures for part, score in scores.items()}
    if as_json:
        click.echo(json.dumps(figures, indent=1))
    problems = below_floors(figures, load_floors(corpus / "floors.toml")) if checking else []
    for problem in problems:
        click.echo(problem, err=True)
    sys.exit(bool(problems))


def _scores(
    parts: tuple[str, ...], folders: tuple[Path, ...], runner: Runner, corpus: Path, console: Console, show: bool
) -> Iterator[tuple[str, Score]]:
    collections, releases = collections_in(corpus), scored_releases(corpus)
    there = [*collections, *releases, *SETS]
    if unknown := set(parts).difference(there):
        raise click.UsageError(f"no {', '.join(sorted(unknown))} in {corpus}; there: {', '.join(there)}")
    for part in parts or there:
        if part in collections:
            score = programs_score(collections[part], runner)
        elif part in releases:
            if runner.has_report:
                continue  # a report is of one release
            score = release_score(corpus, releases[part], runner.jobs)
        else:
            wanted = requirements(corpus, part)
            sources = find_sources([*folders, CACHE / part], wanted)
            if sources is None:
                console.print(f"{part}: skipped, no --sources folder holds the versions of {wanted}", markup=False)
                continue
            score = truth_score(part, corpus, sources, runner)
        print_score(console, part, score, FIGURES_OF_TRUTH if part in SETS else FIGURES_OF_PROGRAMS, show)
        yield part, score


if __name__ == "__main__":
    main()
