"""Both arms of a branch run, `torch.where` chooses: the text that does so, and what keeps it from being the same."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import libcst as cst

from gblint.findings.finding import Edit
from gblint.fixing import forms
from gblint.fixing.arms import WIDTH, Arm, Bind, Choice, Step, Write, kind_of, wrapped
from gblint.fixing.liveness import bound_before, is_live
from gblint.fixing.owned import may_change, only_read, views
from gblint.fixing.purity import changed_in_place, is_pure
from gblint.fixing.site import Refusal, Statement
from gblint.interpreter.values import Const, Instance, Plain, Tensor, members
from gblint.interpreter.walk import walk

if TYPE_CHECKING:
    from collections.abc import Callable

    from gblint.fixing.conditions import Condition
    from gblint.fixing.site import Site

_RESHAPES = frozenset(
    "cat concat stack pad unsqueeze squeeze repeat repeat_interleave expand tile flatten transpose permute t view "
    "reshape chunk split index_select topk nonzero".split()
)

_RESIZERS = re.compile(
    r"(adaptive|fractional|max|avg|lp|_)*_?pool|upsample|interpolate|pixel_?(un)?shuffle|(un)?flatten|embedding", re.I
)

_ALWAYS = "now always runs: wrong if it draws random numbers or changes state"


@dataclass(slots=True)
class Selector:
    """Writes selections by one condition. text: the condition as it is written in each. doubts: what is not
    proved; minor: what of it matters least."""

    site: Site
    condition: Condition
    text: str
    indent: str
    doubts: list[str] = field(default_factory=list)
    imports: list[Edit] = field(default_factory=list)
    minor: list[str] = field(default_factory=list)
    name: str = "torch.where"
    written: int = 0

    def __post_init__(self) -> None:
        self.doubts += self.condition.doubts
        self.imports += self.condition.imports
        self.name, edits = self.site.refer("torch.where")
        self.imports += edits

    def select(self, yes: Choice, no: Choice) -> str:
        """The text of the choice between two values. Raises Refusal where they cannot be chosen between."""
        return f"{self.name}({', '.join(self.arguments(yes, no))})"

    def arguments(self, yes: Choice, no: Choice) -> list[str]:
        """What `torch.where` is called with."""
        self._check(yes, no)
        self.written += 1
        return [self.text, yes.text, no.text]

    def plain(self, yes: Choice, no: Choice) -> str:
        """As `select`, for values of which the caller notes himself what is not proved."""
        self.written += 1
        return f"{self.name}({self.text}, {yes.text}, {no.text})"

    def assign(self, target: str, yes: Choice, no: Choice) -> str:
        """A line that gives a variable one of two values; `return` is a target too."""
        head = "return " if target == "return" else f"{target} = "
        if yes.text == no.text:
            return f"{head}{yes.text}\n"
        return wrapped(f"{head}{self.name}(", self.arguments(yes, no), ")", self.indent)

    def _check(self, yes: Choice, no: Choice) -> None:
        site = self.site
        kinds = {kind_of(site, leaf) for choice in (yes, no) for leaf in choice.leaves}
        for one in yes.leaves:
            for other in no.leaves:
                if _differ(site, one, other):
                    raise Refusal(f"`{site.text(one)}` and `{site.text(other)}` have different shapes")
                if _differ_in_kind(site, one, other):
                    raise Refusal(f"`{site.text(one)}` and `{site.text(other)}` have different dtypes")
        leaves = [*yes.leaves, *no.leaves]
        if not all(forms.same_form(site, leaf, leaves[0]) for leaf in leaves[1:]):
            texts = [_short(site.text(c.leaves[0]) if len(c.leaves) == 1 else c.text) for c in (yes, no)]
            self.doubts.append(f"`{texts[0]}` and `{texts[1]}` must have one shape and dtype")
        if "number" in kinds and "tensor" not in kinds:
            self.doubts.append("the number becomes a tensor without dimensions")
        if not forms.keeps_gradients(site, leaves):
            self.doubts.append("gradients that are not finite on the side not taken come through")
        self.run_always(leaves)

    def run_always(self, nodes: list[cst.BaseExpression]) -> None:
        """Note that expressions are computed where they may not have been before."""
        if not all(forms.raises_no_error(self.site, n) for n in nodes):
            self.doubts.append("both sides now run, and so would an error in them")

    def note_arms(self, *arms: Arm) -> None:
        """Note what is known of whole arms: their calls, and what stands open in choices that they hold."""
        for arm in arms:
            self.note_calls(arm.calls)
            self.doubts += arm.doubts
            self.imports += arm.imports

    def note_calls(self, calls: list[str]) -> None:
        """Note calls of functions that may have effects."""
        for call in calls:
            self.doubts.append(f"`{call}` {_ALWAYS}")

    def note_alias(self, name: str, before: Statement) -> None:
        """Note that a variable that kept its tensor is now a copy of it."""
        if not forms.is_fresh(self.site, name, before):
            self.minor.append(f"`{name}` is a new tensor where it was the old one")

    def note_result(self, values: list[Choice]) -> None:
        """Note that what a function gives back was a tensor that others hold, and is a new one."""
        for leaf in (leaf for value in values for leaf in value.leaves):
            if not forms.is_new(self.site, leaf):
                self.minor.append(f"the result is a new tensor, never `{_short(self.site.text(leaf))}` itself")

    def note_bound(self, value: Choice) -> None:
        """Note that a variable was another name for a tensor, or a view of it, and is a new one, where that is seen."""
        seen = [leaf for leaf in value.leaves if not only_read(self.site, leaf) or may_change(self.site, leaf)]
        self.note_result([Choice(value.text, seen)])

    @property
    def applicability(self) -> Literal["safe", "unsafe"]:
        """What the repair is."""
        return "unsafe" if self.doubts or self.minor else "safe"

    def message(self, start: str) -> str:
        """A sentence about the repair with at most three doubts."""
        first = [d for d in self.doubts if d.endswith(_ALWAYS)]
        doubts = list(dict.fromkeys([*first, *self.doubts, *self.minor]))
        return "; ".join([start, *doubts[:3]])


def check_argument(site: Site, name: str, values: list[cst.BaseExpression], last: Statement) -> None:
    """Refuse where a variable that would become a copy of an argument, or of a view of it, is changed in place
    afterwards, or the argument is: one would no longer see the change of the other."""
    sources = {s for v in values if isinstance(v, cst.Name) for s in _sources(site, v.value)}
    given = sorted(s for s in sources if _is_argument(site, s, last))
    if not given:
        return
    later = [use for use in site.after(last) if use.value == name or use.value in given]
    changed = [use for use in later for above in site.ancestors(use) if changed_in_place(site, above) is use]
    if changed:
        raise Refusal(f"`{given[0]}` is an argument, and `{changed[0].value}` is changed in place afterwards")


def _sources(site: Site, name: str) -> set[str]:
    """A variable and those that it may be another name for, or a view of."""
    found, waiting = {name}, [name]
    while waiting:
        new = views(site, waiting.pop()) - found
        found |= new
        waiting += new
    return found


def _is_argument(site: Site, name: str, last: Statement) -> bool:
    """Whether a variable still is what the function was given, as far as what stands before a statement tells."""
    inside = site.inside([last])
    behind = set(site.after(last))
    return name in site.parameters() and all(
        isinstance(site.parent(s), cst.Param) or s in inside or s in behind for s in site.stores(name)
    )


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 40 else text[:37] + "..."


def _differ(site: Site, one: cst.BaseExpression, other: cst.BaseExpression) -> bool:
    """Whether the shapes of two values surely or most likely differ: other ranks, or one is a part of the other."""
    a, b = site.tensor(one), site.tensor(other)
    if (
        a is not None
        and b is not None
        and None not in (a.rank, b.rank)
        and a.rank != b.rank
        and 0 not in (a.rank, b.rank)
    ):
        return True
    return _is_part(site, one, other) or _is_part(site, other, one)


def _differ_in_kind(site: Site, one: cst.BaseExpression, other: cst.BaseExpression) -> bool:
    """Whether one of two tensors surely holds truth values and the other numbers, or one integers and the other not."""
    a, b = site.tensor(one), site.tensor(other)
    if a is None or b is None or 0 in (a.rank, b.rank):
        return False
    return bool(a.dtype and b.dtype) and a.dtype != b.dtype


def _is_part(site: Site, one: cst.BaseExpression, other: cst.BaseExpression) -> bool:
    base = site.text(other)
    if isinstance(one, cst.Subscript):
        return site.text(one.value) == base
    name, args = forms.applied(site, one)
    if isinstance(one, cst.Call) and _is_resizer(site, one.func):
        args = [a.value for a in one.args]
    elif name not in _RESHAPES and not _RESIZERS.match(name):
        return False
    return any(isinstance(n, cst.BaseExpression) and site.text(n) == base for a in args for n in walk(a))


def _is_resizer(site: Site, func: cst.BaseExpression) -> bool:
    """Whether a module gives another shape than it gets."""
    value = site.value(func)
    parts = members(value) if value is not None else []
    named = [m.base.rpartition(".")[2] for m in parts if isinstance(m, Instance) and m.cls is None]
    return bool(named) and len(named) == len(parts) and all(_RESIZERS.match(n) for n in named)


def returned(selector: Selector, yes: list[Choice], no: list[Choice]) -> str:
    """The `return` line of a choice between two returned values."""
    if len(yes) != len(no):
        raise Refusal("the branch returns another number of values")
    if len(yes) == 1:
        return selector.assign("return", yes[0], no[0])
    texts = [a.text if a.text == b.text else selector.select(a, b) for a, b in zip(yes, no, strict=True)]
    line = f"return {', '.join(texts)}\n"
    fits = len(line) + len(selector.indent) <= WIDTH
    return line if fits else "return (\n" + "".join(f"    {t},\n" for t in texts) + ")\n"


def merged(selector: Selector, yes: Arm, no: Arm, region: list[Statement]) -> str:
    """The lines that do what two arms of assignments do. region: the statements they replace, for what is read after
    them. Raises Refusal where a variable has no value on one way, or the arms get in each other's way."""
    return _Merger(selector, yes, no, region).lines()


class _Merger:
    def __init__(self, selector: Selector, yes: Arm, no: Arm, region: list[Statement]) -> None:
        self.selector = selector
        self.site = selector.site
        self.yes, self.no = yes, no
        self.region = region
        both = set(yes.bound) & set(no.bound)
        names = list(dict.fromkeys([*yes.bound, *no.bound]))
        self.chosen = {n for n in names if n in both or is_live(self.site, n, region)}
        self.text = ""

    def lines(self) -> str:
        writes = self.yes.written | self.no.written
        if not writes and not any(is_live(self.site, n, self.region) for n in self.chosen):
            raise Refusal("nothing that the branch assigns is read afterwards")
        self._no_clash(self.yes, self.no)
        self._no_clash(self.no, self.yes)
        rest = list(self.no.steps)
        for step in self.yes.steps:
            self._emit(step, self._partner(step, rest) if isinstance(step, Bind) else None, swap=False)
        for step in rest:
            self._emit(step, None, swap=True)
        return self.text

    def _no_clash(self, one: Arm, other: Arm) -> None:
        """Variables of one arm alone that the other reads under the same name would be mixed up."""
        own = set(one.bound) - self.chosen
        used = {n.value for line in other.lines for n in walk(line) if isinstance(n, cst.Name)} - set(other.bound)
        if own & used:
            raise Refusal(f"the arms use `{min(own & used)}` for different things")

    def _partner(self, step: Bind, rest: list[Step]) -> Bind | None:
        """The step of the other arm that binds the same; what comes before it there is written first."""
        shared = [n for n in step.names if n in self.no.bound]
        if not shared:
            return None
        while rest:
            candidate = rest.pop(0)
            if isinstance(candidate, Bind) and candidate.names == step.names:
                return candidate
            if set(candidate.names) & set(self.yes.bound):
                break
            self._emit(candidate, None, swap=True)
        raise Refusal("the arms assign the same variables in another order or several times")

    def _emit(self, step: Step, partner: Bind | None, swap: bool) -> None:
        if isinstance(step, Write):
            self.text += step.text(self.selector, swap)
            return
        chosen = [n for n in step.names if n in self.chosen]
        head = ", ".join(step.names)
        if not chosen:
            self.text += f"{head} = {step.value.text}\n"
            self.selector.run_always(step.value.leaves)
        elif len(step.names) == 1:
            self._choose(step.names[0], step.value, partner.value if partner is not None else None, swap)
        else:
            self._unpack(step, partner, chosen, swap)

    def _choose(self, name: str, value: Choice, other: Choice | None, swap: bool) -> None:
        self.selector.note_bound(value)
        if other is None:
            other = self._old(name)
        else:
            self.selector.note_bound(other)
        check_argument(self.site, name, [*value.leaves, *other.leaves], self.region[-1])
        pair = (other, value) if swap else (value, other)
        self.text += self.selector.assign(name, *pair)

    def _old(self, name: str) -> Choice:
        """The variable itself, which keeps its value on the other way."""
        first = self.region[0]
        if not bound_before(self.site, name, first):
            raise Refusal(f"`{name}` is read afterwards and has no value on the other way")
        self.selector.note_alias(name, first)
        return Choice(name, [last_read(self.site, name, first) or cst.Name(name)])

    def _unpack(self, step: Bind, partner: Bind | None, chosen: list[str], swap: bool) -> None:
        if partner is not None:
            raise Refusal("both arms unpack into several variables")
        new = {n: self.site.fresh(f"new_{n}") for n in chosen}
        self.text += f"{', '.join(new.get(n, n) for n in step.names)} = {step.value.text}\n"
        self.selector.run_always(step.value.leaves)
        for name in chosen:
            old = self._old(name)
            value = Choice(new[name], [cst.Name(new[name])])
            pair = (old, value) if swap else (value, old)
            self.text += self.selector.assign(name, *pair)


def last_read(site: Site, name: str, before: Statement) -> cst.Name | None:
    """A place that reads a variable's value of before a statement, so that what is known of it can be asked: inside the
    statement before it binds the variable, or right in front of it."""
    row = site.span(before)[0]
    inside = [n for n in site.uses(name) if any(a is before for a in site.ancestors(n))]
    if inside and not site.is_store(inside[0]):
        return _with_value(site, inside[0])
    earlier = [n for n in site.uses(name) if site.span(n)[0] < row]
    return _with_value(site, earlier[-1]) if earlier and not site.is_store(earlier[-1]) else None


def _with_value(site: Site, place: cst.Name) -> cst.Name:
    """A place that reads a variable, or, where the analysis did not come by there, the last one at which it did."""
    if site.value(place) is not None:
        return place
    return next((n for n in reversed(site.loads(place.value)) if site.value(n) is not None), place)


def becomes_tensor(site: Site, node: cst.BaseExpression) -> bool:
    """Whether every reader of a number takes a tensor as well: arithmetic, comparisons outside of tests, a `return`,
    a variable for which the same holds."""
    above = site.parent(node)
    if isinstance(above, cst.BinaryOperation):
        other = above.right if above.left is node else above.left
        return _is_tensor(site, other) or becomes_tensor(site, above)
    if isinstance(above, cst.UnaryOperation) and isinstance(above.operator, cst.Minus):
        return becomes_tensor(site, above)
    if isinstance(above, cst.Return):
        return True
    if isinstance(above, cst.Arg):
        call = site.parent(above)
        return isinstance(call, cst.Call) and forms.applied(site, call)[0] in (
            "where",
            "mul",
            "add",
            "sub",
            "div",
            "pow",
        )
    if isinstance(above, cst.Assign) and len(above.targets) == 1 and isinstance(above.targets[0].target, cst.Name):
        name = above.targets[0].target.value
        return all(becomes_tensor(site, load) for load in site.loads(name))
    return isinstance(above, cst.AugAssign) and above.value is node and _is_tensor(site, above.target)


def _is_tensor(site: Site, node: cst.CSTNode) -> bool:
    value = site.value(node)
    return value is not None and any(isinstance(m, Tensor) for m in members(value))


def is_number(site: Site, node: cst.BaseExpression) -> bool:
    """Whether an expression is surely a Python number."""
    value = site.value(node)
    plain = value is not None and all(isinstance(m, Const | Plain) for m in members(value))
    return isinstance(node, cst.BaseNumber) or (plain and is_pure(site, [node]))


def selecting(
    site: Site, condition: Condition, indent: str, bound: set[str], build: Callable[[Selector], str]
) -> tuple[Selector, str]:
    """The lines that `build` writes with a selector. The condition is kept in a variable of its own where it is needed
    more than once, in a loop, or what it reads is bound anew by the lines (`bound`)."""
    selector = Selector(site, condition, condition.tensor, indent)
    text = build(selector)
    read = {n.value for c in condition.nodes for n in walk(c) if isinstance(n, cst.Name)}
    again = any(line.lstrip().startswith("for ") for line in text.splitlines())  # it would be asked in each round
    if selector.written <= 1 and not again and not (read & bound and text.count("\n") > 1):
        return selector, text
    if len(condition.nodes) == 1 and isinstance(condition.nodes[0], cst.Name) and not read & bound:
        return selector, text
    name = site.fresh("chosen")
    selector = Selector(site, condition, name, indent)
    text = build(selector)
    kept = ".clone()" if len(condition.nodes) == 1 and condition.tensor == site.text(condition.nodes[0]) else ""
    kept = kept if isinstance(condition.nodes[0], cst.Name | cst.Attribute | cst.Subscript) else ""
    return selector, f"{name} = {condition.tensor}{kept}\n{text}"


def closed(site: Site, node: cst.BaseExpression, text: str) -> Edit:
    """The edit that puts a call in the place of an expression, whose parentheses go."""
    edit = site.replace(node, text)
    first, last = site.lines[edit.row - 1], site.lines[edit.end_row - 1]
    before, after = first[: edit.column - 1], last[edit.end_column - 1 :]
    above = site.parent(node)
    if len(node.lpar) != 1 or not before.endswith("(") or not after.startswith(")") or isinstance(above, cst.Await):
        return edit
    return Edit(edit.filename, edit.row, edit.column - 1, edit.end_row, edit.end_column + 1, text)
