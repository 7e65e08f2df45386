"""Repair programs and let Dynamo judge: is the break gone, is the result the same?

    python -m gblint.devtools.repairs [FILE|FOLDER ...] [--unsafe-fixes] [--show] [--declined]

By default every breaking program of the corpus is tried. A verdict is one of

    clean   no break is left, and the output is what it was (eager and compiled)
    fewer   fewer breaks, same output
    kept    nothing was repaired
    same    something was repaired, and as many breaks are left
    worse   more breaks than before
    WRONG   the output differs, or the repaired program fails; results that differ between runs of the program as it
            was do not count
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import click
import msgspec

from gblint.checking import Options
from gblint.devtools.dynamo import DynamoRunner
from gblint.devtools.observed import Observed
from gblint.fixing.plan import Choice
from gblint.fixing.session import Repaired, repair

CORPUS = Path(__file__).parents[2] / "corpus" / "programs"
AGAIN = 4  # runs that tell which results of a program are its own, and which the time or the process gave


class Trial(msgspec.Struct):
    """One program before and after its repair. after, eager are `before` where nothing was repaired; again: further
    runs of the program as it was, made where its results are not those of the repaired one."""

    path: Path
    repaired: Repaired
    before: Observed
    after: Observed
    eager: Observed
    again: list[Observed] = []

    @property
    def verdict(self) -> str:
        """See the module docstring."""
        if not self.repaired.new:
            return "kept"
        stopped = self.before.error and not self.after.error  # by the break itself: what it would give is not known
        seen = (self.after, self.eager) if stopped else (self.before, self.after, self.eager)
        if len({s.error for s in seen}) > 1 or not self._agree(seen):
            return "WRONG"
        if not self.after.breaks:
            return "clean"
        change = len(self.after.breaks) - len(self.before.breaks)
        return "fewer" if change < 0 else "worse" if change else "same"

    def _agree(self, seen: Sequence[Observed]) -> bool:
        """Whether runs have the same results, but for those that differ from run to run of the program as it was."""
        rows = [result(s) for s in seen]
        own = [result(s) for s in (self.before, *self.again) if not s.error]
        if len({len(row) for row in (*rows, *own)}) > 1:
            return False
        changing = {i for i, values in enumerate(zip(*own, strict=True)) if len(set(values)) > 1}
        return all(i in changing or len(set(values)) == 1 for i, values in enumerate(zip(*rows, strict=True)))


def result(seen: Observed) -> list[str]:
    """What a program says it has computed: its `checksum` lines (what else it prints may be what a repair moves), and
    what its calls gave."""
    return [*(line for line in seen.output.splitlines() if line.startswith("checksum")), *seen.results]


def breaking(paths: Iterable[Path]) -> list[Path]:
    """The programs among files and folders whose header announces a break (`.fixed.py` twins left out)."""
    found: list[Path] = []
    for path in paths:
        if path.is_file() or (path / "main.py").is_file():
            found.append(path)
            continue
        files = [p for p in sorted(path.rglob("*.py")) if not p.name.endswith(".fixed.py")]
        folders = {p.parent for p in files if p.name == "main.py"}
        for file in files:
            inside = folders & {file.parent, *file.parent.parents}
            if not inside and "# expect: GB" in file.read_text("utf8"):
                found.append(file)
        found += [f for f in sorted(folders) if "# expect: GB" in (f / "main.py").read_text("utf8")]
    return found


def fixed(path: Path, choice: Choice) -> Repaired:
    """The program repaired in memory, as if it stood in a project of its own."""
    with tempfile.TemporaryDirectory() as scratch:
        copy = _copy(path, {}, Path(scratch, "program"))
        repaired = repair(Options(paths=(str(copy),), isolated=True, no_cache=True), choice)
    back = str(path if path.is_dir() else path.parent)
    for contents in (repaired.old, repaired.new):
        moved = {name.replace(str(copy if path.is_dir() else copy.parent), back): d for name, d in contents.items()}
        contents.clear()
        contents.update(moved)
    return repaired


def settled(trial: Trial, choice: Choice) -> bool:
    """Whether a second repair of what came out changes nothing."""
    if not trial.repaired.new:
        return True
    with tempfile.TemporaryDirectory() as scratch:
        return not fixed(_copy(trial.path, trial.repaired.new, Path(scratch, "again")), choice).new


def trials(paths: list[Path], choice: Choice, runner: DynamoRunner) -> Iterator[Trial]:
    """Repair and run programs, in order."""
    repaired = [fixed(path, choice) for path in paths]
    with tempfile.TemporaryDirectory() as scratch:
        changed = [
            _copy(path, result.new, Path(scratch, str(number)))
            for number, (path, result) in enumerate(zip(paths, repaired, strict=True))
            if result.new
        ]
        before = list(runner.observe_all(paths, digest=True))
        after = list(runner.observe_all(changed, digest=True))
        eager = list(runner.observe_all(changed, eager=True, digest=True))
        runs = iter(zip(after, eager, strict=True))
        for path, result, seen in zip(paths, repaired, before, strict=True):
            trial = Trial(path, result, seen, *(next(runs) if result.new else (seen, seen)))
            if trial.verdict == "WRONG":
                trial.again = list(runner.observe_all([path] * AGAIN, digest=True))
            yield trial


def _copy(path: Path, contents: dict[str, bytes], folder: Path) -> Path:
    """A program in a folder of its own, with new contents for some of its files; what to run."""
    folder.mkdir()
    base = path if path.is_dir() else path.parent
    for file in path.rglob("*.py") if path.is_dir() else [path]:
        target = folder / file.relative_to(base)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(contents.get(str(file), file.read_bytes()))
    return folder if path.is_dir() else folder / path.name


@click.command()
@click.argument("paths", nargs=-1, type=click.Path(exists=True, path_type=Path))
@click.option("--unsafe-fixes", is_flag=True, help="Make unsafe repairs as well.")
@click.option("--show", is_flag=True, help="Print the repaired programs that are not clean.")
@click.option("--declined", is_flag=True, help="Print why codemods declined what is left.")
def main(paths: tuple[Path, ...], unsafe_fixes: bool, show: bool, declined: bool) -> None:
    """Repair breaking programs and run them under Dynamo."""
    programs = breaking(p.resolve() for p in paths or (CORPUS,))
    counts: Counter[str] = Counter()
    with DynamoRunner() as runner:
        for trial in trials(programs, Choice(unsafe=unsafe_fixes), runner):
            counts[trial.verdict] += 1
            _print(trial, show, declined)
    total = sum(counts.values())
    print(", ".join(f"{name} {count}" for name, count in counts.most_common()), f"of {total}")
    if total:
        print(f"clean {counts['clean'] / total:.3f}")


def _print(trial: Trial, show: bool, declined: bool) -> None:
    names = Counter(f"{s.fix.codemod}[{s.fix.applicability}]" for s in trial.repaired.made)
    left = [f"{b.gb_id}@{b.row}" for b in trial.after.breaks]
    print(f"{trial.verdict:6} {trial.path.name:44} {' '.join(names)} {'left ' + ' '.join(left) if left else ''}")
    if trial.verdict == "WRONG":
        print(
            "   ",
            trial.after.error or trial.eager.error or (trial.before.output, trial.after.output, trial.eager.output),
        )
    for dropped in trial.repaired.dropped if declined else ():
        print(f"    dropped {dropped.step.fix.codemod}: {dropped.reason}")
    for finding in trial.repaired.after.findings if declined else ():
        offers = ", ".join(f"{f.codemod}[{f.applicability}]" for f in finding.fixes)
        print(f"    {finding.code} {finding.name}:{finding.row} {finding.message} offers: {offers or 'none'}")
        for name, reason in finding.refusals:
            print(f"        {name}: {reason}")
    if show and trial.verdict not in ("clean", "kept"):
        for data in trial.repaired.new.values():
            print(data.decode("utf8"))


if __name__ == "__main__":
    main()
