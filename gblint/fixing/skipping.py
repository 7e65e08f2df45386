"""Statements that a flag lets skip, run always: their variables take the old values behind them where they would have
been skipped. The lines of the statements stay as they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from gblint.fixing.arms import Choice, calls_of, check_effects, comments
from gblint.fixing.branches import indented
from gblint.fixing.conditions import is_tensor_test
from gblint.fixing.liveness import bound_before, is_live
from gblint.fixing.purity import changed_names, walk_all
from gblint.fixing.selecting import Selector, last_read
from gblint.fixing.site import Refusal, Site, Statement
from gblint.interpreter.values import Const, Instance, Sequence, Value, members
from gblint.interpreter.walk import walk, walk_scope

if TYPE_CHECKING:
    from gblint.findings.finding import Edit
    from gblint.fixing.conditions import Condition

_RESIZERS = ("Upsample", "PixelShuffle", "PixelUnshuffle", "Fold", "Unfold", "Flatten", "Unflatten")


@dataclass(slots=True)
class Always:
    """What has to stand round statements that run always: lines in front of the first, and behind `last`. All are for
    column 0. names: the variables that are taken or left."""

    lines: list[Statement]
    old: str
    chosen: str
    last: Statement
    names: list[str]

    def text(self, site: Site) -> str:
        """All lines together, for column 0."""
        rows = site.body_text(self.lines, "").splitlines(keepends=True)
        at = site.last_row(self.last) - site.span(self.lines[0])[0] + 1
        return self.old + "".join(rows[:at]) + self.chosen + "".join(rows[at:])

    def edits(self, site: Site) -> list[Edit]:
        """The edits that leave the statements where they are."""
        return [site.insert_before(self.lines[0], self.old), site.insert_after(self.last, self.chosen)]


def run_always(
    selector: Selector, lines: list[Statement], region: list[Statement], guard: str, kept: bool, loose: frozenset[str]
) -> Always:
    """Consecutive statements run always. region: what they belong to, for what is read behind it. guard: the facts
    under which the selector's condition is asked at all, "" for always. kept: the statements count where the condition
    holds, else where it does not. loose: variables that need not take old values. Raises Refusal where the statements
    do more than bind variables, or a variable has no old value."""
    site = selector.site
    _check(site, lines)
    check_sizes(site, lines)
    selector.note_calls(calls_of(site, lines))
    live = [n for n in _in_order(site, lines) if is_live(site, n, region)]
    gathered = [n for n in live if n not in loose and _only_gathers(site, n, lines)]
    names = [n for n in live if n not in loose and n not in gathered]
    if not names:
        raise Refusal("nothing that is skipped is read afterwards")
    for name in names:
        if not bound_before(site, name, region[0]):
            raise Refusal(f"`{name}` is read afterwards and has no value on the other way")
    selector.doubts[:0] = [f"`{n}` gets an entry where none was made" for n in gathered]
    old = {n: site.fresh(f"old_{n}") for n in names}
    text = ""
    for name in names:
        selector.note_alias(name, region[0])
        before = Choice(old[name], [last_read(site, name, region[0]) or cst.Name(name)])
        after = Choice(name, [_value_of(site, name, lines)])
        if all(site.value(leaf) is None for leaf in (*before.leaves, *after.leaves)):
            raise Refusal(f"what `{name}` holds is not known, so `torch.where` may not take it")
        text += selector.assign(name, *((after, before) if kept else (before, after)))
    if guard:
        text = f"if {guard}:\n{indented(text, site.step)}"
    last = [line for line in lines if changed_names([line]) & set(names)][-1]
    return Always(lines, "".join(f"{old[n]} = {n}\n" for n in names), text, last, names)


def _check(site: Site, lines: list[Statement]) -> None:
    """Raise Refusal for statements that do more than bind variables."""
    check_effects(site, lines)
    if any(isinstance(n, cst.Return) for n in walk_scope(list(lines))):
        raise Refusal("what is skipped returns from the function")
    for node in walk_scope(list(lines)):
        if isinstance(node, cst.If | cst.While | cst.IfExp) and is_tensor_test(site, node.test):
            raise Refusal("what is skipped has a test of a tensor itself")


def _in_order(site: Site, lines: list[Statement]) -> list[str]:
    """The variables that statements bind, in order of the first time."""
    names = changed_names(lines)
    nodes = [n.value for n in walk_all(lines) if isinstance(n, cst.Name) and n.value in names and site.is_store(n)]
    return list(dict.fromkeys(nodes))


def _only_gathers(site: Site, name: str, lines: list[Statement]) -> bool:
    """Whether statements do no more to a variable than put entries behind it (`xs = xs + (x,)`), and only where a fact
    about Python asks for it: what is kept on the side, not what is computed."""
    inside = {n for line in lines for n in walk(line)}
    stores = [s for s in site.stores(name) if s in inside]
    return all(_gathers(site, store) and _is_asked_for(site, store, inside) for store in stores)


def _gathers(site: Site, store: cst.Name) -> bool:
    target = site.parent(store)
    line = site.parent(target) if isinstance(target, cst.AssignTarget) else None
    value = line.value if isinstance(line, cst.Assign) and len(line.targets) == 1 else None
    return (
        isinstance(value, cst.BinaryOperation)
        and isinstance(value.operator, cst.Add)
        and isinstance(value.left, cst.Name)
        and value.left.value == store.value
        and isinstance(value.right, cst.Tuple | cst.List)
    )


def _is_asked_for(site: Site, node: cst.CSTNode, inside: set[cst.CSTNode]) -> bool:
    return any(isinstance(a, cst.If) and a in inside for a in site.ancestors(node))


def _value_of(site: Site, name: str, lines: list[Statement]) -> cst.BaseExpression:
    """What statements bind to a variable last, to ask what is known of it."""
    inside = {n for line in lines for n in walk(line)}
    target = site.parent([s for s in site.stores(name) if s in inside][-1])
    line = site.parent(target) if isinstance(target, cst.AssignTarget) else None
    return line.value if isinstance(line, cst.Assign) and len(line.targets) == 1 else cst.Name(name)


def selector_of(site: Site, found: Condition, name: str, first: Statement, guard: str) -> Selector:
    """Selections by a variable that holds a condition, written in front of (or in the place of) a statement."""
    return Selector(site, found, name, site.indent(first) + (site.step if guard else ""))


def without(site: Site, statement: Statement) -> Edit:
    """The edit that takes a statement out, with the blank line in front of it; comments inside it stay."""
    kept = comments(site, statement, statement)
    if kept or len(site.block(statement)) == 1:
        return site.replace_lines(statement, statement, kept or "pass\n")
    edit = site.remove(statement)
    blank = edit.row > 1 and not site.lines[edit.row - 2].strip()
    return type(edit)(edit.filename, edit.row - blank, 1, edit.end_row, 1, "")


def facts_around(site: Site, holder: cst.If) -> cst.If | None:
    """The `if` on Python facts that the branch is the last statement of; None where it stands by itself."""
    block = site.parent(holder)
    above = site.parent(block) if block is not None else None
    if not isinstance(above, cst.If) or above.orelse is not None or above.body is not block:
        return None
    if site.block(holder)[-1] is not holder or is_tensor_test(site, above.test):
        return None
    grand = site.parent(above)
    return above if not (isinstance(grand, cst.If) and grand.orelse is above) else None


def check_sizes(site: Site, lines: list[Statement]) -> None:
    """Raise Refusal where statements call a module that is known to give another size than it gets: the old value
    cannot stand in for the new one then."""
    for call in site.calls(list(lines)):
        value = site.value(call.func)
        resizer = _resizer(value, set()) if value is not None else ""
        if resizer:
            raise Refusal(f"`{site.text(call.func)}` changes the size of what it gets (`{resizer}`)")


def _resizer(value: Value, seen: set[int]) -> str:
    """The class of a module, or one in it, that changes sizes; "" if none is known."""
    for member in members(value):
        if isinstance(member, Sequence):
            found = _resizer(member.element(), seen)
        elif isinstance(member, Instance) and id(member) not in seen:
            seen.add(id(member))
            if _resizes(member):
                return member.base.rpartition(".")[2]
            found = next((f for v in list(member.attrs.values()) if (f := _resizer(v, seen))), "")
        else:
            continue
        if found:
            return found
    return ""


def _resizes(module: Instance) -> bool:
    """Whether a module of torch changes sizes by what it is, or by its stride. Pools to a fixed size are left out: they
    mostly feed factors that are multiplied in."""
    name = module.base.rpartition(".")[2] if module.base.startswith("torch.nn.") else ""
    if name.startswith(_RESIZERS):
        return True
    place = 3 if "Conv" in name else 1
    stride = module.kwargs.get("stride") or (module.args[place] if len(module.args) > place else None)
    if stride is None:  # that of a pool is the size of its window
        return "Pool" in name and "Adaptive" not in name
    return ("Conv" in name or "Pool" in name) and not (isinstance(stride, Const) and stride.value == 1)
