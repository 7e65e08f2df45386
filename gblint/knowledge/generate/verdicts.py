"""Verdicts on torch's operators and modules with torch's own sample inputs, and the entries all probes add up to."""

from __future__ import annotations

import functools
import random
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import islice
from typing import Any

import msgspec
import torch

from gblint.knowledge.generate import breaks, probing, tables
from gblint.knowledge.generate.breaks import CRASH, OK, Outcome, compiled_outcome
from gblint.knowledge.generate.probing import Measured, Probe
from gblint.knowledge.generate.runs import operator_names
from gblint.knowledge.model import Entry, Return

# Of each sample: the arguments given (a count, then keywords), and the verdict.
Outcomes = list[tuple[str, str]]

SAMPLES = 4
DYNAMIC_ID = "GB0036"

# When a function with a data-dependent result has one: read off its documentation, checked against the forms probed.
CONDITIONS = {
    "torch.where": "one-argument",
    "torch.Tensor.where": "one-argument",
    "torch.repeat_interleave": "no-output-size",
    "torch.Tensor.repeat_interleave": "no-output-size",
    "torch.nn.functional.one_hot": "no-num-classes",
    "torch.Tensor.__getitem__": "bool-index",
    "numpy.where": "one-argument",
    "numpy.ndarray.__getitem__": "bool-index",
}


# Give back what they were given, or what they find, whatever the few calls of the probes show.
POLYMORPHIC = frozenset(
    """
    getattr eval next vars super type json.loads json.load pickle.loads pickle.load copy.copy copy.deepcopy typing.cast
    dict.get dict.pop dict.popitem dict.setdefault dict.values list.pop set.pop tuple.__getitem__ collections.deque.pop
    collections.deque.popleft collections.OrderedDict.get collections.OrderedDict.pop collections.OrderedDict.popitem
    collections.OrderedDict.setdefault collections.defaultdict.get collections.defaultdict.pop
    collections.defaultdict.setdefault collections.ChainMap.get collections.ChainMap.pop queue.Queue.get
    queue.Queue.get_nowait random.choice random.Random.choice heapq.heappop heapq.heappushpop heapq.heapreplace
    functools.reduce weakref.proxy contextvars.ContextVar.get concurrent.futures.Future.result re.Match.group
    os.environ.get os.getenv sys.modules.get operator.call operator.getitem shutil.which dataclasses.replace
    inspect.unwrap asyncio.sleep types.MappingProxyType.get max min sum abs pow
    """.split()
)
# Whether a verdict is there already: of a name, or of "name@form".
Known = Callable[[str], bool]


def nothing(_: str) -> bool:
    """Of a first run: no verdict is there."""
    return False


def operator_tasks() -> Iterator[tuple[Any, Callable[[], Outcomes]]]:
    """For each operator of op_db a task that compiles a few of its samples: (arguments given, verdict) each."""
    from torch.testing._internal.common_methods_invocations import op_db

    for op in op_db:
        yield op, functools.partial(operator_outcomes, op)


def operator_outcomes(op: Any) -> Outcomes:
    """Compiles samples of one operator; none where torch.testing wraps it, since Dynamo never looks into its wrappers.

    To be called in a child process.
    """
    if (getattr(op.op, "__module__", None) or "").startswith("torch.testing"):
        return []
    found: Outcomes = []
    for sample in _samples(op):
        outcome = _sample_outcome(op.op, (sample.input, *sample.args), sample.kwargs)
        given = ",".join([str(len(sample.args)), *sorted(sample.kwargs)])
        if outcome.verdict is not None:
            found.append((given, outcome.verdict))
    return found


def _samples(op: Any) -> list[Any]:
    for dtype in (torch.float32, torch.int64, torch.bool, torch.complex64):
        found: list[Any] = []
        with suppress(Exception):
            torch.manual_seed(0)
            if dtype in op.supported_dtypes("cpu"):
                found.extend(islice(op.sample_inputs("cpu", dtype, requires_grad=False), 40))
        if found:
            return found if len(found) <= SAMPLES else [found[0], *random.Random(0).sample(found[1:], SAMPLES - 1)]
    return []


def _sample_outcome(function: Callable[..., Any], args: Any, kwargs: Any) -> Outcome:
    def program(args: Any, kwargs: Any) -> Any:
        return function(*args, **kwargs)

    try:
        program(args, kwargs)
    except Exception as error:
        return Outcome(None, detail=str(error))
    return compiled_outcome(program, args, kwargs)


def module_outcomes(info: Any) -> dict[str, str]:
    """Verdicts on a module class: form "" builds it inside the region, form "call" calls one built before."""
    inputs = info.module_inputs_func(info, device="cpu", dtype=torch.float32, requires_grad=False, training=False)
    sample = next(s for s in inputs if s.forward_input is not None)
    build, call = sample.constructor_input, sample.forward_input

    def construct(x: Any) -> Any:
        info.module_cls(*build.args, **build.kwargs)
        return x + 1

    module = info.module_cls(*build.args, **build.kwargs).eval()
    found = {"": compiled_outcome(construct, torch.ones(2)).verdict}
    called = _sample_outcome(lambda *a, **k: module(*a, **k), call.args, call.kwargs)
    return {form: verdict for form, verdict in {**found, "call": called.verdict}.items() if verdict}


def plain_verdict(outcomes: Outcomes) -> str | None:
    """The verdict on the plainest samples: fewest arguments, the usual answer among those."""
    real = [(given, verdict) for given, verdict in outcomes if verdict != CRASH]
    if not real:
        return CRASH if outcomes else None
    least = min(_richness(given) for given, _ in real)
    return Counter(v for given, v in real if _richness(given) == least).most_common(1)[0][0]


def _richness(given: str) -> int:
    count, *names = given.split(",")
    return int(count) + len(names)


def operator_verdicts(
    names: dict[int, str], aliases: dict[str, str], jobs: int, known: Known = nothing
) -> dict[str, Outcomes]:
    """Canonical name → outcomes of its samples, the plain variant of an operator deciding."""
    work: list[tuple[Any, list[str], Callable[[], Any]]] = []
    for op, task in operator_tasks():
        missing = [n for n in operator_names(op, names, aliases) if not known(n)]
        if missing:
            work.append((op, missing, task))
    answers = breaks.run_all([(str(i), task) for i, (_, _, task) in enumerate(work)], jobs)
    found: dict[str, Outcomes] = {}
    for i, (_, missing, _) in enumerate(work):
        answer = answers[str(i)]
        if isinstance(answer, list) and answer:
            for name in missing:
                found.setdefault(name, answer)
    return found


def module_verdicts(names: dict[int, str], jobs: int, known: Known = nothing) -> dict[str, dict[str, str]]:
    """Canonical name of a module class → verdict by form."""
    from torch.testing._internal.common_modules import module_db

    infos = [(names[id(i.module_cls)], i) for i in module_db if id(i.module_cls) in names]
    work = [(name, functools.partial(module_outcomes, i)) for name, i in infos if not known(f"{name}@call")]
    answers = breaks.run_all(work, jobs)
    return {name: answer for name, answer in answers.items() if isinstance(answer, dict)}


def probe_all(
    probes: list[Probe], jobs: int, known: Known = nothing, task: probing.Task = probing.measure
) -> dict[str, Measured]:
    """Measurements by name; those that could not be made are left out."""
    answers = breaks.run_all(probing.tasks([p for p in probes if not known(p.name)], task), jobs)
    return {n: m for n, m in answers.items() if isinstance(m, Measured) and m.verdict is not None}


def observed_types(jobs: int) -> dict[str, str]:
    """Type of the result by name, where all calls of a probe agree on one."""
    probes = probing.unique([*written_probes(), *probing.pooled_probes()])
    plain = [p for p in probes if p.name not in POLYMORPHIC and probing.shows_type(p)]
    answers = breaks.run_all(probing.tasks(plain, probing.observe_types), jobs)
    types = {name: probing.result_type(name, seen) for name, seen in answers.items() if isinstance(seen, tuple)}
    return {name: found for name, found in types.items() if found}


def written_probes() -> list[Probe]:
    """Probes that the tables spell out."""
    return probing.parse_table(tables.EXPRESSIONS) + probing.parse_table(tables.TORCH_EXPRESSIONS)


def all_probes() -> list[Probe]:
    """Every probe of a callable: what the tables spell out, then what is found by guessing arguments."""
    return probing.unique([*written_probes(), *probing.tensor_method_probes(), *probing.pooled_probes()])


def add_operators(entries: dict[str, Entry], found: dict[str, Outcomes]) -> None:
    """Lays verdicts of op_db samples into the entries."""
    for name, outcomes in found.items():
        verdict = plain_verdict(outcomes)
        if name in entries and verdict:
            _update(entries, name, "op_db", verdict=verdict, **_dynamic(name, {v for _, v in outcomes}))


def add_modules(entries: dict[str, Entry], found: dict[str, dict[str, str]]) -> None:
    """Lays verdicts of module_db samples into the entries."""
    for name, by_form in found.items():
        forms = {form: verdict for form, verdict in by_form.items() if form}
        _update(entries, name, "module_db", verdict=by_form.get(""), forms={**entries[name].forms, **forms})


def add_types(entries: dict[str, Entry], found: dict[str, str], aliases: dict[str, str]) -> None:
    """Lays types of results into the entries that have been probed; they also stand in where torch says nothing."""
    for name, kind in found.items():
        name = _canonical(name, aliases)
        if name in entries:
            _update(entries, name, "probe", type=kind, returns=_observed_return(entries[name], kind))


def add_probes(entries: dict[str, Entry], found: dict[str, Measured], aliases: dict[str, str]) -> None:
    """Lays measured probes into the entries; names outside torch get entries of their own."""
    for full_name, measured in found.items():
        name, _, form = full_name.partition("@")
        name = _canonical(name, aliases)
        known = entries.setdefault(name, Entry("external" if not name.startswith("torch") else "function"))
        if form:
            _update(entries, name, "probe", forms={**known.forms, form: measured.verdict or ""})
            continue
        forms = {**known.forms, "as-number": measured.as_number} if measured.as_number else known.forms
        facts = {"verdict": measured.verdict, "probe": measured.expression, "forms": forms}
        _update(entries, name, "probe", **facts, **_dynamic(name, {measured.verdict}))


# Types of results that say as much as a kind does; a tuple or list does not, not knowing what is in it.
_KINDS = {
    "torch.Tensor": "tensor",
    "torch.nn.parameter.Parameter": "tensor",
    "torch.Size": "size",
    "torch.dtype": "dtype",
    "torch.device": "device",
    "None": "none",
    **{kind: kind for kind in ("int", "float", "bool", "str")},
}


def _observed_return(entry: Entry, type_name: str | None) -> Return | None:
    """The result as the probe saw it, for a function of torch on which neither stubs nor samples say anything."""
    silent = entry.what in ("function", "method") and entry.returns is None
    return Return(_KINDS[type_name]) if silent and type_name in _KINDS else None


def add_python_forms(entries: dict[str, Entry], found: dict[str, Measured]) -> None:
    """Lays verdicts of NumPy functions on plain numbers and lists into their entries, where they differ."""
    for name, measured in found.items():
        known = entries.setdefault(name, Entry("external"))
        verdict = measured.as_number or measured.verdict
        if verdict != (known.forms.get("as-number") or known.verdict):
            _update(entries, name, "probe", forms={**known.forms, "python": measured.verdict or ""})
            if measured.as_number:
                _update(entries, name, "probe", forms={**entries[name].forms, "python-as-number": measured.as_number})


def share_with_twins(entries: dict[str, Entry]) -> None:
    """A function without a verdict has that of its twin: torch.x, torch.nn.functional.x and torch.Tensor.x."""
    owners = ("torch", "torch.nn.functional", "torch.Tensor")
    for name, entry in list(entries.items()):
        owner, _, last = name.rpartition(".")
        if owner in owners and entry.what in ("function", "method") and not entry.verdict:
            twins = [entries[f"{o}.{last}"] for o in owners if o != owner and f"{o}.{last}" in entries]
            verdict = next((t.verdict for t in twins if t.verdict and t.sources.get("verdict") != "twin"), None)
            _update(entries, name, "twin", verdict=verdict)


def keep(entries: dict[str, Entry], earlier: dict[str, Entry]) -> None:
    """Copies what is known of breaks from the entries of an earlier run."""
    fields = ("verdict", "forms", "probe", "dynamic")
    for name, old in earlier.items():
        facts = {field: value for field in fields if (value := getattr(old, field))}
        if facts:
            entry = entries.setdefault(name, Entry(old.what))
            sources = {**entry.sources, **{f: old.sources[f] for f in facts if f in old.sources}}
            entries[name] = msgspec.structs.replace(entry, sources=sources, **facts)


def _dynamic(name: str, verdicts: set[str | None]) -> dict[str, str]:
    if name in CONDITIONS:
        return {"dynamic": CONDITIONS[name]}
    return {"dynamic": "always"} if DYNAMIC_ID in verdicts else {}


def _canonical(name: str, aliases: dict[str, str]) -> str:
    return aliases.get(name, name)


def _update(entries: dict[str, Entry], name: str, source: str, **facts: Any) -> None:
    entry = entries[name]
    given = {field: value for field, value in facts.items() if value}
    sources = {**entry.sources, **dict.fromkeys((f for f in given if f not in ("probe", "forms")), source)}
    entries[name] = msgspec.structs.replace(entry, sources=sources, **given)


def gb_types(found: list[dict[str, Measured]]) -> dict[str, str]:
    """Graph-break id → Dynamo's name for it, for all ids met."""
    return {
        m.verdict: m.detail for group in found for m in group.values() if m.verdict and m.verdict != OK and m.detail
    }
