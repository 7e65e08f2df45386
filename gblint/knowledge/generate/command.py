"""The command `python -m gblint.knowledge.generate`: runs the stages and writes one data file."""

from __future__ import annotations

import importlib.util
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click
import torch

from gblint.knowledge import load
from gblint.knowledge.generate import breaks, changes, curated, entries, names, probing, runs, tables, verdicts, write
from gblint.knowledge.model import Entry

Result = TypeVar("Result")


@click.command()
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), required=True, help="Directory to write to.")
@click.option("--jobs", type=click.IntRange(1), default=2, show_default=True, help="Programs compiled at a time.")
@click.option("--changes-from", "base", metavar="X.Y", help="Measure only verdicts, and write what differs from X.Y.")
@click.option("--resume", is_flag=True, help="Keep the verdicts of the file that is there, measure those it lacks.")
def main(out: Path, jobs: int, base: str | None, resume: bool) -> None:
    """Measure the installed torch and write torch-MAJOR.MINOR.json into the directory OUT.

    With --changes-from it is changes-MAJOR.MINOR.json, which needs the data of that release.
    """
    warnings.simplefilter("ignore")
    minor = ".".join(torch.__version__.split(".")[:2])
    if base is not None:
        stage("warm-up", breaks.warm_up)
        found = stage("changes", lambda: changes.measure(load(base), base, jobs))
        (out / f"changes-{minor}.json").write_text(write.encode_changes(found))
        return
    if importlib.util.find_spec("expecttest") is None:
        raise click.UsageError("torch.testing, which has the sample inputs, needs expecttest: pip install expecttest")
    out.mkdir(parents=True, exist_ok=True)
    path = out / f"torch-{minor}.json"
    data = generate(jobs, write.read(path) if resume else None)
    path.write_text(write.encode(data))
    click.echo(f"{path}: {len(data['entries'])} entries, {path.stat().st_size / 1e6:.2f} MB")


def generate(jobs: int, earlier: write.Earlier | None = None) -> dict[str, Any]:
    """All sections of the data file, in their order, with the verdicts of an earlier file if one is given."""
    stage("warm-up", breaks.warm_up)
    kept, aliases = stage("names", lambda: names.canonical_names(names.public_objects()))
    aliases.update(names.attribute_aliases(kept))
    by_id = {id(value): name for name, value in kept.items()}
    known = stage("signatures", lambda: entries.torch_entries(kept))
    known = stage("operators", lambda: runs.refine(known, aliases, by_id))
    known = stage("modules", lambda: runs.refine_modules(known, by_id))
    known = curated.apply(known)
    earlier = earlier or write.Earlier({}, {}, {})
    verdicts.keep(known, earlier.entries)
    contexts, gb_types = measure_breaks(known, aliases, by_id, jobs, earlier)
    return {
        "torch": torch.__version__.partition("+")[0],
        "python": ".".join(map(str, sys.version_info[:2])),
        "tensor_attributes": entries.tensor_attributes(),
        "tensor_names": names.tensor_names(),
        "tensor_only_names": names.tensor_only_names(),
        "dtypes": names.dtype_kinds(),
        "context_managers": contexts,
        "gb_types": gb_types,
        "aliases": aliases,
        "entries": known,
    }


def measure_breaks(
    known: dict[str, Entry], aliases: dict[str, str], by_id: dict[int, str], jobs: int, earlier: write.Earlier
) -> tuple[dict[str, str], dict[str, str]]:
    """Adds verdicts to the entries; returns those on context managers, and the names of all breaks met."""

    def kept(full_name: str) -> bool:
        name, _, form = full_name.partition("@")
        entry = earlier.entries.get(aliases.get(name, name))
        return entry is not None and bool(entry.forms.get(form) if form else entry.verdict)

    operators = stage("compiled operators", lambda: verdicts.operator_verdicts(by_id, aliases, jobs, kept))
    verdicts.add_operators(known, operators)
    verdicts.add_modules(known, stage("compiled modules", lambda: verdicts.module_verdicts(by_id, jobs, kept)))
    probes = verdicts.all_probes()
    measured = stage("compiled probes", lambda: verdicts.probe_all(probes, jobs, kept))
    verdicts.add_probes(known, measured, aliases)
    verdicts.add_types(known, stage("types", lambda: verdicts.observed_types(jobs)), aliases)
    verdicts.share_with_twins(known)
    with_numbers = [] if earlier.entries else probing.numpy_python_probes()
    python = stage("compiled NumPy", lambda: verdicts.probe_all(with_numbers, jobs))
    verdicts.add_python_forms(known, python)
    managers, done = probing.parse_table(tables.CONTEXTS), earlier.context_managers
    entered = stage(
        "compiled contexts",
        lambda: verdicts.probe_all(managers, jobs, lambda n: aliases.get(n, n) in done, probing.measure_context),
    )
    contexts = {**done, **{aliases.get(name, name): m.verdict or "" for name, m in entered.items()}}
    return contexts, {**earlier.gb_types, **verdicts.gb_types([measured, python, entered])}


def stage(title: str, work: Callable[[], Result]) -> Result:
    """Runs one step and says how long it took."""
    start = time.perf_counter()
    result = work()
    click.echo(f"{title}: {time.perf_counter() - start:.1f} s", err=True)
    return result
