"""A test that only saves work is dropped: what it guards does nothing on an empty mask.

What it does:
    `if mask.any():` round statements that only touch what the mask marks (`x = torch.where(mask, new, x)`,
    `x = x.masked_fill(mask, v)`, `x[mask] = v`) goes, and the statements run always; so does
    `if not mask.any(): return x` in front of such statements and `return x`.
Applicability:
    Safe where the statements are proved to do nothing on an empty mask: same shapes and dtypes, no error, no gradient
    and no other holder of the tensor that could tell. Unsafe otherwise.
Preconditions:
    Each statement is masked by the very mask that is tested, or gives a variable that nothing else reads.
"""

from __future__ import annotations

import libcst as cst

from gblint.codemod_api import (
    Codemod,
    CodemodMeta,
    Condition,
    Declined,
    Example,
    Refusal,
    Repair,
    Site,
    Statement,
    applied,
    bare,
    calls_of,
    changed_names,
    condition,
    conjuncts,
    fits_mask,
    in_place_of,
    indexed_by,
    is_fresh,
    is_live,
    is_tensor_test,
    keeps_gradients,
    number_type,
    raises_no_error,
    require,
    same_form,
    tested,
    unread,
    walk,
    without_gradients,
)

ELEMENTWISE = ("tanh", "sigmoid", "exp", "log", "sqrt", "abs", "relu", "sin", "cos", "neg", "floor", "log1p", "expm1")
COUNTS = ("sum", "count_nonzero", "any", "max", "amax")


class DropEarlyOut(Codemod):
    """Tests of whether a mask marks anything."""

    meta = CodemodMeta(
        name="drop-early-out",
        summary="what does nothing on an empty mask runs without asking first",
        fixes=("branch-on-tensor", "read-tensor-value"),
        rank=10,
    )

    EXAMPLES = (
        Example(
            """
import torch

@torch.compile
@torch.no_grad()
def fill(x: torch.Tensor):
    y = x * 2
    bad = torch.isnan(y)
    if bad.any():  # rare
        y = y.masked_fill(bad, 0.0)
    if (y > 3).sum() > 0:
        y[y > 3] = 3.0
    return y

print("checksum", fill(torch.tensor([1.0, float("nan"), 5.0])).sum().item(), fill(torch.ones(2)).sum().item())
""",
            """
import torch

@torch.compile
@torch.no_grad()
def fill(x: torch.Tensor):
    y = x * 2
    bad = torch.isnan(y)
    # rare
    y = y.masked_fill(bad, 0.0)
    y[y > 3] = 3.0
    return y

print("checksum", fill(torch.tensor([1.0, float("nan"), 5.0])).sum().item(), fill(torch.ones(2)).sum().item())
""",
        ),
        Example(
            """
import torch

@torch.compile
def add(x: torch.Tensor, mask: torch.Tensor):
    if not mask.any():
        return x
    new = x * 2
    x = torch.where(mask, new, x)
    return x

print("checksum", *(add(torch.ones(2), torch.tensor([flag, False])).sum().item() for flag in (True, False)))
""",
            """
import torch

@torch.compile
def add(x: torch.Tensor, mask: torch.Tensor):
    new = x * 2
    x = torch.where(mask, new, x)
    return x

print("checksum", *(add(torch.ones(2), torch.tensor([flag, False])).sum().item() for flag in (True, False)))
""",
            "unsafe",
        ),
    )
    DECLINES = (
        Declined(
            """
import torch

@torch.compile
def f(x: torch.Tensor, mask: torch.Tensor):
    y = x + 1
    if mask.any():
        y = torch.where(mask, x, y)
        y = y * 2
    return y

f(torch.ones(2), torch.tensor([True, False]))
""",
            "changed whatever the mask marks",
        ),
        Declined(
            """
import torch

@torch.compile
def f(x: torch.Tensor, mask: torch.Tensor):
    if mask.any():
        x = torch.where(mask, x + 1, x)
        for i in range(2):
            x = x * 2
    return x

f(torch.ones(2), torch.tensor([True, False]))
""",
            "compound statement",
        ),
        Declined(
            """
import torch

@torch.compile
def f(x: torch.Tensor, mask: torch.Tensor):
    if mask.any():
        x = torch.where(mask, x + 1, x)
        mask = ~mask
    return x * mask

f(torch.ones(2), torch.tensor([True, False]))
""",
            "read afterwards",
        ),
        Declined(
            """
import torch

@torch.compile
def f(x: torch.Tensor, flag: bool, seen: dict):
    mask = x > 0
    if flag:
        x = x + 1
    elif mask.any():
        x[mask] = 0
    if mask.any():
        x[mask] = 0
        seen["any"] = True
    return x

f(torch.ones(2), False, {})
""",
            "the test is an `elif`",
        ),
    )

    def repair(self, site: Site) -> Repair | None:
        if not isinstance(site.node, cst.BaseExpression):
            return None
        holder, test = tested(site)
        if not isinstance(holder, cst.If):
            return None
        tensors = [p for p in conjuncts(test) if is_tensor_test(site, p)]
        if holder.orelse is not None or len(tensors) != 1:
            return None
        mask, empty = _mask_of(site, tensors[0])
        if mask is None:
            return None
        return _early(site, holder, mask) if empty else _shortcut(site, holder, condition(site, test), mask)


def _mask_of(site: Site, test: cst.BaseExpression) -> tuple[cst.BaseExpression | None, bool]:
    """The mask that a test asks about, and whether the test holds when it marks nothing."""
    inner = unread(site, test)
    if isinstance(inner, cst.UnaryOperation) and isinstance(inner.operator, cst.Not):
        mask, empty = _mask_of(site, inner.expression)
        return mask, not empty
    if isinstance(inner, cst.Comparison) and len(inner.comparisons) == 1:
        target = inner.comparisons[0]
        zero = isinstance(target.comparator, cst.Integer) and target.comparator.value == "0"
        counted = _counted(site, unread(site, inner.left)) if zero else None
        if counted is not None and isinstance(target.operator, cst.GreaterThan | cst.NotEqual):
            return counted, False
        if counted is not None and isinstance(target.operator, cst.Equal):
            return counted, True
        return None, False
    name, args = applied(site, inner)
    if name == "all" and len(args) == 1 and isinstance(args[0], cst.UnaryOperation):
        if isinstance(args[0].operator, cst.BitInvert):
            return args[0].expression, True
    return (_counted(site, inner), False) if isinstance(inner, cst.BaseExpression) else (None, False)


def _counted(site: Site, node: cst.CSTNode) -> cst.BaseExpression | None:
    """What `m.any()`, `torch.sum(m)` … count, if it is a mask."""
    name, args = applied(site, node)
    if name not in COUNTS or len(args) != 1:
        return None
    tensor = site.tensor(args[0])
    return args[0] if tensor is None or tensor.dtype in ("bool", "") else None


def _shortcut(site: Site, holder: cst.If, found: Condition, mask: cst.BaseExpression) -> Repair | None:
    """`if mask.any():` round masked statements."""
    lines = holder.body.body if isinstance(holder.body, cst.IndentedBlock) else []
    body = [s for s in lines if isinstance(s, cst.SimpleStatementLine | cst.BaseCompoundStatement)]
    if not any(_is_masked(site, small, mask) for s in body for small in _small(s)):
        return None
    doubts = _Masked(site, mask, [holder]).doubts(body)
    if found.python:
        text = f"if {found.python}:\n{site.body_text(body, site.step)}"
    else:
        above = site.parent(holder)
        require(not (isinstance(above, cst.If) and above.orelse is holder), "the test is an `elif`")
        text = site.body_text(body, "")
    return _dropped(site, "run without asking whether the mask marks anything", doubts, holder, text)


def _early(site: Site, holder: cst.If, mask: cst.BaseExpression) -> Repair | None:
    """`if not mask.any(): return x` in front of masked statements and `return x`."""
    body = holder.body.body if isinstance(holder.body, cst.IndentedBlock) else ()
    above = site.parent(holder)
    require(not (isinstance(above, cst.If) and above.orelse is holder), "the test is an `elif`")
    rest = site.following(holder)
    if len(body) != 1 or not rest or not isinstance(body[0], cst.SimpleStatementLine):
        return None
    jump = body[0].body[0]
    if isinstance(jump, cst.Return) and jump.value is not None:
        last = rest.pop()
        same = isinstance(last, cst.SimpleStatementLine) and site.text(last.body[0]) == site.text(jump)
        if not same:
            return None
    elif not isinstance(jump, cst.Continue | cst.Return):
        return None
    if not any(_is_masked(site, small, mask) for s in rest for small in _small(s)):
        return None
    doubts = _Masked(site, mask, rest).doubts(rest)
    return _dropped(site, "run without asking whether the mask marks anything", doubts, holder, "")


def _dropped(site: Site, message: str, doubts: list[str], holder: cst.If, text: str) -> Repair:
    found = list(dict.fromkeys(doubts))
    return Repair(
        "unsafe" if found else "safe",
        "; ".join([message, *found[:3]]),
        [in_place_of(site, holder, holder, text) if text else site.remove(holder)],
    )


def _small(line: Statement) -> list[cst.BaseSmallStatement]:
    return list(line.body) if isinstance(line, cst.SimpleStatementLine) else []


def _is_masked(site: Site, small: cst.CSTNode, mask: cst.BaseExpression) -> bool:
    """Whether a statement only changes what the mask marks."""
    text = bare(site, mask)
    if isinstance(small, cst.Assign) and len(small.targets) == 1:
        target = small.targets[0].target
        if isinstance(target, cst.Name):
            return _keeps(site, target.value, small.value, text)
        parts = [e.value for e in target.elements] if isinstance(target, cst.Tuple) else [target]
        return all(indexed_by(site, p, text) for p in parts)
    if isinstance(small, cst.AugAssign):
        return indexed_by(site, small.target, text)
    if isinstance(small, cst.Expr) and isinstance(small.value, cst.Call):
        name, args = applied(site, small.value)
        return name in ("masked_fill_", "masked_scatter_") and len(args) == 3 and bare(site, args[1]) == text
    return False


def _keeps(site: Site, name: str, value: cst.BaseExpression, mask: str) -> bool:
    """Whether a value is the variable itself wherever the mask marks nothing."""
    called, args = applied(site, value)
    texts = [bare(site, a) for a in args]
    if called == "where" and len(args) == 3:
        return texts[::2] == [mask, name] or texts[:2] in ([f"~{mask}", name], [f"~({mask})", name])
    return called in ("masked_fill", "masked_scatter") and texts[:2] == [name, mask]


class _Masked:
    """Looks for what keeps masked statements from being nothing on an empty mask."""

    def __init__(self, site: Site, mask: cst.BaseExpression, region: list[Statement]) -> None:
        self.site = site
        self.mask = mask
        self.region = region
        self.found: list[str] = []

    def doubts(self, body: list[Statement]) -> list[str]:
        """Why it is not proved; raises Refusal where a statement does more."""
        site = self.site
        tensor = site.tensor(self.mask)
        if tensor is None or tensor.dtype != "bool":
            self.found.append(f"`{site.text(self.mask)}` must be a boolean mask")
        for line in body:
            require(isinstance(line, cst.SimpleStatementLine), "a compound statement stands under the test")
            for small in _small(line):
                self._look(line, small)
        own = {n for s in body for n in changed_names([s])}
        require(not own & {n.value for n in walk(self.mask) if isinstance(n, cst.Name)}, "the mask itself changes")
        return self.found

    def _look(self, line: Statement, small: cst.BaseSmallStatement) -> None:
        site = self.site
        if not _is_masked(site, small, self.mask):
            self._temporary(line, small)
        elif isinstance(small, cst.Assign) and isinstance(small.targets[0].target, cst.Name):
            self._selection(small.targets[0].target.value, small.value)
        else:
            self._write(small)
        value = getattr(small, "value", None)
        if value is None:
            return
        inner = [a.value for a in value.args] if isinstance(small, cst.Expr) else [value]
        for call in calls_of(site, inner):
            self.found.append(f"`{call}` now also runs on an empty selection")
        if not all(self._never_fails(n) for n in inner):
            self.found.append("an error in what was skipped would now be raised")

    def _write(self, small: cst.BaseSmallStatement) -> None:
        site = self.site
        if not without_gradients(site):
            self.found.append("the tensor is written to on both ways, which autograd sees")
        if not fits_mask(site, small, self.mask):
            text = site.flat(self.mask)
            self.found.append(f"an error where `{text}` or the values do not fit would be raised on an empty mask too")

    def _never_fails(self, node: cst.BaseExpression) -> bool:
        if isinstance(node, cst.BinaryOperation):
            plain = isinstance(node.operator, cst.Add | cst.Subtract | cst.Multiply)
            return plain and self._never_fails(node.left) and self._never_fails(node.right)
        name, args = applied(self.site, node)
        if name in ELEMENTWISE:
            return all(self._never_fails(a) for a in args)
        selected = isinstance(node, cst.Subscript) and indexed_by(self.site, node, bare(self.site, self.mask))
        return selected or bool(number_type(self.site, node)) or raises_no_error(self.site, node) or node is self.mask

    def _selection(self, name: str, value: cst.BaseExpression) -> None:
        site = self.site
        old = next(n for n in walk(value) if isinstance(n, cst.Name) and n.value == name)
        if not same_form(site, value, old):
            self.found.append(f"`{name}` would change where the mask has more dimensions or another dtype comes in")
        if not is_fresh(site, name, self.region[0]):
            self.found.append(f"`{name}` is a new tensor where it was the old one")
        if not keeps_gradients(site, [value, old]):
            self.found.append("gradients that are not finite on the side not taken come through")

    def _temporary(self, line: Statement, small: cst.BaseSmallStatement) -> None:
        site = self.site
        simple = isinstance(small, cst.Assign) and isinstance(small.targets[0].target, cst.Name | cst.Tuple)
        require(simple, "a statement under the test changes what the mask does not mark")
        for name in changed_names([line]):
            if is_live(site, name, self.region):
                raise Refusal(f"`{name}` is changed whatever the mask marks, and read afterwards")
