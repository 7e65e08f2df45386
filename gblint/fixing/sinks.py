"""Where elements selected by a mask end: reductions, losses, counts, writes through the same mask; and their forms at
full size."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from gblint.fixing.masked import REDUCED, Selection, Sink
from gblint.interpreter.values import as_tensor

if TYPE_CHECKING:
    from gblint.fixing.site import Site

ELEMENT_LOSSES = frozenset(
    "l1_loss mse_loss smooth_l1_loss huber_loss binary_cross_entropy binary_cross_entropy_with_logits "
    "soft_margin_loss".split()
)
WHOLE = ("dim", "axis", "keepdim")


def sink_of(selection: Selection, top: cst.BaseExpression) -> Sink | None:
    """The sink directly round a selected expression; None if there is none."""
    site = selection.site
    above = site.parent(top)
    if isinstance(above, cst.Attribute):
        return _method(site, above, top)
    if isinstance(above, cst.Arg):
        call = site.parent(above)
        return _function(selection, call, top) if isinstance(call, cst.Call) else None
    if isinstance(above, cst.Assign) and len(above.targets) == 1:
        target = above.targets[0].target
        return Sink(above, "write", (top,)) if writes(selection, target) else None
    if isinstance(above, cst.AugAssign) and above.value is top:
        return Sink(above, "update", (top,)) if writes(selection, above.target) else None
    return None


def writes(selection: Selection, target: cst.CSTNode) -> bool:
    """Whether a target is a tensor written through the mask of the selection."""
    from gblint.fixing.masked import mask_of

    mask = mask_of(selection.site, target)
    return isinstance(target, cst.Subscript) and mask is not None and selection.site.flat(mask) == selection.mask_text


def _method(site: Site, attribute: cst.Attribute, top: cst.BaseExpression) -> Sink | None:
    name = attribute.attr.value
    above = site.parent(attribute)
    if name == "shape" and isinstance(above, cst.Subscript) and _is_zero(above):
        return Sink(above, "count", (top,))
    if not isinstance(above, cst.Call):
        return None
    if name == "size" and len(above.args) == 1 and site.flat(above.args[0].value) == "0":
        return Sink(above, "count", (top,))
    return _reduction(site, above, name, above.args, top)


def _is_zero(subscript: cst.Subscript) -> bool:
    part = subscript.slice[0].slice if len(subscript.slice) == 1 else None
    return isinstance(part, cst.Index) and isinstance(part.value, cst.Integer) and part.value.value == "0"


def _function(selection: Selection, call: cst.Call, top: cst.BaseExpression) -> Sink | None:
    site = selection.site
    name = site.callee(call)
    last = name.rpartition(".")[2]
    if name == "builtins.len":
        return Sink(call, "count", (top,))
    if name.startswith("torch.nn.functional.") and last in ELEMENT_LOSSES:
        inner = [a.value for a in call.args if a.keyword is None or a.keyword.value in ("input", "target", "weight")]
        if all(selection.kind(i) == "selected" for i in inner[:2]) and len(inner) >= 2:
            selection.gentle = False
            return Sink(call, last, tuple(inner[:2]))
        return None
    if name == "torch.nn.functional.cross_entropy":
        return _cross_entropy(selection, call)
    if name == "torch.bincount" and len(call.args) == 2 and call.args[0].value is top:
        return Sink(call, "bincount", (top,)) if _minlength(call) is not None else None
    if name in (f"torch.{last}", f"torch.linalg.{last}") and call.args and call.args[0].value is top:
        return _reduction(site, call, last, call.args[1:], top)
    return None


def _minlength(call: cst.Call) -> cst.BaseExpression | None:
    return next((a.value for a in call.args if a.keyword is not None and a.keyword.value == "minlength"), None)


def _cross_entropy(selection: Selection, call: cst.Call) -> Sink | None:
    """Of rows selected from logits of rank 2: what is left out becomes a target that is ignored."""
    inner = [a.value for a in call.args if a.keyword is None][:2]
    given = {a.keyword.value for a in call.args if a.keyword is not None}
    if len(inner) < 2 or any(selection.kind(i) != "selected" for i in inner) or given & {"ignore_index", "weight"}:
        return None
    if (selection.trailing(inner[0]), selection.trailing(inner[1])) != (1, 0):
        return None
    mask = as_tensor(selection.site.value(selection.mask))
    return Sink(call, "cross_entropy", tuple(inner)) if mask is not None and mask.rank == 1 else None


def _reduction(
    site: Site, call: cst.Call, name: str, args: tuple[cst.Arg, ...] | list[cst.Arg], top: cst.BaseExpression
) -> Sink | None:
    if name == "numel" and not args:
        return Sink(call, "numel", (top,))
    if name not in REDUCED or name == "numel":
        return None
    if not args:
        return Sink(call, name, (top,))
    if name in ("sum", "mean", "amax", "amin", "any", "all", "prod") and len(args) == 1:
        word = args[0].keyword.value if args[0].keyword is not None else "dim"
        if word in WHOLE[:2] and site.flat(args[0].value) == "0":
            return Sink(call, name, (top,), rows=True)
    return None


# -- full size ---------------------------------------------------------------------------------------------------------


def full_size(selection: Selection, sink: Sink, where: str) -> str:
    """The text that takes a sink's place. where: how the file writes `torch.where`. Raises Refusal."""
    inner = sink.inner[0]
    if sink.name in ("count", "numel"):
        return _count(selection, sink)
    if sink.name == "cross_entropy":
        return _ignoring(selection, sink)
    if sink.name == "bincount":
        return _counted(selection, sink, where)
    if sink.name in ELEMENT_LOSSES:
        return _loss(selection, sink, where)
    text, mask = selection.argument(inner), selection.mask_for(inner)
    along = "0" if sink.rows else ""
    if sink.name in ("any", "all"):
        return _truth(selection, sink, along)
    neutral = _neutral(selection, sink, inner)
    whole = f"{where}({mask}, {text}, {neutral})"
    if sink.name != "mean":
        return f"{whole}.{sink.name}({along})"
    return selection.fitted(sink.node, f"{whole}.sum({along}) / {_divisor(selection, sink, inner)}")


def _sum_of_mask(selection: Selection) -> str:
    mask = selection.mask
    closed = isinstance(mask, cst.Name | cst.Attribute | cst.Call | cst.Subscript) or mask.lpar
    return f"{selection.mask_text}.sum()" if closed else f"({selection.mask_text}).sum()"


def _divisor(selection: Selection, sink: Sink, inner: cst.BaseExpression) -> str:
    extra = selection.trailing(inner)
    if extra == 0 or sink.rows:
        return _sum_of_mask(selection)
    if extra > 1:
        selection.refuse("the mean is over several dimensions besides the masked ones")
    return f"({_sum_of_mask(selection)} * {selection.closed(inner)}.shape[-1])"


def _counted(selection: Selection, sink: Sink, where: str) -> str:
    """`torch.bincount` of masked numbers: what the mask leaves out counts nothing."""
    call = sink.node
    assert isinstance(call, cst.Call)
    length = _minlength(call)
    assert length is not None
    inner = sink.inner[0]
    if selection.trailing(inner):
        selection.refuse("`torch.bincount` takes one dimension")
    mask = as_tensor(selection.site.value(selection.mask))
    flat = "" if mask is not None and mask.rank == 1 else ".flatten()"
    selection.note("every number counted is taken to be below the length given")
    own, _ = selection.site.refer("torch")
    closed = selection.mask_text if _is_closed(selection.mask) else f"({selection.mask_text})"
    index = f"{where}({selection.mask_text}, {selection.argument(inner)}, 0){flat}"
    zeros = f"{own}.zeros({selection.site.flat(length)}, dtype={own}.long, device={closed}.device)"
    return f"{zeros}.scatter_add_(0, {index}, {closed}{flat}.long())"


def _count(selection: Selection, sink: Sink) -> str:
    if sink.name == "numel" and selection.trailing(sink.inner[0]):
        selection.refuse("`numel` counts more than the elements of the mask")
    return _sum_of_mask(selection)


def _truth(selection: Selection, sink: Sink, along: str) -> str:
    inner = sink.inner[0]
    tensor = as_tensor(selection.site.value(inner))
    if tensor is None or tensor.dtype != "bool":
        selection.refuse(f"`{sink.name}` is asked of something that may not be boolean")
    site = selection.site
    mask = selection.mask_for(inner)
    closed = mask if site.flat(selection.mask) != mask or _is_closed(selection.mask) else f"({mask})"
    text = selection.closed(inner)
    whole = f"({closed} & {text})" if sink.name == "any" else f"(~{closed} | {text})"
    return f"{whole}.{sink.name}({along})"


def _is_closed(node: cst.BaseExpression) -> bool:
    return isinstance(node, cst.Name | cst.Attribute | cst.Call | cst.Subscript) or bool(node.lpar)


def _neutral(selection: Selection, sink: Sink, inner: cst.BaseExpression) -> str:
    if sink.name == "prod":
        return "1"
    if sink.name in ("max", "min", "amax", "amin"):
        tensor = as_tensor(selection.site.value(inner))
        if tensor is None or tensor.dtype not in ("float", ""):
            selection.refuse(f"`{sink.name}` of integers has no neutral element that is sure to fit")
        return 'float("-inf")' if "max" in sink.name else 'float("inf")'
    return "0"


def _loss(selection: Selection, sink: Sink, where: str) -> str:
    """A loss element by element, then reduced over the mask."""
    call = sink.node
    assert isinstance(call, cst.Call)
    site = selection.site
    how = "mean"
    rest = []
    for arg in call.args:
        if arg.value in sink.inner:
            continue
        if arg.keyword is None or arg.keyword.value not in ("reduction", "beta", "delta"):
            selection.refuse(f"`{site.flat(call)}` is given `{site.flat(arg.value)}`, whose part is not known")
        elif arg.keyword.value == "reduction":
            how = site.flat(arg.value).strip("\"'")
        else:
            rest.append(f"{arg.keyword.value}={site.flat(arg.value)}")
    if how not in ("mean", "sum"):
        selection.refuse("the loss of each element is kept")
    inner = ", ".join([*(selection.argument(i) for i in sink.inner), *rest, 'reduction="none"'])
    whole = f"{where}({selection.mask_for(sink.inner[0])}, {site.flat(call.func)}({inner}), 0).sum()"
    if how == "sum":
        return whole
    return selection.fitted(call, f"{whole} / {_divisor(selection, sink, sink.inner[0])}")


def _ignoring(selection: Selection, sink: Sink) -> str:
    call = sink.node
    assert isinstance(call, cst.Call)
    site = selection.site
    logits, target = sink.inner
    rest = [site.flat(a.with_changes(comma=cst.MaybeSentinel.DEFAULT)) for a in call.args if a.value not in sink.inner]
    mask = selection.mask_text if _is_closed(selection.mask) else f"({selection.mask_text})"
    filled = f"{selection.closed(target)}.masked_fill(~{mask}, -100)"
    return f"{site.flat(call.func)}({', '.join([selection.render(logits), filled, *rest])})"
