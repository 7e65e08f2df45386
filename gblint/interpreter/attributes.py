"""Reading and writing attributes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from gblint.interpreter import classes, effects, tensors, versions
from gblint.interpreter.events import GetAttr, SetAttr
from gblint.interpreter.frame import Frame
from gblint.interpreter.values import (
    Bound,
    Class,
    Compiled,
    Const,
    DataScalar,
    External,
    Function,
    Instance,
    Mapping,
    Partial,
    Plain,
    PyModule,
    Sequence,
    Slice,
    Stream,
    Super,
    Tensor,
    Union,
    Unknown,
    Value,
    is_none,
    join,
    join_all,
)

if TYPE_CHECKING:
    from gblint.interpreter.machine import Machine


def load(machine: Machine, frame: Frame, receiver: Value, name: str, node: cst.CSTNode) -> Value:
    """The value of receiver.name."""
    if isinstance(receiver, Instance):
        return classes.instance_attr(machine, frame, receiver, name, node)
    if isinstance(receiver, Tensor):
        return tensors.attribute(machine, frame, receiver, name, node)
    if isinstance(receiver, External):
        return _external(machine, frame, receiver, name, node)
    if isinstance(receiver, PyModule):
        value = machine.module_attr(receiver.info, name)
        return value if value is not None else Unknown(f"{receiver.info.name} has no {name} in view")
    if isinstance(receiver, Union):
        return _union(machine, frame, receiver, name, node)
    if isinstance(receiver, Class):
        return classes.class_member(machine, frame, receiver, name, node)
    if isinstance(receiver, Super):
        return classes.super_attr(machine, frame, receiver, name, node)
    if isinstance(receiver, Plain):
        return _plain(receiver, name)
    return _other(machine, frame, receiver, name)


def _external(machine: Machine, frame: Frame, receiver: External, name: str, node: cst.CSTNode) -> Value:
    return versions.named(machine, f"{receiver.dotted}.{name}")


_KIND = {"dict_keys": "dict_view", "dict_values": "dict_view", "dict_items": "dict_view"}
_PLAIN_ATTRS = {
    "device": {"type": "str", "index": "int"},
    "dtype": {"is_floating_point": "bool", "is_complex": "bool", "itemsize": "int"},
}


def _plain(receiver: Plain, name: str) -> Value:
    if receiver.type in ("", "config"):
        return Plain("")
    known = _PLAIN_ATTRS.get(receiver.type, {}).get(name)
    return Plain(known) if known else Bound(External(f"{receiver.type}.{name}"), receiver)


def _other(machine: Machine, frame: Frame, receiver: Value, name: str) -> Value:
    if isinstance(receiver, Sequence):
        if receiver.kind == "size" and name == "numel":
            return Bound(External("torch.Size.numel"), receiver)
        return Bound(External(f"{receiver.kind}.{name}"), receiver)
    if isinstance(receiver, Mapping):
        return Bound(External(f"dict.{name}"), receiver)
    if isinstance(receiver, Stream):
        return Bound(External(f"{_KIND.get(receiver.kind, receiver.kind)}.{name}"), receiver)
    if isinstance(receiver, Const):
        found = versions.attribute(receiver.value, name) if isinstance(receiver.value, versions.Release) else None
        kind = "str" if isinstance(receiver.value, str) else type(receiver.value).__name__
        return found or Bound(External(f"{kind}.{name}"), receiver)
    if isinstance(receiver, Slice) and name in ("start", "stop", "step"):
        return {"start": receiver.lower, "stop": receiver.upper, "step": receiver.step}[name]
    if isinstance(receiver, Bound):
        return _bound(machine, frame, receiver, name)
    if isinstance(receiver, Function):
        return (
            Plain("str")
            if name in ("__name__", "__qualname__", "__module__", "__doc__")
            else Unknown(f"attribute {name} of a function")
        )
    if isinstance(receiver, Partial):
        return {
            "func": receiver.function,
            "args": Sequence("tuple", receiver.args),
            "keywords": Mapping(dict(receiver.kwargs)),
        }.get(name, Unknown(name))
    if isinstance(receiver, Compiled):
        return load(machine, frame, receiver.target, name, cst.Name(name))
    if isinstance(receiver, DataScalar):
        return Plain("number")
    return Unknown(f"attribute {name}")


def _bound(machine: Machine, frame: Frame, receiver: Bound, name: str) -> Value:
    if name == "__self__":
        return receiver.receiver
    if name == "__func__":
        return receiver.function
    return Plain("str") if name in ("__name__", "__qualname__") else Unknown(f"attribute {name} of a method")


def _union(machine: Machine, frame: Frame, receiver: Union, name: str, node: cst.CSTNode) -> Value:
    """None has no attributes worth following, and a value without the attribute is not the one meant."""
    values: list[Value] = []
    for member in receiver.members:
        if is_none(member):
            continue
        if (
            isinstance(member, Tensor)
            and name not in machine.knowledge.tensor_names
            and name not in machine.knowledge.tensor_attributes
        ):
            continue
        if (
            isinstance(member, Plain)
            and member.type in ("bool", "int", "float", "number", "str")
            and name in machine.knowledge.tensor_attributes
        ):
            continue
        values.append(load(machine, frame, member, name, node))
    return join_all(values) if values else Unknown(f"attribute {name}")


def store(
    machine: Machine, frame: Frame, receiver: Value, name: str, value: Value, node: cst.CSTNode,
    before: Value | None = None,
) -> None:  # fmt: skip
    """receiver.name = value. before: what it was, if the value is made of that."""
    from gblint.interpreter.expressions import dotted_path

    if frame.traced and machine.table.by_kind["setattr"]:
        machine.emit(frame, "setattr", SetAttr(node, receiver, name, value, before))
    if frame.facts and isinstance(node, cst.Attribute):
        frame.facts.pop(dotted_path(node), None)
    if name == "requires_grad":
        machine.gradients = True
    counts = (
        isinstance(value, Const | Plain) and isinstance(receiver, Instance) and classes.is_module(machine, receiver)
    )
    if frame.pure and not counts:  # numbers of modules are guarded on, not written
        effects.note_store(machine, frame, receiver, node)
    for member in receiver.members if isinstance(receiver, Union) else (receiver,):
        if isinstance(member, Instance):
            _store_instance(machine, frame, member, name, value)
        elif isinstance(member, Class):
            member.attrs[name] = value
            machine.set_on_classes.add(name)
        elif isinstance(member, PyModule):
            machine.global_env(member.info).names[name] = value


def _store_instance(machine: Machine, frame: Frame, receiver: Instance, name: str, value: Value) -> None:
    setter = classes.property_setter(machine, receiver, name)
    if setter is not None:
        machine.call(frame, setter, [receiver, value], {}, cst.Name(name))
        return
    own = classes.class_attr(machine, receiver.cls, "__setattr__") if receiver.cls is not None else None
    if isinstance(own, Function):
        machine.call(frame, own, [receiver, Const(name), value], {}, cst.Name(name))
    set_plainly(frame, receiver, name, value)


def set_plainly(frame: Frame, receiver: Instance, name: str, value: Value) -> None:
    """object.__setattr__: the attribute of an object, its class not asked."""
    receiver.form = 0
    old = receiver.attrs.get(name)
    if isinstance(value, Tensor) and value.role == "result" and not frame.traced:
        value = Tensor(value.c, value.dtype, value.rank, "", value.subclass, value.origin)
    if isinstance(value, Stream) and value.kind != "range" and not frame.traced:
        value = Stream(value.kind, value.elem, value.items, passed_in=True)
    if isinstance(value, Mapping) and not frame.traced:
        value.outside = "yes"
    receiver.attrs[name] = value if old is None or not frame.guards else join(old, value)


def special_method(
    machine: Machine, frame: Frame, receiver: Instance, symbol: str, right: Value, node: cst.CSTNode
) -> Value | None:
    """The value of an operator that the class of an object defines; None if it does not."""
    name = {
        "+": "__add__",
        "-": "__sub__",
        "*": "__mul__",
        "/": "__truediv__",
        "@": "__matmul__",
        "|": "__or__",
        "&": "__and__",
    }.get(symbol)
    if name is None or receiver.cls is None:
        return None
    method = classes.class_attr(machine, receiver.cls, name)
    return machine.call(frame, method, [receiver, right], {}, node) if isinstance(method, Function) else None


def note_get(machine: Machine, frame: Frame, receiver: Value, name: str, owner: str, node: cst.CSTNode) -> Value | None:
    """Tell the rules that an attribute of a tensor or an external object is read; a rule may say what comes of it."""
    if frame.traced and machine.table.by_kind["getattr"]:
        answer = machine.emit(frame, "getattr", GetAttr(node, receiver, name, owner))
        if answer is not None:
            return answer.result
    return None
