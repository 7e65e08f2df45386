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

from gblint.knowledge.generate import breaks, curated, entries, names, probing, runs, tables, verdicts, write
from gblint.knowledge.model import Entry

Result = TypeVar("Result")


@click.command()
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), required=True, help="Directory to write to.")
@click.option("--jobs", type=click.IntRange(1), default=2, show_default=True, help="Programs compiled at a time.")
@click.option("--keep-breaks", is_flag=True, help="Take breaks from the file that is there instead of measuring them.")
def main(out: Path, jobs: int, keep_breaks: bool) -> None:
    """Measure the installed torch and write torch-MAJOR.MINOR.json into the directory OUT."""
    warnings.simplefilter("ignore")
    if importlib.util.find_spec("expecttest") is None:
        raise click.UsageError("torch.testing, which has the sample inputs, needs expecttest: pip install expecttest")
    out.mkdir(parents=True, exist_ok=True)
    path = out / f"torch-{'.'.join(torch.__version__.split('.')[:2])}.json"
    data = generate(jobs, write.read(path) if keep_breaks else None)
    path.write_text(write.encode(data))
    click.echo(f"{path}: {len(data['entries'])} entries, {path.stat().st_size / 1e6:.2f} MB")


def generate(jobs: int, earlier: write.Earlier | None = None) -> dict[str, Any]:
    """All sections of the data file, in their order; breaks come from an earlier file if one is given."""
    stage("warm-up", breaks.warm_up)
    kept, aliases = stage("names", lambda: names.canonical_names(names.public_objects()))
    aliases.update(names.attribute_aliases(kept))
    by_id = {id(value): name for name, value in kept.items()}
    known = stage("signatures", lambda: entries.torch_entries(kept))
    known = stage("operators", lambda: runs.refine(known, aliases, by_id))
    known = stage("modules", lambda: runs.refine_modules(known, by_id))
    known = curated.apply(known)
    if earlier is None:
        contexts, gb_types = measure_breaks(known, aliases, by_id, jobs)
    else:
        verdicts.keep(known, earlier.entries)
        contexts, gb_types = earlier.context_managers, earlier.gb_types
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
    known: dict[str, Entry], aliases: dict[str, str], by_id: dict[int, str], jobs: int
) -> tuple[dict[str, str], dict[str, str]]:
    """Adds verdicts to the entries; returns those on context managers, and the names of all breaks met."""
    operators = stage("compiled operators", lambda: verdicts.operator_verdicts(by_id, aliases, jobs))
    verdicts.add_operators(known, operators)
    verdicts.add_modules(known, stage("compiled modules", lambda: verdicts.module_verdicts(by_id, jobs)))
    measured = stage("compiled probes", lambda: verdicts.probe_all(verdicts.all_probes(), jobs))
    verdicts.add_probes(known, measured, aliases)
    python = stage("compiled NumPy", lambda: verdicts.probe_all(probing.numpy_python_probes(), jobs))
    verdicts.add_python_forms(known, python)
    managers = probing.parse_table(tables.CONTEXTS)
    contexts = stage("compiled contexts", lambda: verdicts.probe_all(managers, jobs, contexts=True))
    by_name = {aliases.get(name, name): m.verdict or "" for name, m in contexts.items()}
    return by_name, verdicts.gb_types([measured, python, contexts])


def stage(title: str, work: Callable[[], Result]) -> Result:
    """Runs one step and says how long it took."""
    start = time.perf_counter()
    result = work()
    click.echo(f"{title}: {time.perf_counter() - start:.1f} s", err=True)
    return result
