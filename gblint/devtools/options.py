"""Options that the commands which score, fit and measure have in common."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import click

C = TypeVar("C", bound=Callable[..., None])


def corpus_options(findings: str) -> Callable[[C], C]:
    """Adds --sources (`folders`), --findings (`reports`), --corpus and --jobs to a command. findings: what the command
    does with the findings of a report."""
    options = (
        click.option(
            "--sources",
            "folders",
            multiple=True,
            type=click.Path(exists=True, file_okay=False, path_type=Path),
            help="A site-packages folder with library sources; may be given several times.",
        ),
        click.option(
            "--findings",
            "reports",
            multiple=True,
            type=click.Path(exists=True, dir_okay=False, path_type=Path),
            help=f"{findings}; may be given several times.",
        ),
        click.option("--corpus", type=click.Path(exists=True, file_okay=False, path_type=Path), default=Path("corpus")),
        click.option("-j", "--jobs", type=click.IntRange(min=1), default=2, show_default=True),
    )

    def add(command: C) -> C:
        for option in reversed(options):
            command = option(command)
        return command

    return add
