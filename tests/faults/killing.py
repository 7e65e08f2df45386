"""Kills `gblint fix` at random points, and holds what is left to what a user may rely on.

    python -m tests.faults.killing [--kills 200] [--files 24] [--seed 0] [--json FILE]

After every kill: each file is, byte for byte, as it was or as the finished repair has it, and no process of the run is
left. After every few: the next run completes the repair, and nothing is left beside the files. Half of the kills come
at any time of the run, half while files are being replaced; half of the runs use the cache.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

ROUND = 5  # kills between two runs that are let through
WAIT = 120.0  # seconds that a run or the end of a process may take

FILE = """\
import logging

import torch
from torch import nn

log = logging.getLogger(__name__)


class Net{number}(nn.Module):
    def forward(self, x):
        y = x * {number}
        print("doubled", y.shape)
        log.info("at %d", {number})
        return y + 1


model = torch.compile(Net{number}())
"""


class Broken(Exception):
    """Something that a user relies on did not hold."""


def write(folder: Path, files: int) -> dict[Path, bytes]:
    """A project whose every file has breaks that can be repaired."""
    found = {folder / f"net{number}.py": FILE.format(number=number).encode() for number in range(files)}
    for path, data in found.items():
        path.write_bytes(data)
    return found


def start(folder: Path, *options: str) -> subprocess.Popen[bytes]:
    """`gblint fix` on a folder, as the first process of its own session."""
    command = [
        sys.executable,
        "-m",
        "gblint",
        "fix",
        "--unsafe-fixes",
        "--quiet",
        "--isolated",
        "--jobs",
        "2",
        *options,
    ]
    return subprocess.Popen(
        [*command, str(folder)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True, cwd=folder
    )


def finish(folder: Path) -> tuple[int, str]:
    """Let a run through: its exit code and what it has said on standard error."""
    process = start(folder)
    try:
        _, said = process.communicate(timeout=WAIT)
    except subprocess.TimeoutExpired as error:
        os.killpg(process.pid, signal.SIGKILL)
        raise Broken(f"a run has not ended after {WAIT:.0f} s") from error
    return process.returncode, said.decode("utf-8", "replace")


def beside(folder: Path) -> list[str]:
    """What lies about that is neither source nor cache."""
    return sorted(p.name for p in folder.iterdir() if p.suffix != ".py" and p.name != ".gblint_cache")


class Killing:
    """One project that is repaired and killed again and again. Counts what was seen."""

    def __init__(self, folder: Path, files: int, seed: int) -> None:
        self.seen: Counter[str] = Counter()
        self._random = random.Random(seed)
        self._folder = folder
        self._old = write(folder, files)
        begin = time.monotonic()
        code, said = finish(folder)
        self._length = time.monotonic() - begin
        self._new = {path: path.read_bytes() for path in self._old}
        if code != 0 or any(self._new[path] == data for path, data in self._old.items()):
            raise Broken(f"the project is not repaired: exit code {code}, {said}")
        self._reset()

    def run(self, kills: int) -> None:
        """Kill so many runs. Raises Broken."""
        for number in range(kills):
            self._kill(late=bool(number % 2))
            self._look()
            if number % ROUND == ROUND - 1 or number == kills - 1:
                self._complete()
                self._reset()

    def _kill(self, late: bool) -> None:
        process = start(self._folder, *(["--no-cache"] if self._random.random() < 0.5 else []))
        if late:
            self._wait_for_writing(process)
        else:
            time.sleep(self._random.uniform(0, self._length))
        self.seen["killed" if process.poll() is None else "ended before"] += 1
        if process.poll() is None:
            os.kill(process.pid, signal.SIGKILL)  # the first process alone: the others have to notice
        process.communicate()
        self._wait_for_the_others(process.pid)

    def _wait_for_writing(self, process: subprocess.Popen[bytes]) -> None:
        """Until some files of those left have been replaced, or the next one is being written."""
        left = [path for path, data in self._old.items() if path.read_bytes() == data]
        awaited = self._random.choice(left) if left else None
        temporary = self._random.random() < 0.5
        begin = time.monotonic()
        while process.poll() is None and time.monotonic() - begin < WAIT:
            if awaited is None or awaited.stat().st_size != len(self._old[awaited]):
                return
            if temporary and any(name.startswith(f".{awaited.name}.") for name in os.listdir(self._folder)):
                return
            time.sleep(0.0005)

    def _wait_for_the_others(self, group: int) -> None:
        begin = time.monotonic()
        while _has_members(group):
            if time.monotonic() - begin > WAIT:
                raise Broken("a process has outlived the killed one")
            time.sleep(0.01)

    def _look(self) -> None:
        replaced = 0
        for path, old in self._old.items():
            data = path.read_bytes()
            if data not in (old, self._new[path]):
                raise Broken(f"{path.name} is neither old nor new")
            replaced += data != old
        whole = "all" if replaced == len(self._old) else "some" if replaced else "none"
        self.seen[f"{whole} of the files new"] += 1
        self.seen["left a file that was not whole beside"] += bool(beside(self._folder))
        if whole == "all":
            self._reset()

    def _complete(self) -> None:
        code, said = finish(self._folder)
        if code != 0:
            raise Broken(f"the run after a kill: exit code {code}, {said}")
        if any(path.read_bytes() != new for path, new in self._new.items()):
            raise Broken("the run after a kill has not completed the repair")
        if beside(self._folder):
            raise Broken(f"left behind: {beside(self._folder)}")
        self.seen["completed by the next run"] += 1

    def _reset(self) -> None:
        for path, data in self._old.items():
            path.write_bytes(data)


def _has_members(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--files", type=int, default=24)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args(arguments)
    folder = Path(tempfile.mkdtemp(prefix="killing-"))
    killing = Killing(folder, given.files, given.seed)
    try:
        killing.run(given.kills)
    except Broken as error:
        print(f"{error}; see {folder}, after {dict(killing.seen)}", file=sys.stderr)
        return 1
    shutil.rmtree(folder)
    for name, count in killing.seen.items():
        print(f"{count:5} {name}")
    if given.json:
        given.json.write_text(json.dumps(killing.seen, indent=1) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
