"""Moving a computation out of a compiled region: its value becomes a parameter that every caller passes.

`lift` takes an expression of the function a site is in, writes it in terms of the function's parameters, adds a
parameter, and rewrites every call. A caller that is traced itself gets a parameter of its own, up to eager code.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import libcst as cst

from gblint.findings.finding import Edit
from gblint.fixing.forms import is_in_place
from gblint.fixing.owned import views
from gblint.fixing.places import callers, function_info
from gblint.fixing.purity import changed_in_place, is_pure
from gblint.fixing.site import Refusal, Site, walk_parameters
from gblint.interpreter.walk import walk

DEPTH = 3  # traced callers a value is handed through
_SCOPES = (cst.Lambda, cst.GeneratorExp, cst.ListComp, cst.SetComp, cst.DictComp)
_CHECKED = (cst.Name, cst.Attribute, cst.BaseNumber, cst.BaseString)
_PRINTER = cst.Module([])


class Lifted(NamedTuple):
    """The parameters' names, and the edits of the signatures and calls."""

    names: list[str]
    edits: list[Edit]


class Value(NamedTuple):
    """A value to pass: its source in terms of the parameters of the function it is for, and the parameter's name."""

    text: str
    name: str


def lift(site: Site, wanted: list[tuple[cst.BaseExpression, str]], write: Callable[[str], str] = str) -> Lifted:
    """Make values parameters of the function around the site; the caller of this replaces the expressions itself.

    wanted: expressions and the names to give them, in the order in which they are computed. write: what the caller of
    the function is to write, given an expression in its own terms. Raises Refusal.
    """
    values: list[Value] = []
    for expression, name in wanted:
        stay_in_the_open(site, expression)
        taken = name in (v.name for v in values)
        kept = _is_own(site, expression, name) and not taken
        fresh = name if kept else site.fresh(f"{name}_{len(values) + 1}" if taken else name)
        values.append(Value(spelled(site, expression), fresh))
        _check_changes(site, expression)
    return Lifted([v.name for v in values], _pass(site, values, write, 0))


def _is_own(site: Site, expression: cst.BaseExpression, wanted: str) -> bool:
    """Whether the name is that of the one variable the expression is assigned to."""
    above = site.parent(expression)
    return isinstance(above, cst.Assign) and len(site.stores(wanted)) == 1 and len(above.targets) == 1


def stay_in_the_open(site: Site, node: cst.CSTNode) -> None:
    """Refuse where an expression is evaluated several times, or in a scope of its own."""
    inside: cst.CSTNode = node
    for above in site.ancestors(node):
        if isinstance(above, cst.While) or (isinstance(above, cst.For) and above.iter is not inside):
            raise Refusal("the value is computed anew in each round of a loop")
        if isinstance(above, _SCOPES) and not _feeds(above, inside):
            raise Refusal("the value is computed anew for each element")
        if not isinstance(above, cst.CompFor):
            inside = above
        if isinstance(above, cst.FunctionDef):
            break


def _feeds(comprehension: cst.CSTNode, inside: cst.CSTNode) -> bool:
    """Whether a part of a comprehension is what its first loop runs over, which is computed once."""
    return isinstance(comprehension, cst.BaseComp) and comprehension.for_in.iter is inside


def spelled(site: Site, expression: cst.BaseExpression) -> str:
    """An expression in terms of parameters and globals: local variables are replaced by what they were set to. Raises
    Refusal where that cannot be told."""
    return _PRINTER.code_for_node(_spell(site, expression, 0))


def _spell(site: Site, expression: cst.BaseExpression, depth: int) -> cst.BaseExpression:
    """The expression with its local variables written out."""
    known: dict[str, cst.BaseExpression] = {}
    own = _bound_inside(expression)
    for node in walk(expression):
        if isinstance(node, cst.Await | cst.Yield | cst.NamedExpr):
            raise Refusal("the value is computed by an assignment expression or a yield")
        if isinstance(node, cst.Call) and is_in_place(node):
            raise Refusal(f"`{site.flat(node)}` changes a tensor on the way")
        if isinstance(node, cst.Call) and changed_in_place(site, node) is not None:
            raise Refusal(f"`{site.flat(node)}` changes an object on the way")
        if (
            isinstance(node, cst.Name)
            and node.value not in own
            and node.value not in known
            and _is_variable(site, node)
        ):
            local = _local(site, node, depth)
            if local is not None:
                known[node.value] = local
    if site.text(expression) != site.flat(expression):
        expression = cst.parse_expression(site.flat(expression))
    return _replaced(expression, known)


def _bound_inside(expression: cst.CSTNode) -> set[str]:
    targets = [n.target for n in walk(expression) if isinstance(n, cst.CompFor)]
    names = {n.value for t in targets for n in walk(t) if isinstance(n, cst.Name)}
    return names | {n.name.value for n in walk(expression) if isinstance(n, cst.Param)}


def _is_variable(site: Site, node: cst.Name) -> bool:
    above = site.parent(node)
    if isinstance(above, cst.Attribute):
        return above.value is node
    return not (isinstance(above, cst.Arg) and above.keyword is node)


def _local(site: Site, name: cst.Name, depth: int) -> cst.BaseExpression | None:
    """What a local variable holds; None for a parameter or a global."""
    stores = [s for s in site.stores(name.value) if _inside(site, s, site.function)]
    if name.value in site.parameters():
        if not _before(site, name).isdisjoint(stores):
            raise Refusal(f"`{name.value}` is set again before the value is computed")
        return None
    if not stores:
        if site.binds(name.value):
            raise Refusal(f"`{name.value}` belongs to a function around this one")
        return None
    assign = site.parent(site.parent(stores[0]) or stores[0])
    if len(stores) > 1 or not isinstance(assign, cst.Assign) or len(assign.targets) > 1 or depth > 4:
        raise Refusal(f"`{name.value}` is a result of the function's own work")
    stay_in_the_open(site, assign)
    if _is_changed(site, name):
        raise Refusal(f"`{name.value}` is changed by the function's own work")
    if not is_pure(site, [assign.value]) and not site.dotted(assign.value).startswith("torch.Generator"):
        if "Generator" not in site.flat(assign.value) and len(site.loads(name.value)) > 1:
            raise Refusal(f"`{name.value}` is used for more than this value")
    return _spell(site, assign.value, depth + 1)


def _check_changes(site: Site, expression: cst.BaseExpression) -> None:
    """Refuse where the function changes a tensor in place before an expression that may read it."""
    inside = set(walk(expression))
    read = {n.value for n in inside if isinstance(n, cst.Name)}
    behind = set(site.after(expression)) | inside
    for node in walk(site.function.body):
        changed = changed_in_place(site, node)
        if changed is None or changed in behind:
            continue
        if site.tensor(changed) is not None and (changed.value in read or views(site, changed.value) & read):
            raise Refusal(f"`{changed.value}` is changed in place before the value is computed")


def _is_changed(site: Site, name: cst.Name) -> bool:
    """Whether a variable's value is changed in place before a place that reads it."""
    behind = set(site.after(name))
    earlier = [use for use in site.loads(name.value) if use not in behind]
    return any(changed_in_place(site, above) is use for use in earlier for above in site.ancestors(use))


def _inside(site: Site, node: cst.CSTNode, function: cst.FunctionDef) -> bool:
    return any(above is function for above in site.ancestors(node))


def _before(site: Site, name: cst.Name) -> set[cst.Name]:
    return set(site.uses(name.value)) - {n for n in site.after(name) if n.value == name.value}


def _replaced(expression: cst.BaseExpression, known: dict[str, cst.BaseExpression]) -> cst.BaseExpression:
    if not known:
        return expression
    result = expression.visit(_Names(known))
    assert isinstance(result, cst.BaseExpression)
    return result


class _Names(cst.CSTTransformer):
    """Puts expressions in the place of variables."""

    def __init__(self, known: dict[str, cst.BaseExpression]) -> None:
        self.known = known

    def leave_Attribute(  # noqa: N802
        self, original_node: cst.Attribute, updated_node: cst.Attribute
    ) -> cst.BaseExpression:
        value = updated_node.value
        if isinstance(value, cst.BaseNumber) and not value.lpar:
            value = value.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
        return updated_node.with_changes(attr=original_node.attr, value=value)

    def leave_Arg(self, original_node: cst.Arg, updated_node: cst.Arg) -> cst.Arg:  # noqa: N802
        return updated_node.with_changes(keyword=original_node.keyword)

    def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.BaseExpression:  # noqa: N802
        value = self.known.get(original_node.value)
        if value is None:
            return updated_node
        closed = (*_CHECKED, cst.Call, cst.Subscript, cst.List, cst.Tuple, cst.Dict)
        if isinstance(value, closed) or value.lpar:
            return value
        return value.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])


# -- signatures and calls ---------------------------------------------------------------------------------------------


def _pass(site: Site, values: list[Value], write: Callable[[str], str], depth: int) -> list[Edit]:
    """The edits that make the names parameters of the function around a site and pass the values at every call."""
    edits = [_new_parameters(site, [v.name for v in values])]
    for call in callers(site):
        edits += _at_call(site, call, values, write, depth)
    return edits


def _new_parameters(site: Site, names: list[str]) -> Edit:
    params = site.function.params
    joined = ", ".join(names)
    if params.star_kwarg is not None:
        return _insert(site, site.span(params.star_kwarg)[:2], f"{_starred(params)}{joined}, ", back=2)
    plain = [*params.posonly_params, *params.params, *params.kwonly_params]
    if isinstance(params.star_arg, cst.Param) and not params.kwonly_params:
        return _insert(site, _end(site, params.star_arg), f", {joined}")
    if not plain:
        row, column = site.span(site.function.name)[2:]
        return _insert(site, (row, column + 1), joined)
    return _insert(site, _end(site, plain[-1]), f", {_starred(params)}{joined}")


def _end(site: Site, parameter: cst.Param) -> tuple[int, int]:
    """Where a parameter with its annotation and default ends."""
    parts = [parameter.name, parameter.annotation and parameter.annotation.annotation, parameter.default]
    return max(site.span(part)[2:] for part in parts if part is not None)


def _starred(params: cst.Parameters) -> str:
    """What has to stand in front of a new parameter without a default."""
    by_keyword = params.kwonly_params or isinstance(params.star_arg, cst.Param | cst.ParamStar)
    has_default = any(p.default is not None for p in params.params)
    return "*, " if has_default and not by_keyword else ""


def _needs_keyword(params: cst.Parameters) -> bool:
    starred = isinstance(params.star_arg, cst.Param | cst.ParamStar) or params.star_kwarg is not None
    return bool(starred or params.kwonly_params or any(p.default is not None for p in params.params))


def _insert(site: Site, place: tuple[int, int], text: str, back: int = 0) -> Edit:
    row, column = place
    return Edit(site.module.path, row, column - back, row, column - back, text)


def _at_call(site: Site, call: Site, values: list[Value], write: Callable[[str], str], depth: int) -> list[Edit]:
    node = call.node
    assert isinstance(node, cst.Call)
    if any(a.star for a in node.args):
        raise Refusal("a call hands its arguments on with a star")
    known, edits = _arguments(site, call, node, [cst.parse_expression(v.text) for v in values])
    inner = [v._replace(text=_PRINTER.code_for_node(_replaced(cst.parse_expression(v.text), known))) for v in values]
    traced = call.value(node.func) is not None and function_info(call) is not None
    if traced:
        if depth >= DEPTH:
            raise Refusal("the value would have to be handed through too many functions")
        if edits:
            raise Refusal("an argument of a call inside of the compiled region would be computed twice")
        for value in inner:
            _check_spelling(call, value.text, node)
        edits = _pass(call, inner, write, depth + 1)
    else:
        for value in inner:
            _visible(site, call, value.text, known)
    keyword = any(a.keyword is not None for a in node.args) or _needs_keyword(site.function.params)
    texts = [v.name if traced else write(v.text) for v in inner]
    arguments = [f"{v.name}={text}" if keyword else text for v, text in zip(inner, texts, strict=True)]
    return [*edits, _new_argument(call, node, ", ".join(arguments))]


def _new_argument(call: Site, node: cst.Call, text: str) -> Edit:
    if node.args:
        return _insert(call, _behind(call, node.args[-1].value), f", {text}")
    row, column = call.span(node)[2:]
    return _insert(call, (row, column - 1), text)


def _behind(site: Site, node: cst.BaseExpression) -> tuple[int, int]:
    """Row and column behind an expression and the parentheses around it, which its span leaves out."""
    row, column = site.span(node)[2:]
    for _ in node.rpar:
        while not (rest := site.lines[row - 1][column - 1 :]).lstrip().startswith(")"):
            if rest.strip():
                raise Refusal("a comment stands in the parentheses of an argument")
            row, column = row + 1, 1
        column += rest.index(")") + 1
    return row, column


def _check_spelling(call: Site, inner: str, node: cst.Call) -> None:
    """Refuse where an expression written at a traced call is none of that function's parameters alone."""
    stay_in_the_open(call, node)
    parameters = call.parameters()
    for part in walk(cst.parse_expression(inner)):
        if isinstance(part, cst.Name) and call.stores(part.value) and part.value not in parameters:
            raise Refusal(f"`{part.value}` is a result of the function's own work")


def _arguments(
    site: Site, call: Site, node: cst.Call, expressions: list[cst.BaseExpression]
) -> tuple[dict[str, cst.BaseExpression], list[Edit]]:
    """What the parameters in expressions are at a call; the edits give arguments names that are not to be computed
    twice."""
    used = {n.value for e in expressions for n in walk(e) if isinstance(n, cst.Name)}
    gathered = {
        p.name.value
        for p in (site.function.params.star_arg, site.function.params.star_kwarg)
        if isinstance(p, cst.Param)
    }
    if gathered & used:
        raise Refusal(f"`{min(gathered & used)}` gathers arguments of a call")
    parameters = list(walk_parameters(site.function.params))
    given = _given(site, call, node, [p.name.value for p in parameters])
    known: dict[str, cst.BaseExpression] = {}
    edits: list[Edit] = []
    for parameter in parameters:
        name = parameter.name.value
        if name not in used:
            continue
        value = given.get(name, parameter.default)
        if value is None:
            raise Refusal(f"what `{name}` is at a call cannot be told")
        if isinstance(value, cst.Name) and value.value == "None" and not any(map(_asks_for_none, expressions)):
            raise Refusal(f"`{name}` is None at a call")
        if name in given and not _repeatable(value):
            fresh = _named(call, node, value, name)
            edits += fresh[1]
            value = fresh[0]
        known[name] = value
    return known, edits


def _asks_for_none(expression: cst.BaseExpression) -> bool:
    return any(
        isinstance(n, cst.ComparisonTarget) and isinstance(n.operator, cst.Is | cst.IsNot) for n in walk(expression)
    )


def _given(site: Site, call: Site, node: cst.Call, names: list[str]) -> dict[str, cst.BaseExpression]:
    """Arguments by parameter; the receiver of a method stands for its first parameter."""
    info = function_info(site)
    method = info is not None and info.owner and "staticmethod" not in info.decorators
    given: dict[str, cst.BaseExpression] = {}
    rest = names
    if method:
        receiver = _receiver(call, node)
        if receiver is not None:
            given[names[0]] = receiver
        rest = names[1:]
    positional = [a.value for a in node.args if a.keyword is None]
    given |= dict(zip(rest, positional, strict=False))
    return given | {a.keyword.value: a.value for a in node.args if a.keyword is not None}


def _receiver(call: Site, node: cst.Call) -> cst.BaseExpression | None:
    """The object whose method a call runs: `x` of `x.step(...)`, of `model(...)`, and of `step = compile(x.step)`."""
    func = node.func
    if isinstance(func, cst.Attribute):
        return func.value if _repeatable(func.value) else None
    if not isinstance(func, cst.Name):
        return None
    for binding in call.module.bindings.get(func.value, ()):
        text = call.machine.project.lines(call.module, binding.start, binding.end)
        try:
            (line,) = cst.parse_module(text).body
        except (cst.ParserSyntaxError, ValueError):
            return None
        made = line.body[0] if isinstance(line, cst.SimpleStatementLine) else None
        value = made.value if isinstance(made, cst.Assign) else None
        if isinstance(value, cst.Call) and value.args and isinstance(value.args[0].value, cst.Attribute):
            return value.args[0].value.value
    return func


def _repeatable(node: cst.BaseExpression) -> bool:
    """Whether writing an expression twice costs nothing and means the same."""
    if isinstance(node, cst.UnaryOperation):
        return _repeatable(node.expression)
    if isinstance(node, cst.Tuple | cst.List):
        return all(_repeatable(e.value) for e in node.elements)
    return isinstance(node, cst.Name | cst.BaseNumber | cst.SimpleString) or (
        isinstance(node, cst.Attribute) and _repeatable(node.value)
    )


def _named(call: Site, node: cst.Call, value: cst.BaseExpression, name: str) -> tuple[cst.BaseExpression, list[Edit]]:
    """An argument computed on a line of its own in front of the call's statement."""
    statement = call.statement(node)
    if not isinstance(statement, cst.SimpleStatementLine) or len(statement.body) != 1:
        raise Refusal("a call stands where no line can be put in front of it")
    for above in call.ancestors(node):
        if isinstance(above, (*_SCOPES, cst.IfExp, cst.BooleanOperation)):
            raise Refusal("a call stands where no line can be put in front of it")
        if above is statement:
            break
    if not _constructs(value):
        row, column = call.span(value)[:2]
        earlier = [c for c in walk(statement) if isinstance(c, cst.Call) and call.span(c)[2:] <= (row, column)]
        earlier = [c for c in earlier if not _constructs(c) and call.text(c.func) != "torch.compile"]
        if earlier:
            raise Refusal("computing an argument of a call ahead would change the order of what is computed")
    fresh = call.fresh(name)
    return cst.Name(fresh), [
        call.insert_before(statement, f"{fresh} = {call.flat(value)}\n"),
        call.replace(value, fresh),
    ]


def _constructs(node: cst.BaseExpression) -> bool:
    """`torch.tensor([...])`, `torch.ones(2)`, `{"a": 1}`: a new value of constants."""
    return _literal(node) or (
        isinstance(node, cst.Call)
        and isinstance(node.func, cst.Attribute)
        and node.func.attr.value in ("tensor", "ones", "zeros", "arange", "eye", "full", "linspace")
        and all(_literal(a.value) for a in node.args)
    )


def _literal(node: cst.BaseExpression) -> bool:
    if isinstance(node, cst.List | cst.Tuple):
        return all(_literal(e.value) for e in node.elements)
    if isinstance(node, cst.Dict):
        return all(isinstance(e, cst.DictElement) and _literal(e.key) and _literal(e.value) for e in node.elements)
    return isinstance(node, cst.UnaryOperation | cst.BaseNumber | cst.SimpleString | cst.Name | cst.Attribute)


def _visible(site: Site, call: Site, text: str, known: dict[str, cst.BaseExpression]) -> None:
    """Refuse where a global of the function's file means something else, or nothing, at the call."""
    own = {n.value for value in known.values() for n in walk(value) if isinstance(n, cst.Name)}
    parsed = cst.parse_expression(text)
    bound = _bound_inside(parsed)
    for node in variables(parsed):
        if node in own or node in bound or node not in site.module.bindings:
            continue
        if call.module.path != site.module.path or (call.binds(node) and function_info(call) is not None):
            raise Refusal(f"`{node}` is not in view where the function is called")


def variables(node: cst.CSTNode) -> set[str]:
    from gblint.fixing.reading import variables as names

    return {n.value for n in names(node)}
