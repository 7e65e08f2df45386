"""A test that only saves work is dropped: what it guards does nothing on an empty mask.

What it does:
    `if mask.any():` round statements that only touch what the mask marks (`x = torch.where(mask, new, x)`,
    `x = x.masked_fill(mask, v)`, `x[mask] = v`) goes, and the statements run always; so does
    `if not mask.any(): return x` in front of such statements and `return x`. A test that turns a mask which masks nothing into None
    (`if mask.all(): mask = None`) goes as well: the mask is always used.
Applicability:
    Safe where the statements are proved to do nothing on an empty mask: same shapes and dtypes, no error, no gradient
    and no other holder of the tensor that could tell. Unsafe otherwise, and always where None and a mask are meant to
    be the same to those who take it.
Preconditions:
    Each statement is masked by the very mask that is tested, or gives a variable that nothing else reads.
"""

from __future__ import annotations

import libcst as cst

from gblint.codemod_api import (
    Codemod,
    CodemodMeta,
    Condition,
    Refusal,
    Repair,
    Site,
    Statement,
    applied,
    calls_of,
    changed_names,
    condition,
    conjuncts,
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

    def repair(self, site: Site) -> Repair | None:
        if not isinstance(site.node, cst.BaseExpression):
            return None
        holder, test = tested(site)
        if isinstance(holder, cst.IfExp):
            return _chosen_mask(site, holder)
        if not isinstance(holder, cst.If):
            return None
        optional = _optional_mask(site, holder)
        if optional is not None:
            return optional
        tensors = [p for p in conjuncts(test) if is_tensor_test(site, p)]
        if holder.orelse is not None or len(tensors) != 1:
            return None
        mask, empty = _mask_of(site, tensors[0])
        if mask is None:
            return None
        return _early(site, holder, mask) if empty else _shortcut(site, holder, condition(site, test), mask)


# -- masks that mark nothing ---------------------------------------------------------------------------------------


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
    doubts = _Masked(site, mask, holder).doubts(body)
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
    doubts = _Masked(site, mask, rest[0]).doubts(rest)
    above = site.parent(holder)
    require(not (isinstance(above, cst.If) and above.orelse is holder), "the test is an `elif`")
    return _dropped(site, "run without asking whether the mask marks anything", doubts, holder, "")


def _dropped(site: Site, message: str, doubts: list[str], holder: cst.If, text: str) -> Repair:
    found = list(dict.fromkeys(doubts))
    return Repair(
        "unsafe" if found else "safe",
        "; ".join([message, *found[:3]]),
        [site.replace_lines(holder, holder, text) if text else site.remove(holder)],
    )


def _small(line: Statement) -> list[cst.BaseSmallStatement]:
    return list(line.body) if isinstance(line, cst.SimpleStatementLine) else []


def _is_masked(site: Site, small: cst.CSTNode, mask: cst.BaseExpression) -> bool:
    """Whether a statement only changes what the mask marks."""
    text = site.text(mask)
    if isinstance(small, cst.Assign) and len(small.targets) == 1:
        target = small.targets[0].target
        if isinstance(target, cst.Name):
            return _keeps(site, target.value, small.value, text)
        parts = [e.value for e in target.elements] if isinstance(target, cst.Tuple) else [target]
        return all(_indexed_by(site, p, text) for p in parts)
    if isinstance(small, cst.AugAssign):
        return _indexed_by(site, small.target, text)
    if isinstance(small, cst.Expr) and isinstance(small.value, cst.Call):
        name, args = applied(site, small.value)
        return name in ("masked_fill_", "masked_scatter_") and len(args) == 3 and site.text(args[1]) == text
    return False


def _keeps(site: Site, name: str, value: cst.BaseExpression, mask: str) -> bool:
    """Whether a value is the variable itself wherever the mask marks nothing."""
    called, args = applied(site, value)
    texts = [site.text(a) for a in args]
    if called == "where" and len(args) == 3:
        return texts[::2] == [mask, name] or texts[:2] in ([f"~{mask}", name], [f"~({mask})", name])
    return called in ("masked_fill", "masked_scatter") and texts[:2] == [name, mask]


def _indexed_by(site: Site, target: cst.BaseExpression, mask: str) -> bool:
    if not isinstance(target, cst.Subscript):
        return False
    indices = [e.slice.value for e in target.slice if isinstance(e.slice, cst.Index)]
    return any(site.text(i) == mask for i in indices)


class _Masked:
    """Looks for what keeps masked statements from being nothing on an empty mask."""

    def __init__(self, site: Site, mask: cst.BaseExpression, first: Statement) -> None:
        self.site = site
        self.mask = mask
        self.first = first
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
        elif not without_gradients(site):
            self.found.append("the tensor is written to on both ways, which autograd sees")
        value = getattr(small, "value", None)
        if value is None:
            return
        inner = [a.value for a in value.args] if isinstance(small, cst.Expr) else [value]
        for call in calls_of(site, inner):
            self.found.append(f"`{call}` now also runs on an empty selection")
        if not all(self._never_fails(n) for n in inner):
            self.found.append("an error in what was skipped would now be raised")

    def _never_fails(self, node: cst.BaseExpression) -> bool:
        if isinstance(node, cst.BinaryOperation):
            plain = isinstance(node.operator, cst.Add | cst.Subtract | cst.Multiply)
            return plain and self._never_fails(node.left) and self._never_fails(node.right)
        name, args = applied(self.site, node)
        if name in ELEMENTWISE:
            return all(self._never_fails(a) for a in args)
        selected = isinstance(node, cst.Subscript) and _indexed_by(self.site, node, self.site.text(self.mask))
        return selected or bool(number_type(self.site, node)) or raises_no_error(self.site, node) or node is self.mask

    def _selection(self, name: str, value: cst.BaseExpression) -> None:
        site = self.site
        old = next(n for n in walk(value) if isinstance(n, cst.Name) and n.value == name)
        if not same_form(site, value, old):
            self.found.append(f"`{name}` would change where the mask has more dimensions or another dtype comes in")
        if not is_fresh(site, name, self.first):
            self.found.append(f"`{name}` is a new tensor where it was the old one")
        if not keeps_gradients(site, [value, old]):
            self.found.append("gradients that are not finite on the side not taken come through")

    def _temporary(self, line: Statement, small: cst.BaseSmallStatement) -> None:
        site = self.site
        simple = isinstance(small, cst.Assign) and isinstance(small.targets[0].target, cst.Name | cst.Tuple)
        require(simple, "a statement under the test changes what the mask does not mark")
        region = [self.first] if line is not self.first else [line]
        for name in changed_names([line]):
            if is_live(site, name, region):
                raise Refusal(f"`{name}` is changed whatever the mask marks, and read afterwards")


# -- masks that are None -------------------------------------------------------------------------------------------

NONE = "always use the mask: wrong where none and one that masks nothing are not treated alike"


def _is_none(node: cst.CSTNode | None) -> bool:
    return node is None or (isinstance(node, cst.Name) and node.value == "None")


def _asks_of(site: Site, test: cst.BaseExpression, mask: cst.BaseExpression) -> bool:
    """Whether the tensor parts of a test ask about the contents of the mask that is given."""
    given = {n.value for n in walk(mask) if isinstance(n, cst.Name)}
    for part in conjuncts(test):
        if is_tensor_test(site, part):
            names = {site.text(c.func).rpartition(".")[2] for c in walk(part) if isinstance(c, cst.Call)}
            used = {n.value for n in walk(part) if isinstance(n, cst.Name)} - {"torch"}
            member = isinstance(part, cst.Comparison) and isinstance(part.comparisons[0].operator, cst.In | cst.NotIn)
            asks = names & {"any", "all", "sum", "min", "max", "eq", "equal", "count_nonzero"} or member
            if not asks or not (used & given):
                return False
    return True


def _chosen_mask(site: Site, holder: cst.IfExp) -> Repair | None:
    """`mask if (mask == 0).any() else None`."""
    sides = [s for s in (holder.body, holder.orelse) if not _is_none(s)]
    if len(sides) != 1 or not _asks_of(site, holder.test, sides[0]):
        return None
    python = [p for p in conjuncts(holder.test) if not is_tensor_test(site, p)]
    require(not python or sides[0] is holder.body, "Python facts and the mask decide together on None")
    text = site.flat(sides[0])
    if python:
        text += f" if {' and '.join(site.operand(p) for p in python)} else None"
    return Repair("unsafe", NONE, [site.replace(holder, text)])


def _optional_mask(site: Site, holder: cst.If) -> Repair | None:
    """`if mask.all(): mask = None`, and `return` in the place of the assignment."""
    if not isinstance(holder.body, cst.IndentedBlock) or len(holder.body.body) != 1:
        return None
    line = holder.body.body[0]
    small = line.body[0] if isinstance(line, cst.SimpleStatementLine) else None
    above = site.parent(holder)
    if isinstance(above, cst.If) and above.orelse is holder:
        return None
    if isinstance(small, cst.Assign) and _is_none(small.value) and holder.orelse is None:
        target = small.targets[0].target
        if not _asks_of(site, holder.test, target):
            return None
        return Repair("unsafe", NONE, [site.remove(holder)])
    if isinstance(small, cst.Return) and holder.orelse is None:
        return _returned_mask(site, holder, small)
    return None


def _returned_mask(site: Site, holder: cst.If, small: cst.Return) -> Repair | None:
    following = site.following(holder)
    after = following[0].body[0] if following and isinstance(following[0], cst.SimpleStatementLine) else None
    if (
        _is_none(small.value)
        and isinstance(after, cst.Return)
        and after.value is not None
        and not _is_none(after.value)
    ):
        if _asks_of(site, holder.test, after.value):
            return Repair("unsafe", NONE, [site.remove(holder)])
    if (
        small.value is not None
        and not _is_none(small.value)
        and isinstance(after, cst.Return)
        and _is_none(after.value)
    ):
        if not _asks_of(site, holder.test, small.value):
            return None
        python = [p for p in conjuncts(holder.test) if not is_tensor_test(site, p)]
        if python:
            test = " and ".join(site.operand(p) if len(python) > 1 else site.flat(p) for p in python)
            return Repair("unsafe", NONE, [site.replace(holder.test, test)])
        body = [s for s in holder.body.body if isinstance(s, cst.SimpleStatementLine)]
        return Repair("unsafe", NONE, [site.replace_lines(holder, following[0], site.body_text(list(body), ""))])
    return None
