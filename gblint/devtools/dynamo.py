"""Run programs under the installed torch and see where Dynamo breaks the graph.

    with DynamoRunner() as runner:
        observed = runner.observe(text)  # source text, or a Path: a file, or a folder with main.py
        for observed in runner.observe_all(many): ...  # in order, several at a time

Each program runs as `__main__` in a process of its own, with one torch thread, a scratch working
directory, a time limit, and `torch.compile`'s default backend replaced by one that runs graphs as
they are (what Dynamo does is the same, and no compiler is needed). The first program costs a few
seconds (importing torch), each later one 0.1 to 0.5.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import IO

import msgspec

from gblint.devtools.observed import Answer, Break, Observed, Request

__all__ = ["Break", "DynamoRunner", "Observed"]

Program = str | Path


class DynamoRunner:
    """A context manager around one process that has imported torch and forks for each program.

    python: interpreter with torch and gblint installed.
    limit: seconds a program may take.
    warm_up: texts of programs that the process runs before it forks: what comes then is faster if it is much alike.
    """

    def __init__(self, python: str = sys.executable, limit: float = 60.0, warm_up: Iterable[str] = ()) -> None:
        self._python = python
        self._limit = limit
        self._warm_up = tuple(warm_up)
        self._count = 0

    def __enter__(self) -> DynamoRunner:
        self._scratch = tempfile.TemporaryDirectory(prefix="gblint-dynamo-")
        first = [str(self._file(text)) for text in self._warm_up]
        self._host = subprocess.Popen(
            [self._python, "-m", "gblint.devtools.dynamo_host", *first],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=_environment(),
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self._host.kill()
        with contextlib.suppress(BrokenPipeError), self._host:  # it may have ended before it read everything
            pass
        self._scratch.cleanup()

    def observe(self, program: Program) -> Observed:
        """Run one program.

        Raises FileNotFoundError for a missing path, RuntimeError when torch cannot be imported.
        """
        return next(self.observe_all([program]))

    def observe_all(
        self, programs: Iterable[Program], jobs: int = 2, eager: bool = False, digest: bool = False, rows: bool = False
    ) -> Iterator[Observed]:
        """Run many programs, `jobs` at a time; results come in the order of `programs`.

        eager: with Dynamo off. digest: note what the calls of the main program give. rows: run each before with Dynamo
        off, and note which rows run; an error in that run is the program's.
        """
        waiting = [self._request(program, eager, digest, rows) for program in programs]
        order = [request.key for request in waiting]
        done: dict[int, Observed] = {}
        for _ in range(min(jobs, len(waiting))):
            self._send(waiting.pop(0))
        for key in order:
            while key not in done:
                answer = self._receive()
                done[answer.key] = answer.observed
                if waiting:
                    self._send(waiting.pop(0))
            yield done.pop(key)

    def _request(self, program: Program, eager: bool, digest: bool, rows: bool) -> Request:
        self._count += 1
        return Request(self._count, str(self._file(program)), self._limit, eager, digest, rows)

    def _file(self, program: Program) -> Path:
        """Path of the file to run; source text is written to a folder of its own first."""
        if isinstance(program, str):
            folder = Path(tempfile.mkdtemp(dir=self._scratch.name))
            file = folder / "program.py"
            file.write_text(program, encoding="utf8")
            return file
        file = program / "main.py" if program.is_dir() else program
        if not file.is_file():
            raise FileNotFoundError(f"no program at {file}")
        return file.resolve()

    def _send(self, request: Request) -> None:
        pipe = _open(self._host.stdin)
        try:
            pipe.write(msgspec.json.encode(request) + b"\n")
            pipe.flush()
        except BrokenPipeError as error:
            raise self._ended() from error

    def _receive(self) -> Answer:
        line = _open(self._host.stdout).readline()
        if not line:
            raise self._ended()
        return msgspec.json.decode(line, type=Answer)

    def _ended(self) -> RuntimeError:
        return RuntimeError(
            f"the process that runs programs under Dynamo ended; is torch installed for {self._python}?"
            " (its own message is above)"
        )


def _open(pipe: IO[bytes] | None) -> IO[bytes]:
    if pipe is None:
        raise RuntimeError("DynamoRunner is used outside its with block")
    return pipe


def _environment() -> dict[str, str]:
    """The caller's environment without settings that would change what Dynamo does or logs."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TORCH")}
    fixed = {"OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0", "PYTHONSAFEPATH": "1", "PYTHONWARNINGS": "ignore"}
    return kept | fixed
