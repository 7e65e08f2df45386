"""`gblint override`: repair library code in a module of one's own."""

from __future__ import annotations

import re
from pathlib import Path

import click

from gblint.checking import Options
from gblint.cli.analysis_options import cpus
from gblint.cli.main import print_out
from gblint.cli.options import RELEASE, read_fixed_config
from gblint.cli.progress import progress_bar
from gblint.config import Config, ConfigFinder
from gblint.discovery import absolute
from gblint.environment import find_environment
from gblint.errors import GblintError

_TARGET = re.compile(r"([\w.]+):([\w.]+)")


@click.command("override")
@click.argument("target", metavar="MODULE:CLASS")
@click.option("-o", "--output-file", type=click.Path(path_type=Path, allow_dash=True), help="Where to, - for stdout.")
@click.option("--python", "environment", metavar="PATH", help="The environment that has the library, as in settings.")
@click.option("--target-torch", type=RELEASE, metavar="X.Y", help="The torch release to predict for.")
@click.option("--cache-dir", type=click.Path(file_okay=False, path_type=Path), help="The folder of the cache.")
@click.option("-j", "--jobs", type=click.IntRange(min=1), help="Processes to use.  [default: one per CPU]")
@click.option("--config", type=click.Path(dir_okay=False, path_type=Path), help="Settings file to use.")
def command(
    target: str,
    output_file: Path | None,
    environment: str | None,
    target_torch: str | None,
    cache_dir: Path | None,
    jobs: int | None,
    config: Path | None,
) -> int:
    """Write a module that repairs what breaks on the way from the forward of a library's class, such as
    transformers.models.bart.modeling_bart:BartModel. The library is read, never run and never edited.

    The module holds subclasses that override only the methods that break, and compile_ready(model), which gives the
    modules of an existing model these classes. Without --output-file its name is made from that of the class.

    Exits with 0 if breaks were repaired, 1 if none could be, 2 if gblint could not do its work.
    """
    found = _TARGET.fullmatch(target)
    if not found:
        raise GblintError(f"`{target}` does not name a class", "write it as package.module:Class")
    module, qualname = found[1], found[2]
    path = output_file or Path(f"compile_ready_{qualname.rpartition('.')[2].lower()}.py")
    if str(path) != "-" and output_file is None and path.exists():
        raise GblintError(f"{path} exists", "name another with --output-file, or delete it")
    from gblint.fixing.override import override

    settings = ConfigFinder(read_fixed_config(config)).for_folder(Path.cwd())
    options = Options(
        isolated=True,
        target_torch=target_torch or settings.target_torch,
        cache_dir=absolute(cache_dir) if cache_dir else settings.path(settings.cache_dir),
        jobs=jobs or cpus(),
    )
    package = _package(module.partition(".")[0], _search(environment or settings.python))
    with progress_bar() as progress:
        made = override(module, qualname, package, options, progress)
    for step in made.repaired.made:
        f = step.finding
        click.echo(f"{f.function}: {f.code} {f.name}: {step.fix.message} [{step.fix.codemod}]", err=True)
    for reason in made.skipped:
        click.echo(f"left out: {reason}", err=True)
    if not made.text:
        click.echo(f"Nothing on the way from {qualname}.forward could be repaired.", err=True)
        return 1
    if str(path) == "-":
        print_out(made.text)
    else:
        path.write_text(made.text, "utf-8")
        click.echo(f"Wrote {path}: {len(made.replaced)} functions and methods repaired or led there.", err=True)
    return 0


def _search(python: str | None) -> list[Path]:
    here = Path.cwd()
    found = find_environment(Config(root=here, python=python), here)
    if not found.site_packages:
        raise GblintError("no Python environment was found to read the library from", "name one with --python")
    return list(found.site_packages)


def _package(name: str, folders: list[Path]) -> Path:
    for folder in folders:
        if (folder / name / "__init__.py").is_file():
            return (folder / name).resolve()
    raise GblintError(f"no package {name} in {', '.join(map(str, folders))}")
