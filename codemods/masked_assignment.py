"""Writes through a mask of what is read through it, as a selection between full-size tensors.

What it does:
    `x[mask] = f(x[mask])` becomes `x = torch.where(mask, f(x), x)`, or `x.copy_(torch.where(mask, f(x), x))` where the
    tensor may be seen elsewhere and has to be changed in place; `x[mask] += v` likewise. Two writes side by side, one
    through a mask and one through its negation, become one `torch.where`, and the empty tensor they filled goes.
Applicability:
    Safe where shapes are known to agree and no operation on the way has an infinite slope. Unsafe otherwise: a slope
    that is infinite where the mask leaves out spoils the gradient, functions of the project are taken to work element
    by element, or the mask is taken to have the tensor's dimensions.
Preconditions:
    What is written is made, element by element, of tensors read through the same mask and of numbers; the variables on
    the way are not changed in between.
Instead:
    `torch._dynamo.config.capture_dynamic_output_shape_ops = True`.
"""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from gblint.codemod_api import (
    Codemod,
    CodemodMeta,
    Declined,
    Edit,
    Example,
    Repair,
    Selection,
    Sink,
    Site,
    as_tensor,
    bound_to,
    full_size,
    is_own,
    keeps_dtype,
    mask_of,
    negates,
    refuse,
    require,
    selected_by,
    walk,
)

EMPTY = frozenset("empty empty_like new_empty zeros zeros_like new_zeros ones_like new_ones".split())


class MaskedAssignment(Codemod):
    """Read-modify-write through a mask."""

    meta = CodemodMeta(
        name="masked-assignment",
        summary="select between full-size tensors instead of writing through a mask",
        fixes=("boolean-mask-read", "shape-from-contents"),
        rank=10,
    )
    EXAMPLES = (
        Example(
            """
import torch

@torch.compile
def scatter_back(x, mask, new):
    out = x.clone()
    out[mask] = new[mask]
    return out

print("checksum", scatter_back(torch.zeros(3), torch.tensor([True, False, True]), torch.ones(3)))
""",
            """
import torch

@torch.compile
def scatter_back(x, mask, new):
    out = x.clone()
    out.copy_(torch.where(mask, new, out))
    return out

print("checksum", scatter_back(torch.zeros(3), torch.tensor([True, False, True]), torch.ones(3)))
""",
        ),
        Example(
            """
import torch

@torch.compile
def damp(x):
    big = x > 1
    x[big] *= 0.5
    x[x < 0] = -x[x < 0] + 1
    return x + 1

x = torch.tensor([2.0, -1.0, 0.5])
print("checksum", damp(x), x)
""",
            """
import torch

@torch.compile
def damp(x):
    big = x > 1
    x.copy_(torch.where(big, x * 0.5, x))
    x.copy_(torch.where(x < 0, -x + 1, x))
    return x + 1

x = torch.tensor([2.0, -1.0, 0.5])
print("checksum", damp(x), x)
""",
        ),
        Example(
            """
import torch


def gate(ratio, temperature):
    return torch.sigmoid(temperature * (ratio - 1)) * 4 / temperature


@torch.compile
def policy_loss(ratio, adv):
    gated = torch.empty_like(ratio)
    up = adv > 0
    gated[up] = gate(ratio[up], 1.0)
    gated[~up] = gate(ratio[~up], 1.05)
    return -(gated * adv).mean()


print("checksum", f"{policy_loss(torch.tensor([0.5, 1.5]), torch.tensor([-1.0, 2.0])).item():.4f}")
""",
            """
import torch


def gate(ratio, temperature):
    return torch.sigmoid(temperature * (ratio - 1)) * 4 / temperature


@torch.compile
def policy_loss(ratio, adv):
    up = adv > 0
    gated = torch.where(up, gate(ratio, 1.0), gate(ratio, 1.05))
    return -(gated * adv).mean()


print("checksum", f"{policy_loss(torch.tensor([0.5, 1.5]), torch.tensor([-1.0, 2.0])).item():.4f}")
""",
            "unsafe",
        ),
    )
    DECLINES = (
        Declined(
            """
import torch

@torch.compile
def centred(x, mask):
    x = x.clone()
    x[mask] = x[mask].softmax(0)
    return x

centred(torch.ones(3), torch.tensor([True, False, True]))
""",
            "is used in a way that has no masked form",
        ),
        Declined(
            """
import torch

@torch.compile
def added(x, mask, values):
    x = x.clone()
    x[mask] += values
    return x

added(torch.ones(3), torch.tensor([True, False, True]), torch.ones(2))
""",
            "no shape that is known to fit",
        ),
        Declined(
            """
import torch

@torch.compile
def added(x, mask):
    x = x.clone()
    chosen = x[mask]
    mask = mask & (x > 0)
    x[mask] = chosen * 2
    return x

added(torch.ones(3), torch.tensor([True, False, True]))
""",
            "`mask` is changed",
        ),
        Declined(
            """
import torch

@torch.compile
def copied(tensors, x, mask):
    tensors[0].T[mask] = x[mask]
    return x

copied([torch.ones(3, 3)], torch.ones(3, 3), torch.eye(3) > 0)
""",
            "is written to through another expression",
        ),
    )

    def repair(self, site: Site) -> Repair | None:
        selection = selected_by(site)
        if selection is None or not any(s.name in ("write", "update") for s in selection.sinks):
            return None
        where, imports = site.refer("torch.where")
        pair = _pair(selection)
        if pair is not None:
            return _as_one(selection, pair, where, imports)
        texts = {}
        for sink in selection.sinks:
            written = sink.name in ("write", "update")
            texts[sink.node] = _written(selection, sink, where) if written else full_size(selection, sink, where)
        only_writes = all(s.name in ("write", "update") for s in selection.sinks)
        return _offer(selection, [*selection.edits(texts), *imports], only_writes)


def _offer(selection: Selection, edits: list[Edit], exact: bool) -> Repair:
    message = "select with torch.where at full size"
    if selection.notes:
        return Repair("unsafe", f"{message}; {selection.notes[0]}", edits, ("errors",))
    if not selection.gentle:
        doubt = "what the mask leaves out is computed too, and an infinite slope there would spoil the gradient"
        return Repair("unsafe", f"{message}; {doubt}", edits)
    if not exact:
        return Repair("unsafe", f"{message}; floats are summed in another order", edits)
    return Repair("safe", message, edits)


def _target(sink: Sink) -> cst.Subscript:
    statement = sink.node
    target = statement.targets[0].target if isinstance(statement, cst.Assign) else None
    if isinstance(statement, cst.AugAssign):
        target = statement.target
    assert isinstance(target, cst.Subscript)
    return target


def _written(selection: Selection, sink: Sink, where: str) -> str:
    """The statement at full size."""
    target = _target(sink)
    name = _base(selection, target)
    value = _value(selection, sink, name)
    selected = f"{where}({_mask(selection, target)}, {value}, {name})"
    return _put(selection, target, [sink.inner[0]], name, selected)


def _put(
    selection: Selection, target: cst.Subscript, values: list[cst.BaseExpression], name: str, selected: str
) -> str:
    """The line that gives a tensor its new contents: in place where others may hold it, or the values may be of another
    type (which a repair that is not safe takes to be the same)."""
    site, doubtful = selection.site, bool(selection.notes) or not selection.gentle
    anew = is_own(site, target.value) and (doubtful or all(keeps_dtype(site, target.value, v) for v in values))
    return f"{name} = {selected}" if anew else f"{name}.copy_({selected})"


def _value(selection: Selection, sink: Sink, name: str) -> str:
    value = sink.inner[0]
    _require_rank(selection, _target(sink), value)
    if not isinstance(sink.node, cst.AugAssign):
        return selection.argument(value)
    operator = selection.site.text(sink.node).removeprefix(selection.site.text(sink.node.target)).strip()
    symbol = operator.partition("=")[0]
    if symbol not in ("+", "-", "*") or (symbol == "*" and not selection.site.is_plain(value)):
        selection.gentle = False
    text = selection.argument(value)
    return f"{name} {symbol} {text if isinstance(value, _TIGHT) or value.lpar else f'({text})'}"


_TIGHT = (cst.Name, cst.Attribute, cst.Call, cst.Subscript, cst.BaseNumber)


def _base(selection: Selection, target: cst.Subscript) -> str:
    """The tensor that is written to: a variable, attribute, or a part by number of one."""
    site = selection.site
    node = target.value
    while isinstance(node, cst.Attribute) and node.attr.value not in ("T", "mT", "data", "grad"):
        node = node.value
    require(isinstance(node, cst.Name), f"`{site.flat(target)}` is written to through another expression")
    return site.flat(target.value)


def _rank(site: Site, node: cst.BaseExpression) -> int | None:
    return getattr(as_tensor(site.value(node)), "rank", None)


def _mask(selection: Selection, target: cst.Subscript) -> str:
    """The mask in the rank of the tensor written to."""
    mask, base = _rank(selection.site, selection.mask), _rank(selection.site, target.value)
    if mask is None or base is None or mask == base:
        if mask is None or base is None:
            selection.note(f"takes the mask to have the dimensions of `{selection.site.flat(target.value)}`")
        return selection.mask_text
    text = selection.mask_text if isinstance(selection.mask, _TIGHT) else f"({selection.mask_text})"
    return f"{text}[{', '.join([':'] * mask + ['None'] * (base - mask))}]"


def _require_rank(selection: Selection, target: cst.Subscript, value: cst.BaseExpression) -> None:
    """Refuses a value of fewer dimensions than the rows it is written to."""
    mask, base = _rank(selection.site, selection.mask), _rank(selection.site, target.value)
    own = _rank(selection.site, value)
    if mask is not None and base is not None and own not in (None, 0) and own - 1 != base - mask:
        refuse(f"`{selection.site.flat(value)}` has other dimensions than what it is written to")


# -- a mask and its negation -------------------------------------------------------------------------------------------


def _pair(selection: Selection) -> tuple[Selection, Selection] | None:
    """The writes through a mask and, in the next line, its negation, to one tensor; None where there is no such."""
    site = selection.site
    if len(selection.sinks) != 1 or selection.sinks[0].name != "write":
        return None
    statement = site.statement(selection.sinks[0].node)
    block = site.block(statement)
    place = block.index(statement)
    for other, first in ((place + 1, True), (place - 1, False)):
        if 0 <= other < len(block):
            found = _complement(selection, block[other])
            if found is not None:
                return (selection, found) if first else (found, selection)
    return None


def _complement(selection: Selection, line: cst.CSTNode) -> Selection | None:
    site = selection.site
    if not isinstance(line, cst.SimpleStatementLine) or len(line.body) != 1 or not isinstance(line.body[0], cst.Assign):
        return None
    target = line.body[0].targets[0].target
    mask = mask_of(site, target)
    own = _target(selection.sinks[0])
    if mask is None or not isinstance(target, cst.Subscript) or site.flat(target.value) != site.flat(own.value):
        return None
    if not (negates(site, mask, selection.mask) or negates(site, selection.mask, mask)):
        return None
    seed = next((n for n in walk(line.body[0].value) if mask_of(site, n) is not None), None)
    if not isinstance(seed, cst.BaseExpression):
        return None
    read = mask_of(site, seed)
    assert read is not None
    other = Selection(site, read)
    other.add(seed)
    same = [s.node for s in other.sinks] == [line.body[0]]
    reads_target = site.flat(own.value) in {site.flat(n) for n in walk(line.body[0].value) if _is_place(n)}
    return other if same and not reads_target else None


def _is_place(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.Name | cst.Attribute)


def _as_one(selection: Selection, pair: tuple[Selection, Selection], where: str, imports: list[Edit]) -> Repair:
    """Both writes as one selection; a tensor made to be filled goes."""
    site = selection.site
    first, second = pair
    target = _target(first.sinks[0])
    name = _base(first, target)
    picked, other = (second, first) if negates(site, first.mask, second.mask) else (first, second)
    values = [_value(s, s.sinks[0], name) for s in (picked, other)]
    text = f"{where}({_mask(picked, target)}, {', '.join(values)})"
    first.notes += second.notes
    first.gentle = first.gentle and second.gentle
    line = f"{_put(first, target, [s.sinks[0].inner[0] for s in pair], name, text)}\n"
    own = line.startswith(f"{name} = ")
    statements = [site.statement(s.sinks[0].node) for s in pair]
    edits = [site.replace_lines(statements[0], statements[1], line), *imports]
    made = bound_to(site, target.value) if own and isinstance(target.value, cst.Name) else None
    if made is not None and _is_unread(site, made, target.value, statements[1]):
        edits.append(site.remove(site.statement(made)))
    edits += [e for s in pair for e in s.edits({s.sinks[0].node: ""}) if e.row not in _rows(site, statements)]
    return _offer(first, edits, exact=True)


def _rows(site: Site, statements: Sequence[cst.CSTNode]) -> range:
    return range(site.span(statements[0])[0], site.span(statements[-1])[2] + 1)


def _is_unread(site: Site, made: cst.BaseExpression, name: cst.CSTNode, last: cst.CSTNode) -> bool:
    """Whether a tensor is read nowhere between its making and the end of the writes."""
    if site.callee(made).rpartition(".")[2] not in EMPTY or site.loop(made) is not site.loop(last):
        return False
    if site.parent(site.statement(made)) is not site.parent(site.statement(last)) or not isinstance(name, cst.Name):
        return False
    behind = set(site.after(last))
    between = [n for n in site.after(site.statement(made)) if n not in behind and n.value == name.value]
    places = [site.parent(n) for n in between]
    written = [p for p in places if isinstance(p, cst.Subscript) and isinstance(site.parent(p), cst.AssignTarget)]
    return len(written) == len(places) and all(mask_of(site, p) is not None for p in written)
