"""What is computed from the elements a mask selects, and the same computed at full size.

`x[mask]` and what is made of it element by element can be computed for all elements instead; where it ends, in a
reduction or in a write through the same mask, the mask takes effect (`torch.where`). A `Selection` finds everything
that hangs together with one such read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NoReturn

import libcst as cst

from gblint.findings.finding import Edit
from gblint.fixing.elementwise import kind_of
from gblint.fixing.flow import loads_of, plain_targets
from gblint.fixing.layout import flat_with, put
from gblint.fixing.purity import is_pure
from gblint.interpreter.values import Tensor, Unknown, as_tensor, members
from gblint.interpreter.walk import children, walk

if TYPE_CHECKING:
    from gblint.fixing.site import Site

_GENTLE_OPERATORS = (cst.Add, cst.Subtract, cst.BitAnd, cst.BitOr, cst.BitXor)
REDUCED = frozenset(
    "sum mean max min amax amin any all norm prod numel count_nonzero nansum".split()
)  # what `Selection` can end in besides a write


@dataclass(frozen=True)
class Sink:
    """Where selected elements end. node: the whole expression or statement to be replaced. name: the reduction
    ("mean"), "write", "update" (`x[m] += v`), "count" or a loss ("mse_loss"). inner: the selected expression(s)."""

    node: cst.CSTNode
    name: str
    inner: tuple[cst.BaseExpression, ...]
    rows: bool = False  # reduces along the rows selected (dim 0) alone


@dataclass
class Selection:
    """Everything computed from reads through one mask. Raises Refusal where something is no masked form.

    seeds: the reads. sinks: where they end. notes: what is taken for granted. gentle: no operation on the way has an
    infinite slope. exact: only writes and other operations that do not round.
    """

    site: Site
    mask: cst.BaseExpression
    seeds: list[cst.BaseExpression] = field(default_factory=list)
    sinks: list[Sink] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    gentle: bool = True
    places: list[cst.BaseExpression] = field(default_factory=list)
    texts: dict[cst.CSTNode, Callable[[], str]] = field(default_factory=dict)
    dropped: list[cst.CSTNode] = field(default_factory=list)

    # -- finding out ---------------------------------------------------------------------------------------------------

    @property
    def mask_text(self) -> str:
        return self.site.flat(self.mask)

    def begin(self, seed: cst.BaseExpression) -> None:
        """Start from the read of a finding; `x[mask] += v` is one too."""
        above = self.site.parent(seed)
        if isinstance(above, cst.AugAssign) and above.target is seed:
            value = above.value
            if self.kind(value) == "":
                self.refuse(f"`{self.site.flat(value)}` has no shape that is known to fit at full size")
            if not any(s.node is above for s in self.sinks):
                self.sinks.append(Sink(above, "update", (value,)))
            return
        self.add(seed)

    def add(self, seed: cst.BaseExpression) -> None:
        """Follow one more read through the mask."""
        if seed in self.seeds:
            return
        self.seeds.append(seed)
        base = base_of(self.site, seed)
        assert base is not None
        if not is_pure(self.site, [base, self.mask]):
            self.refuse(f"`{self.site.flat(seed)}` would be computed more than once")
        self._note_rank(base)
        self.texts[seed] = lambda: self.render(base)
        self._follow(seed)

    def _note_rank(self, base: cst.BaseExpression) -> None:
        mask, tensor = as_tensor(self.site.value(self.mask)), as_tensor(self.site.value(base))
        ranks = (mask.rank if mask else None, tensor.rank if tensor else None)
        if None in ranks:
            self.note(f"takes `{self.mask_text}` to have the dimensions of `{self.site.flat(base)}`")

    def note(self, text: str) -> None:
        """Remember something that is taken for granted."""
        if text not in self.notes:
            self.notes.append(text)

    def _follow(self, place: cst.BaseExpression) -> None:
        self.places.append(place)
        top = place
        while True:
            above = self._wider(top)
            if above is None:
                break
            top = above
        if isinstance(self.site.parent(top), cst.NamedExpr):
            self.refuse(f"`{self.site.flat(top)}` is given a name within an expression")
        names = plain_targets(self.site, top)
        if names:
            self._follow_variables(names, top)
            return
        sink = self._sink(top)
        if sink is None:
            self.refuse(f"`{self.site.flat(top)}` is used in a way that has no masked form")
        if sink not in self.sinks:
            self.sinks.append(sink)

    def _follow_variables(self, names: list[str], value: cst.BaseExpression) -> None:
        statement = self.site.statement(value)
        base = base_of(self.site, value)
        if isinstance(base, cst.Name) and names == [base.value]:
            self.dropped.append(statement)
        for name in names:
            for place in loads_of(self.site, name, value):
                self._require_unchanged(name, statement, place)
                if place not in self.places:
                    self._follow(place)

    def _require_unchanged(self, name: str, statement: cst.CSTNode, place: cst.CSTNode) -> None:
        """The mask and the variable have to be the same at the place as at the statement."""
        behind = self.site.after(statement)
        between = behind[: behind.index(place)] if isinstance(place, cst.Name) and place in behind else behind
        masks = {n.value for n in walk(self.mask) if isinstance(n, cst.Name)}
        bases = {n.value for s in self.seeds for n in walk(base_of(self.site, s) or s) if isinstance(n, cst.Name)}
        for use in between:
            if use.value in bases | masks and self._is_written(use):
                self.refuse(f"`{use.value}` is changed in place between the read and where it ends")
            if use.value in masks and self.site.is_store(use):
                self.refuse(f"`{use.value}` is changed between the read and where it ends")
            if use.value == name and self._is_written(use):
                self.refuse(f"`{name}` is written to after the read")

    def _is_written(self, use: cst.Name) -> bool:
        above = self.site.parent(use)
        if isinstance(above, cst.AugAssign) and above.target is use:
            return True
        if isinstance(above, cst.Subscript) and above.value is use:
            holder = self.site.parent(above)
            return isinstance(holder, cst.AssignTarget | cst.AugAssign) and holder.target is above
        if isinstance(above, cst.Attribute) and isinstance(self.site.parent(above), cst.Call):
            return above.attr.value.endswith("_") and not above.attr.value.endswith("__")
        return False

    def refuse(self, reason: str) -> NoReturn:
        from gblint.fixing.site import Refusal

        raise Refusal(reason)

    def _wider(self, node: cst.BaseExpression) -> cst.BaseExpression | None:
        """The next larger expression that works element by element on what is selected; None if there is none."""
        above = self.site.parent(node)
        if isinstance(above, cst.Arg):
            above = self.site.parent(above)
        elif isinstance(above, cst.Attribute):
            above = self.site.parent(above)
            if not isinstance(above, cst.Call):
                return None
        elif isinstance(above, cst.ComparisonTarget):
            above = self.site.parent(above)
        if isinstance(above, cst.BaseExpression) and self.kind(above) == "selected":
            return above
        return None

    def kind(self, node: cst.BaseExpression) -> str:
        """ "selected" for an expression over selected elements, "scalar" for one that goes with any shape, "" else."""
        if node in self.places or node in self.seeds:
            return "selected"
        if self.is_seed(node):
            self.add(node)
            return "selected"
        parts = self._operands(node)
        if parts is not None:
            kinds = {self.kind(p) for p in parts}
            if "" not in kinds and "selected" in kinds:
                self.gentle = self.gentle and self._is_gentle(node)
                return "selected"
        if isinstance(node, cst.Name) and self._defined_by_seed(node):
            return "selected"
        return "scalar" if self._is_scalar(node) else ""

    def _operands(self, node: cst.BaseExpression) -> list[cst.BaseExpression] | None:
        """The tensors and numbers that an elementwise operation takes; None for anything else."""
        if isinstance(node, cst.UnaryOperation):
            return None if isinstance(node.operator, cst.Not) else [node.expression]
        if isinstance(node, cst.BinaryOperation):
            return None if isinstance(node.operator, cst.MatrixMultiply) else [node.left, node.right]
        if isinstance(node, cst.Comparison) and len(node.comparisons) == 1:
            return [node.left, node.comparisons[0].comparator]
        if isinstance(node, cst.Call) and kind_of(self.site, node):
            base = []
            if isinstance(node.func, cst.Attribute) and self.site.callee(node).startswith("torch.Tensor."):
                base = [node.func.value]
            return [*base, *(a.value for a in node.args)]
        return None

    def _is_gentle(self, node: cst.BaseExpression) -> bool:
        if isinstance(node, cst.BinaryOperation):
            plain = any(self.site.is_plain(p) for p in (node.left, node.right))
            return isinstance(node.operator, _GENTLE_OPERATORS) or (plain and isinstance(node.operator, cst.Multiply))
        return not isinstance(node, cst.Call) or kind_of(self.site, node) == "gentle"

    def _is_scalar(self, node: cst.BaseExpression) -> bool:
        value = self.site.value(node)
        if isinstance(node, cst.BaseNumber | cst.SimpleString):
            return True
        if value is None:
            return False
        return all(m.rank == 0 if isinstance(m, Tensor) else True for m in members(value)) and not isinstance(
            node, cst.Tuple | cst.List
        )

    def _defined_by_seed(self, node: cst.Name) -> bool:
        """Whether a variable holds what was read through the mask in an earlier line."""
        value = bound_to(self.site, node)
        if value is None or value in self.seeds:
            return False
        seed = next((n for n in walk(value) if isinstance(n, cst.BaseExpression) and self.is_seed(n)), None)
        if seed is None or seed in self.seeds:
            return False
        self.add(seed)
        return node in self.places

    def is_seed(self, node: cst.CSTNode) -> bool:
        """Whether an expression reads a tensor through the mask of this selection."""
        mask = mask_of(self.site, node)
        return mask is not None and mask is not self.mask and self.site.flat(mask) == self.mask_text

    def _sink(self, top: cst.BaseExpression) -> Sink | None:
        from gblint.fixing.sinks import sink_of

        return sink_of(self, top)

    # -- writing it down -----------------------------------------------------------------------------------------------

    def render(self, node: cst.CSTNode) -> str:
        """The text of an expression at full size."""
        if node in self.texts:
            return self.texts[node]()
        return flat_with(self.site, node, {n: self.texts[n]() for n in walk(node) if n in self.texts})

    def argument(self, node: cst.BaseExpression) -> str:
        """As `render`, without parentheses round the whole."""
        text = self.render(node)
        target = base_of(self.site, node) if node in self.seeds else node
        return text[1:-1] if target is not None and target.lpar and text.startswith("(") else text

    def closed(self, node: cst.BaseExpression) -> str:
        """As `render`, in parentheses where a method is to follow."""
        text = self.render(node)
        target = base_of(self.site, node) if node in self.seeds else node
        return text if isinstance(target, _CLOSED) or (target is not None and target.lpar) else f"({text})"

    def mask_for(self, inner: cst.BaseExpression) -> str:
        """The mask's text in the rank of a selected expression, in parentheses where it is an operation."""
        tensor = as_tensor(self.site.value(inner))
        extra = tensor.rank - 1 if tensor is not None and tensor.rank else 0
        text = self.mask_text
        if extra == 0:
            return text
        closed = text if isinstance(self.mask, _CLOSED) or self.mask.lpar else f"({text})"
        own = as_tensor(self.site.value(self.mask))
        if own is not None and own.rank is not None:
            return f"{closed}[{', '.join([':'] * own.rank + ['None'] * extra)}]"
        return f"{closed}[...{', None' * extra}]"

    def trailing(self, inner: cst.BaseExpression) -> int:
        """Dimensions of a selected expression behind the one that the mask selects along; 0 where unknown."""
        tensor = as_tensor(self.site.value(inner))
        return tensor.rank - 1 if tensor is not None and tensor.rank else 0

    def fitted(self, node: cst.CSTNode, text: str) -> str:
        """The text of a product or quotient in parentheses, where it becomes part of a larger operation."""
        above = self.site.parent(node)
        tight = isinstance(above, cst.BinaryOperation | cst.UnaryOperation) or (
            isinstance(above, cst.Attribute | cst.Subscript | cst.Call) and node in children(above)
        )
        return f"({text})" if tight and not getattr(node, "lpar", ()) else text

    def edits(self, replaced: Mapping[cst.CSTNode, str]) -> list[Edit]:
        """The edits that put full size everywhere. replaced: new texts of the sinks."""
        for node, text in replaced.items():
            self.texts[node] = lambda text=text: text  # type: ignore[misc]
        outer = [n for n in self.texts if not any(a in self.texts for a in self.site.ancestors(n))]
        edits: list[Edit] = []
        by_statement: dict[cst.CSTNode, list[cst.CSTNode]] = {}
        for node in outer:
            by_statement.setdefault(self.site.statement(node), []).append(node)
        for statement, nodes in by_statement.items():
            if statement not in self.dropped:
                edits += put(self.site, statement, {n: self.texts[n]() for n in nodes})
        return edits + [self.site.remove(s) for s in self.dropped]  # type: ignore[arg-type]


_CLOSED = (cst.Name, cst.Attribute, cst.Call, cst.Subscript, cst.BaseNumber)


def mask_of(site: Site, node: cst.CSTNode) -> cst.BaseExpression | None:
    """The mask through which an expression reads a tensor: `x[mask]`, `x[mask, ...]`, `torch.masked_select(x, mask)`,
    `x.masked_select(mask)`; None for anything else."""
    if isinstance(node, cst.Subscript):
        parts = [e.slice for e in node.slice]
        if len(parts) == 2 and isinstance(parts[1], cst.Index) and isinstance(parts[1].value, cst.Ellipsis):
            parts = parts[:1]
        if len(parts) != 1 or not isinstance(parts[0], cst.Index):
            return None
        mask = parts[0].value
        tensor = as_tensor(site.value(mask))
        known = tensor is not None and tensor.dtype == "bool" and tensor.rank != 0
        return mask if known or _is_said_to_be_mask(site, mask) else None
    if isinstance(node, cst.Call):
        name = site.callee(node)
        if name == "torch.masked_select" and len(node.args) == 2:
            return node.args[1].value
        if name == "torch.Tensor.masked_select" and len(node.args) == 1:
            return node.args[0].value
    return None


def _is_said_to_be_mask(site: Site, node: cst.BaseExpression) -> bool:
    """Whether the finding is that an expression is a mask, and nothing is known against it."""
    value = site.value(node)
    if site.finding.name != "boolean-mask-read" or value is None:
        return False
    if not all(isinstance(m, Unknown) or (isinstance(m, Tensor) and m.dtype in ("", "bool")) for m in members(value)):
        return False
    said = [e.slice.value for e in getattr(site.node, "slice", ()) if isinstance(e.slice, cst.Index)]
    return any(site.text(node) == site.text(other) for other in said)


def negates(site: Site, one: cst.BaseExpression, other: cst.BaseExpression) -> bool:
    """Whether a mask is the negation of another, as they are written."""
    if isinstance(one, cst.UnaryOperation) and isinstance(one.operator, cst.BitInvert):
        return site.flat(one.expression) in (site.flat(other), f"({site.flat(other)})")
    if site.callee(one) in ("torch.logical_not", "torch.bitwise_not") and isinstance(one, cst.Call):
        return site.flat(one.args[0].value) == site.flat(other)
    return False


def base_of(site: Site, node: cst.CSTNode) -> cst.BaseExpression | None:
    """The tensor that a masked read reads."""
    if isinstance(node, cst.Subscript):
        return node.value
    if isinstance(node, cst.Call):
        if site.callee(node) == "torch.masked_select":
            return node.args[0].value
        if isinstance(node.func, cst.Attribute):
            return node.func.value
    return None


def bound_to(site: Site, name: cst.Name) -> cst.BaseExpression | None:
    """The expression a variable was last bound to in front of a place, in the same block or one around it; None where
    that is not one plain assignment."""
    stores = [s for s in site.stores(name.value) if name in site.after(s)]
    if not stores:
        return None
    store = stores[-1]
    above = site.parent(store)
    if isinstance(above, cst.AssignTarget):
        above = site.parent(above)
    if not isinstance(above, cst.Assign | cst.AnnAssign) or above.value is None:
        return None
    block = site.parent(site.statement(store))
    return above.value if block in list(site.ancestors(name)) else None


def selected_by(site: Site) -> Selection | None:
    """The selection that a finding is about; None where the finding is no read through a mask. Raises Refusal."""
    node = site.node
    if isinstance(node, cst.AugAssign):
        node = node.target
    mask = mask_of(site, node)
    if mask is None or not isinstance(node, cst.BaseExpression):
        return None
    selection = Selection(site, mask)
    value = site.value(mask)
    if value is not None and not all(isinstance(m, Tensor) and m.dtype == "bool" for m in members(value)):
        selection.note(f"takes `{selection.mask_text}` to be a boolean tensor")
    selection.begin(node)
    return selection
