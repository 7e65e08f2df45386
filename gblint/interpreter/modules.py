"""nn.Module: children, buffers and parameters, containers, calls with hooks, and making one without arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from gblint.interpreter import classes
from gblint.interpreter.events import Call
from gblint.interpreter.frame import Frame
from gblint.interpreter.values import (
    Bound,
    Class,
    Compiled,
    Const,
    Environment,
    External,
    Function,
    Instance,
    Mapping,
    Origin,
    Plain,
    Sequence,
    Slice,
    Stream,
    Tensor,
    Unknown,
    Value,
    join_all,
)

if TYPE_CHECKING:
    from gblint.interpreter.machine import Machine

CONTAINERS = (
    "torch.nn.Sequential",
    "torch.nn.ModuleList",
    "torch.nn.ModuleDict",
    "torch.nn.ParameterList",
    "torch.nn.ParameterDict",
)


def attribute(machine: Machine, frame: Frame, receiver: Instance, name: str) -> Value | None:
    """What every nn.Module has; None for names it does not."""
    if name == "training":
        return Plain("bool")
    if name in ("weight", "bias") and receiver.cls is None:
        return Tensor(1.0, "float", None, "parameter", origin=Origin("parameter"))
    if name in ("forward", "__call__"):
        return Bound(External("gblint.module_call"), receiver)
    if receiver.cls is None and name in (
        "in_features",
        "out_features",
        "num_embeddings",
        "embedding_dim",
        "in_channels",
        "out_channels",
        "hidden_size",
        "padding_idx",
    ):
        return Plain("int")
    if name in ("_modules", "_parameters", "_buffers"):
        return Mapping({}, Unknown("module member"), exact=False)
    if hasattr_module(machine, name):
        return Bound(External(f"torch.nn.Module.{name}"), receiver)
    return None if receiver.cls is None else Unknown(f"attribute {name}")


def hasattr_module(machine: Machine, name: str) -> bool:
    """True for the methods of torch.nn.Module."""
    return name in MODULE_METHODS


MODULE_METHODS = frozenset({
    "parameters", "named_parameters", "buffers", "named_buffers", "children", "named_children", "modules",
    "named_modules",
    "state_dict", "load_state_dict", "to", "cuda", "cpu", "float", "half", "double", "bfloat16", "train", "eval",
    "requires_grad_", "zero_grad", "apply", "register_buffer", "register_parameter", "register_module", "add_module",
    "register_forward_hook", "register_forward_pre_hook", "register_full_backward_hook", "register_backward_hook",
    "register_state_dict_pre_hook", "register_full_backward_pre_hook", "get_submodule", "get_parameter", "get_buffer",
    "compile", "type", "share_memory", "extra_repr", "_apply", "to_empty",
})  # fmt: skip


def children(machine: Machine, receiver: Instance) -> list[Value] | Value | None:
    """The members of a module container: exact, or their join; None if the object is no container."""
    base = receiver.base
    if base not in CONTAINERS:
        return None
    if "elem" in receiver.attrs:
        return receiver.attrs["elem"]
    members = [v for k, v in receiver.attrs.items() if k.isdigit() or base.endswith("Dict")]
    if base.endswith("Dict"):
        return [Const(k) for k in receiver.attrs]
    return members if members or not receiver.open else Unknown("members of a container")


def child(machine: Machine, receiver: Instance, found: list[Value] | Value, index: Value) -> Value:
    """container[index]."""
    if receiver.base.endswith("Dict"):
        if isinstance(index, Const) and index.value in receiver.attrs:
            return receiver.attrs[index.value]
        values = list(receiver.attrs.values())
        return join_all(values) if values else Unknown("member of a ModuleDict")
    if isinstance(index, Slice):
        copy = Instance(receiver.cls, receiver.base, dict(receiver.attrs), receiver.open)
        copy.flags = receiver.flags
        return copy
    if not isinstance(found, list):
        return found
    if isinstance(index, Const) and isinstance(index.value, int) and -len(found) <= index.value < len(found):
        return found[index.value]
    return join_all(found) if found else Unknown("member of an empty container")


def fill_container(machine: Machine, frame: Frame, instance: Instance, args: list[Value], node: cst.CSTNode) -> None:
    """Constructor arguments of Sequential, ModuleList, ModuleDict."""
    from gblint.interpreter.expressions import iterate

    if not args:
        return
    if instance.base.endswith("Dict"):
        if isinstance(args[0], Mapping):
            instance.attrs.update({str(k): v for k, v in args[0].items.items()})
            if args[0].elem is not None:
                instance.attrs["elem"] = args[0].elem
        return
    values: list[Value] | Value = list(args)
    if instance.base.endswith("List") or isinstance(args[0], Sequence | Stream | Mapping):
        source = args[0]
        values = list(source.items.values()) if isinstance(source, Mapping) else iterate(machine, frame, source, node)
    if isinstance(values, list):
        instance.attrs.update({str(i): v for i, v in enumerate(values)})
    else:
        instance.attrs["elem"] = values


def append(instance: Instance, value: Value) -> None:
    """container.append(value)."""
    if "elem" in instance.attrs:
        instance.attrs["elem"] = join_all([instance.attrs["elem"], value])
        return
    position = sum(k.isdigit() for k in instance.attrs)
    if position >= 8:
        members = [v for k, v in instance.attrs.items() if k.isdigit()]
        instance.attrs["elem"] = join_all([*members, value])
        return
    instance.attrs[str(position)] = value


def call(
    machine: Machine,
    frame: Frame,
    receiver: Instance,
    args: list[Value],
    kwargs: dict[str, Value],
    node: cst.CSTNode,
    opaque: bool,
) -> Value:
    """module(...): hooks, then forward; a module compiled in place enters a region."""
    compiled = receiver.attrs.get("gblint:compiled")
    if isinstance(compiled, Compiled) and not frame.traced:
        return machine.call_compiled(frame, compiled, args, kwargs, node, opaque)
    if "backward hook" in receiver.flags and frame.traced and frame.fallen is not machine:
        machine.emit_call(frame, Call(node, "mark:backward_hook", args, kwargs, receiver))
    for hook in _hooks(receiver, "pre_hooks"):
        machine.call(frame, hook, [receiver, Sequence("tuple", list(args))], {}, node)
    value = forward(machine, frame, receiver, args, kwargs, node, opaque)
    for hook in _hooks(receiver, "hooks"):
        machine.call(frame, hook, [receiver, Sequence("tuple", list(args)), value], {}, node)
    return value


def _hooks(receiver: Instance, name: str) -> list[Value]:
    found = receiver.attrs.get(f"gblint:{name}")
    return found.items or [] if isinstance(found, Sequence) else []


def forward(
    machine: Machine,
    frame: Frame,
    receiver: Instance,
    args: list[Value],
    kwargs: dict[str, Value],
    node: cst.CSTNode,
    opaque: bool,
) -> Value:
    """The forward of a module: of its class, or torch's own."""
    own = receiver.attrs.get("forward")
    if own is not None:
        return machine.call(frame, own, args, kwargs, node, opaque)
    if receiver.cls is not None:
        method = classes.class_attr(machine, receiver.cls, "forward")
        if method is not None:
            return machine.call(
                frame, classes.bind_member(machine, frame, receiver, method, node), args, kwargs, node, opaque
            )
    if receiver.base == "torch.nn.Sequential":
        return _sequential(machine, frame, receiver, args, node)
    return torch_forward(machine, frame, receiver, args, kwargs, node, opaque)


def _sequential(machine: Machine, frame: Frame, receiver: Instance, args: list[Value], node: cst.CSTNode) -> Value:
    value: Value = args[0] if args else Unknown("no input")
    found = children(machine, receiver)
    if isinstance(found, list):
        for member in found:
            value = machine.call(frame, member, [value], {}, node)
        return value
    return machine.call(frame, found, [value], {}, node) if found is not None else Unknown("empty Sequential")


def torch_forward(
    machine: Machine,
    frame: Frame,
    receiver: Instance,
    args: list[Value],
    kwargs: dict[str, Value],
    node: cst.CSTNode,
    opaque: bool,
) -> Value:
    """Calling a module of torch itself."""
    from gblint.interpreter import tensors

    base = machine.knowledge.canonical(receiver.base)
    answer = machine.emit_call(frame, Call(node, f"{base}.__call__", args, kwargs, receiver, opaque))
    if answer is not None and answer.result is not None:
        return answer.result
    if base == "torch.nn.Module":  # it stands for any subclass, which has a forward of its own
        return Unknown("call of a module that is not in view")
    found = machine.knowledge.module_returns(base)
    if found is not None:
        return tensors.from_return(machine, frame, base, found, args, kwargs, node)
    if base.startswith("torch.nn."):
        return Tensor(0.95, "", None, "result", origin=Origin("result of", node, frame.chunk))
    return Unknown("call of a module that is not in view")


# -- modules nobody makes -----------------------------------------------------------------------------------------


def example(machine: Machine, cls: Class, frame: Frame) -> Instance:
    """An object of a module class made with guessed constructor arguments, which are never tensors."""
    key = (cls.module.path, cls.info.start, cls.info.qualname)
    found = machine.instances.get(key)
    if found is not None:
        return found
    instance = Instance(cls, classes.external_base(machine, cls), open=False)
    machine.instances[key] = instance
    init = classes.class_attr(machine, cls, "__init__")
    if isinstance(init, Function):
        from gblint.interpreter.functions import tree_of
        from gblint.interpreter.guesses import plain_argument

        tree = tree_of(machine, init)
        if tree is not None:
            names = [*tree.signature.positional[1:], *tree.signature.keyword]
            scope = Frame(cls.module, tree.chunk, Environment({}), init)
            kwargs = {n: plain_argument(machine, init, tree, n) for n in names}
            guessing, machine.guessing = machine.guessing, True
            try:
                machine.call(scope, init, [instance], kwargs, cst.Name("_"))
            finally:
                machine.guessing = guessing
    elif classes.kind_of(machine, cls) == "dataclass":
        instance.open = True
    return instance
