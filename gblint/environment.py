"""What surrounds a project: the Python environment its imports resolve in, and the torch release it asks for.

Everything is read from folder names and text files; no interpreter is started.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from gblint.config import Config, load_toml
from gblint.errors import GblintError

_MINOR = re.compile(r"python(3\.\d+)")
_VERSION = re.compile(r"^version(?:_info)?\s*=\s*(3\.\d+)", re.MULTILINE)
_PIN = re.compile(r"torch\s*(?:\[[^\]]*\]\s*)?(?:===?\s*(\d+\.\d+)|~=\s*(\d+\.\d+)\.\d+)")
_OWN_PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"


class Environment(NamedTuple):
    """site_packages: folders of installed packages; python: minor version such as "3.11"; found_by: why this one."""

    site_packages: tuple[Path, ...]
    python: str
    found_by: str


def find_environment(config: Config, project_root: Path, variables: Mapping[str, str] = os.environ) -> Environment:
    """The environment a project's imports resolve in.

    The `python` setting, else the active virtual or conda environment, else `.venv` in the project. Without any, no
    folder, and the Python that runs gblint. Raises GblintError if the setting names no environment.

    Under pre-commit the active environment is the one that it has made for gblint: that comes last, and what was active
    before, which is still on PATH, first.
    """
    if config.python:
        place = config.path(config.python)
        found = _environment(place, "setting `python`")
        if not found:
            raise GblintError(
                f"no Python environment at {place}",
                "set `python` to an environment's folder, its interpreter or its site-packages",
            )
        return found
    active = [(variables.get(name), f"${name}") for name in ("VIRTUAL_ENV", "CONDA_PREFIX")]
    candidates = [*active, (str(project_root / ".venv"), ".venv of the project")]
    if variables.get("PRE_COMMIT"):
        hooks = candidates.pop(0)
        candidates = [*_on_path(variables, hooks[0]), *candidates, hooks]
    for text, reason in candidates:
        found = _environment(Path(text), reason) if text else None
        if found:
            return found
    return Environment((), _OWN_PYTHON, "")


def _on_path(variables: Mapping[str, str], hooks: str | None) -> Iterator[tuple[str | None, str]]:
    """Virtual environments whose commands can be called by name, save for that of the hooks."""
    for text in variables.get("PATH", "").split(os.pathsep):
        place = Path(text).parent
        if text and str(place) != hooks and (place / "pyvenv.cfg").is_file():
            yield str(place), "active when pre-commit was called"


def _environment(place: Path, reason: str) -> Environment | None:
    """The environment at a folder, an interpreter in its bin, or a folder of installed packages."""
    if not place.is_dir():
        # An interpreter in a virtual environment is a link: its folder counts, not what it points to.
        return _environment(place.parent.parent, reason) if place.is_file() else None
    if place.name in ("site-packages", "dist-packages") or next(place.glob("*.dist-info"), None):
        found = _MINOR.search(place.parent.name)
        return Environment((place, *_linked(place)), found[1] if found else _OWN_PYTHON, reason)
    folders = [*_site_packages(place)]
    if not folders:
        return None
    return Environment(tuple(f for s in folders for f in (s, *_linked(s))), _python_of(place, folders), reason)


def _site_packages(place: Path) -> Iterator[Path]:
    for pattern in ("lib/python3*/site-packages", "lib64/python3*/site-packages", "Lib/site-packages",
                    "lib/python3*/dist-packages", "local/lib/python3*/dist-packages"):  # fmt: skip
        seen = [p for p in sorted(place.glob(pattern)) if p.is_dir()]
        if pattern.startswith("lib64") and (place / "lib64").is_symlink():
            continue
        yield from seen


def _linked(site_packages: Path) -> Iterator[Path]:
    """Folders that .pth files add, such as those of editable installs."""
    for file in sorted(site_packages.glob("*.pth")):
        for line in _lines(file):
            path = site_packages / line.strip()
            if line.strip() and not line.startswith(("#", "import ", "import\t")) and path.is_dir():
                yield path


def _python_of(place: Path, folders: list[Path]) -> str:
    found = _VERSION.search("\n".join(_lines(place / "pyvenv.cfg")))
    if not found:
        found = next((m for f in folders if (m := _MINOR.search(f.parent.name))), None)
    return found[1] if found else _OWN_PYTHON


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text("utf-8", "replace")[:100_000].splitlines()
    except (OSError, ValueError):
        return []


def pinned_torch(project_root: Path) -> str | None:
    """The minor release of torch that a project pins ("2.13" for `torch==2.13.*`), None if it pins none.

    Looks at the dependencies in pyproject.toml, extras, groups and Poetry's tables included, then requirements*.txt.
    """
    for requirement in (*_declared(project_root), *_required(project_root)):
        found = _PIN.match(requirement.strip())
        if found:
            return found[1] or found[2]
    return None


def _declared(root: Path) -> Iterator[str]:
    try:
        data = load_toml(root / "pyproject.toml")
    except GblintError:
        return
    yield from _strings_in(_get(data, "project", "dependencies"))
    yield from _strings_in(_get(data, "project", "optional-dependencies"))
    yield from _strings_in(_get(data, "dependency-groups"))
    poetry = _get(data, "tool", "poetry", "dependencies")
    version = poetry.get("torch") if isinstance(poetry, dict) else None
    if isinstance(version, str) and version[:1].isdigit():
        yield f"torch=={version}"


def _get(data: Any, *keys: str) -> Any:
    for key in keys:
        data = data.get(key) if isinstance(data, dict) else None
    return data


def _strings_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _strings_in(item)
    elif isinstance(value, list):
        for item in value:
            yield from _strings_in(item)


def _required(root: Path) -> Iterator[str]:
    for file in sorted(root.glob("requirements*.txt")):
        yield from _lines(file)
