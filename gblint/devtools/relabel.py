"""`python -m gblint.devtools.relabel PROGRAM...` rewrites the labels of programs to what Dynamo really does.

A PROGRAM is a Python file, a folder with a main.py, or a folder of either. Read the diff before
committing it: a label that changes means that Dynamo, or the program, no longer does what the
program was written to show.
"""

from __future__ import annotations

import re
from pathlib import Path

import click

from gblint.devtools.dynamo import DynamoRunner
from gblint.devtools.labels import header_lines
from gblint.devtools.observed import Break, Observed
from gblint.devtools.programs import main_file, programs_in

LABEL = re.compile(r"#\s*(expect|also|silent):")


def relabelled(text: str, observed: Observed) -> str:
    """`text` with a header that is true of the observation made of `text`."""
    lines = text.splitlines(keepends=True)
    count = next((i for i, line in enumerate(lines) if not line.startswith("#")), len(lines))
    kept = [line for line in lines[:count] if not LABEL.match(line)]
    shift = len(header_lines(observed)) + len(kept) - count
    labels = header_lines(shifted(observed, shift))
    return "".join([line + "\n" for line in labels] + kept + lines[count:])


def shifted(observed: Observed, by: int) -> Observed:
    """The observation that the same program with `by` more header lines would give."""

    def move(breaks: tuple[Break, ...]) -> tuple[Break, ...]:
        return tuple(b if b.file else Break(b.gb_id, b.row + by, "", b.wrapped_by, b.reason) for b in breaks)

    return Observed(breaks=move(observed.breaks), silent=move(observed.silent))


@click.command(help=__doc__)
@click.argument("paths", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
def main(paths: tuple[Path, ...]) -> None:
    programs = [program for path in paths for program in programs_in(path)]
    with DynamoRunner() as runner:
        for program, observed in zip(programs, runner.observe_all(programs), strict=True):
            file = main_file(program)
            text = file.read_text(encoding="utf8")
            new = relabelled(text, observed)
            file.write_text(new, encoding="utf8")
            state = "changed" if new != text else "same"
            labels = [line for line in new.splitlines() if LABEL.match(line)]
            click.echo(f"{state:8} {program.name:45} {', '.join(labels)}  {observed.error}")


if __name__ == "__main__":
    main()
