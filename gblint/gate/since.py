"""Only what a branch adds: findings of the source as it is, less those that it had at an earlier revision."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import msgspec

from gblint.analysis import Progress
from gblint.checking import Options, Outcome, check
from gblint.discovery import absolute
from gblint.errors import GblintError
from gblint.findings.finding import Finding
from gblint.gate.history import Past, past, repository
from gblint.gate.keys import Key, beyond, key_of, relative

_ANYWHERE = Path("/")  # what file names are told from: both runs see the same tree


def added(outcome: Outcome, options: Options, revision: str, progress: Progress | None = None) -> list[Finding]:
    """The findings of a check that were not there when its branch left a revision.

    The whole project is analysed as it was then, with today's settings and libraries, so that findings count too which
    an edit has brought to a file that has not changed. Findings go by file, function and rule, not by row; where a
    function has more of a rule than before, the last ones by row are taken for the new ones. A file that was renamed is
    known under its old name. Raises GblintError outside of git, and for a revision that git does not know.
    """
    before = _past(outcome, revision)
    earlier = _then(options, before, outcome.checked, progress)
    names = {str(old): relative(str(new), _ANYWHERE) for old, new in before.moved.items()}

    def counted(findings: list[Finding]) -> Counter[Key]:
        keys = ((f, key_of(f, _ANYWHERE)) for f in findings)
        return Counter(key._replace(file=names.get(f.filename, key.file)) for f, key in keys)

    shown, everything = counted(earlier.findings), counted(earlier.believed)
    hidden = Counter(key_of(f, _ANYWHERE) for f in [*outcome.doubtful, *outcome.aside])
    # A doubtful finding of then is the doubtful one of now, unless that is gone: it may have become surer.
    allowed = {key: max(shown[key], count - hidden[key]) for key, count in everything.items()}
    return beyond(outcome.findings, allowed, _ANYWHERE)


def _past(outcome: Outcome, revision: str) -> Past:
    whole = Past({}, set(), {})
    tops: dict[Path, None] = {}
    for folder in dict.fromkeys(Path(name).parent for name in outcome.checked):
        top = repository(folder)
        if top is None:
            raise GblintError(
                f"{folder} is in no git repository", "--new-since compares with a revision that git knows"
            )
        tops[top] = None
    for top in tops:
        part = past(top, revision)
        whole.contents.update(part.contents)
        whole.absent.update(part.absent)
        whole.moved.update(part.moved)
    return whole


def _then(options: Options, before: Past, checked: list[str], progress: Progress | None) -> Outcome:
    """The check of the source as it was. Of what was named then, what was there; and files by their old names."""
    given = checked if options.stdin is not None else options.paths
    there = [text for text in given if _was_there(absolute(text), before)]
    there += [str(old) for old, new in before.moved.items() if str(new) in checked]
    if not there:
        return Outcome()
    then = msgspec.structs.replace(
        options,
        paths=tuple(there),
        stdin=None,
        stdin_path=None,
        overlay=options.overlay | before.contents,
        absent=options.absent | before.absent,
    )
    return check(then, progress)


def _was_there(path: Path, before: Past) -> bool:
    return path in before.contents or (path.exists() and path not in before.absent)
