"""What `gblint fix --unsafe-fixes` does to whole libraries: is every file still sound, what is applied, what declined.

    python benchmarks/fix_all.py PACKAGE_FOLDER ... [--roots MODE] [--json FILE]

Works on copies, in memory. Of every changed file it is checked that it compiles to bytecode and that no more lines
have changed than edits cover; then come tables of the repairs by codemod, and of the reasons for declining. `--json`
adds the run to those in a file; `fix_all.json` holds the latest of each library.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import resource
import sys
import time
from collections import Counter
from importlib import metadata
from pathlib import Path
from typing import Any

import gblint
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


def versions(folders: list[Path]) -> dict[str, str]:
    """The releases of packages, by the metadata beside them."""
    found = {}
    for folder in folders:
        names = (d.metadata["Name"] for d in metadata.distributions(path=[str(folder.parent)]))
        name = next((n for n in names if n.replace("-", "_").lower() == folder.name.lower()), "")
        around = metadata.distributions(name=name, path=[str(folder.parent)]) if name else ()
        found[folder.name] = next((d.version for d in around), "")
    return found


def peak() -> int:
    """The most memory that a process of this run has taken, in MiB."""
    who = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return max(resource.getrusage(w).ru_maxrss for w in who) // 1024


def busy() -> float:
    """Seconds of processor time, of all processes."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


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
    seconds = time.monotonic() - start
    wrong = {p: unsound(p, repaired.old[p], new, repaired.edits[p]) for p, new in repaired.new.items()}
    result: dict[str, Any] = {
        "packages": versions([folder.resolve() for folder in arguments.folders]),
        "roots": arguments.roots,
        "repairs": "safe" if arguments.safe else "safe and unsafe",
        "gblint": gblint.__version__,
        "python": platform.python_version(),
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "files": repaired.before.stats.files,
        "findings before": len(repaired.before.findings),
        "findings after": len(repaired.after.findings),
        "repairs made": len(repaired.made),
        "files changed": len(repaired.new),
        "unsound files": {Path(path).name: problem for path, problem in wrong.items() if problem},
        "internal errors": sorted({*repaired.before.stats.internal, *repaired.after.stats.internal}),
        "seconds": round(seconds),
        "processor seconds": round(busy()),
        "most memory of a process, MiB": peak(),
    }
    found = tables(repaired)
    for name, value in result.items():
        print(f"{name}: {value}")
    for title, rows in found.items():
        print(f"\n{title}")
        for name, count in rows[:60]:
            print(f"  {count:5} {name}")
    if arguments.json:
        add(arguments.json, result | {title: dict(rows) for title, rows in found.items()})
    return int(bool(result["unsound files"] or result["internal errors"]))


def add(file: Path, run: dict[str, Any]) -> None:
    """Put a run in the place of an earlier one of the same packages, or behind the others."""
    runs = json.loads(file.read_text("utf-8")) if file.exists() else []
    kept = [r for r in runs if r["packages"].keys() != run["packages"].keys()]
    file.write_text(json.dumps([*kept, run], indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    sys.exit(main())
