"""A few statements as a function of their own, with a second one that says what comes out without computing it.

What cannot be traced can still be part of a graph as one opaque operation: a function that takes and gives tensors, and
a fake of it that gives tensors of the same shapes and types from inputs without contents. The fake is a slice of the
statements: those that decide the metadata of the results and can run without contents.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import libcst as cst

from gblint.fixing.metadata import Metadata, has_dense_form
from gblint.fixing.owned import viewed
from gblint.fixing.purity import changed_in_place, changed_names
from gblint.fixing.site import Refusal, Site, Statement
from gblint.fixing.text import reindent
from gblint.interpreter.values import Const, Instance, Mapping, Plain, Sequence, Tensor, Value, members
from gblint.interpreter.walk import only, walk, walk_scope

TRIES = 12
_JUMPS = (cst.Break, cst.Continue)
_SCOPES = (cst.FunctionDef, cst.ClassDef, cst.Lambda)
_LEAVING = (cst.Return, cst.Yield, cst.Await, cst.Global, cst.Nonlocal, cst.Del, cst.NamedExpr)


class Input(NamedTuple):
    """A parameter: its name, what is passed for it, and what that is."""

    name: str
    passed: str
    value: Value


class Outline(NamedTuple):
    """The new function.

    name; inputs; outputs: names of its results, "" for what the statement returns; body, fake: its lines and those of
    its fake, written for column 0; first, last: the statements it takes the place of; returns: whether these return.
    values: what its results are.
    """

    name: str
    inputs: list[Input]
    outputs: list[str]
    body: str
    fake: str
    first: Statement
    last: Statement
    returns: bool
    values: list[Tensor]

    @property
    def call(self) -> str:
        """What to write in the place of the statements."""
        call = f"{self.name}({', '.join(i.passed for i in self.inputs)})"
        if self.returns:
            return f"return {call}\n"
        return f"{', '.join(self.outputs)} = {call}\n" if self.outputs else f"{call}\n"


class _Grow(Exception):
    """The statements cannot stand without another one; reason: what is wrong if it cannot be had."""

    def __init__(self, statement: Statement, reason: str) -> None:
        self.statement = statement
        self.reason = reason


def outline(site: Site) -> Outline:
    """The smallest run of statements around a site that can be a function of its own. Raises Refusal with the reason
    that stood in the way of the first."""
    if site.outlined is None:
        try:
            site.outlined = _smallest(site)
        except Refusal as refusal:
            site.outlined = str(refusal)  # the exception would keep its frames, and with them the whole analysis
    if isinstance(site.outlined, str):
        raise Refusal(site.outlined)
    return site.outlined


def _smallest(site: Site) -> Outline:
    reasons = []
    for run in _runs(site):
        for _ in range(TRIES):
            try:
                return _build(site, run)
            except _Grow as more:
                block = site.block(run[0])
                if more.statement not in block or more.statement in run:
                    reasons.append(more.reason)
                    break
                places = [block.index(s) for s in (run[0], run[-1], more.statement)]
                run = block[min(places) : max(places) + 1]
            except Refusal as refusal:
                reasons.append(str(refusal))
                break
    raise Refusal(reasons[0] if reasons else "the code is not part of a function")


def _runs(site: Site) -> Iterator[list[Statement]]:
    """The statement the site is in, then the compound statements around it."""
    function = site.function
    statement: cst.CSTNode | None = site.statement(site.node)
    while statement is not None and statement is not function:
        above = site.parent(statement)
        if isinstance(statement, cst.SimpleStatementLine | cst.BaseCompoundStatement):
            if isinstance(above, cst.IndentedBlock) and not (
                isinstance(statement, cst.If) and _is_elif(site, statement)
            ):
                yield [statement]
        statement = above


def _is_elif(site: Site, statement: cst.If) -> bool:
    above = site.parent(statement)
    return isinstance(above, cst.If) and above.orelse is statement


def _build(site: Site, run: list[Statement]) -> Outline:
    returned = _returned(run)
    _stay_inside(site, run, returned)
    sets = changed_names(run)
    free, attributes = _free(site, run, sets)
    _writes(site, run, free)
    inputs = [Input(n, n, _input(site, node, n, run)) for n, node in free.items()]
    renamed: dict[cst.CSTNode, str] = {}
    for text, nodes in attributes.items():
        name = nodes[0].attr.value
        if site.binds(name) or name in site.module.bindings or name in sets | set(renamed.values()):
            name = site.fresh(name)
        inputs.append(Input(name, text, _input(site, nodes[0], text, run)))
        renamed |= dict.fromkeys(nodes, name)
    outputs, values = _outputs(site, run, sets, returned)
    metadata = Metadata(site, run, {i.name for i in inputs}, renamed)
    fake = metadata.fake(outputs, returned)
    _own_outputs(run, set(free), {*outputs, *_returned_names(returned)})
    if inputs and not outputs and returned is None and _touches_only(site, run):
        raise Refusal("the statement has no result and no effect that can be seen")
    ending = "" if returned is not None or not outputs else f"return {', '.join(outputs)}\n"
    body = _text(site, run, renamed, metadata.unchanged(outputs)) + ending
    return Outline(
        _name(site, outputs, returned), inputs, outputs, body, fake, run[0], run[-1], returned is not None, values
    )


def _returned(run: list[Statement]) -> cst.BaseExpression | None:
    """What a run that ends in a `return` returns."""
    last = run[-1]
    if isinstance(last, cst.SimpleStatementLine) and len(last.body) == 1 and isinstance(last.body[0], cst.Return):
        return last.body[0].value
    return None


def _stay_inside(site: Site, run: list[Statement], returned: cst.BaseExpression | None) -> None:
    inside = site.inside(run)
    for node in only(walk_scope(list(run)), *_LEAVING, *_JUMPS, *_SCOPES):
        if isinstance(node, cst.Return) and returned is not None and node.value is returned:
            continue
        if isinstance(node, _LEAVING):
            raise Refusal("the code around it returns, yields or binds a variable in an expression")
        if isinstance(node, _JUMPS) and site.loop(node) not in inside:
            raise Refusal("the code around it leaves a loop")
        if isinstance(node, _SCOPES):
            raise Refusal("the code around it defines a function")


def _free(
    site: Site, run: list[Statement], sets: set[str]
) -> tuple[dict[str, cst.Name], dict[str, list[cst.Attribute]]]:
    """Variables that come from outside, with a place where each is read, and attributes of the method's own object."""
    inside = site.inside(run)
    names: dict[str, cst.Name] = {}
    attributes: dict[str, list[cst.Attribute]] = {}
    own = site.parameters()[:1] if _is_method(site) else []
    for name in _in_order(site, inside):
        text = name.value
        above = site.parent(name)
        if text in own:
            if not isinstance(above, cst.Attribute):
                raise Refusal("it uses its object as a whole")
            if site.is_store(name) or _is_target(site, above):
                raise Refusal("it changes an attribute of its object")
            attributes.setdefault(site.text(above), []).append(above)
            continue
        if site.is_store(name) and not isinstance(above, cst.AugAssign):
            continue
        if text in names or (text not in site.parameters() and not site.stores(text)):
            continue
        outside = text in site.parameters() or any(
            s not in inside and s not in site.after(run[-1]) for s in site.stores(text)
        )
        if outside and not _bound_first(site, run, text):
            names[text] = name
    return names, attributes


def _is_target(site: Site, node: cst.Attribute) -> bool:
    above = site.parent(node)
    return isinstance(above, cst.AssignTarget | cst.AugAssign | cst.AnnAssign) and above.target is node


def _is_method(site: Site) -> bool:
    above = site.parent(site.parent(site.function) or site.function)
    return isinstance(above, cst.ClassDef) or (bool(site.parameters()) and site.parameters()[0] == "self")


def _in_order(site: Site, inside: frozenset[cst.CSTNode]) -> list[cst.Name]:
    return [n for n in site.names if n in inside]


def _bound_first(site: Site, run: list[Statement], name: str) -> bool:
    """Whether the run sets a variable anew before anything in it reads it."""
    for statement in run:
        if not site.inside([statement]).isdisjoint(site.uses(name)):
            if not isinstance(statement, cst.SimpleStatementLine):
                return isinstance(statement, cst.For) and _is_loop_variable(site, statement, name)
            (small, *rest) = statement.body
            return (
                not rest
                and isinstance(small, cst.Assign)
                and any(n.value == name for t in small.targets for n in _bound_in(site, t))
                and not any(isinstance(n, cst.Name) and n.value == name for n in walk(small.value))
            )
    return False


def _is_loop_variable(site: Site, loop: cst.For, name: str) -> bool:
    if any(isinstance(n, cst.Name) and n.value == name for n in walk(loop.iter)):
        return False
    return any(n.value == name for n in _bound_in(site, loop.target))


def _bound_in(site: Site, target: cst.CSTNode) -> list[cst.Name]:
    """The variables that a target binds: not those of which it sets an item or attribute."""
    return [n for n in walk(target) if isinstance(n, cst.Name) and site.is_store(n)]


def _writes(site: Site, run: list[Statement], free: dict[str, cst.Name]) -> None:
    """Raise where the run changes a value in place that comes from outside."""
    for node in only(walk_scope(list(run)), cst.AssignTarget, cst.AugAssign, cst.Call):
        changed = changed_in_place(site, node)
        if changed is not None and changed.value in site.parameters()[:1] and _is_method(site):
            raise Refusal("it writes into an attribute of its object")
        if changed is not None and changed.value in free:
            stores = [s for s in site.stores(changed.value) if s not in set(site.after(run[0]))]
            stores = [s for s in stores if s not in site.inside(run)]
            reason = f"it writes into `{changed.value}`, which comes from outside"
            if not stores:
                raise Refusal(reason)
            raise _Grow(site.statement(stores[-1]), reason)


def _input(site: Site, node: cst.BaseExpression, text: str, run: list[Statement]) -> Value:
    """The value of an input, which has to be one that can be passed."""
    value = site.value(node)
    if value is None or not all(map(_passable, members(value))):
        reason = f"`{text}` is not known to be a tensor, a number or a module"
        before = set(site.names) - set(site.after(run[0])) - site.inside(run)
        stores = [s for s in site.stores(text) if s in before] if isinstance(node, cst.Name) else []
        if not stores:
            raise Refusal(reason)
        raise _Grow(site.statement(stores[-1]), reason)
    return value


def _passable(value: Value) -> bool:
    if isinstance(value, Sequence):
        return value.kind in ("list", "tuple", "size") and all(map(_passable, members(value.element())))
    if isinstance(value, Mapping):
        return value.kind == "dict" and all(map(_passable, value.items.values()))
    if isinstance(value, Instance):
        return value.base.startswith("torch.nn.")
    if isinstance(value, Const | Plain):
        return True
    return isinstance(value, Tensor) and value.c >= 0.6 and value.subclass in ("", "ndarray")


def _outputs(
    site: Site, run: list[Statement], sets: set[str], returned: cst.BaseExpression | None
) -> tuple[list[str], list[Tensor]]:
    """Variables set in the run and read after it; all have to be tensors."""
    if returned is not None:
        parts = _results(returned)
        tensors = [_tensor(site.value(part)) for part in parts]
        if any(t is None and not _gives_dense(site, part) for t, part in zip(tensors, parts, strict=True)):
            raise Refusal("what it returns is not surely a tensor")
        return [], [t for t in tensors if t is not None]
    reads = _later(site, run)
    later = {n.value for n in reads}
    found: list[str] = []
    values: list[Tensor] = []
    for name in sorted(sets & later):
        loads = [n for n in site.readings(name) if n in reads]
        known = [site.value(n) for n in loads]
        if any(k is None for k in known) or not all(_tensor(k) for k in known):
            raise _Grow(_around(site, run, loads), f"`{name}`, which comes out of it, is not surely a tensor")
        found.append(name)
        values.append(_tensor(known[0]))  # type: ignore[arg-type]
    return found, values


def _results(returned: cst.BaseExpression) -> list[cst.BaseExpression]:
    return [e.value for e in returned.elements] if isinstance(returned, cst.Tuple) else [returned]


def _returned_names(returned: cst.BaseExpression | None) -> set[str]:
    return {n.value for n in _results(returned) if isinstance(n, cst.Name)} if returned is not None else set()


def _own_outputs(run: list[Statement], free: set[str], outputs: set[str]) -> None:
    """Refuse where a result may be another name for what comes from outside, or a view of it."""
    for node in only(walk_scope(list(run)), cst.Assign):
        source = viewed(node.value)
        if isinstance(source, cst.Name) and source.value in free:
            shared = {t.target.value for t in node.targets if isinstance(t.target, cst.Name)} & outputs - {source.value}
            if shared:
                raise Refusal(f"`{min(shared)}`, which comes out of it, may be `{source.value}` itself")


def _gives_dense(site: Site, node: cst.BaseExpression) -> bool:
    """A product with a sparse matrix, or a function of one: a dense tensor."""
    return isinstance(node, cst.Call) and site.tensor(node) is not None and has_dense_form(site, node)


def _around(site: Site, run: list[Statement], loads: list[cst.Name]) -> Statement:
    """The last statement of the run's block that holds one of some places; the run's own where none does."""
    block = site.block(run[0])
    holding = [s for s in block if not site.inside([s]).isdisjoint(loads)]
    return holding[-1] if holding and site.inside(block).issuperset(loads) else run[0]


def _tensor(value: Value | None) -> Tensor | None:
    parts = members(value) if value is not None else []
    tensors = [p for p in parts if isinstance(p, Tensor)]
    return tensors[0] if tensors and len(tensors) == len(parts) and tensors[0].subclass == "" else None


def _later(site: Site, run: list[Statement]) -> set[cst.Name]:
    """Reads that may happen after the run."""
    places = set(site.after(run[-1]))
    loop = site.loop(run[0])
    if loop is not None:
        around = site.inside([loop])
        places |= {n for n in site.names if n in around}
    return {n for n in places - site.inside(run) if n in site.readings(n.value)}


def _touches_only(site: Site, run: list[Statement]) -> bool:
    return not any(isinstance(n, cst.Call | cst.AssignTarget) for s in run for n in walk(s))


def _text(site: Site, run: list[Statement], renamed: dict[cst.CSTNode, str], copied: list[str]) -> str:
    """The run's lines at column 0, with parameters for attributes."""
    first, last = site.span(run[0])[0], site.last_row(run[-1])
    lines = site.lines[first - 1 : last]
    for node in sorted(renamed, key=site.span, reverse=True):
        row, column, end_row, end_column = site.span(node)
        if row != end_row:
            raise Refusal("an attribute is written over two lines")
        line = lines[row - first]
        lines[row - first] = line[: column - 1] + renamed[node] + line[end_column - 1 :]
    moved = reindent("\n".join(lines) + "\n", site.indent(run[0]), "")
    if moved is None:
        raise Refusal("a string over several lines would be moved")
    return "".join(f"{n} = {n}.clone()\n" for n in copied) + moved


def _name(site: Site, outputs: list[str], returned: cst.BaseExpression | None) -> str:
    function = site.function.name.value.strip("_")
    if outputs:
        return site.fresh(f"_{function}_{outputs[0].strip('_')}")
    if returned is None and isinstance(site.node, cst.Call):
        func = site.node.func
        word = func.attr.value if isinstance(func, cst.Attribute) else site.text(func)
        return site.fresh(f"_{function}_{word.strip('_')}")
    return site.fresh(f"_{function}_result")
