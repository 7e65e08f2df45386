"""Executing statements. Every executor returns True if control can reach the statement after it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import libcst as cst

from gblint.interpreter import attributes, conditions, effects, ranks, subscripts, trials, versions
from gblint.interpreter.events import ClassDef, Delete, Enter, Globals, Import, Raise
from gblint.interpreter.expressions import dotted_path, evaluate, inplace, iterate, nested_defaults
from gblint.interpreter.frame import Frame
from gblint.interpreter.values import (
    Class,
    Const,
    External,
    Function,
    Instance,
    PyModule,
    Sequence,
    Stream,
    Unknown,
    Value,
    join,
    join_all,
    members,
)
from gblint.knowledge.packages import SKIPPED_PACKAGES

if TYPE_CHECKING:
    from gblint.index.model import ModuleInfo
    from gblint.interpreter.machine import Machine

Executor = Callable[["Machine", Frame, Any], bool]
NO_GRAD = ("torch.no_grad", "torch.inference_mode")
UNROLL = 4  # exact items a for loop is run over one by one


def execute(machine: Machine, frame: Frame, body: cst.BaseSuite) -> bool:
    """Run a suite; False if it ends in return, raise, break or continue on every path."""
    for statement in body.body:  # noqa: SIM110 - a generator costs a call for each
        if not execute_statement(machine, frame, statement):
            return False
    return True


def execute_statement(machine: Machine, frame: Frame, statement: cst.CSTNode) -> bool:
    """Run one statement."""
    machine.step()
    executor = _EXECUTORS.get(statement.__class__)
    return executor(machine, frame, statement) if executor is not None else True


def _line(machine: Machine, frame: Frame, node: cst.SimpleStatementLine) -> bool:
    for small in node.body:
        executor = _EXECUTORS.get(small.__class__)
        if executor is not None and not executor(machine, frame, small):
            return False
    return True


# -- simple statements --------------------------------------------------------------------------------------------


def _expr(machine: Machine, frame: Frame, node: cst.Expr) -> bool:
    evaluate(machine, frame, node.value)
    return True


def _assign(machine: Machine, frame: Frame, node: cst.Assign) -> bool:
    value = evaluate(machine, frame, node.value)
    for target in node.targets:
        assign(machine, frame, target.target, value, _before(machine, frame, target.target, node.value))
        if target.target.__class__ is cst.Tuple:
            _learn_rank(frame, node.value, target.target)
    return True


def _before(
    machine: Machine, frame: Frame, target: cst.BaseAssignTargetExpression, source: cst.BaseExpression
) -> Value | None:
    """What an attribute was, if an operator makes its new value of that (`self.step = self.step + 1`)."""
    if target.__class__ is not cst.Attribute or source.__class__ is not cst.BinaryOperation or not dotted_path(target):
        return None
    same = next((side for side in (source.left, source.right) if side.deep_equals(target)), None)
    return None if same is None else evaluate(machine, frame, same)


def _learn_rank(frame: Frame, source: cst.BaseExpression, target: cst.Tuple) -> None:
    """`b, c, h, w = x.shape` tells how many dimensions x has."""
    name = ranks.sized(source)
    if not name or any(isinstance(e, cst.StarredElement) for e in target.elements):
        return
    known = ranks.with_rank(frame.env.names.get(name), len(target.elements))
    if known is not None:
        frame.env.names[name] = known


def _ann_assign(machine: Machine, frame: Frame, node: cst.AnnAssign) -> bool:
    if node.value is None:
        return True
    value = evaluate(machine, frame, node.value)
    if isinstance(value, Unknown):
        from gblint.interpreter.guesses import annotation_value

        value = annotation_value(machine, frame, node.annotation.annotation) or value
    assign(machine, frame, node.target, value)
    return True


def _aug_assign(machine: Machine, frame: Frame, node: cst.AugAssign) -> bool:
    left = evaluate(machine, frame, node.target)
    right = evaluate(machine, frame, node.value)
    value = inplace(machine, frame, node.operator, left, right, node)
    assign(machine, frame, node.target, value, before=left)
    return True


def assign(
    machine: Machine, frame: Frame, target: cst.BaseExpression, value: Value, before: Value | None = None
) -> None:
    """Bind a target (name, attribute, subscript, tuple, starred) to a value. before: what the target was, if the value
    is made of that."""
    if target.__class__ is cst.Name:
        store_name(machine, frame, target.value, value, target)
    elif target.__class__ is cst.Attribute:
        receiver = evaluate(machine, frame, target.value)
        attributes.store(machine, frame, receiver, target.attr.value, value, target, before)
    elif target.__class__ is cst.Subscript:
        base = evaluate(machine, frame, target.value)
        index = subscripts.index_values(machine, frame, target)
        subscripts.store(machine, frame, base, index, value, target)
    elif target.__class__ is cst.Tuple or target.__class__ is cst.List:
        _unpack(machine, frame, target, value)
    elif isinstance(target, cst.StarredElement):
        assign(machine, frame, target.value, value)


def store_name(machine: Machine, frame: Frame, name: str, value: Value, node: cst.CSTNode | None = None) -> None:
    """Bind a variable and forget what was known of its attributes."""
    if frame.facts:
        prefix = name + "."
        for fact in [f for f in frame.facts if f.startswith(prefix)]:
            del frame.facts[fact]
    if name in frame.global_names:
        if machine.listens(frame, "globals"):
            machine.emit(frame, "globals", Globals(cst.Name(name), "store", name))
        if node is not None:
            effects.note_global(machine, frame, node)
        machine.global_env(frame.module).names[name] = value
        return
    if isinstance(value, Stream) and value.kind != "range" and _is_global_scope(machine, frame):
        value.passed_in = True
    if name in frame.nonlocal_names:
        _store_outer(machine, frame, name, value, node)
        return
    frame.env.names[name] = value
    if frame.given:
        frame.given.discard(name)


def _store_outer(machine: Machine, frame: Frame, name: str, value: Value, node: cst.CSTNode | None) -> None:
    """Bind a variable of an enclosing function."""
    env = frame.env.parent
    while env is not None and name not in env.names:
        env = env.parent
    if env is not None:
        env.names[name] = join(env.names[name], value) if frame.guards else value
    if node is not None:
        effects.note_global(machine, frame, node)


def _unpack(machine: Machine, frame: Frame, target: cst.Tuple | cst.List, value: Value) -> None:
    found = iterate(machine, frame, value, target)
    elements = target.elements
    starred = next((i for i, e in enumerate(elements) if isinstance(e, cst.StarredElement)), None)
    if isinstance(found, list) and starred is None and len(found) == len(elements):
        for element, item in zip(elements, found, strict=True):
            assign(machine, frame, element.value, item)
        return
    if isinstance(found, list) and starred is not None and len(found) >= len(elements) - 1:
        tail = len(elements) - starred - 1
        middle = found[starred : len(found) - tail]
        for element, item in zip(elements[:starred], found, strict=False):
            assign(machine, frame, element.value, item)
        assign(machine, frame, elements[starred].value, Sequence("list", middle))
        for element, item in zip(elements[starred + 1 :], found[len(found) - tail :], strict=True):
            assign(machine, frame, element.value, item)
        return
    one = found if isinstance(found, Value) else (join_all(found) if found else Unknown("unpacked"))
    for element in elements:
        part = Sequence("list", None, one) if isinstance(element, cst.StarredElement) else one
        assign(machine, frame, element.value, part)


def _return(machine: Machine, frame: Frame, node: cst.Return) -> bool:
    frame.returns.append(evaluate(machine, frame, node.value) if node.value is not None else Const(None))
    return False


def _raise(machine: Machine, frame: Frame, node: cst.Raise) -> bool:
    if node.exc is None or (frame.guards and "try" not in frame.blocks):
        return False  # an arm that fails is seldom taken: what it formats and builds is not judged
    value = evaluate(machine, frame, node.exc)
    if machine.root.kind != "explicit" and "try" not in frame.blocks:
        return False  # nobody compiles what always fails: something about the arguments is not as assumed
    if machine.listens(frame, "raise"):
        callee = value.base if isinstance(value, Instance) else value.dotted if isinstance(value, External) else ""
        machine.emit(frame, "raise", Raise(node, callee, value, "try" in frame.blocks))
    return False


def _assert(machine: Machine, frame: Frame, node: cst.Assert) -> bool:
    plain = node.msg is None or isinstance(node.msg, cst.SimpleString | cst.ConcatenatedString)
    if not plain and isinstance(node.msg, cst.Name):
        plain = isinstance(evaluate(machine, frame, node.msg), Const)
    result = conditions.test(machine, frame, node.test, "assert", plain)
    if result.truth is None:
        conditions.learn(frame, result.then)
    return True


def _break(machine: Machine, frame: Frame, node: cst.Break) -> bool:
    if frame.loop_exits:
        frame.loop_exits[-1].append(dict(frame.env.names))
    return False


def _continue(machine: Machine, frame: Frame, node: cst.Continue) -> bool:
    return False


def _delete(machine: Machine, frame: Frame, node: cst.Del) -> bool:
    targets = [e.value for e in node.target.elements] if isinstance(node.target, cst.Tuple) else [node.target]
    for target in targets:
        if isinstance(target, cst.Name):
            kind = "global" if target.value in frame.global_names else _cell_kind(machine, frame, target.value)
            if machine.listens(frame, "delete"):
                machine.emit(frame, "delete", Delete(node, kind, target.value))
            frame.env.names.pop(target.value, None)
        elif isinstance(target, cst.Attribute):
            receiver = evaluate(machine, frame, target.value)
            if machine.listens(frame, "delete"):
                machine.emit(frame, "delete", Delete(node, "attribute", target.attr.value))
            if isinstance(receiver, Instance):
                receiver.form = 0
                receiver.attrs.pop(target.attr.value, None)
        elif isinstance(target, cst.Subscript):
            base = evaluate(machine, frame, target.value)
            subscripts.delete(machine, frame, base, subscripts.index_values(machine, frame, target), target)
    return True


def _cell_kind(machine: Machine, frame: Frame, name: str) -> str:
    """ "cell" for a variable that a nested function uses, "nonlocal" for one of an enclosing function, else "name"."""
    from gblint.interpreter.functions import tree_of

    if name in frame.nonlocal_names:
        return "nonlocal"
    tree = tree_of(machine, frame.function) if frame.function is not None else None
    return "cell" if tree is not None and name in tree.cells else "name"


def _nonlocal(machine: Machine, frame: Frame, node: cst.Nonlocal) -> bool:
    frame.nonlocal_names.update(item.name.value for item in node.names)
    return True


def _global(machine: Machine, frame: Frame, node: cst.Global) -> bool:
    frame.global_names.update(item.name.value for item in node.names)
    return True


# -- imports ------------------------------------------------------------------------------------------------------


def _import(machine: Machine, frame: Frame, node: cst.Import) -> bool:
    for alias in node.names:
        dotted = _dotted(alias.name)
        target = dotted if alias.asname is not None else dotted.split(".", 1)[0]
        name = alias.asname.name.value if alias.asname is not None else target  # type: ignore[union-attr]
        _import_event(machine, frame, node, dotted)
        store_name(machine, frame, str(name), imported(machine, frame, target))
    return True


def _import_from(machine: Machine, frame: Frame, node: cst.ImportFrom) -> bool:
    base = _absolute(frame, node)
    _import_event(machine, frame, node, base)
    if isinstance(node.names, cst.ImportStar):
        return True
    found = _readable(machine, frame, base)
    for alias in node.names:
        attr = _dotted(alias.name)
        name = str(alias.asname.name.value) if alias.asname is not None else attr  # type: ignore[union-attr]
        value = machine.module_attr(found, attr) if found is not None else None
        store_name(machine, frame, name, value if value is not None else versions.named(machine, f"{base}.{attr}"))
    return True


def imported(machine: Machine, frame: Frame, dotted: str) -> Value:
    """The value `import dotted` binds."""
    found = _readable(machine, frame, dotted)
    return PyModule(found) if found is not None else External(dotted)


def _readable(machine: Machine, frame: Frame, dotted: str) -> ModuleInfo | None:
    """The module behind a name, unless Dynamo never looks into its package."""
    if dotted.partition(".")[0] in SKIPPED_PACKAGES:
        return None
    return machine.project.find(dotted, frame.module)


def _import_event(machine: Machine, frame: Frame, node: cst.CSTNode, dotted: str) -> None:
    if machine.listens(frame, "import"):
        found = machine.project.exists(dotted, frame.module)
        machine.emit(frame, "import", Import(node, dotted, found, frame.rescued > 0))


def _dotted(node: cst.BaseExpression | None) -> str:
    if isinstance(node, cst.Attribute):
        return f"{_dotted(node.value)}.{node.attr.value}"
    return node.value if isinstance(node, cst.Name) else ""


def _absolute(frame: Frame, node: cst.ImportFrom) -> str:
    name = _dotted(node.module) if node.module is not None else ""
    level = len(node.relative)
    if not level:
        return name
    parts = frame.module.package.split(".") if frame.module.package else []
    kept = parts[: len(parts) - (level - 1)] if level > 1 else parts
    return ".".join([*kept, *([name] if name else [])])


# -- definitions --------------------------------------------------------------------------------------------------


def _function_def(machine: Machine, frame: Frame, node: cst.FunctionDef) -> bool:
    if _is_global_scope(machine, frame):
        return True  # bound lazily, from the index
    value = define_function(machine, frame, node, None)
    store_name(machine, frame, node.name.value, value)
    return True


def _is_global_scope(machine: Machine, frame: Frame) -> bool:
    return frame.function is None and frame.env is machine.global_env(frame.module)


def define_function(machine: Machine, frame: Frame, node: cst.FunctionDef, owner: Class | None) -> Value:
    """The value of a def inside a function or a class inside a function, decorators applied."""
    where = f"{frame.function.qualname}." if frame.function is not None else ""
    if owner is None and frame.function is not None:
        owner = frame.function.owner
    function = Function(frame.module, where + node.name.value, None, node, frame.chunk, frame.env, owner)
    machine.closures.append(frame.env)
    function.defaults = nested_defaults(machine, frame, node.params)
    if frame.traced:
        machine.nested_functions.setdefault(id(node), function)
    value: Value = function
    for decorator in reversed(node.decorators):
        value = _decorated(machine, frame, decorator.decorator, value)
    return value


def _decorated(machine: Machine, frame: Frame, decorator: cst.BaseExpression, value: Value) -> Value:
    from gblint.interpreter import functions

    head = decorator.func if isinstance(decorator, cst.Call) else decorator
    if isinstance(head, cst.Name) and head.value in ("staticmethod", "classmethod", "property"):
        return value
    called = evaluate(machine, frame, head)
    if isinstance(called, External):
        dotted = machine.knowledge.canonical(called.dotted)
        if dotted in ("functools.wraps",):
            return value
        made = evaluate(machine, frame, decorator) if isinstance(decorator, cst.Call) else None
        known = functions.external_decorator(machine, dotted, value, made)
        return value if known is None else known
    if isinstance(decorator, cst.Call):
        called = evaluate(machine, frame, decorator)
    return functions.apply(machine, frame, called, value)


def _class_def(machine: Machine, frame: Frame, node: cst.ClassDef) -> bool:
    if _is_global_scope(machine, frame):
        return True
    if machine.listens(frame, "classdef"):
        machine.emit(frame, "classdef", ClassDef(node, node.name.value))
    from gblint.interpreter import classes

    store_name(machine, frame, node.name.value, classes.define_local(machine, frame, node))
    return True


# -- compound statements ------------------------------------------------------------------------------------------


def _ends_in_raise(body: cst.BaseSuite) -> bool:
    last = body.body[-1] if body.body else None
    return last.__class__ is cst.SimpleStatementLine and bool(last.body) and last.body[-1].__class__ is cst.Raise


def _if(machine: Machine, frame: Frame, node: cst.If) -> bool:
    result = conditions.test(machine, frame, node.test, "if")
    if result.truth is not None:
        trials.keep_out(machine, frame, node, result.truth)
        conditions.learn(frame, result.then if result.truth else result.other)
        if result.truth:
            return execute(machine, frame, node.body)
        return _orelse(machine, frame, node.orelse)
    body = _arm(machine, frame, node.body)
    return fork(
        machine,
        frame,
        [
            (result.then, _optional(frame, body) if result.off else body),
            (result.other, lambda: _orelse(machine, frame, node.orelse)),
        ],
        guarded=not _is_training_flag(node.test),
    )


def _optional(frame: Frame, arm: Callable[[], bool]) -> Callable[[], bool]:
    """An arm whose condition is false by default."""

    def run() -> bool:
        frame.optional += 1
        try:
            return arm()
        finally:
            frame.optional -= 1

    return run


def _is_training_flag(test: cst.BaseExpression) -> bool:
    """`self.training` is true in some runs and false in others: neither side is less likely for being guarded by it."""
    if test.__class__ is cst.UnaryOperation:
        test = test.expression
    return test.__class__ is cst.Attribute and test.attr.value == "training"


def _arm(machine: Machine, frame: Frame, body: cst.BaseSuite) -> Callable[[], bool]:
    """An arm that ends in raise is not judged: it is seldom taken, and never in a run that works."""

    def run() -> bool:
        if not _ends_in_raise(body) or "try" in frame.blocks:
            return execute(machine, frame, body)
        traced, frame.traced = frame.traced, False
        try:
            return execute(machine, frame, body)
        finally:
            frame.traced = traced

    return run


def _orelse(machine: Machine, frame: Frame, orelse: cst.If | cst.Else | None) -> bool:
    if orelse is None:
        return True
    if isinstance(orelse, cst.If):
        return _if(machine, frame, orelse)
    return _arm(machine, frame, orelse.body)()


def fork(
    machine: Machine, frame: Frame, arms: list[tuple[dict[str, Value], Callable[[], bool]]], guarded: bool = True
) -> bool:
    """Run alternatives from the same state and join what falls through."""
    start = frame.snapshot()
    ends = []
    frame.guards += guarded
    try:
        for facts, action in arms:
            frame.restore((dict(start[0]), dict(start[1]), start[2]))
            conditions.learn(frame, facts)
            if action():
                ends.append(frame.snapshot())
    finally:
        frame.guards -= guarded
    if not ends:
        frame.restore(start)
        return False
    frame.restore(_join_states(ends))
    return True


def _join_states(
    states: list[tuple[dict[str, Value], dict[str, Value], object | None]],
) -> tuple[dict[str, Value], dict[str, Value], object | None]:
    if len(states) == 1:
        return states[0]
    names = dict(states[0][0])
    for other, _, _ in states[1:]:
        names = join_names(names, other)
    facts = {k: v for k, v in states[0][1].items() if all(s[1].get(k) is v for s in states[1:])}
    fallen = states[0][2] if all(s[2] is not None for s in states) else None
    return names, facts, fallen


def join_names(a: dict[str, Value], b: dict[str, Value]) -> dict[str, Value]:
    """Variables after either of two paths; a name bound on one path only keeps that value."""
    result = dict(a)
    for name, value in b.items():
        old = result.get(name)
        if old is None:
            result[name] = value
        elif old is not value:
            result[name] = join(old, value)
    return result


def _for(machine: Machine, frame: Frame, node: cst.For) -> bool:
    source = evaluate(machine, frame, node.iter)
    found = iterate(machine, frame, source, node.iter)
    if isinstance(found, list) and not found:
        return _loop_else(machine, frame, node.orelse)
    frame.push("loop", node, source)
    frame.loop_exits.append([])
    try:
        if isinstance(found, list) and len(found) <= UNROLL:
            _unrolled(machine, frame, node, found)
        else:
            one = found if isinstance(found, Value) else join_all(found)
            _repeated(machine, frame, lambda: assign(machine, frame, node.target, one), node.body)
    finally:
        exits = frame.loop_exits.pop()
        frame.pop()
    falls = _loop_else(machine, frame, node.orelse)
    for names in exits:
        frame.env.names = join_names(frame.env.names, names)
    return falls or bool(exits)


def _unrolled(machine: Machine, frame: Frame, node: cst.For, items: list[Value]) -> None:
    for item in items:
        before = dict(frame.env.names)
        assign(machine, frame, node.target, item)
        if not execute(machine, frame, node.body):
            frame.env.names = join_names(before, frame.env.names)


def _repeated(machine: Machine, frame: Frame, prepare: Callable[[], None], body: cst.BaseSuite) -> None:
    """A loop body run once, and again if the first run changed what it starts from."""
    before = dict(frame.env.names)
    prepare()
    execute(machine, frame, body)
    joined = join_names(before, frame.env.names)
    if _changed(before, joined):
        frame.env.names = dict(joined)
        prepare()
        execute(machine, frame, body)
        joined = join_names(joined, frame.env.names)
    frame.env.names = joined


def _changed(before: dict[str, Value], after: dict[str, Value]) -> bool:
    from gblint.interpreter.functions import shape

    return any(after[k] is not v and shape(after[k]) != shape(v) for k, v in before.items() if k in after)


def _loop_else(machine: Machine, frame: Frame, orelse: cst.Else | None) -> bool:
    return execute(machine, frame, orelse.body) if orelse is not None else True


def _while(machine: Machine, frame: Frame, node: cst.While) -> bool:
    frame.push("loop", node)
    frame.loop_exits.append([])
    forever = False
    try:
        result = conditions.test(machine, frame, node.test, "while")
        if result.truth is False:
            return True
        forever = result.truth is True and isinstance(node.test, cst.Name | cst.Integer)
        conditions.learn(frame, result.then)
        _repeated(machine, frame, lambda: None, node.body)
    finally:
        exits = frame.loop_exits.pop()
        frame.pop()
    if forever and exits:
        frame.env.names = exits[0]
        exits = exits[1:]
    for names in exits:
        frame.env.names = join_names(frame.env.names, names)
    return True


def _try(machine: Machine, frame: Frame, node: cst.Try | cst.TryStar) -> bool:
    before = frame.snapshot()
    returned = len(frame.returns)
    frame.push("try")
    if node.finalbody is not None:
        frame.finals.append(node.finalbody.body)
    survives = any(not _ends_in_raise(handler.body) for handler in node.handlers)
    try:
        frame.rescued += survives
        try:
            falls = execute(machine, frame, node.body)
        finally:
            frame.rescued -= survives
        if not falls and len(frame.returns) > returned and not isinstance(frame.returns[-1], Unknown):
            # The body gave a known result: handlers are for runs in which it failed.
            if node.finalbody is not None:
                execute(machine, frame, node.finalbody.body)
            return False
        ends = []
        if falls:
            if node.orelse is not None:
                falls = execute(machine, frame, node.orelse.body)
            if falls:
                ends.append(frame.snapshot())
        middle = join_names(before[0], frame.env.names)
        frame.guards += 1
        machine.context.handling += 1
        try:
            for handler in node.handlers:
                frame.restore((dict(middle), {}, frame.fallen))
                if handler.name is not None and isinstance(handler.name.name, cst.Name):
                    frame.env.names[handler.name.name.value] = Unknown("exception")
                if execute(machine, frame, handler.body):
                    if handler.name is not None and isinstance(handler.name.name, cst.Name):
                        frame.env.names.pop(handler.name.name.value, None)
                    ends.append(frame.snapshot())
        finally:
            frame.guards -= 1
            machine.context.handling -= 1
    finally:
        frame.pop()
        if node.finalbody is not None:
            frame.finals.pop()
    if ends:
        frame.restore(_join_states(ends))
    if node.finalbody is not None:
        falls_final = execute(machine, frame, node.finalbody.body)
        return bool(ends) and falls_final
    return bool(ends)


def _with(machine: Machine, frame: Frame, node: cst.With) -> bool:
    from gblint.interpreter import managers

    pushed = graded = 0
    try:
        for item in node.items:
            manager = evaluate(machine, frame, item.item)
            callee, hard = managers.classify(machine, frame, manager, item.item)
            if machine.listens(frame, "enter"):
                machine.emit(frame, "enter", Enter(item.item, callee, manager))
            entered = managers.enter(machine, frame, manager, item.item)
            frame.push(managers.block_of(callee, hard))
            pushed += 1
            machine.no_grad += callee in NO_GRAD
            graded += callee in NO_GRAD
            if item.asname is not None:
                assign(machine, frame, item.asname.name, entered)
        return execute(machine, frame, node.body) or managers.swallows(machine, node)
    finally:
        machine.no_grad -= graded
        for _ in range(pushed):
            frame.pop()


def _match(machine: Machine, frame: Frame, node: cst.Match) -> bool:
    subject = evaluate(machine, frame, node.subject)
    arms: list[tuple[dict[str, Value], Callable[[], bool]]] = []
    total = False
    for case in node.cases:
        facts, known = _pattern(machine, frame, case.pattern, subject)
        if known is False:
            continue
        arms.append((facts, lambda body=case.body: execute(machine, frame, body)))  # type: ignore[misc]
        if known is True and case.guard is None:
            total = True
            break
    if not total:
        arms.append(({}, lambda: True))
    return fork(machine, frame, arms, guarded=len(arms) > 1)


def _pattern(
    machine: Machine, frame: Frame, pattern: cst.MatchPattern, subject: Value
) -> tuple[dict[str, Value], bool | None]:
    """Names a pattern binds, and whether it matches (None: cannot tell)."""
    if isinstance(pattern, cst.MatchAs):
        facts, known = _pattern(machine, frame, pattern.pattern, subject) if pattern.pattern is not None else ({}, True)
        if pattern.name is not None:
            facts[pattern.name.value] = subject
        return facts, known
    if isinstance(pattern, cst.MatchValue):
        value = evaluate(machine, frame, pattern.value)
        if isinstance(value, Const) and isinstance(subject, Const):
            return {}, bool(value.value == subject.value)
        return {}, None
    if isinstance(pattern, cst.MatchSequence):
        return _sequence_pattern(machine, frame, pattern, subject)
    if isinstance(pattern, cst.MatchClass):
        return _class_pattern(machine, frame, pattern, subject)
    return _loose_names(pattern), None


def _sequence_pattern(
    machine: Machine, frame: Frame, pattern: cst.MatchSequence, subject: Value
) -> tuple[dict[str, Value], bool | None]:
    items = subject.items if isinstance(subject, Sequence) else None
    facts: dict[str, Value] = {}
    known: bool | None = None
    for position, element in enumerate(pattern.patterns):
        if isinstance(element, cst.MatchStar):
            if element.name is not None:
                facts[element.name.value] = subject
            continue
        item = items[position] if items is not None and position < len(items) else Unknown("matched")
        facts.update(_pattern(machine, frame, element.value, item)[0])
    if (
        items is not None
        and not any(isinstance(e, cst.MatchStar) for e in pattern.patterns)
        and len(items) != len(pattern.patterns)
    ):
        known = False
    return facts, known


def _class_pattern(
    machine: Machine, frame: Frame, pattern: cst.MatchClass, subject: Value
) -> tuple[dict[str, Value], bool | None]:
    wanted = evaluate(machine, frame, pattern.cls)
    known = conditions.instance_test(machine, subject, wanted)
    facts: dict[str, Value] = {}
    for element in pattern.kwds:
        value: Value = Unknown("matched")
        for member in members(subject):
            if isinstance(member, Instance) and element.key.value in member.attrs:
                value = member.attrs[element.key.value]
        facts.update(_pattern(machine, frame, element.pattern, value)[0])
    for part in pattern.patterns:
        facts.update(_pattern(machine, frame, part.value, Unknown("matched"))[0])
    return facts, None if pattern.kwds or pattern.patterns else known


def _loose_names(pattern: cst.CSTNode) -> dict[str, Value]:
    names: dict[str, Value] = {}
    stack = [pattern]
    while stack:
        current = stack.pop()
        if isinstance(current, cst.MatchAs | cst.MatchStar) and current.name is not None:
            names[current.name.value] = Unknown("matched")
        stack.extend(current.children)
    return names


_EXECUTORS: dict[type, Executor] = {
    cst.Expr: _expr,
    cst.Assign: _assign,
    cst.AnnAssign: _ann_assign,
    cst.AugAssign: _aug_assign,
    cst.Return: _return,
    cst.Raise: _raise,
    cst.Assert: _assert,
    cst.Break: _break,
    cst.Continue: _continue,
    cst.Del: _delete,
    cst.Global: _global,
    cst.Nonlocal: _nonlocal,
    cst.Import: _import,
    cst.ImportFrom: _import_from,
    cst.SimpleStatementLine: _line,
    cst.FunctionDef: _function_def,
    cst.ClassDef: _class_def,
    cst.If: _if,
    cst.For: _for,
    cst.While: _while,
    cst.Try: _try,
    cst.TryStar: _try,
    cst.With: _with,
    cst.Match: _match,
}
