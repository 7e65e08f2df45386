"""How fast `gblint check` is, as ratios to parsing the same files with libcst in the same session.

    python benchmarks/speed.py [TREE] [--jobs N] [--json FILE]

TREE is a folder of Python files; by default the `models` folder of the transformers that is installed
or that `python -m gblint.devtools.sources` has fetched. It is copied (with the package around it), so
that files can be changed. Every figure comes from processes of their own: CPU seconds are user plus
system time of the process and its workers, memory is the most that all of them held at once
(proportional set size, sampled; the largest process where /proc is not there to ask).
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import asdict, dataclass
from pathlib import Path

PARSE_ALL = """
import sys, libcst
for path in sys.stdin.read().splitlines():
    with open(path, "rb") as file:
        libcst.parse_module(file.read())
"""
CHANGED_FILES = 10
SAMPLE_SECONDS = 0.1


@dataclass(frozen=True)
class Run:
    """One measured process, with its workers."""

    wall_s: float
    cpu_s: float
    peak_mb: float
    stdout: str


@dataclass(frozen=True)
class Line:
    """One line of the report; `ratio` is CPU time over that of bare parsing, where that says something."""

    what: str
    wall_s: float
    cpu_s: float
    peak_mb: float
    ratio: float | None = None


class MemoryWatch(threading.Thread):
    """Samples the memory of a process and its descendants until told to stop."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self._pid = pid
        self._done = threading.Event()
        self.peak_kb = 0

    def run(self) -> None:
        while not self._done.wait(SAMPLE_SECONDS):
            self.peak_kb = max(self.peak_kb, sum(proportional_kb(pid) for pid in family(self._pid)))

    def stop(self) -> None:
        self._done.set()
        self.join()


def family(pid: int) -> list[int]:
    """The process and all its descendants; only itself where /proc does not list children."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return [pid]
    return [pid, *(member for child in children for member in family(int(child)))]


def proportional_kb(pid: int) -> int:
    """Memory of a process with shared pages divided among those that share them; 0 when it is gone."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)


def measure(command: list[str], stdin: str = "", accept: tuple[int, ...] = (0,)) -> Run:
    """Run a command to its end. Ends the benchmark when it exits with anything but `accept`."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as given:
        given.write(stdin)
        given.seek(0)
        start = time.perf_counter()
        process = subprocess.Popen(command, stdin=given, stdout=out)
        memory = MemoryWatch(process.pid)
        memory.start()
        # wait4 and not process.wait: its usage is of this process and the workers it waited for, no other's
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        memory.stop()
        if process.returncode not in accept:
            sys.exit(f"{' '.join(command)} exited with {process.returncode}: nothing measured")
        out.seek(0)
        peak = max(memory.peak_kb, usage.ru_maxrss) / 1024
        return Run(wall, usage.ru_utime + usage.ru_stime, peak, out.read())


def default_tree() -> Path | None:
    spec = importlib.util.find_spec("transformers")
    installed = [Path(place) for place in (spec.submodule_search_locations or [])] if spec else []
    fetched = Path(".cache/sources/modeling/transformers")
    return next((top / "models" for top in [*installed, fetched] if (top / "models").is_dir()), None)


def copied(tree: Path, scratch: Path) -> Path:
    """A copy of the tree in `scratch`, with the package it is part of, so that imports resolve as they did."""
    top = tree.resolve()
    while (top.parent / "__init__.py").exists():
        top = top.parent
    target = scratch / top.name
    shutil.copytree(top, target, ignore=shutil.ignore_patterns("__pycache__", "*.so"))
    return target / tree.resolve().relative_to(top)


def change(files: list[Path]) -> None:
    """Add a function to ten files spread over the list."""
    step = max(1, len(files) // CHANGED_FILES)
    for number, file in enumerate(files[::step][:CHANGED_FILES]):
        with file.open("a", encoding="utf8") as text:
            text.write(f"\n\ndef _changed_{number}(value):\n    return value\n")


def report(tree: Path, jobs: int) -> tuple[dict[str, object], list[Line]]:
    """Facts about the tree and the machine, and the measured lines."""
    with tempfile.TemporaryDirectory(prefix="gblint-speed-") as folder:
        scratch = Path(folder).resolve()
        copy = copied(tree, scratch)
        files = sorted(copy.rglob("*.py"))
        gblint = [sys.executable, "-m", "gblint"]
        check = [*gblint, "check", str(copy), "--isolated", "--output-format", "json", "-j", str(jobs)]
        check += ["--cache-dir", str(scratch / "cache")]
        parse = measure([sys.executable, "-c", PARSE_ALL], "\n".join(map(str, files)))
        lines = [line("libcst.parse_module", parse, parse)]
        cold = measure(check, accept=(0, 1))
        lines.append(line("cold", cold, parse))
        warm = measure(check, accept=(0, 1))
        lines.append(line("warm, nothing changed", warm, parse))
        if warm.stdout != cold.stdout:
            sys.exit("the warm run printed something else than the cold one: nothing to compare")
        change(files)
        lines.append(line(f"warm, {CHANGED_FILES} files changed", measure(check, accept=(0, 1)), parse))
        versions = [measure([*gblint, "--version"]) for _ in range(5)]
        middle = sorted(versions, key=lambda run: run.wall_s)[len(versions) // 2]
        lines.append(line("--version", middle, None))
        facts: dict[str, object] = {
            "tree": str(tree),
            "files": len(files),
            "megabytes": round(sum(file.stat().st_size for file in files) / 1e6, 1),
            "findings": len(json.loads(cold.stdout)),
            "jobs": jobs,
            "python": platform.python_version(),
        }
        return facts, lines


def line(what: str, run: Run, parse: Run | None) -> Line:
    ratio = round(run.cpu_s / parse.cpu_s, 3) if parse else None
    return Line(what, round(run.wall_s, 2), round(run.cpu_s, 2), round(run.peak_mb), ratio)


def table(facts: dict[str, object], lines: list[Line]) -> str:
    head = ", ".join(f"{name} {value}" for name, value in facts.items())
    rows = [f"{'':24}{'wall s':>9}{'CPU s':>9}{'CPU / parse':>13}{'peak MB':>9}"]
    for one in lines:
        ratio = "" if one.ratio is None else f"{one.ratio:.3f}"
        rows.append(f"{one.what:24}{one.wall_s:>9.2f}{one.cpu_s:>9.2f}{ratio:>13}{one.peak_mb:>9.0f}")
    return "\n".join([head, *rows])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tree", nargs="?", type=Path, default=default_tree())
    parser.add_argument("--jobs", "-j", type=int, default=1, help="worker processes of gblint (default: 1)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there as well")
    arguments = parser.parse_args()
    if arguments.tree is None or not arguments.tree.is_dir():
        parser.error("no tree to measure on: name one, or run `python -m gblint.devtools.sources modeling`")
    facts, lines = report(arguments.tree, arguments.jobs)
    print(table(facts, lines))
    if arguments.json:
        figures = {**facts, "lines": [asdict(one) for one in lines]}
        arguments.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf8")


if __name__ == "__main__":
    main()
