"""`gblint calibrate`: how well confidences hold, by a project's own verdicts or by the corpus."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from gblint.cli.main import print_out
from gblint.discovery import absolute, extent
from gblint.errors import GblintError
from gblint.findings.local import FILE, Verdict, Verdicts, load, merge, save, shifts
from gblint.findings.reliability import bins, brier, calibration_error
from gblint.report.style import plural, printable, shown

FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)
FOLDS = 10
ANY_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command("calibrate")
@click.argument("path", type=click.Path(path_type=Path), default=".")
@click.option("--reset", is_flag=True, help="Forget the verdicts of the project.")
@click.option("--merge", "others", type=ANY_FILE, multiple=True, help="Add the verdicts of another file.")
@click.option("--corpus", type=FOLDER, help="Fit the shipped table anew from a corpus instead, and say how it holds.")
@click.option("--sources", type=FOLDER, multiple=True, help="With --corpus: site-packages with library sources.")
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="With --corpus: write the table.")
def command(
    path: Path,
    reset: bool,
    others: tuple[Path, ...],
    corpus: Path | None,
    sources: tuple[Path, ...],
    output: Path | None,
) -> int:
    """Show how well confidences hold in the project of PATH (default: the current folder), by what `gblint verify` has
    found there, and how its verdicts move the rules.

    Each figure is given twice: for the confidence that gblint ships, and for the one that the project's verdicts make
    of it. No verdict is used to judge itself.
    """
    if corpus:
        if reset or others:
            raise click.UsageError("--corpus has nothing to do with a project's verdicts: no --reset, no --merge")
        return _fit(corpus, sources, output)
    if sources or output:
        raise click.UsageError("--sources and --output go with --corpus")
    place = absolute(path)
    if not place.exists():
        raise GblintError(f"no such file or folder: {path}")
    folder = place if place.is_dir() else place.parent
    file = (extent(folder, place).root or folder) / FILE
    if reset:
        return _reset(file)
    verdicts = load(file)
    for other in others:
        merge(verdicts, load(other).values())
    if others:
        save(file, verdicts)
    print_out("".join(f"{line}\n" for line in report(file, verdicts)))
    return 0


def _reset(file: Path) -> int:
    known = len(load(file))
    file.unlink(missing_ok=True)
    print_out(f"forgot {plural(known, 'verdict')} in {shown(str(file))}\n" if known else "there were no verdicts\n")
    return 0


def report(file: Path, verdicts: Verdicts) -> Iterator[str]:
    """What a project's verdicts say, line by line."""
    judged = [v for v in verdicts.values() if v.verdict != "missed"]
    missed = len(verdicts) - len(judged)
    if not judged:
        yield f"No verdicts in {shown(str(file))}: `gblint verify` makes some, the shipped confidences hold."
        return
    yield f"{plural(len(judged), 'verdict')} and {plural(missed, 'missed break')} in {shown(str(file))}"
    yield ""
    hits = [v.verdict == "confirmed" for v in judged]
    kinds = {"shipped": [v.confidence for v in judged], "with verdicts": held_out(judged)}
    yield f"{'confidence':<15}{'findings':>9}{'confirmed':>10}{'Brier':>8}{'calibration error':>19}"
    for kind, confidences in kinds.items():
        counts = f"{kind:<15}{len(hits):>9,}{sum(hits):>10,}"
        yield f"{counts}{brier(confidences, hits):>8.4f}{calibration_error(confidences, hits):>19.4f}"
    for kind, confidences in kinds.items():
        yield ""
        yield f"{kind:<15}{'findings':>9}{'predicted':>11}{'observed':>10}"
        for b in bins(confidences, hits):
            yield f"{b.low:.1f}–{b.high:.1f}{'':<8}{b.count:>9,}{b.mean:>11.3f}{b.share:>10.3f}"
    yield ""
    yield from _rules(judged)


def held_out(judged: Sequence[Verdict]) -> list[float]:
    """The confidence that each would have by the verdicts of the other folds."""
    folds = [hashlib.sha256("\0".join(v.key).encode("utf-8", "backslashreplace")).digest()[0] % FOLDS for v in judged]
    by = [shifts(v for v, fold in zip(judged, folds, strict=True) if fold != number) for number in range(FOLDS)]
    return [by[fold].moved(v.rule, v.confidence) for v, fold in zip(judged, folds, strict=True)]


def _rules(judged: Sequence[Verdict]) -> Iterator[str]:
    by = shifts(judged)
    rules: dict[str, list[Verdict]] = {}
    for verdict in judged:
        rules.setdefault(verdict.rule, []).append(verdict)
    width = max(map(len, rules))
    yield f"{'rule':<{width}}{'findings':>9}{'confirmed':>10}{'shipped':>9}{'now':>7}"
    for rule, mine in sorted(rules.items()):
        hits = sum(v.verdict == "confirmed" for v in mine)
        before = sum(v.confidence for v in mine) / len(mine)
        after = sum(by.moved(rule, v.confidence) for v in mine) / len(mine)
        yield f"{printable(rule):<{width}}{len(mine):>9,}{hits:>10,}{before:>9.2f}{after:>7.2f}"


def _fit(corpus: Path, sources: Sequence[Path], output: Path | None) -> int:
    """Fit the shipped table from a corpus; needs NumPy, as working on gblint does."""
    try:
        from gblint.devtools import fit
        from gblint.devtools.score import Runner
        from gblint.devtools.sources import SETS
    except ImportError as error:
        raise GblintError(f"--corpus needs {error.name}", "install gblint with its extra `dev`") from error
    collected = fit.collect(corpus, sources, Runner((), 2))
    if not collected.examples:
        raise GblintError(f"no finding of gblint's is in the corpus {corpus}")
    if missing := [part for part in SETS if part not in collected.libraries]:
        click.echo(f"without {' and '.join(missing)}: their sources are in none of the folders (--sources)", err=True)
    print_out("".join(f"{line}\n" for line in fit.report(collected)))
    if output:
        output.write_text(fit.text(fit.fit(collected.examples)), encoding="utf-8")
        print_out(f"{output}: written\n")
    return 0
