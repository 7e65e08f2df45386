"""Types of command-line values: the rules of the settings file, with errors that name the option."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from gblint.config import (
    Config,
    check_patterns,
    parse_confidence,
    parse_fail_on,
    parse_release,
    parse_roots,
    parse_selectors,
    read_config,
)
from gblint.errors import GblintError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

T = TypeVar("T")


def parsed(name: str, parse: Callable[[str], T]) -> Callable[[str], T]:
    """A type for click: a function whose ValueError is the message of the usage error."""

    def convert(text: str) -> T:
        try:
            return parse(text)
        except ValueError as error:
            raise click.BadParameter(str(error)) from error

    convert.__name__ = name
    return convert


def _words(text: str) -> list[str]:
    return [word for word in (part.strip() for part in text.split(",")) if word]


def _patterns(text: str) -> tuple[str, ...]:
    patterns = tuple(_words(text))
    check_patterns(patterns)
    return patterns


def _number(text: str) -> float:
    try:
        return parse_confidence(float(text))
    except ValueError as error:
        raise ValueError("expected a number from 0 to 1") from error


def _per_file(text: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    pairs: dict[str, tuple[str, ...]] = {}
    for word in _words(text):
        pattern, colon, code = word.rpartition(":")
        if not (pattern and colon):
            raise ValueError(f"`{word}` is not of the form PATTERN:RULE")
        pairs[pattern] = (*pairs.get(pattern, ()), *parse_selectors([code.strip()]))
    check_patterns(tuple(pairs))
    return tuple(pairs.items())


SELECTORS = parsed("rules", lambda text: parse_selectors(_words(text)))
PATTERNS = parsed("patterns", _patterns)
PER_FILE_IGNORES = parsed("pattern:rule", _per_file)
ROOTS = parsed("roots", _words)
RELEASE = parsed("release", parse_release)
CONFIDENCE = parsed("number", _number)
FAIL_ON = parsed("heats", lambda text: parse_fail_on(_words(text)))


def complete_rules(context: click.Context, parameter: click.Parameter, start: str) -> list[str]:
    """What a shell may complete a rule with: codes and names, behind what is there up to the last comma."""
    from gblint.registry import load_rules

    before, comma, word = start.rpartition(",")
    known = sorted({word for rule in load_rules() for word in (*rule.meta.codes, rule.meta.slug)})
    return [f"{before}{comma}{name}" for name in known if name.startswith((word, word.upper()))]


def complete_files(context: click.Context, parameter: click.Parameter, start: str) -> list[CompletionItem]:
    """Leaves it to the shell to complete a file or folder."""
    from click.shell_completion import CompletionItem

    return [CompletionItem(start, type="file")]


def flat(values: Iterable[Iterable[T]]) -> tuple[T, ...]:
    """The values of an option that may be given several times, as one."""
    return tuple(item for value in values for item in value)


def roots_of(words: Iterable[Iterable[str]]) -> tuple[str, tuple[str, ...]] | None:
    """The value of all `--roots`, None without any; raises a usage error."""
    names = flat(words)
    try:
        return parse_roots(names) if names else None
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="'--roots'") from error


def read_fixed_config(path: Path | None) -> Config | None:
    """The settings of `--config`; raises GblintError if there are none in the file."""
    if path is None:
        return None
    if not path.exists():
        raise GblintError(f"no such settings file: {path}")
    config = read_config(path.absolute())
    if config is None:
        raise GblintError(f"{path} has no [tool.gblint] table")
    return config


def words_of(text: str, option: str) -> tuple[str, ...]:
    """The words of a command that was given as one text; raises a usage error for what is none."""
    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        raise click.BadParameter(f"{error} in `{text}`", param_hint=f"'{option}'") from error
    if not words:
        raise click.BadParameter("it is empty", param_hint=f"'{option}'")
    return words
