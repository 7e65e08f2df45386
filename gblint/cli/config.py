"""`gblint config`: the settings that hold for a path."""

from __future__ import annotations

import re
from pathlib import Path

import click
import msgspec

from gblint.checking import cache_folder, target_release
from gblint.cli.main import print_out
from gblint.cli.options import read_fixed_config
from gblint.config import HEATS, KEYS, Config, ConfigFinder
from gblint.discovery import absolute, project_root
from gblint.environment import find_environment
from gblint.errors import GblintError


@click.command("config")
@click.argument("path", type=click.Path(path_type=Path), default=".")
@click.option("--config", "file", type=click.Path(dir_okay=False, path_type=Path), help="Settings file to use.")
@click.option("--isolated", is_flag=True, help="Use no settings file.")
def command(path: Path, file: Path | None, isolated: bool) -> int:
    """Show the settings that hold for PATH (default: the current folder), and what they lead to."""
    if not path.exists():
        raise GblintError(f"no such file or directory: {path}")
    place = absolute(path)
    folder = place if place.is_dir() else place.parent
    print_out(settings_text(ConfigFinder(read_fixed_config(file), isolated).for_folder(folder), folder))
    return 0


def settings_text(config: Config, folder: Path) -> str:
    """Settings as a file would have them, with what they lead to in a folder as comments."""
    root = project_root(folder)
    environment = find_environment(config, root or folder)
    found = ", ".join(map(str, environment.site_packages))
    lines = [
        f"# settings: {config.source or 'the defaults, no file was found'}",
        f"# project: {root or 'none: no pyproject.toml or the like above'}",
        f"# environment: {f'{found} ({environment.found_by})' if found else 'none found'}",
        f"# Python {environment.python}, torch {target_release(config, root or folder)}",
        f"# cache: {cache_folder(config, root)}",
        *(f"{key} = {_toml(_value(config, key))}" for key in KEYS if _value(config, key) is not None),
    ]
    return "\n".join(lines) + "\n"


def _value(config: Config, key: str) -> object:
    if key == "roots":
        return (config.roots_mode, *config.roots)
    if key == "functions":
        return {name: msgspec.to_builtins(what) for name, what in config.functions}
    if key == "fix":
        return {
            "logging": config.fix_logging,
            "extend-safe-fixes": config.extend_safe_fixes,
            "extend-unsafe-fixes": config.extend_unsafe_fixes,
        }
    if key == "fail-on":
        return {heat: dict(config.fail_on).get(heat, False) for heat in HEATS}
    if key == "per-file-ignores":
        return dict(config.per_file_ignores)
    return getattr(config, key.replace("-", "_"))


def _toml(value: object) -> str:
    """A value as TOML writes it; strings, numbers and lists look the same in JSON."""
    if isinstance(value, dict):
        pairs = ", ".join(f"{_key(name)} = {_toml(item)}" for name, item in value.items())
        return f"{{ {pairs} }}" if pairs else "{}"
    return msgspec.json.encode(value).decode()


def _key(name: str) -> str:
    return name if re.fullmatch(r"[a-z-]+", name) else _toml(name)
