"""Feeds gblint files that are wrong in every way, and says what it cannot bear.

python -m tests.fuzz [TARGET ...] [--inputs N] [--seed N] [--more FOLDER] [--failures FOLDER]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tests.fuzz.runner import Failure, run_all
from tests.fuzz.targets import TARGETS


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__.partition("\n")[0])
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"default: all of {', '.join(TARGETS)}")
    parser.add_argument("--inputs", type=int, default=10_000, help="in all (default: 10,000)")
    parser.add_argument("--seed", type=int, default=1, help="the same seed makes the same inputs")
    parser.add_argument(
        "--more", type=Path, nargs="*", default=[], help="folders whose small files are changed as well"
    )
    parser.add_argument("--failures", type=Path, default=Path("build/fuzz"), help="where inputs go that failed")
    arguments = parser.parse_args()
    if unknown := set(arguments.targets) - set(TARGETS):
        parser.error(f"no target {', '.join(sorted(unknown))}")
    names = tuple(arguments.targets or TARGETS)
    failed = 0
    print(f"{'target':14}{'inputs':>9}{'seconds':>9}{'ms each':>9}{'peak MB':>9}{'failures':>10}", flush=True)
    for done in run_all(arguments.inputs, arguments.seed, tuple(arguments.more), names):
        each = done.seconds / done.inputs * 1000
        line = f"{done.target:14}{done.inputs:>9,}{done.seconds:>9.0f}{each:>9.1f}{done.peak:>9.0f}"
        print(f"{line}{len(done.failures):>10}", flush=True)
        for number, failure in enumerate(done.failures):
            keep(failure, arguments.failures / f"{done.target}-{arguments.seed}-{number}")
        failed += len(done.failures)
    sys.exit(bool(failed))


def keep(failure: Failure, path: Path) -> None:
    """Write an input down with what is wrong about it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.with_suffix(".input").write_bytes(failure.data)
    path.with_suffix(".txt").write_text(failure.reason, "utf-8", "backslashreplace")
    print(f"  {path}.input: {failure.reason.strip().splitlines()[-1][:200]}", flush=True)


if __name__ == "__main__":
    main()
