"""Repairing to a fixpoint: check, make the edits in memory, check again, keep what helped; files are written last."""

from __future__ import annotations

import ast
import warnings
from collections import defaultdict
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

import msgspec

from gblint.analysis import Progress
from gblint.checking import Options, Outcome, Settled, check
from gblint.errors import GblintError
from gblint.findings.finding import Edit, Finding, Fix
from gblint.fixing.blame import Blame
from gblint.fixing.edits import Conflict, edited
from gblint.fixing.imports import unused_after
from gblint.fixing.moved import Moved
from gblint.fixing.plan import Choice, Key, Step, setting_of, steps
from gblint.fixing.rewrite import replace_file
from gblint.index.cache import content_digest
from gblint.notebook import is_notebook
from gblint.resident import REPAIRS, WHOLE, Resident
from gblint.source import SourceError, read_bytes

PASSES = 12  # of repairs that bring up new findings, each with repairs of its own
_UNUSABLE = (Conflict, SyntaxError, ValueError, SourceError)  # what edits may meet
MOST_PROJECTS = 64  # that are kept in memory from check to check
TRIES = 12  # to find a set of repairs that go well together, in one pass


class Dropped(msgspec.Struct, frozen=True):
    """A repair that was made, found wanting and taken back; reason is a sentence."""

    step: Step
    reason: str


class Repaired(msgspec.Struct):
    """What a session has come to.

    before: the first check; after: the last one, of the contents as they are now. old, new: contents of the changed
    files by path. origins: of each step made, the rows of its finding in the file as it was at first. edits: all that
    were made, by path, those of imports that nothing uses any more among them.
    """

    before: Outcome
    after: Outcome
    old: dict[str, bytes] = {}
    new: dict[str, bytes] = {}
    made: list[Step] = []
    dropped: list[Dropped] = []
    origins: list[tuple[int, int]] = []
    edits: dict[str, list[Edit]] = {}

    def write(self) -> None:
        """Put the new contents on disk, file by file. Raises GblintError at the end if some could not be replaced: each
        file is either as before or as it should be."""
        failed: list[GblintError] = []
        for path in self.new:
            try:
                replace_file(path, self.old[path], self.new[path])
            except GblintError as error:
                failed.append(error)
        if failed:
            done = f"{len(self.new) - len(failed)} of {len(self.new)} files were fixed"
            raise GblintError("; ".join(error.message for error in failed[:5]), failed[0].hint or done)


def repair(options: Options, choice: Choice, progress: Progress | None = None) -> Repaired:
    """Make the wanted repairs in memory until none is left that helps. Raises GblintError as `check` does."""
    return _Session(options, choice, progress).run()


class _Session:
    def __init__(self, options: Options, choice: Choice, progress: Progress | None) -> None:
        self._options = msgspec.structs.replace(options, all_fixes=True)
        self._choice = choice
        self._progress = progress
        self._settled = Settled(options)
        self._banned: set[Key] = set(choice.banned)
        self._old: dict[str, bytes] = {}
        self._new: dict[str, bytes] = {}
        self._made: list[Step] = []
        self._dropped: list[Dropped] = []
        self._origins: list[tuple[int, int]] = []
        self._edits: dict[str, list[Edit]] = defaultdict(list)
        self._doubted: dict[Key, int] = {}  # what was taken back, with how many repairs had been made before that pass
        self._memory = Resident(projects=MOST_PROJECTS)

    def run(self) -> Repaired:
        before = after = self._check(self._new)
        self._editable = set(before.checked)
        for _ in range(PASSES):
            if self._pass(after):
                after = self._check(self._new)
            elif not self._second_chance():
                break
        changed = {p: data for p, data in self._new.items() if data != self._old[p]}
        return Repaired(before, after, self._old, changed, self._made, self._dropped, self._origins, self._edits)

    def _check(self, contents: dict[str, bytes], effort: int = REPAIRS) -> Outcome:
        """What there is to report of contents. effort: with WHOLE repairs are left out, which take most of the time."""
        self._memory.effort = effort
        overlay = self._options.overlay | {Path(p): data for p, data in contents.items()}
        stdin = self._options.stdin
        if stdin is not None and contents:
            (stdin,) = contents.values()
        return check(msgspec.structs.replace(self._options, overlay=overlay, stdin=stdin), self._progress, self._memory)

    def _pass(self, outcome: Outcome) -> bool:
        """One round of repairs; False when there was nothing (more) to make."""
        blame, made = Blame(), len(self._made)
        known = set(self._banned)
        helped = self._try(outcome, blame)
        for step, reason in blame.out.values():
            self._drop(step, reason)
        self._doubted |= dict.fromkeys(self._banned - known, made)
        return helped

    def _second_chance(self) -> bool:
        """Allow once more what was taken back while others were still to be made, which may have been to blame; False
        if there is nothing of that kind."""
        again = {key for key, made in self._doubted.items() if made < len(self._made)}
        self._doubted.clear()
        self._banned -= again
        self._dropped = [dropped for dropped in self._dropped if dropped.step.key not in again]
        return bool(again)

    def _try(self, outcome: Outcome, blame: Blame) -> bool:
        attempt = 0
        while attempt < TRIES:
            blame.strict = attempt >= TRIES // 2
            out = self._banned | blame.out.keys()
            wanted = steps(outcome.findings, self._choice, self._settled.of_file, self._allowed, out)
            chosen = [step for step in wanted if not setting_of(step.fix)]
            if not chosen:
                return self._try_settings(outcome, wanted)
            edits = _by_file(chosen)
            contents = self._contents(chosen, edits)
            if contents is None:
                continue  # with fewer steps than before
            attempt += 1
            after = self._check(self._new | contents, WHOLE)
            if not blame.lay(outcome, after, chosen, edits):
                self._take(chosen, edits, contents)
                return True
        return False

    def _try_settings(self, outcome: Outcome, wanted: list[Step]) -> bool:
        """Try settings, one by one. A setting holds for a whole package and may bring up breaks of other kinds in it:
        it stays if fewer are left in all."""
        groups: dict[tuple[str, str], list[Step]] = defaultdict(list)
        for step in wanted:
            groups[setting_of(step.fix), step.finding.function.partition(".")[0]].append(step)
        for (setting, _), group in groups.items():
            # what goes with the setting at one place (`int()` round a size) is needed at each
            chosen = [step for number, step in enumerate(group) if number == 0 or len(step.fix.edits) > 1]
            edits = _by_file(chosen)
            contents = self._contents(chosen, edits)
            if contents is None:
                continue
            after = self._check(self._new | contents, WHOLE)
            if len(after.findings) < len(outcome.findings):
                self._take(chosen, edits, contents)
                return True
            for step in group:
                self._drop(step, f"with `{setting}` no fewer breaks would be left")
        return False

    def _take(self, chosen: list[Step], edits: dict[str, list[Edit]], contents: dict[str, bytes]) -> None:
        self._origins += self._origins_of(chosen)
        self._new |= contents
        self._made += chosen
        for path, own in edits.items():
            self._edits[path] += own

    def _origins_of(self, chosen: list[Step]) -> list[tuple[int, int]]:
        """The rows of the findings of steps before all passes."""
        files = {step.finding.filename for step in chosen} & self._new.keys()
        moved = {path: Moved(self._old[path], self._new[path]) for path in files}
        return [_rows_before(step.finding, moved.get(step.finding.filename)) for step in chosen]

    def _allowed(self, fix: Fix) -> bool:
        """Whether a fix changes only files that were named, and no constructor where objects exist already."""
        if not all(edit.filename in self._editable for edit in fix.edits):
            return False
        return not (self._choice.existing and any(self._constructs(edit) for edit in fix.edits))

    def _constructs(self, edit: Edit) -> bool:
        return any(first <= edit.row <= last for first, last in _constructors(self._data(edit.filename)))

    def _drop(self, step: Step, reason: str) -> None:
        self._banned.add(step.key)
        self._dropped.append(Dropped(step, reason))

    def _contents(self, chosen: list[Step], edits: dict[str, list[Edit]]) -> dict[str, bytes] | None:
        """The files with the edits made; None if some could not be, and the steps at fault were dropped. Imports that
        nothing uses any more are taken out, which adds to `edits`."""
        contents: dict[str, bytes] = {}
        for path, own in edits.items():
            try:
                contents[path] = self._edited(path, own)
            except _UNUSABLE as error:
                for step in self._at_fault(chosen, path):
                    if step.key not in self._banned:
                        self._drop(step, f"the edit would leave {Path(path).name} unusable: {error}")
        return contents if len(contents) == len(edits) else None

    def _edited(self, path: str, own: list[Edit]) -> bytes:
        data = self._data(path)
        new = edited(data, own)
        _compile(new, path)
        extra = unused_after(path, data, new)
        if extra:
            new = edited(data, [*own, *extra])
            _compile(new, path)
            own += extra
        return new

    def _at_fault(self, chosen: list[Step], path: str) -> list[Step]:
        """The steps that leave a file unusable by themselves; the last one if it takes several."""
        suspects = [(s, mine) for s in chosen if (mine := [e for e in s.fix.edits if e.filename == path])]
        found = [step for step, mine in suspects if self._breaks(path, mine)]
        return found or [suspects[-1][0]]

    def _breaks(self, path: str, edits: list[Edit]) -> bool:
        try:
            _compile(edited(self._data(path), edits), path)
        except _UNUSABLE:
            return True
        return False

    def _data(self, path: str) -> bytes:
        """The file as it stands now: after the passes before, else from disk."""
        if path in self._new:
            return self._new[path]
        if path not in self._old:
            self._old[path] = self._read(path)
        return self._old[path]

    def _read(self, path: str) -> bytes:
        if self._options.stdin is not None:
            return self._options.stdin
        if Path(path) in self._options.overlay:
            return self._options.overlay[Path(path)]
        try:
            data = read_bytes(path)
        except SourceError as error:
            raise GblintError(f"{path}: {error}") from error
        if content_digest(data) != self._memory.digest(path):
            raise GblintError(f"{path}: changed while gblint was at work; nothing was fixed", "run gblint again")
        return data


def _rows_before(finding: Finding, moved: Moved | None) -> tuple[int, int]:
    last = max(finding.row, finding.end_row)
    return (finding.row, last) if moved is None else (moved.back(finding.row)[0], moved.back(last)[1])


@lru_cache(maxsize=256)
def _constructors(data: bytes) -> tuple[tuple[int, int], ...]:
    """First and last row of every `__init__` in a file."""
    functions = (n for n in ast.walk(ast.parse(data)) if isinstance(n, ast.FunctionDef))
    return tuple((f.lineno, f.end_lineno or 0) for f in functions if f.name == "__init__")


def _by_file(chosen: Iterable[Step]) -> dict[str, list[Edit]]:
    found: dict[str, list[Edit]] = defaultdict(list)
    for step in chosen:
        for edit in step.fix.edits:
            found[edit.filename].append(edit)
    return found


def _compile(data: bytes, path: str) -> None:
    """Raises SyntaxError (or ValueError) for what Python would not load. Nothing of it runs."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT if is_notebook(path) else 0
        try:
            compile(data, path, "exec", flags, dont_inherit=True)
        except RecursionError as error:
            raise ValueError("it is nested too deeply for Python to compile") from error
