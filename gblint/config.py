"""Settings of a project: `[tool.gblint]` in pyproject.toml, or gblint.toml with the same keys at its top level.

The nearest file found upwards from a source file holds for it, as a whole: settings of folders above are not merged in.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from gblint.errors import GblintError, suggest
from gblint.knowledge.declared import Declared, parse_functions

if TYPE_CHECKING:
    import pathspec

MIN_CONFIDENCE = 0.55  # the best balance of recall and precision on recorded truth: `python -m gblint.devtools.fit`
ROOTS_MODES = ("auto", "explicit", "modules", "all")
LOGGING_MODES = ("guard", "reorder", "ignore", "remove")
HEATS = ("hot", "cold")
ANY_HEAT = tuple((heat, 0.0) for heat in HEATS)
SIZE_LIMIT = 1_000_000

_NAME = r"[^\W\d]\w*(?:\.[^\W\d]\w*)*"
ROOT = re.compile(rf"{_NAME}:{_NAME}")
RELEASE = re.compile(r"(\d+\.\d+)(?:\.\d+)?")
SELECTOR = re.compile(r"[A-Z]{2,10}\d{0,4}|[a-z][a-z0-9]*(?:-[a-z0-9]+)*")

# Folders that hold no source of the project, as in ruff.
DEFAULT_EXCLUDE = (
    ".bzr", ".direnv", ".eggs", ".git", ".git-rewrite", ".gblint_cache", ".hg", ".ipynb_checkpoints", ".mypy_cache",
    ".nox", ".pants.d", ".pyenv", ".pytest_cache", ".pytype", ".ruff_cache", ".svn", ".tox", ".venv", ".vscode",
    "__pycache__", "__pypackages__", "_build", "buck-out", "build", "dist", "node_modules", "site-packages", "venv",
)  # fmt: skip


class Config(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of one file or of the command line.

    root: the folder that patterns and relative paths are taken from; source: the file read, None for defaults.
    select: None when not set, which means every rule. roots: names "pkg.model:Net.forward"; roots_mode: one of
    ROOTS_MODES. target_torch: "2.13", or None to go by the project's requirements. python: an environment's folder,
    its interpreter or its site-packages, or None to look for one. src: folders that first-party imports start from.
    baseline: the file of findings that are not reported any more (see `gblint.gate.baseline`), None for none.
    fail_on: the least confidence of findings that make the exit code 1, by HEATS; none that a heat lacks do.
    strict: what a check could not see makes it fail. functions: what is said of single functions, by dotted name.
    fix_logging: what a fix does to a call that prints or logs, one of LOGGING_MODES. extend_safe_fixes,
    extend_unsafe_fixes: codemods and rules whose fixes are promoted to safe or demoted to unsafe.
    """

    root: Path
    source: Path | None = None
    select: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()
    exclude: tuple[str, ...] = DEFAULT_EXCLUDE
    extend_exclude: tuple[str, ...] = ()
    roots: tuple[str, ...] = ()
    roots_mode: str = "auto"
    target_torch: str | None = None
    min_confidence: float = MIN_CONFIDENCE
    fail_on: tuple[tuple[str, float], ...] = ANY_HEAT
    python: str | None = None
    src: tuple[str, ...] = (".", "src")
    cache_dir: str = ".gblint_cache"
    baseline: str | None = None
    strict: bool = False
    functions: tuple[tuple[str, Declared], ...] = ()
    fix_logging: str = "guard"
    extend_safe_fixes: tuple[str, ...] = ()
    extend_unsafe_fixes: tuple[str, ...] = ()

    def path(self, text: str) -> Path:
        """A path written in the settings, made absolute."""
        return self.root / Path(text).expanduser()


# ----------------------------------------------------------------------------------------------------------- values


def parse_selectors(value: object) -> tuple[str, ...]:
    """Codes, code prefixes, slugs or ALL; raises ValueError naming the one that is none of these."""
    names = parse_strings(value)
    for name in names:
        if not SELECTOR.fullmatch(name):
            raise ValueError(f"`{name}` is neither a code (GB0059), nor a prefix of one (GB00), nor a rule's name")
    return names


def parse_roots(value: object) -> tuple[str, tuple[str, ...]]:
    """A mode, names "pkg.model:Net.forward", or both; returns (mode, names). Raises ValueError."""
    words = (value,) if isinstance(value, str) else parse_strings(value)
    modes = [w for w in words if w in ROOTS_MODES]
    names = tuple(w for w in words if w not in ROOTS_MODES)
    for name in names:
        if not ROOT.fullmatch(name):
            modes_text = ", ".join(ROOTS_MODES)
            raise ValueError(f"`{name}` is neither one of {modes_text} nor a name like pkg.model:Net.forward")
    if len(modes) > 1:
        raise ValueError(f"{' and '.join(f'`{m}`' for m in modes)} exclude each other")
    return (modes[0] if modes else "auto"), names


def parse_release(value: object) -> str:
    """A torch release, "2.13" or "2.13.1", cut to its minor; raises ValueError."""
    found = RELEASE.fullmatch(value) if isinstance(value, str) else None
    if not found:
        raise ValueError('expected a torch release in quotes, such as "2.13"')
    return found[1]


def parse_confidence(value: object) -> float:
    """A number from 0 to 1; raises ValueError."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
        raise ValueError("expected a number from 0 to 1")
    return float(value)


def parse_fail_table(value: object) -> tuple[tuple[str, float], ...]:
    if not isinstance(value, Mapping):
        raise ValueError("expected a table such as {hot = 0.8, cold = false}")
    if unknown := [key for key in value if key not in HEATS]:
        raise ValueError(f"unknown key `{unknown[0]}`; {suggest(str(unknown[0]), HEATS)}")
    fails = []
    for heat in HEATS:
        least = value.get(heat, 0)
        if least is not False:
            try:
                fails.append((heat, parse_confidence(least)))
            except ValueError as error:
                raise ValueError(f"`{heat}`: {error}, or false") from error
    return tuple(fails)


def parse_fail_on(words: Iterable[str]) -> tuple[tuple[str, float], ...]:
    """What the command line says: "hot", "cold:0.9", "none"; a heat that is not mentioned makes nothing fail. Raises
    ValueError."""
    given = dict[str, float]()
    for word in words:
        heat, colon, least = word.partition(":")
        if heat not in (*HEATS, "none") or (heat == "none" and colon):
            raise ValueError(f"`{word}` is neither hot nor cold, with a confidence behind a colon or without, nor none")
        if heat != "none":
            try:
                given[heat] = parse_confidence(float(least)) if colon else 0.0
            except ValueError as error:
                raise ValueError(f"`{word}`: expected a number from 0 to 1 behind the colon") from error
    return tuple(given.items())


def parse_flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError("expected true or false")
    return value


def parse_string(value: object) -> str:
    if not isinstance(value, str) or not value or "\0" in value:
        raise ValueError("expected a string")
    return value


def parse_strings(value: object) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)) or not all(isinstance(v, str) and v for v in value):
        raise ValueError("expected a list of strings")
    return tuple(value)


def parse_patterns(value: object) -> tuple[str, ...]:
    patterns = parse_strings(value)
    check_patterns(patterns)
    return patterns


def check_patterns(patterns: tuple[str, ...]) -> None:
    """Raises ValueError for what is no gitignore pattern."""
    for pattern in patterns:
        try:
            compiled_patterns([pattern])
        except ValueError as error:
            raise ValueError(f"`{pattern}` is not a valid pattern") from error


def compiled_patterns(lines: Iterable[str]) -> pathspec.GitIgnoreSpec:
    """Gitignore patterns; raises ValueError for one that is none."""
    import pathspec

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of `re`, about patterns that are odd and valid
            return pathspec.GitIgnoreSpec.from_lines(lines)
    except re.error as error:  # pathspec hands ranges such as [z-a] on as they are
        raise ValueError(str(error)) from error


def parse_per_file(value: object) -> tuple[tuple[str, tuple[str, ...]], ...]:
    if not isinstance(value, Mapping):
        raise ValueError('expected a table such as {"tests/**" = ["GB0059"]}')
    check_patterns(tuple(value))
    return tuple((pattern, parse_selectors(codes)) for pattern, codes in value.items())


def parse_logging(value: object) -> str:
    if value not in LOGGING_MODES:
        raise ValueError(f"expected one of {', '.join(LOGGING_MODES)}")
    return str(value)


FIX_PARSERS: dict[str, Callable[[object], Any]] = {
    "logging": parse_logging,
    "extend-safe-fixes": parse_selectors,
    "extend-unsafe-fixes": parse_selectors,
}


def parse_fix(value: object) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise ValueError('expected a table such as {logging = "guard"}')
    fields: dict[str, Any] = {}
    for key, item in value.items():
        if key not in FIX_PARSERS:
            raise ValueError(f"unknown key `{key}`; {suggest(str(key), FIX_PARSERS)}")
        try:
            fields["fix_logging" if key == "logging" else key.replace("-", "_")] = FIX_PARSERS[key](item)
        except ValueError as error:
            raise ValueError(f"`{key}`: {error}") from error
    return fields


PARSERS: dict[str, Callable[[object], Any]] = {
    "select": parse_selectors,
    "ignore": parse_selectors,
    "extend-select": parse_selectors,
    "per-file-ignores": parse_per_file,
    "exclude": parse_patterns,
    "extend-exclude": parse_patterns,
    "roots": parse_roots,
    "target-torch": parse_release,
    "min-confidence": parse_confidence,
    "fail-on": parse_fail_table,
    "python": parse_string,
    "src": parse_strings,
    "cache-dir": parse_string,
    "baseline": parse_string,
    "strict": parse_flag,
    "functions": parse_functions,
    "fix": parse_fix,
}
KEYS = tuple(PARSERS)


# ------------------------------------------------------------------------------------------------------------ files


def load_toml(path: Path) -> dict[str, Any]:
    """The content of a TOML file; raises GblintError for one that cannot be read or is not TOML."""
    import tomli

    try:
        if not path.is_file():
            raise GblintError(f"cannot read {path}: not a regular file")
        with path.open("rb") as file:
            data = file.read(SIZE_LIMIT + 1)
        if len(data) > SIZE_LIMIT:
            raise GblintError(f"{path} is too large for a settings file: more than {SIZE_LIMIT:,} bytes")
        return tomli.loads(data.decode("utf-8-sig"))
    except OSError as error:
        raise GblintError(f"cannot read {path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise GblintError(f"{path} is not valid TOML: not UTF-8 at byte {error.start}") from error
    except ValueError as error:  # a TOMLDecodeError, or what the integer and date parsers raise on absurd values
        raise GblintError(f"{path} is not valid TOML: {error}") from error
    except RecursionError as error:
        raise GblintError(f"{path} is not valid TOML: nested too deeply") from error


def read_config(path: Path) -> Config | None:
    """The settings in a pyproject.toml or gblint.toml; None for a pyproject.toml without `[tool.gblint]`.

    Raises GblintError naming the file, the key and what is wrong with it.
    """
    data = load_toml(path)
    prefix = ""
    if path.name == "pyproject.toml":
        tool = data.get("tool", {})
        if not isinstance(tool, dict):
            raise GblintError(f"{path}: `tool` is not a table")
        if "gblint" not in tool:
            return None
        data, prefix = tool["gblint"], "tool.gblint."
        if not isinstance(data, dict):
            raise GblintError(f"{path}: `tool.gblint` is not a table")
    return _config(data, path, prefix)


def _config(data: dict[str, Any], path: Path, prefix: str) -> Config:
    fields: dict[str, Any] = {}
    for key, value in data.items():
        if key not in PARSERS:
            raise GblintError(f"{path}: unknown key `{prefix}{key}`", suggest(key, KEYS))
        try:
            parsed = PARSERS[key](value)
        except ValueError as error:
            raise GblintError(f"{path}: `{prefix}{key}`: {error}") from error
        if key == "roots":
            fields["roots_mode"], fields["roots"] = parsed
        elif key == "fix":
            fields.update(parsed)
        else:
            fields[key.replace("-", "_")] = parsed
    return Config(root=path.parent, source=path, **fields)


# ------------------------------------------------------------------------------------------------------------ lookup


class ConfigFinder:
    """Finds the settings that hold for a folder.

    fixed: settings that hold everywhere (`--config FILE`); isolated: ignore all files and use the defaults.
    """

    def __init__(self, fixed: Config | None = None, isolated: bool = False) -> None:
        self._fixed = fixed
        self._isolated = isolated
        self._known: dict[Path, Config | None] = {}

    def for_folder(self, folder: Path) -> Config:
        """Settings for the files of an absolute folder; raises GblintError for a broken settings file on the way up."""
        if self._fixed:
            return self._fixed
        return (None if self._isolated else self._nearest(folder)) or _defaults(Path.cwd())

    def _nearest(self, folder: Path) -> Config | None:
        chain: list[Path] = []
        found: Config | None = None
        for place in (folder, *folder.parents):
            if place in self._known:
                found = self._known[place]
                break
            chain.append(place)
            found = _in_folder(place)
            if found:
                break
        for place in chain:
            self._known[place] = found
        return found


@lru_cache
def _defaults(root: Path) -> Config:
    return Config(root=root)


def _in_folder(folder: Path) -> Config | None:
    for name in ("gblint.toml", "pyproject.toml"):
        path = f"{folder}{os.sep}{name}"  # as text: this is asked of every folder
        if os.path.isfile(path) and (config := read_config(Path(path))):
            return config
    return None
