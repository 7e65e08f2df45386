"""A tensor indexed by a tensor of no dimension: by one of one dimension instead.

What it does:
    `x[i]` becomes `x[i[None]][0]`, `x[:, i]` becomes `x[:, i[None]].squeeze(1)`, a write `x[i] = v` becomes
    `x[i[None]] = v`, and `x[flag] = 0.0` with a single truth value `x.masked_fill_(flag, 0.0)`.
Applicability:
    Safe for writes of a number, and for reads whose result is an operand. Unsafe for the rest: what is read is a copy,
    not a view, and a tensor that is written is no longer converted to the type of the other.
Preconditions:
    The index is the only tensor among the indices, with nothing but slices in front of it, or all indices are such.
Instead:
    `index_select`, `gather`, or a position that Python knows.
"""

from __future__ import annotations

import libcst as cst

from gblint.codemod_api import (
    Codemod,
    CodemodMeta,
    Declined,
    Example,
    Repair,
    Site,
    applied,
    as_tensor,
    bound_to,
    flat_with,
    put,
    refuse,
    require,
)

WIDE = ("argmax", "argmin", "count_nonzero", "sum", "long")  # what gives 64-bit integers, if it gives integers


class ScalarIndex(Codemod):
    """Subscripts by 0-d tensors."""

    meta = CodemodMeta(
        name="scalar-index",
        summary="index with a 1-d tensor instead of a 0-d one",
        fixes=("scalar-tensor-index",),
        rank=20,
    )
    EXAMPLES = (
        Example(
            """
import torch

@torch.compile
def best(hidden, scores):
    return hidden[scores.argmax()] * 2 + hidden[:, scores.argmin()].sum()

print("checksum", best(torch.arange(6.0).view(2, 3), torch.tensor([0.5, 1.0])))
""",
            """
import torch

@torch.compile
def best(hidden, scores):
    return (
        hidden[scores.argmax()[None]][0] * 2
        + hidden[:, scores.argmin()[None]].squeeze(1).sum()
    )

print("checksum", best(torch.arange(6.0).view(2, 3), torch.tensor([0.5, 1.0])))
""",
        ),
        Example(
            """
import torch

@torch.compile
def marked(x, mask):
    x = x.clone()
    x[:, mask.sum() - 1] += 1.0
    bad = x.mean() > 5
    x[bad] = 0.0
    return x

print("checksum", marked(torch.ones(2, 3), torch.tensor([1, 1, 0])))
""",
            """
import torch

@torch.compile
def marked(x, mask):
    x = x.clone()
    x[:, (mask.sum() - 1)[None]] += 1.0
    bad = x.mean() > 5
    x.masked_fill_(bad, 0.0)
    return x

print("checksum", marked(torch.ones(2, 3), torch.tensor([1, 1, 0])))
""",
        ),
        Example(
            """
import torch

@torch.compile
def last(hidden, mask, value):
    row = hidden[mask.sum() - 1]
    hidden = hidden.clone()
    hidden[mask.argmax()] = value
    return row, hidden

print("checksum", last(torch.ones(3, 2), torch.tensor([1, 1, 0]), torch.zeros(2)))
""",
            """
import torch

@torch.compile
def last(hidden, mask, value):
    row = hidden[(mask.sum() - 1)[None]][0]
    hidden = hidden.clone()
    hidden[mask.argmax()[None]] = value
    return row, hidden

print("checksum", last(torch.ones(3, 2), torch.tensor([1, 1, 0]), torch.zeros(2)))
""",
            "unsafe",
        ),
    )
    DECLINES = (
        Declined(
            """
import torch

@torch.compile
def through_a_part(x, scores):
    x = x.clone()
    x[scores.argmax()][0] = 5
    return x

@torch.compile
def by_a_method(x, scores):
    x = x.clone()
    x[scores.argmax()].view(-1).add_(1)
    return x

@torch.compile
def by_a_name(x, scores):
    x = x.clone()
    row = x[scores.argmax()]
    row += 1
    return x

through_a_part(torch.ones(3, 2), torch.ones(3))
by_a_method(torch.ones(3, 2), torch.ones(3))
by_a_name(torch.ones(3, 2), torch.ones(3))
""",
            "a copy would be changed instead",
        ),
        Declined(
            """
import torch

@torch.compile
def picked(x, scores):
    return x[scores.argmax(), :, torch.tensor([0, 1])] * 2

picked(torch.ones(3, 2, 2), torch.ones(3))
""",
            "another tensor among the indices",
        ),
        Declined(
            """
import torch

@torch.compile
def picked(x):
    return x[(x > 0).any()] * 2

picked(torch.ones(3))
""",
            "selects all or nothing",
        ),
        Declined(
            """
import torch

@torch.compile
def put(x, value):
    x = x.clone()
    x[(x > 0).any()] = value
    return x

put(torch.ones(3), torch.zeros(3))
""",
            "is no number",
        ),
        Declined(
            """
import torch

@torch.compile
def read(x, i, scores):
    a = x[scores.argmax(), 0, :] * 2
    b = x[..., scores.argmax(), :] * 2
    c = torch.Tensor.__getitem__(x, scores.argmax())
    return a, b, c

@torch.compile
def write(x):
    x = x.clone()
    x[(x > 0).any(), 0] = 1.0
    x[(x > 0).any()] += 1.0
    return x

@torch.compile
def unknown(x, y):
    x = x.clone()
    x[(y > 0).any()] = 0.5
    return x

read(torch.ones(3, 2, 2), 0, torch.ones(3))
write(torch.ones(3, 2))
for x in (torch.ones(3), torch.arange(3)):
    unknown(x, torch.ones(3))
""",
            "numbers and slices are mixed among the indices",
        ),
    )

    def repair(self, site: Site) -> Repair | None:
        node = site.node.target if isinstance(site.node, cst.AugAssign) else site.node
        require(isinstance(node, cst.Subscript), "the tensor is indexed in another way than by a subscript")
        assert isinstance(node, cst.Subscript)
        scalars = [
            e.slice.value for e in node.slice if isinstance(e.slice, cst.Index) and _is_scalar(site, e.slice.value)
        ]
        require(scalars, "which index has no dimensions is not in view")
        above = site.parent(node)
        stored = isinstance(above, cst.AssignTarget | cst.AugAssign) and above.target is node
        if any(_dtype(site, s) == "bool" for s in scalars):
            return _filled(site, node, stored)
        _require_alone(site, node, scalars)
        texts: dict[cst.CSTNode, str] = {s: f"{site.operand(s)}[None]" for s in scalars}
        if stored:
            _check_overlap(site, node, above)
        else:
            require(
                not _is_written(site, node), f"`{site.flat(node)}` is written to, and a copy would be changed instead"
            )
            inner = flat_with(site, node, texts)
            texts = {node: f"{inner}{_removed(site, node)}"}
        doubt = _doubt_of_write(site, above) if stored else _doubt_of_read(site, node)
        masks = _doubts_of_index(site, scalars)
        doubt = "; ".join(d for d in [*masks[:1], doubt] if d)
        edits = put(site, site.statement(node), texts)
        message = "index with a tensor of one dimension"
        return Repair(
            "unsafe" if doubt else "safe",
            f"{message}; {doubt}" if doubt else message,
            edits,
            ("errors",) if masks else (),
        )


def _is_written(site: Site, node: cst.CSTNode, seen: frozenset[str] = frozenset()) -> bool:
    """Whether what an expression gives is changed in place: itself, a part of it, or under the name it is given. seen:
    names that have been followed."""
    above = site.parent(node)
    if isinstance(above, cst.AssignTarget | cst.AugAssign):
        return above.target is node
    if isinstance(above, cst.Assign) and isinstance(above.targets[0].target, cst.Name):
        name = above.targets[0].target.value
        uses = [use for use in site.uses(name) if not isinstance(site.parent(use), cst.AssignTarget)]
        return name not in seen and any(_is_written(site, use, seen | {name}) for use in uses)
    if isinstance(above, cst.Attribute) and isinstance(site.parent(above), cst.Call):
        return above.attr.value.rstrip("_") + "_" == above.attr.value or _is_written(site, above, seen)
    if isinstance(above, cst.Call):
        return above.func is node and _is_written(site, above, seen)
    return isinstance(above, cst.Subscript | cst.Attribute) and above.value is node and _is_written(site, above, seen)


def _dtype(site: Site, node: cst.BaseExpression) -> str:
    tensor = as_tensor(site.value(node))
    return tensor.dtype if tensor is not None else ""


def _is_scalar(site: Site, node: cst.BaseExpression) -> bool:
    tensor = as_tensor(site.value(node))
    return tensor is not None and tensor.rank == 0


def _require_alone(site: Site, node: cst.Subscript, scalars: list[cst.BaseExpression]) -> None:
    """Refuses where the place of the new dimension would not be that of the index."""
    others = [e.slice for e in node.slice if not (isinstance(e.slice, cst.Index) and e.slice.value in scalars)]
    if any(isinstance(o, cst.Index) and as_tensor(site.value(o.value)) is not None for o in others):
        refuse("there is another tensor among the indices")
    if len(scalars) > 1 or any(isinstance(o, cst.Index) and not _is_open(o) for o in others):
        whole = all(isinstance(e.slice, cst.Index) and not _is_open(e.slice) for e in node.slice)
        require(whole, "numbers and slices are mixed among the indices")


def _is_open(index: cst.Index) -> bool:
    """`None` or `...`"""
    value = index.value
    return isinstance(value, cst.Ellipsis) or (isinstance(value, cst.Name) and value.value == "None")


def _removed(site: Site, node: cst.Subscript) -> str:
    """What takes the new dimension away again."""
    first = node.slice[0].slice
    if isinstance(first, cst.Index) and not _is_open(first):
        return "[0]"
    place = next(
        i for i, e in enumerate(node.slice) if isinstance(e.slice, cst.Index) and _is_scalar(site, e.slice.value)
    )
    before = [e.slice for e in node.slice][:place]
    if any(isinstance(b, cst.Index) and isinstance(b.value, cst.Ellipsis) for b in before):
        require(place == len(node.slice) - 1, "slices stand behind the index and an ellipsis in front of it")
        return ".squeeze(-1)"
    return f".squeeze({place})"


def _doubts_of_index(site: Site, scalars: list[cst.BaseExpression]) -> list[str]:
    return [
        f"`{site.flat(s)}` must be no truth value or byte, which is a mask" for s in scalars if not _counts(site, s)
    ]


def _counts(site: Site, node: cst.BaseExpression) -> bool:
    """Whether an index surely is a 64-bit integer: a position, a count, a sum of integers or what is computed of it."""
    if isinstance(node, cst.Name):
        value = bound_to(site, node)
        return value is not None and _counts(site, value)
    if isinstance(node, cst.BinaryOperation):
        return any(_counts(site, side) for side in (node.left, node.right)) and _dtype(site, node) == "int"
    if isinstance(node, cst.UnaryOperation):
        return _counts(site, node.expression) and not isinstance(node.operator, cst.Not)
    return applied(site, node)[0] in WIDE and _dtype(site, node) == "int"


def _doubt_of_read(site: Site, node: cst.Subscript) -> str:
    above = site.parent(node)
    if isinstance(above, cst.BinaryOperation | cst.UnaryOperation | cst.Comparison | cst.ComparisonTarget):
        return ""
    if isinstance(above, cst.Attribute) and isinstance(site.parent(above), cst.Call):
        if above.attr.value in ("sum", "mean", "abs", "exp", "log", "sqrt", "clone", "norm", "max", "min"):
            return ""
    return "the result is a copy, not a view"


def _check_overlap(site: Site, node: cst.Subscript, above: cst.CSTNode | None) -> None:
    """Refuses where what is written is a part of the tensor itself: a write by index does not take it."""
    statement = site.parent(above) if isinstance(above, cst.AssignTarget) else above
    value = statement.value if isinstance(statement, cst.Assign) else None
    base = site.flat(node.value)
    inside = isinstance(value, cst.Subscript | cst.Name | cst.Attribute) and base in map(site.flat, _parts(value))
    require(not inside, f"`{site.flat(value)}` may share memory with `{base}`" if value is not None else "")


def _parts(node: cst.BaseExpression) -> list[cst.BaseExpression]:
    """An expression and what it is a part of, outermost first."""
    parts = [node]
    while isinstance(node, cst.Subscript | cst.Attribute):
        node = node.value
        parts.append(node)
    return parts


def _doubt_of_write(site: Site, above: cst.CSTNode | None) -> str:
    statement = site.parent(above) if isinstance(above, cst.AssignTarget) else above
    value = statement.value if isinstance(statement, cst.Assign | cst.AugAssign) else None
    return "" if value is not None and site.is_plain(value) else "the value written has to be of the tensor's type"


def _filled(site: Site, node: cst.Subscript, stored: bool) -> Repair:
    """`x[flag] = 0.0`"""
    require(stored, "a single truth value selects all or nothing")
    require(len(node.slice) == 1, "a single truth value stands among other indices")
    statement = site.lone_statement(node)
    require(isinstance(statement, cst.Assign) and len(statement.targets) == 1, "the write is no plain assignment")
    assert isinstance(statement, cst.Assign)
    require(site.is_plain(statement.value), f"`{site.flat(statement.value)}` is no number")
    whole = isinstance(statement.value, cst.Integer) or _dtype(site, node.value) == "float"
    require(whole, "the tensor may hold integers, and what is written may be none")
    index = node.slice[0].slice
    assert isinstance(index, cst.Index)
    text = f"{site.operand(node.value)}.masked_fill_({site.flat(index.value)}, {site.flat(statement.value)})"
    return Repair("safe", "fill in place under the truth value", [site.replace(statement, text)])
