"""Element kinds and ranks of results, by running operators and modules on torch's own sample inputs.

torch.testing keeps a database of operators with sample inputs (`op_db`) and one of modules (`module_db`). Each sample
is run for bool, int, float and complex elements, and again with single arguments cast to another kind; a rule such as
"same as the first tensor" is recorded only when no run contradicts it.
"""

from __future__ import annotations

import dataclasses
import random
import signal
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any

import msgspec
import torch
from torch.utils import _pytree as pytree

from gblint.knowledge.generate.names import dtype_kind
from gblint.knowledge.model import Entry, Return, Variant

DTYPES = (torch.float32, torch.int64, torch.bool, torch.complex64)
ORDER = ("bool", "int", "float", "complex")
SAMPLES = 12  # per operator and dtype: enough to meet every overload, few enough to stay under two minutes
CASTS = {"bool": torch.bool, "int": torch.int64, "float": torch.float32}


@dataclass(frozen=True)
class Tensorish:
    """What matters of one tensor: kind of its elements and rank."""

    kind: str
    rank: int


@dataclass(frozen=True)
class Run:
    """One call: tensors and numbers that went in, whether a dimension or dtype was asked for, and what came out."""

    tensors: tuple[Tensorish, ...]
    numbers: tuple[str, ...]
    reduces_fully: bool
    dtype: str | None
    result: str
    out: tuple[Tensorish, ...]
    as_given: bool = True


def operator_runs(limit_s: float = 5.0) -> Iterator[tuple[Any, list[Run]]]:
    """Each operator of op_db with what was seen running it; an operator that fails or takes too long yields less."""
    from torch.testing._internal.common_methods_invocations import op_db

    for op in op_db:
        yield op, runs_of(op, limit_s)


def runs_of(op: Any, limit_s: float = 5.0) -> list[Run]:
    """All observations of one operator within the time limit."""
    seen: dict[Run, None] = {}
    with suppress(TimeoutError, Exception), time_limit(limit_s), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for dtype in DTYPES:
            if dtype in op.supported_dtypes("cpu"):
                for sample in _samples(op, dtype):
                    seen.update(dict.fromkeys(_observe(op.op, sample.input, sample.args, sample.kwargs)))
    return list(seen)


def _samples(op: Any, dtype: torch.dtype) -> list[Any]:
    """A chance selection of torch's samples (always the same one): they are listed overload by overload."""
    found: list[Any] = []
    with suppress(Exception):
        torch.manual_seed(0)
        found.extend(islice(op.sample_inputs("cpu", dtype, requires_grad=False), 8 * SAMPLES))
    return found if len(found) <= SAMPLES else [found[0], *random.Random(0).sample(found[1:], SAMPLES - 1)]


def _observe(function: Callable[..., Any], first: Any, args: Any, kwargs: Any) -> Iterator[Run]:
    """Runs a sample as it is, with its first two tensors swapped, and with each later one cast to another kind."""
    run = observe(function, (first, *args), kwargs)
    if run is None:
        return
    yield run
    for changed in _changes(first, args):
        mixed = observe(function, changed, kwargs)
        if mixed is not None:
            yield dataclasses.replace(mixed, as_given=False)


def _changes(first: Any, args: Any) -> Iterator[tuple[Any, ...]]:
    if isinstance(first, torch.Tensor) and args and isinstance(args[0], torch.Tensor):
        yield args[0], first, *args[1:]
    for position, arg in enumerate(args, 1):
        if isinstance(arg, torch.Tensor):
            for kind, dtype in CASTS.items():
                if kind != dtype_kind(arg.dtype):
                    yield first, *args[: position - 1], arg.detach().to(dtype), *args[position:]


def observe(function: Callable[..., Any], args: Any, kwargs: Any) -> Run | None:
    """Calls once on copies; None where torch refuses the arguments."""
    args, kwargs = pytree.tree_map_only(torch.Tensor, lambda t: t.detach().clone(), (args, kwargs))
    tensors = tuple(_tensorish(t) for t in pytree.tree_leaves((args, kwargs)) if isinstance(t, torch.Tensor))
    numbers = tuple(
        sorted({type(n).__name__ for n in pytree.tree_leaves((args, kwargs)) if type(n) in (int, float, complex)})
    )
    dtype = kwargs.get("dtype")
    try:
        result = function(*args, **kwargs)
    except Exception:
        return None
    out = [t for t in pytree.tree_leaves(result) if isinstance(t, torch.Tensor)]
    return Run(
        tensors,
        numbers,
        _reduces_fully(args, kwargs),
        dtype_kind(dtype) if isinstance(dtype, torch.dtype) else None,
        result_kind(result),
        tuple(_tensorish(t) for t in out),
    )


def _tensorish(tensor: torch.Tensor) -> Tensorish:
    return Tensorish(dtype_kind(tensor.dtype), tensor.dim())


def _reduces_fully(args: Any, kwargs: Any) -> bool:
    """No dimension named and no elementwise result asked for."""
    named = any(kwargs.get(name) is not None for name in ("dim", "axis"))
    named = named or bool(kwargs.get("keepdim")) or kwargs.get("reduction") == "none"
    return not named and not any(isinstance(a, (int, tuple, list)) and not isinstance(a, bool) for a in args[1:])


def result_kind(value: Any) -> str:
    """The kind of a result as in `Return.kind`."""
    if isinstance(value, torch.Tensor):
        return "tensor"
    if isinstance(value, torch.Size):
        return "size"
    if isinstance(value, (tuple, list)) and value and all(isinstance(v, torch.Tensor) for v in value):
        return "tensors"
    for cls, kind in (
        (bool, "bool"),
        (int, "int"),
        (float, "float"),
        (complex, "number"),
        (str, "str"),
        (torch.dtype, "dtype"),
    ):
        if isinstance(value, cls):
            return kind
    return "none" if value is None else "any"


def classify(runs: Iterable[Run], known: Return | None) -> Return | None:
    """Joins what stubs say of a result with what the runs show; None where neither says anything."""
    runs = list(runs)
    if not runs:
        return known
    kind = known.kind if known and known.kind != "any" else _observed_kind(runs)
    runs = [r for r in runs if r.result == kind and r.out]
    if kind not in ("tensor", "tensors") or not runs:
        return Return(kind) if known is None else msgspec.structs.replace(known, kind=kind)
    known = msgspec.structs.replace(known, kind=kind) if known else Return(kind)
    if kind == "tensor":
        return msgspec.structs.replace(known, dtype=element_rule(runs, 0), rank=rank_rule(runs))
    return _classify_several(runs, known)


def _observed_kind(runs: list[Run]) -> str:
    kinds = {r.result for r in runs if r.reduces_fully} or {r.result for r in runs}
    return kinds.pop() if len(kinds) == 1 else "any"


def _classify_several(runs: list[Run], known: Return) -> Return:
    counts = {len(r.out) for r in runs}
    if len(counts) != 1 and known.count is None:
        return msgspec.structs.replace(known, dtype=element_rule(runs, 0))
    count = known.count or counts.pop()
    runs = [r for r in runs if len(r.out) == count]
    if not runs or count > 8:
        return known
    rules = tuple(element_rule(runs, i) for i in range(count))
    varied = rules if len(set(rules)) > 1 else ()
    fixed = count if known.count is not None or known.names else None
    return msgspec.structs.replace(known, dtype=rules[0], dtypes=varied, count=fixed)


def _top(kinds: Iterable[str], least: str = "bool") -> str:
    return max([least, *kinds], key=ORDER.index)


_RULES: dict[str, Callable[[Run], set[str]]] = {
    "same": lambda r: {r.tensors[0].kind},
    "same+int": lambda r: {_top([r.tensors[0].kind], "int")},
    "same+float": lambda r: {_top([r.tensors[0].kind], "float")},
    "promote": lambda r: _promotions(r, "bool"),
    "promote+float": lambda r: _promotions(r, "float"),
}


def _promotions(run: Run, least: str) -> set[str]:
    """With and without the numbers: of an int argument nobody knows here whether it is an operand or a dimension."""
    tensors = [t.kind for t in run.tensors]
    numbers = [n for n in run.numbers if n in ORDER]
    return {
        _top(tensors, least),
        _top([*tensors, *numbers], least),
        _top([*tensors, *(n for n in numbers if n != "int")], least),
    }


def element_rule(runs: list[Run], index: int) -> str | None:
    """The strictest rule for the element kind of one output that the runs obey.

    Where none fits all of them, complex inputs are left out, then inputs changed by the generator, then calls with
    numbers among their arguments: those meet special cases (`abs` of complex is real) and refusals that torch forgot.
    """
    plain = [r for r in runs if r.dtype is None and index < len(r.out)]
    with_inputs = [r for r in plain if r.tensors]
    if not with_inputs:
        return "arg" if any(r.dtype for r in runs) else _constant([r.out[index].kind for r in plain])
    real = [r for r in with_inputs if all(t.kind != "complex" for t in r.tensors)]
    as_given = [r for r in real if r.as_given]
    for chosen in (with_inputs, real, as_given, [r for r in as_given if not r.numbers]):
        rule = _fitting_rule(chosen, index) if chosen else None
        if rule:
            return rule
    return None


def _fitting_rule(runs: list[Run], index: int) -> str | None:
    produced, first = {r.out[index].kind for r in runs}, {r.tensors[0].kind for r in runs}
    if len(produced) == 1 and (len(first) > 1 or produced != first):
        return _constant_or_float(runs, index, produced.pop())
    return next((rule for rule in _candidates(first) if _obeys(runs, index, rule)), None)


def _constant_or_float(runs: list[Run], index: int, kind: str) -> str:
    """ "float" for every input is told from "at least float" by a complex input, which few operators take."""
    if kind == "float" and not any(t.kind == "complex" for r in runs for t in r.tensors):
        if _obeys(runs, index, "same+float"):
            return "same+float"
        if _obeys(runs, index, "promote+float"):
            return "promote+float"
    return kind


def _candidates(first: set[str]) -> list[str]:
    """Rules by strictness; a rule that raises kinds is preferred where the lower kinds were never taken."""
    if first <= {"float", "complex"}:
        return ["same+float", "promote+float", "promote"]
    if "bool" not in first and "int" not in first:
        return ["same+float", "promote"]
    if "bool" not in first:
        return ["same+int", "same+float", "promote", "promote+float"]
    return ["same", "same+int", "same+float", "promote", "promote+float"]


def _obeys(runs: list[Run], index: int, rule: str) -> bool:
    return all(r.out[index].kind in _RULES[rule](r) for r in runs)


def _constant(kinds: list[str]) -> str | None:
    return kinds[0] if kinds and len(set(kinds)) == 1 else None


def rank_rule(runs: list[Run]) -> str | None:
    """How the rank of the (first) result follows from the ranks that went in."""
    runs = [r for r in runs if r.tensors]
    if not runs or not any(t.rank for r in runs for t in r.tensors):
        return None
    out = [r.out[0].rank for r in runs]
    if all(o == r.tensors[0].rank for o, r in zip(out, runs, strict=True)):
        return "same"
    if all(o == max(t.rank for t in r.tensors) for o, r in zip(out, runs, strict=True)):
        return "promote"
    full = [r for r in runs if r.reduces_fully]
    if full and not any(r.out[0].rank for r in full) and any(r.tensors[0].rank for r in full):
        return "reduce"
    return None


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raises TimeoutError in the block when it takes more processor time than that; main thread only."""

    def stop(*_: Any) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def refine(entries: dict[str, Entry], aliases: dict[str, str], names: dict[int, str]) -> dict[str, Entry]:
    """Entries of functions and Tensor methods with element kinds and ranks filled in from the runs.

    names: id of an object → its canonical name.
    """
    collected: dict[str, list[list[Run]]] = {}
    for op, runs in operator_runs():
        for target in operator_names(op, names, aliases):
            if target in entries and not target.endswith("_"):
                collected.setdefault(target, []).append(runs)
    refined = dict(entries)
    for target, groups in collected.items():
        refined[target] = _with_runs(refined[target], groups)
    return _share_with_twins(refined)


def operator_names(op: Any, names: dict[int, str], aliases: dict[str, str]) -> list[str]:
    """Canonical names under which the entries hold an operator, its aliases and its method."""
    found = {names.get(id(op.op)), f"torch.{op.name}", f"torch.{op.name.replace('_', '.', 1)}"}
    found |= {names.get(id(alias.op)) for alias in op.aliases}
    method = getattr(op.method_variant, "__name__", None)
    found |= {f"torch.Tensor.{method}"} if method else set()
    return sorted({aliases.get(name, name) for name in found if name})


def _with_runs(entry: Entry, groups: list[list[Run]]) -> Entry:
    """groups: runs of each form torch tests of the operator; the form with fewest tensors is the plain one."""
    together = [run for group in groups for run in group]
    wanted = entry.returns.kind if entry.returns else None
    fitting = [g for g in groups if wanted in (None, "any") or any(r.result == wanted for r in g)] or groups
    plain = min(fitting, key=lambda group: min((len(r.tensors) for r in group), default=99))
    returns = classify(plain, entry.returns)
    if returns is not None and returns.dtype is None:
        returns = classify(together, entry.returns)
    variants = tuple(_variant_with_runs(v, together) for v in entry.variants)
    sources = dict(entry.sources)
    if returns is not None and returns != entry.returns:
        sources["dtype"] = "op_db"
        if entry.returns is None:
            sources["returns"] = "op_db"
    return msgspec.structs.replace(entry, returns=returns, variants=variants, sources=sources)


def _variant_with_runs(variant: Variant, runs: list[Run]) -> Variant:
    if variant.returns.kind != "tensors":
        return variant
    returns = classify([r for r in runs if r.result == "tensors"], variant.returns)
    return msgspec.structs.replace(variant, returns=returns or variant.returns)


def _share_with_twins(entries: dict[str, Entry]) -> dict[str, Entry]:
    """What has no samples of its own behaves as its twin: torch.x, torch.nn.functional.x and torch.Tensor.x are one."""
    owners = ("torch", "torch.nn.functional", "torch.Tensor")
    shared = dict(entries)
    for name, entry in entries.items():
        owner, _, last = name.rpartition(".")
        if owner not in owners or entry.returns is None or entry.returns.dtype is not None:
            continue
        twins = [entries[f"{o}.{last}"] for o in owners if o != owner and f"{o}.{last}" in entries]
        twin = next((t.returns for t in twins if t.returns and t.returns.dtype), None)
        if twin is not None and twin.kind == entry.returns.kind:
            returns = msgspec.structs.replace(entry.returns, dtype=twin.dtype, rank=twin.rank, dtypes=twin.dtypes)
            shared[name] = msgspec.structs.replace(entry, returns=returns, sources={**entry.sources, "dtype": "twin"})
    return shared


def refine_modules(entries: dict[str, Entry], names: dict[int, str]) -> dict[str, Entry]:
    """Entries of torch.nn classes with what calling an instance returned for torch's own sample inputs."""
    from torch.testing._internal.common_modules import module_db

    refined = dict(entries)
    for info in module_db:
        name = names.get(id(info.module_cls))
        if name in refined:
            runs = module_runs(info)
            calls = classify(runs, refined[name].calls)
            if calls is not None:
                sources = {**refined[name].sources, "calls": "module_db"}
                refined[name] = msgspec.structs.replace(refined[name], calls=calls, sources=sources)
    return refined


def module_runs(info: Any, limit_s: float = 5.0) -> list[Run]:
    """Observations of one module class; inputs are also tried as int and bool, which Identity and its like take."""
    seen: dict[Run, None] = {}
    with suppress(TimeoutError, Exception), time_limit(limit_s), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        inputs = info.module_inputs_func(info, device="cpu", dtype=torch.float32, requires_grad=False, training=False)
        for sample in list(inputs)[:SAMPLES]:
            build, call = sample.constructor_input, sample.forward_input
            module = info.module_cls(*build.args, **build.kwargs).eval()
            if call is None:
                continue
            for args in (call.args, *_cast_first(call.args)):
                run = observe(module, args, call.kwargs)
                if run is not None:
                    seen[run] = None
    return list(seen)


def _cast_first(args: Any) -> Iterator[tuple[Any, ...]]:
    if args and isinstance(args[0], torch.Tensor):
        for dtype in CASTS.values():
            if dtype != args[0].dtype:
                yield args[0].detach().to(dtype), *args[1:]
