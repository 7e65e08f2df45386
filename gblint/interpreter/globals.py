"""Module-level names: evaluated one at a time, on first use, from the statements that bind them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gblint.interpreter import versions
from gblint.interpreter.frame import Frame
from gblint.interpreter.functions import chunk_of, method_value
from gblint.interpreter.values import (
    Class,
    Mapping,
    PyModule,
    Sequence,
    Stream,
    Union,
    Unknown,
    Value,
    is_none,
)
from gblint.knowledge.packages import SKIPPED_PACKAGES

if TYPE_CHECKING:
    from gblint.index.model import Binding, ModuleInfo
    from gblint.index.project import Resolved
    from gblint.interpreter.machine import Machine


def evaluate(machine: Machine, module: ModuleInfo, name: str) -> Value | None:
    """The value of a global of `module`; None if the module does not define it."""
    bindings = module.bindings.get(name)
    if bindings:
        binding = preferred(bindings)
        if binding.kind in ("assign", "other"):
            return _assigned(machine, module, name, binding)
    resolved = machine.project.resolve(module, name)
    return resolved_value(machine, resolved) if resolved is not None else None


def preferred(bindings: list[Binding]) -> Binding:
    """The binding that is in force at run time: the last one outside except, else and TYPE_CHECKING."""
    usual = [b for b in bindings if b.guard in ("", "then")]
    other = [b for b in bindings if b.guard != "typing"]
    return (usual or other or bindings)[-1]


def resolved_value(machine: Machine, resolved: Resolved) -> Value | None:
    """The abstract value of what an import chain leads to."""
    info = resolved.info
    if resolved.kind == "external" or info is None or resolved.dotted.partition(".")[0] in SKIPPED_PACKAGES:
        return versions.named(machine, resolved.dotted)
    if resolved.kind == "module":
        return PyModule(info)
    if resolved.kind == "class":
        return class_value(machine, info, resolved.qualname)
    if resolved.kind == "function":
        for function in reversed(info.functions):
            if function.qualname == resolved.qualname and (
                resolved.binding is None or function.start == resolved.binding.start
            ):
                return method_value(machine, None, info, function)
        return None
    name, _, rest = resolved.qualname.partition(".")
    return machine.load_global(info, name) if not rest else None


def class_value(machine: Machine, info: ModuleInfo, qualname: str) -> Class | None:
    """The one value that stands for a class of a module."""
    key = (info.path, qualname)
    value = machine.class_values.get(key)
    if value is None and qualname in info.classes:
        value = machine.class_values[key] = Class(info, info.classes[qualname])
    return value


def _assigned(machine: Machine, module: ModuleInfo, name: str, binding: Binding) -> Value:
    """Run the statement that binds the name. Containers filled elsewhere stay open; None may be replaced later."""
    from gblint.interpreter.statements import execute_statement

    chunk = chunk_of(machine, module, binding.start, binding.end)
    if chunk is None:
        return Unknown(f"{name} could not be parsed")
    env = machine.global_env(module)
    frame = Frame(module, chunk, env)
    before = machine.budget
    for statement in chunk.body:
        execute_statement(machine, frame, statement)
    machine.budget = before
    value = env.names.get(name)
    if value is None:
        return Unknown(f"value of {name}")
    return _open(value)


def _open(value: Value) -> Value:
    if isinstance(value, Sequence) and value.kind != "tuple" and not value.items:
        return Sequence(value.kind, None, value.elem)
    if isinstance(value, Mapping):
        value.exact = False
        value.outside = "yes"
        return value
    if is_none(value):
        return Union((value, Unknown("a global that is None at first")))
    if isinstance(value, Stream) and value.kind != "range":
        value.passed_in = True
    return value
