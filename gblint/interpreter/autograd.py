"""Custom autograd Functions: `apply` traces `forward`, and `backward` too where a gradient is wanted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from gblint.interpreter import classes
from gblint.interpreter.events import Call
from gblint.interpreter.externals import Site, model
from gblint.interpreter.functions import tree_of
from gblint.interpreter.values import (
    NONE,
    Class,
    Function,
    Instance,
    Sequence,
    Tensor,
    Unknown,
    Value,
    as_tensor,
)
from gblint.interpreter.walk import walk_scope

if TYPE_CHECKING:
    pass

CONTEXT = "torch.autograd.function.FunctionCtx"


@model("torch.autograd.Function.apply")
def _apply(site: Site) -> Value:
    cls = site.receiver
    forward = classes.class_attr(site.machine, cls, "forward") if isinstance(cls, Class) else None
    if not isinstance(cls, Class) or not isinstance(forward, Function):
        return Tensor(0.8, origin=site.origin())
    context = Instance(None, CONTEXT, open=True)
    wants_gradient = site.machine.wants_gradient()
    _report_dirty(site, forward, wants_gradient)
    value = _forward(site, cls, forward, context)
    if wants_gradient and site.frame.traced:
        _backward(site, cls, context, value)
    return value if not isinstance(value, Unknown) else Tensor(0.8, origin=site.origin())


def _forward(site: Site, cls: Class, forward: Function, context: Instance) -> Value:
    setup = classes.class_attr(site.machine, cls, "setup_context")
    if not isinstance(setup, Function):
        return site.call(forward, [context, *site.args], site.kwargs)
    value = site.call(forward, site.args, site.kwargs)
    site.call(setup, [context, Sequence("tuple", list(site.args)), value])
    return value


def _backward(site: Site, cls: Class, context: Instance, result: Value) -> None:
    """Trace `backward` with one gradient for each tensor that `forward` gave."""
    backward = classes.class_attr(site.machine, cls, "backward")
    if not isinstance(backward, Function):
        return
    results = result.items if isinstance(result, Sequence) and result.items is not None else [result]
    tensors = [as_tensor(r) for r in results]
    gradients: list[Value] = [
        Tensor(0.95, "float", t.rank if t is not None else None, "result", origin=site.origin()) for t in tensors
    ]
    site.call(backward, [context, *gradients])


# -- inputs changed in place --------------------------------------------------------------------------------------


def _report_dirty(site: Site, forward: Function, wants_gradient: bool) -> None:
    """`ctx.mark_dirty(x)` asks for `x` itself to be returned; else, and without gradients, eager code runs
    `forward`."""
    tree = tree_of(site.machine, forward)
    if not site.frame.traced or tree is None:
        return
    nodes = list(walk_scope([tree.node.body]))
    call = next((n for n in nodes if isinstance(n, cst.Call) and _is_mark(n)), None)
    if call is None:
        return
    returned = {name for n in nodes if isinstance(n, cst.Return) for name in _names(n.value)}
    missing = [a.value.value for a in call.args if isinstance(a.value, cst.Name) and a.value.value not in returned]
    if missing and wants_gradient:
        site.machine.emit_call(
            site.frame, Call(site.node, "mark:dirty_not_returned", site.args, site.kwargs, name=forward.qualname)
        )
    site.machine.dirty[id(call)] = bool(missing) or not wants_gradient


def _is_mark(call: cst.Call) -> bool:
    return isinstance(call.func, cst.Attribute) and call.func.attr.value == "mark_dirty"


def _names(value: cst.BaseExpression | None) -> list[str]:
    parts = [e.value for e in value.elements] if isinstance(value, cst.Tuple) else [value]
    return [p.value for p in parts if isinstance(p, cst.Name)]


# -- the context --------------------------------------------------------------------------------------------------


@model(f"{CONTEXT}.mark_dirty")
def _mark_dirty(site: Site) -> Value:
    if site.machine.dirty.get(id(site.node)):
        site.machine.emit_call(site.frame, Call(site.node, "mark:mark_dirty", site.args, site.kwargs, site.receiver))
    return NONE


@model(f"{CONTEXT}.save_for_backward", f"{CONTEXT}.save_for_forward")
def _save(site: Site) -> Value:
    if isinstance(site.receiver, Instance):
        site.receiver.attrs["saved_tensors"] = Sequence("tuple", list(site.args))
        site.receiver.attrs["saved_variables"] = site.receiver.attrs["saved_tensors"]
    return NONE


@model(f"{CONTEXT}.mark_non_differentiable", f"{CONTEXT}.set_materialize_grads")
def _nothing(site: Site) -> Value:
    return NONE
