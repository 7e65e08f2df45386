"""What `gblint fix --unsafe-fixes` does to whole libraries: is every file still sound, what is applied, what declined.

    python benchmarks/fix_all.py PACKAGE_FOLDER ... [--roots MODE] [--json FILE]

Works on copies, in memory. Of every changed file it is checked that it compiles to bytecode and that no more lines
have changed than edits cover; then come tables of the repairs by codemod, and of the reasons for declining.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections import Counter
from pathlib import Path

from gblint.checking import Options
from gblint.cli.analysis_options import cpus
from gblint.findings.finding import Edit
from gblint.fixing.plan import Choice
from gblint.fixing.session import Repaired, repair


def unsound(path: str, old: bytes, new: bytes, edits: list[Edit]) -> str:
    """What is wrong with a repaired file, "" if nothing is."""
    try:
        compile(new, path, "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        return f"does not compile: {error}"
    before, after = Counter(old.splitlines(keepends=True)), Counter(new.splitlines(keepends=True))
    gone, come = (before - after).total(), (after - before).total()
    covered = sum(edit.end_row - edit.row + 1 for edit in edits)
    written = covered + sum(edit.content.count("\n") for edit in edits)
    if gone > covered or come > written:
        return f"{gone} lines gone and {come} come, by edits that cover {covered} and write {written}"
    return ""


def tables(repaired: Repaired) -> dict[str, list[tuple[str, int]]]:
    """Counts of repairs by codemod, of those taken back, of offers left and of reasons to decline."""
    applied = Counter(f"{s.fix.codemod} [{s.fix.applicability}]" for s in repaired.made)
    dropped = Counter(f"{d.step.fix.codemod}: {_kind(d.reason)}" for d in repaired.dropped)
    left = repaired.after.findings
    offers = Counter(f"{f.fix.codemod} [{f.fix.applicability}]" for f in left if f.fix is not None)
    declined = Counter(f"{name}: {_kind(reason)}" for f in left if f.fix is None for name, reason in f.refusals[:1])
    silent = Counter(f"{f.code} {f.name}" for f in left if f.fix is None and not f.refusals)
    named = {"applied": applied, "taken back": dropped, "offered, not applied": offers, "declined": declined}
    return {name: counts.most_common() for name, counts in (*named.items(), ("no codemod", silent))}


def _kind(reason: str) -> str:
    return re.sub(r"`[^`]*`", "`…`", re.sub(r"\(.*", "", reason)).strip()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--roots", default="auto")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--safe", action="store_true", help="safe repairs only")
    arguments = parser.parse_args()
    sys.setrecursionlimit(12_000)
    paths = tuple(str(folder.resolve()) for folder in arguments.folders)
    start = time.monotonic()
    options = Options(paths=paths, isolated=True, no_cache=True, roots=(arguments.roots, ()), jobs=cpus())
    repaired = repair(options, Choice(unsafe=not arguments.safe))
    edits: dict[str, list[Edit]] = {}
    for step in repaired.made:
        for edit in step.fix.edits:
            edits.setdefault(edit.filename, []).append(edit)
    wrong = {p: unsound(p, repaired.old[p], new, edits[p]) for p, new in repaired.new.items()}
    wrong = {path: problem for path, problem in wrong.items() if problem}
    print(f"{len(repaired.before.findings)} findings before, {len(repaired.after.findings)} after,", end=" ")
    print(f"{len(repaired.made)} repairs in {len(repaired.new)} files, {time.monotonic() - start:.0f} s")
    print(f"internal errors: {repaired.before.stats.internal + repaired.after.stats.internal}")
    print(f"unsound files: {wrong or 'none'}")
    found = tables(repaired)
    for title, rows in found.items():
        print(f"\n{title}")
        for name, count in rows[:60]:
            print(f"  {count:5} {name}")
    if arguments.json:
        arguments.json.write_text(json.dumps({"unsound": wrong, **found}, indent=1))
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
