"""`python -m gblint.devtools.transcripts` runs the commands that pages of the documentation show, and writes down what
they print now.

A comment `<!-- project: FOLDER -->` on a page starts over with a copy of a folder of the repository. The console blocks
that follow run there one after the other: a line that starts with `$ ` is a command, the lines below are what it
prints, errors included. `pip` is not run, and shown without output. With --check nothing is written: the command lists
the pages that are out of date and exits with 1. Times, the release of torch and folders do not count in that.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import click

ROOT = Path(__file__).parents[2]
_PART = re.compile(r"<!-- project: (?P<project>\S+) -->|^```console\n(?P<block>.*?)^```$", re.MULTILINE | re.DOTALL)
_TIMEOUT_SECONDS = 300
_HOME = "/home/you"
# What differs from run to run, and what stands for it in a comparison.
_VARYING = (
    (re.compile(r"\b\d[\d,]*(\.\d+)? (µs|ms|s|MB|MiB|GB)\b"), r"N \2"),
    (re.compile(r"[+-]?\d+(\.\d+)?%"), "N%"),
    (re.compile(r"\btorch \d+\.\d+\.\d+\S*?(?=[\s,)])"), "torch X"),
    (re.compile(r"(?m)^(compile time, s).*"), r"\1"),
    (re.compile(r" {2,}"), "  "),
)


class Step(NamedTuple):
    """A command of a page and what the page says that it prints."""

    command: str
    shown: str


def pages() -> list[Path]:
    """The pages that show commands in a project."""
    return [page for page in sorted((ROOT / "docs").glob("*.md")) if "<!-- project: " in page.read_text("utf-8")]


def steps(block: str) -> list[Step]:
    """The commands of a console block. Raises ValueError if it starts with something else."""
    found: list[Step] = []
    for line in block.splitlines(keepends=True):
        if line.startswith("$ "):
            found.append(Step(line[2:].rstrip("\n"), ""))
        elif found:
            found[-1] = Step(found[-1].command, found[-1].shown + line)
        else:
            raise ValueError(f"a console block starts with a command behind `$ `, not with {line!r}")
    return found


def rerun(text: str) -> str:
    """A page with what its commands print now."""
    with tempfile.TemporaryDirectory() as folder:
        programs = _programs(Path(folder) / "bin")
        place = Path(folder) / "none"

        def again(part: re.Match[str]) -> str:
            nonlocal place
            if part["project"]:
                place = Path(folder) / str(part.start()) / Path(part["project"]).name
                shutil.copytree(ROOT / part["project"], place, ignore=shutil.ignore_patterns("__pycache__", ".gblint*"))
                return part[0]
            printed = (f"$ {step.command}\n{_output(step.command, place, programs)}" for step in steps(part["block"]))
            return f"```console\n{''.join(printed)}```"

        return _PART.sub(again, text)


def alike(text: str) -> str:
    """A page without what differs from run to run."""
    for pattern, stands_for in _VARYING:
        text = pattern.sub(stands_for, text)
    return text


def _programs(folder: Path) -> Path:
    """A folder with `gblint` and `python`, as an environment has them."""
    folder.mkdir()
    for name, words in (("gblint", "-m gblint"), ("python", "")):
        (folder / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {words} "$@"\n')
        (folder / name).chmod(0o755)
    return folder


def _output(command: str, place: Path, programs: Path) -> str:
    if command.startswith("pip "):
        return ""
    hidden = ("VIRTUAL_ENV", "CONDA_PREFIX", "FORCE_COLOR", "PYTHONPATH", "TORCH_LOGS")
    variables = {name: value for name, value in os.environ.items() if name not in hidden}
    done = subprocess.run(
        ["sh", "-c", command],
        cwd=place,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        timeout=_TIMEOUT_SECONDS,
        text=True,
        env={**variables, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "PYTHONDONTWRITEBYTECODE": "1"},
    )
    text = done.stdout.replace(str(place), f"{_HOME}/{place.name}")
    return text if not text or text.endswith("\n") else f"{text}\n"


@click.command(help=__doc__)
@click.option("--check", "only_check", is_flag=True, help="Write nothing; exit with 1 if something is out of date.")
def main(only_check: bool) -> None:
    wrong = False
    for page in pages():
        text = page.read_text("utf-8")
        new = rerun(text)
        if alike(new) == alike(text):
            continue
        wrong = True
        click.echo(f"{'out of date' if only_check else 'written'}: {page.relative_to(ROOT)}")
        if not only_check:
            page.write_text(new, "utf-8")
    sys.exit(wrong and only_check)


if __name__ == "__main__":
    main()
