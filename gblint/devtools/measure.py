"""`python -m gblint.devtools.measure [PART]...` measures the analyzer and writes corpus/scores.json.

From that file `python -m gblint.devtools.docs` makes docs/accuracy.md. PART is `programs` (the labelled programs, also
by what they do under other releases of torch) or `truth` (recorded truth of libraries); without one it is both. The
libraries are taken from the first folder given with --sources, else `.cache/sources/SET`, that holds the pinned
versions (`python -m gblint.devtools.sources` fetches them). With --findings their findings are those of JSON reports,
made with `--min-confidence 0`, instead of the analyzer's.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import click
import msgspec

from gblint.config import MIN_CONFIDENCE
from gblint.devtools.accuracy import Predicted, Tally, score_truth
from gblint.devtools.fit import (
    Collected,
    Example,
    calibration_error,
    check_complete,
    collect,
    errors,
    libraries_left_out,
)
from gblint.devtools.options import corpus_options
from gblint.devtools.programs import collections_in
from gblint.devtools.score import Runner, programs_score, release_score, scored_releases
from gblint.devtools.scores import ENOUGH, FILE, Figures, Held, Measured, Row, Scores, load_scores, truth_digest
from gblint.devtools.sources import PIN, requirements
from gblint.devtools.truth import Key, Truth, library_of

PARTS = ("programs", "truth")
FIGURES = ("recall_lines", "recall_lines_id", "precision", "precision_id", "average_precision")


# -------------------------------------------------------------------------------------------------------- measuring


def measure_programs(corpus: Path, jobs: int) -> dict[str, Figures]:
    """Figures of each collection, and of all programs under each release."""
    found = {name: programs_score(folder, Runner((), jobs)).figures for name, folder in collections_in(corpus).items()}
    return found | {part: release_score(corpus, minor, jobs).figures for part, minor in scored_releases(corpus).items()}


def measure_truth(collected: Collected, corpus: Path) -> dict[str, Measured]:
    """What the findings score on each set of libraries, as a whole, by library and by id."""
    examples = list(zip(collected.examples, libraries_left_out(collected.examples), strict=True))
    today = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    made = {}
    for name, (findings, truth) in collected.libraries.items():
        mine = [(example, confidence) for example, confidence in examples if example.part == name]
        score = score_truth(findings, truth, MIN_CONFIDENCE)
        versions = [" ".join(pin) for pin in PIN.findall(requirements(corpus, name).read_text("utf8"))]

        def place(finding: Predicted, truth: Truth = truth) -> str:
            return library_of(truth.place(finding.file))

        def ids(key: Key, truth: Truth = truth) -> tuple[str, ...]:
            return truth.sites[key].ids

        libraries = _rows(score.groups, findings, truth, mine, place, lambda key: (library_of(key[0]),))
        rules = _rows(score.rules, findings, truth, mine, lambda finding: finding.code, ids)
        held = _held([(confidence, example.hit) for example, confidence in mine])
        made[name] = Measured(today, versions, score.figures, held, libraries, rules)
    return made


def _rows(
    tallies: Mapping[str, Tally],
    findings: Sequence[Predicted],
    truth: Truth,
    held: Sequence[tuple[Example, float]],
    name_of_finding: Callable[[Predicted], str],
    names_of_site: Callable[[Key], tuple[str, ...]],
) -> dict[str, Row]:
    """A row for each name that sites or findings go by; its figures are of its own sites and findings alone."""
    rows = {}
    for name, tally in sorted(tallies.items()):
        mine = [finding for finding in findings if name_of_finding(finding) == name]
        part = truth.part({key for key in truth.sites if name in names_of_site(key)})
        figures = {**score_truth(mine, part, MIN_CONFIDENCE).figures, **tally.figures()}
        kept = [(confidence, example.hit) for example, confidence in held if name_of_finding(example.finding) == name]
        rows[name] = Row(tally, {key: figures[key] for key in FIGURES}, _held(kept))
    return rows


def _held(judged: Sequence[tuple[float, bool]]) -> Held | None:
    if not judged:
        return None
    confidences, hits = [confidence for confidence, _ in judged], [hit for _, hit in judged]
    error = round(calibration_error(confidences, hits), 4) if len(judged) >= ENOUGH else None
    return Held(len(judged), round(sum(hits) / len(hits), 4), round(sum(confidences) / len(hits), 4), error)


# --------------------------------------------------------------------------------------------------------- command


def text(scores: Scores) -> str:
    """The file's text."""
    return msgspec.json.format(msgspec.json.encode(scores), indent=1).decode() + "\n"


@click.command(help=__doc__)
@click.argument("parts", nargs=-1, type=click.Choice(PARTS))
@corpus_options("Take the libraries' findings from this JSON report")
def main(parts: tuple[str, ...], folders: tuple[Path, ...], reports: tuple[Path, ...], corpus: Path, jobs: int) -> None:
    scores = load_scores(corpus)
    if "programs" in (parts or PARTS):
        scores.programs = measure_programs(corpus, jobs)
    if "truth" in (parts or PARTS):
        collected = collect(corpus, folders, Runner(reports, jobs), Runner((), jobs))
        check_complete(collected)
        scores.truth = measure_truth(collected, corpus)
        scores.calibration = {kind: round(error, 4) for kind, error in errors(collected.examples).items()}
        scores.digest = truth_digest(corpus)
    (corpus / FILE).write_text(text(scores), encoding="utf8")
    click.echo(f"{corpus / FILE}: written; `python -m gblint.devtools.docs` makes the page of it")


if __name__ == "__main__":
    main()
