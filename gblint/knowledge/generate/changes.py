"""What another torch release does otherwise than one that was measured in full: verdicts only, and only those that
differ."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import torch

from gblint.knowledge import Knowledge
from gblint.knowledge.generate import probing, tables, verdicts
from gblint.knowledge.generate.breaks import OK, UNNAMED
from gblint.knowledge.generate.probing import Measured, Probe
from gblint.knowledge.model import Changes

# Left out so that a release takes minutes: what compiled code rarely calls, and NumPy, whose functions go by one way.
LEFT_OUT = frozenset(
    "numpy ast decimal calendar cmath statistics unicodedata difflib base64 typing array textwrap abc html colorsys"
    " fractions platform string".split()
)
# Probed on an object from outside the region and with one argument; what is made inside is traced where this breaks.
TRACED_INSIDE = frozenset({"dict", "list", "set", "collections.OrderedDict", "collections.defaultdict", "re.Match"})


def measure(base: Knowledge, release: str, jobs: int) -> Changes:
    """Probe the installed torch again where `base`, the data of `release`, has a verdict, and keep what differs."""
    measured = verdicts.probe_all(list(_probes(base)), jobs)
    managers = probing.parse_table(tables.CONTEXTS)
    entered = verdicts.probe_all(managers, jobs, task=probing.measure_context)
    return Changes(
        torch=torch.__version__.partition("+")[0],
        base=release,
        verdicts=differing(base, _found(measured)),
        context_managers=_differing_managers(base, entered),
    )


def _probes(base: Knowledge) -> Iterator[Probe]:
    """Of torch what breaks in the base release: what is traced there is so in the others, as a rule."""
    for probe in verdicts.all_probes():
        name, _, form = probe.name.partition("@")
        top = name.partition(".")[0]
        verdict = base.verdict(name, form)
        if top not in LEFT_OUT and verdict is not None and (top != "torch" or verdict != OK):
            yield probe


def _found(measured: Mapping[str, Measured]) -> Iterator[tuple[str, str, str]]:
    """Name, form and verdict of all that was measured."""
    for full_name, one in measured.items():
        name, _, form = full_name.partition("@")
        yield name, form, one.verdict or ""
        if one.as_number:
            yield name, "as-number", one.as_number


def differing(base: Knowledge, found: Iterable[tuple[str, str, str]]) -> dict[str, str]:
    """Of (name, form, verdict) those with another verdict than in the base release, by "name" or "name@form".

    A break without an id is no other verdict where the base release has a break: its id stands for it.
    """
    changed: dict[str, str] = {}
    for name, form, verdict in found:
        known = base.verdict(name, form)
        without_id = known != OK and verdict == UNNAMED
        by_receiver = known == OK and name.rpartition(".")[0] in TRACED_INSIDE
        if without_id or by_receiver:
            continue
        if verdict and known is not None and verdict != known:
            changed[base.canonical(name) + (f"@{form}" if form else "")] = verdict
    return changed


def _differing_managers(base: Knowledge, entered: Mapping[str, Measured]) -> dict[str, str]:
    found = {base.canonical(name): one.verdict or "" for name, one in entered.items()}
    known = base.context_managers
    return {name: verdict for name, verdict in found.items() if verdict not in ("", UNNAMED, known.get(name))}
