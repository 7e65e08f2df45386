"""Entries for every public name of torch, from names and signatures alone."""

from __future__ import annotations

import ast
import inspect
import re
from functools import cache
from typing import Any

import msgspec
import torch

from gblint.knowledge.generate import stubs
from gblint.knowledge.generate.names import WITH_METHODS, constant_kind, describe, resolve
from gblint.knowledge.model import Entry, Return

_INPLACE = re.compile(r"[a-z0-9]_$")
# Results of distribution methods, which carry no annotations: by the contract of torch.distributions.Distribution.
_DISTRIBUTION = {
    "tensor": "sample rsample sample_n log_prob cdf icdf entropy enumerate_support perplexity".split(),
    "property": "mean mode variance stddev".split(),
}


def torch_entries(kept: dict[str, Any]) -> dict[str, Entry]:
    """Entries by canonical name: functions, classes, some of their methods, constants, and Tensor methods."""
    entries = {name: _entry(name, value) for name, value in kept.items()}
    entries.update(tensor_methods())
    entries.update(tensor_properties())
    for dotted in WITH_METHODS:
        entries.update(class_members(dotted))
    for name, value in kept.items():
        if inspect.isclass(value) and issubclass(value, torch.distributions.Distribution):
            entries.update(distribution_members(name, value))
    return entries


def _entry(name: str, value: Any) -> Entry:
    what = describe(value)
    if what == "constant":
        return Entry(what, value=constant_kind(value), sources={"value": "inspection"})
    if what == "module-class":
        return _module_entry(value)
    if what == "class":
        return _class_entry(value)
    return _in_place(name.rpartition(".")[2], function_entry(stubs.signatures(name, value), what))


def function_entry(overloads: list[stubs.Signature], what: str) -> Entry:
    """An entry that holds what the overloads say."""
    if not overloads:
        return Entry(what)
    returns, parameters = stubs.plain_return(overloads), stubs.merge_parameters(overloads)
    source = overloads[0].source
    return Entry(
        what,
        returns=returns,
        parameters=parameters,
        variants=stubs.variants(overloads),
        sources={"signature": source} if returns or parameters else {},
    )


def _constructor(cls: type) -> list[stubs.Signature]:
    init = vars(cls).get("__init__") or getattr(cls, "__init__", None)
    node = stubs.source_function(init)
    return [stubs.signature_of(node, "source", method=True)] if node is not None else []


def _class_entry(cls: type) -> Entry:
    entry = function_entry(_constructor(cls), "class")
    is_tensor = issubclass(cls, torch.Tensor) or type(cls).__name__ == "tensortype"
    returns = Return("tensor") if is_tensor else None
    return msgspec.structs.replace(
        entry, returns=returns, sources={**entry.sources, "returns": "inspection"} if returns else entry.sources
    )


def _module_entry(cls: type) -> Entry:
    entry = function_entry(_constructor(cls), "module-class")
    forward = stubs.source_function(getattr(cls, "forward", None))
    calls = stubs.signature_of(forward, "source", method=True).returns if forward is not None else None
    sources = {**entry.sources, "calls": "source"} if calls else entry.sources
    return msgspec.structs.replace(entry, returns=None, calls=calls, sources=sources)


def tensor_methods() -> dict[str, Entry]:
    """Every public method of torch.Tensor, receiver left out of the parameters."""
    declared, entries = stubs.stub_functions(), {}
    for name in dir(torch.Tensor):
        value = inspect.getattr_static(torch.Tensor, name, None)
        if not callable(getattr(torch.Tensor, name, None)) or isinstance(value, property):
            continue
        if name.startswith("_") and not name.startswith("__"):
            continue
        own = declared.get(f"torch._C.TensorBase.{name}", [])
        overloads = [stubs.signature_of(n, "stubs", method=True) for n in own]
        node = stubs.source_function(getattr(torch.Tensor, name))
        if node is not None and not (overloads and node.returns is None):
            overloads = [stubs.signature_of(node, "source", method=True)]
        entry = function_entry(overloads, "method")
        entries[f"torch.Tensor.{name}"] = _in_place(name, entry)
    return entries


def _in_place(name: str, entry: Entry) -> Entry:
    """`add_` and its like return their receiver: a convention that torch's stubs show as plain Tensor."""
    if (
        _INPLACE.search(name)
        and (entry.returns is None or entry.returns.kind in ("tensor", "any"))
        and name != "is_shared_"
    ):
        return msgspec.structs.replace(
            entry, returns=Return("self", "same", "same"), sources={**entry.sources, "returns": "name"}
        )
    return entry


def class_members(dotted: str) -> dict[str, Entry]:
    """Public methods and properties of one class that is not a tensor."""
    cls = resolve(dotted)
    if cls is None:
        return {}
    found = {}
    for name in dir(cls):
        if name.startswith("_"):
            continue
        member = inspect.getattr_static(cls, name, None)
        entry = _member(dotted, cls, name, member)
        if entry is not None:
            found[f"{dotted}.{name}"] = entry
    return found


def _member(dotted: str, cls: type, name: str, member: Any) -> Entry | None:
    stub = stubs.stub_functions().get(f"torch._C.{dotted.rpartition('.')[2]}.{name}", [])
    if isinstance(member, property):
        node = stubs.source_function(member.fget)
        returned = stubs.return_of(node.returns) if node is not None else None
        return Entry("property", value=returned.kind if returned else "any", sources={"value": "source"})
    value = getattr(cls, name, None)
    if not callable(value):
        return Entry("property", value=_stub_attribute(cls.__name__, name), sources={"value": "stubs"})
    node = stubs.source_function(value)
    overloads = [stubs.signature_of(node, "source", method=True)] if node is not None else []
    overloads = overloads or [stubs.signature_of(n, "stubs", method=True) for n in stub]
    return function_entry(overloads, "method")


def _stub_attribute(cls: str, name: str) -> str:
    node = _stub_classes().get(cls)
    return attribute_kinds(node).get(name, "any") if node is not None else "any"


@cache
def _stub_classes() -> dict[str, ast.ClassDef]:
    tree = ast.parse((stubs.ROOT / "_C/__init__.pyi").read_text())
    return {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}


def attribute_kinds(cls: ast.ClassDef) -> dict[str, str]:
    """Attributes a stub class declares (`shape: Size`, properties) with the kind of their value."""
    found = {}
    for node in cls.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found[node.target.id] = "+".join(stubs.kinds_of(node.annotation)) or "any"
    return {name: kind if "+" not in kind else "any" for name, kind in found.items()}


def distribution_members(dotted: str, cls: type) -> dict[str, Entry]:
    """Methods of a distribution; what torch leaves unannotated is filled from the contract of its base class."""
    found = class_members(dotted)
    for name, entry in found.items():
        last = name.rpartition(".")[2]
        if last in _DISTRIBUTION["property"] and entry.value == "any":
            found[name] = msgspec.structs.replace(entry, value="tensor", sources={"value": "curated"})
        if last in _DISTRIBUTION["tensor"] and (entry.returns is None or entry.returns.kind == "any"):
            sources = {**entry.sources, "returns": "curated"}
            found[name] = msgspec.structs.replace(entry, returns=Return("tensor"), sources=sources)
    return found


def tensor_attributes() -> dict[str, str]:
    """Attributes of a tensor that are no methods: from the stub class, else from a real tensor."""
    declared = attribute_kinds(_stub_classes()["TensorBase"])
    found = {}
    for name in dir(torch.Tensor):
        if name.startswith("__") or (callable(getattr(torch.Tensor, name, None)) and not _is_data(name)):
            continue
        found[name] = declared.get(name, "any") if declared.get(name, "any") != "any" else _measured_attribute(name)
    return found


def tensor_properties() -> dict[str, Entry]:
    """Public attributes of a tensor as entries, so that verdicts on reading them have a place."""
    return {
        f"torch.Tensor.{name}": Entry("property", value=kind, sources={"value": "stubs"})
        for name, kind in tensor_attributes().items()
        if not name.startswith("_")
    }


def _is_data(name: str) -> bool:
    return isinstance(inspect.getattr_static(torch.Tensor, name, None), property)


def _measured_attribute(name: str) -> str:
    probe = torch.ones(2, dtype=torch.complex64) if name == "imag" else torch.ones(2)
    value = getattr(probe, name, None)
    for cls, kind in ((torch.Tensor, "tensor"), (bool, "bool"), (int, "int"), (torch.dtype, "dtype"), (str, "str")):
        if isinstance(value, cls):
            return kind
    return "tensor" if name in ("grad", "_base") else "any"
