"""Small programs and what the interpreter makes of them.

A program says itself what is expected of it: a line that ends in `# splits`, `# falls`, `# raises` or `# masked` holds
one finding with that consequence (`splits-graph`, `frame-falls-back`, `raises`, `masked`), and no other line holds any.
`graph_break()` breaks wherever it is reached, so it tells which code is reached. `probe.see(value)` hands the value to
the test, which tells what the interpreter knows of it.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from gblint.analysis import Settings
from gblint.index.project import Project
from gblint.interpreter.dispatch import RuleTable
from gblint.interpreter.events import Call
from gblint.interpreter.values import Tensor, Value
from gblint.rule_api import Break, Context, Rule, RuleMeta
from gblint.units import Plan, UnitResult, Worker

HEADER = """\
from __future__ import annotations
import contextlib, dataclasses, functools, os, sys
from typing import NamedTuple, Optional, Union
import numpy as np
import probe
import torch
from torch import Tensor, nn
from torch._dynamo import graph_break
"""
CONSEQUENCES = {"splits": "splits-graph", "falls": "frame-falls-back", "raises": "raises", "masked": "masked"}
_MARK = re.compile(r"# (splits|falls|raises|masked)$")


def text_of(source: str) -> str:
    """The source as it is written to a file: imports that most programs need come first."""
    return HEADER + textwrap.dedent(source)


def announced(text: str) -> list[tuple[int, str]]:
    """(row, consequence) of every finding that a text announces."""
    found = ((row, _MARK.search(line)) for row, line in enumerate(text.splitlines(), 1))
    return [(row, CONSEQUENCES[mark[1]]) for row, mark in found if mark]


class Analyst:
    """Writes programs into a folder and runs the interpreter on them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write(self, source: str, name: str = "program.py") -> Path:
        """One file of the project, header included."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text_of(source), encoding="utf8")
        return path

    def worker(self, *paths: Path, settings: Settings = Settings()) -> Worker:
        """A worker whose project is these files."""
        return Worker(Project(list(paths), [Path(p) for p in settings.search_paths]), settings)

    def run(
        self,
        source: str,
        mode: str = "explicit",
        files: Mapping[str, str] | None = None,
        settings: Settings = Settings(),
    ) -> UnitResult:
        """The result of one program, with other files beside it."""
        path = self.write(source)
        others = [self.write(text, name) for name, text in (files or {}).items()]
        worker = self.worker(path, *others, settings=settings)
        result = worker.run(Plan(worker.project.info(path), mode))
        assert result.internal == []
        return result

    def findings(
        self, source: str, mode: str = "explicit", settings: Settings = Settings()
    ) -> list[tuple[int, str, str]]:
        """(row, code, consequence) of every finding in a program, rows counted from its own first line."""
        start = HEADER.count("\n") + (1 if source.startswith("\n") else 0)
        return [(f.row - start, f.code, f.consequence) for f in self.run(source, mode, settings=settings).findings]

    def check(
        self,
        source: str,
        mode: str = "explicit",
        files: Mapping[str, str] | None = None,
        settings: Settings = Settings(),
    ) -> UnitResult:
        """Run a program and compare its findings, in all files, with those it announces."""
        result = self.run(source, mode, files, settings)
        texts = {"program.py": source, **(files or {})}
        wanted = [(name, *entry) for name, text in texts.items() for entry in announced(text_of(text))]
        found = [(str(Path(f.filename).relative_to(self.folder)), f.row, f.consequence) for f in result.findings]
        assert sorted(found) == sorted(wanted)
        return result

    def seen(self, source: str, mode: str = "explicit", files: Mapping[str, str] | None = None) -> list[Value]:
        """What `probe.see` was called with inside compiled regions, call by call."""
        values: list[Value] = []
        path = self.write(source)
        others = [self.write(text, name) for name, text in (files or {}).items()]
        worker = self.worker(path, *others)
        listen(worker, lambda event: values.extend(event.args))
        result = worker.run(Plan(worker.project.info(path), mode))
        assert result.internal == []
        return values


META = RuleMeta("GB0000", "probe", "a value is looked at", "user-error", "Look elsewhere.")


def listen(worker: Worker, hear: Callable[[Call], None]) -> None:
    """Add a rule that is told of every call of `probe.see`."""

    class Probe(Rule):
        meta = META
        calls = ("probe.see",)

        def on_call(self, event: Call, context: Context) -> Break | None:
            hear(event)
            return None

    add_rule(worker, Probe())


def add_rule(worker: Worker, rule: Rule) -> None:
    """Let one more rule hear what the worker's machine reports."""
    machine = worker.machine()
    machine.table = RuleTable([rule], machine.knowledge, machine.table)


def kinds(values: list[Value]) -> list[str]:
    """Names of the kinds of values, "tensor" in lower case for one that is certain."""
    return ["tensor" if isinstance(v, Tensor) and v.c >= 0.9 else type(v).__name__ for v in values]


def plain(result: UnitResult) -> bytes:
    """A result as bytes, to compare two of them whole."""
    return msgspec.msgpack.encode(result)
