"""A baseline: findings that were there when gblint came to a project, and are not reported any more.

The file is JSON with one entry a line, in a fixed order, so that differences are easy to read and to merge. An entry
says how many findings of one rule a function has; rows do not count, so that edits elsewhere change nothing. It works
as a ratchet: entries go and counts fall when the breaks do, new ones are only added when that is asked for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from gblint.checking import BROKEN_FILE, Outcome
from gblint.errors import GblintError
from gblint.findings.finding import Finding
from gblint.fixing.rewrite import create_file, replace_file
from gblint.gate.keys import Key, beyond, key_of, relative
from gblint.source import SourceError, read_bytes

VERSION = 1

Wants = Callable[[str, str, str], bool]  # whether a rule (file name, code, name) is on: `gblint.checking.wanted`


class _Entry(msgspec.Struct, forbid_unknown_fields=True):
    file: str
    function: str
    code: str
    name: str
    count: int


class _Version(msgspec.Struct):
    version: int


class _Content(msgspec.Struct):
    findings: list[_Entry]


class Baseline:
    """The entries of one file: how many findings of each key are known. data: the file's bytes, None without a file."""

    def __init__(self, path: Path, counts: Counter[Key] | None = None, data: bytes | None = None) -> None:
        self.path = path
        self.counts: Counter[Key] = counts or Counter()
        self.data = data

    @classmethod
    def read(cls, path: Path, *, missing_ok: bool = False) -> Baseline:
        """Read a baseline. Of entries with one key, which a merge may leave, the largest counts.

        Raises GblintError for a file that is not there (unless that is fine), cannot be read, or is no baseline.
        """
        if missing_ok and not path.exists():
            return cls(path)
        if not path.exists():
            raise GblintError(f"no such baseline: {path}", "--update-baseline writes it")
        try:
            data = read_bytes(path)
        except SourceError as error:
            raise GblintError(f"{path}: {error.message}") from error
        counts: Counter[Key] = Counter()
        for entry in _entries(data, path):
            key = Key(entry.file, entry.function, entry.code, entry.name)
            counts[key] = max(counts[key], entry.count)
        return cls(path, counts, data)

    def key(self, finding: Finding) -> Key:
        """The key of a finding in this baseline."""
        return key_of(finding, self.path.parent)

    def new(self, findings: Iterable[Finding]) -> list[Finding]:
        """The findings that it does not know. Where a function has more than are recorded, the last ones by row."""
        return beyond(findings, self.counts, self.path.parent)

    def lasting(self, outcome: Outcome, files: Iterable[str], wants: Wants) -> Counter[Key]:
        """The entries that are still needed, with counts that may be lower. files: those it is to be held against.

        Only what the run has looked at is judged: not other files, nor those that could not be analysed, nor rules
        that are off, nor anything where nothing is compiled. A file that is gone needs no entry. Findings that are only
        left out (for their confidence, `--hot-only`, `--owner`) count as there.
        """
        if not outcome.stats.roots:
            return Counter(self.counts)
        broken = {problem.filename for problem in outcome.problems if problem.code == BROKEN_FILE}
        looked_at = {relative(name, self.path.parent): name for name in files if name not in broken}
        there = Counter(self.key(finding) for finding in outcome.believed)
        lasting: Counter[Key] = Counter()
        for key, count in self.counts.items():
            if there[key] >= count:
                judged = False  # it need not be asked whether its rule is on
            elif key.file in looked_at:
                judged = wants(looked_at[key.file], key.code, key.name)
            else:
                judged = not (self.path.parent / key.file).exists()
            left = min(count, there[key]) if judged else count
            if left:
                lasting[key] = left
        return lasting

    def stale(self, outcome: Outcome, files: Iterable[str], wants: Wants) -> int:
        """How many entries are not needed any more, or not with such a count."""
        lasting = self.lasting(outcome, files, wants)
        return sum(lasting[key] < count for key, count in self.counts.items())

    def write(self, counts: Counter[Key]) -> None:
        """Put other entries in the file, whole or not at all. Raises GblintError, with the file as it was."""
        data = _encoded(counts)
        if self.data is None:
            create_file(str(self.path), data)
        elif data != self.data:
            replace_file(str(self.path), self.data, data)
        self.counts, self.data = counts, data


def _entries(data: bytes, path: Path) -> list[_Entry]:
    other = f"{path} is not a baseline of gblint"
    try:
        version = msgspec.json.decode(data, type=_Version).version
        if version != VERSION:
            raise GblintError(
                f"{path} has version {version} of the format, this gblint knows version {VERSION}",
                "use the gblint that wrote it, or delete the file and write it anew with --update-baseline",
            )
        entries = msgspec.json.decode(data, type=_Content).findings
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise GblintError(f"{other}: {error}", "--update-baseline writes one where there is no file") from error
    for entry in entries:
        if entry.count < 1:
            raise GblintError(f"{other}: a count of {entry.count} for {entry.name} in {entry.file}")
    return entries


def _encoded(counts: Counter[Key]) -> bytes:
    lines = [msgspec.json.encode(_Entry(*key, counts[key])) for key in sorted(counts)]
    listed = b"\n    " + b",\n    ".join(lines) + b"\n  " if lines else b""
    return b'{\n  "version": %d,\n  "findings": [%b]\n}\n' % (VERSION, listed)


class Updated(msgspec.Struct):
    """What became of a baseline: how many findings it records, how many were added, dropped, and turned away."""

    path: Path
    recorded: int
    added: int = 0
    dropped: int = 0
    refused: int = 0


def update(outcome: Outcome, baseline: Baseline, files: set[str], wants: Wants, accept_new: bool) -> Updated:
    """Write what is still needed of a baseline; what it does not know yet only where there was no file or `accept_new`
    says so. Raises GblintError, with the file as it was, when that is impossible."""
    before = sum(baseline.counts.values())
    new = baseline.new(f for f in outcome.findings if f.filename in files)
    counts = baseline.lasting(outcome, files, wants)
    dropped = before - sum(counts.values())
    accepted = accept_new or baseline.data is None
    if accepted:
        counts.update(baseline.key(finding) for finding in new)
    baseline.write(counts)
    added, refused = (len(new), 0) if accepted else (0, len(new))
    return Updated(baseline.path, sum(counts.values()), added, dropped, refused)
