"""Running functions: their trees, binding arguments to parameters, decorators, generators."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING, Any

import libcst as cst

from gblint.interpreter.events import Call, Compile, Entry
from gblint.interpreter.frame import Frame
from gblint.interpreter.handing import mark_input
from gblint.interpreter.scope import Scope
from gblint.interpreter.source import Chunk, code
from gblint.interpreter.values import (
    NONE,
    Bound,
    Class,
    Compiled,
    Const,
    Environment,
    External,
    Function,
    Instance,
    Mapping,
    Partial,
    Plain,
    PyModule,
    Sequence,
    Slice,
    Stream,
    Tensor,
    Union,
    Unknown,
    Value,
    as_tensor,
    is_none,
    join_all,
)
from gblint.interpreter.walk import only, walk_scope

if TYPE_CHECKING:
    from gblint.index.model import FunctionInfo, ModuleInfo
    from gblint.interpreter.machine import Machine

# An entry of a docstring, as `mask (torch.BoolTensor): ...`, or `mask: Boolean mask of ...` with or without a type.
DOCUMENTED_MASK = re.compile(
    r"^[ \t]*`{0,2}(\w+)`{0,2}[ \t]*"
    r"(?:\([^)\n]*BoolTensor|(?:\([^\n]*\))?[ \t]*:\s*(?:an? |the |optional )?bool(?:ean)? (?:mask|tensor))",
    re.MULTILINE | re.IGNORECASE,
)


class Signature:
    """Parameters of a function: positional names (positional-only first), keyword-only names, star names, and the
    annotation and default expressions by name."""

    __slots__ = ("annotations", "defaults", "keyword", "positional", "star", "star_star")

    def __init__(self, parameters: cst.Parameters) -> None:
        positional = [*parameters.posonly_params, *parameters.params]
        self.positional = [p.name.value for p in positional]
        self.keyword = [p.name.value for p in parameters.kwonly_params]
        star = parameters.star_arg
        self.star = star.name.value if isinstance(star, cst.Param) else ""
        self.star_star = parameters.star_kwarg.name.value if parameters.star_kwarg is not None else ""
        every = [*positional, *parameters.kwonly_params]
        self.defaults: dict[str, cst.BaseExpression] = {p.name.value: p.default for p in every if p.default is not None}
        stars = [p for p in (star, parameters.star_kwarg) if isinstance(p, cst.Param)]
        self.annotations: dict[str, cst.BaseExpression] = {
            p.name.value: p.annotation.annotation for p in [*every, *stars] if p.annotation is not None
        }


class FunctionTree:
    """A function ready to run."""

    def __init__(self, node: cst.FunctionDef | cst.Lambda, chunk: Chunk, is_generator: bool, is_async: bool) -> None:
        self.node = node
        self.chunk = chunk
        self.signature = Signature(node.params)
        self.is_generator = is_generator
        self.is_async = is_async
        self._uses: Any = None

    @cached_property
    def scope(self) -> Scope:
        """The variables of the body."""
        return Scope(self.node)

    @cached_property
    def masks(self) -> frozenset[str]:
        """Parameters that the docstring calls boolean masks."""
        text = self.node.get_docstring() if isinstance(self.node, cst.FunctionDef) else None
        return frozenset(DOCUMENTED_MASK.findall(text)) if text and "ool" in text else frozenset()

    @property
    def cells(self) -> set[str]:
        """Variables that a nested function or lambda reads."""
        return self.scope.cells

    @property
    def uses(self) -> Any:
        """How the body uses each name (see `uses.py`), computed once."""
        if self._uses is None:
            from gblint.interpreter.uses import collect

            self._uses = collect(self.node)
        return self._uses


def identity(function: Function) -> Any:
    """What makes two function values the same code in the same closure."""
    if function.info is not None:
        return (function.module.path, function.info.start, function.qualname)
    return (id(function.node), id(function.closure))


def full_name(function: Function) -> str:
    """Dotted name for people: module and qualified name."""
    return f"{function.module.name}.{function.qualname}"


def tree_of(machine: Machine, function: Function) -> FunctionTree | None:
    """The tree of a function, parsed on first use; None if its text does not parse."""
    if function.info is None:
        return _nested_tree(machine, function)
    key = (function.module.path, function.info.start)
    tree = machine.trees.get(key)
    if tree is not None:
        tree.chunk.note(machine.project)
    else:
        chunk = chunk_of(machine, function.module, function.info.start, function.info.end)
        node = _first_def(chunk, function.name) if chunk is not None else None
        if chunk is None or node is None:
            return None
        tree = machine.trees[key] = FunctionTree(node, chunk, function.info.is_generator, function.info.is_async)
    return tree


def chunk_of(machine: Machine, module: ModuleInfo, start: int, end: int) -> Chunk | None:
    """Rows of a module as a parsed chunk; None if libcst cannot parse them."""
    key = (module.path, start)
    known = machine.chunks.get(key)
    if known is not None:
        known.note(machine.project)
        return known
    try:
        chunk = machine.forest.chunk(module, start, machine.project.lines(module, start, end))
    except (cst.ParserSyntaxError, OSError, IndexError):
        return None
    machine.chunks[key] = chunk
    chunk.note(machine.project)
    return chunk


def _first_def(chunk: Chunk, name: str) -> cst.FunctionDef | None:
    for statement in chunk.body:
        if isinstance(statement, cst.FunctionDef) and statement.name.value == name:
            return statement
    return None


def _nested_tree(machine: Machine, function: Function) -> FunctionTree | None:
    node, chunk = function.node, function.chunk
    if node is None or chunk is None:
        return None
    tree = machine.nested.get(id(node))
    if tree is None:
        yields = isinstance(node, cst.FunctionDef) and contains_yield(node.body)
        tree = FunctionTree(node, chunk, yields, isinstance(node, cst.FunctionDef) and node.asynchronous is not None)
        machine.nested[id(node)] = tree
    return tree


def contains_yield(node: cst.CSTNode) -> bool:
    """True if a body yields itself (nested functions and lambdas left out)."""
    return next(only(walk_scope([node]), cst.Yield), None) is not None


# -- argument shapes ----------------------------------------------------------------------------------------------


def shape(value: Value, depth: int = 0) -> Any:
    """A hashable summary of a value: equal summaries run a function the same way."""
    if isinstance(value, Tensor):
        return ("T", value.dtype, value.rank, value.c > 0.5, value.subclass, value.role == "parameter")
    if isinstance(value, Const):
        v = value.value
        return ("C", type(v).__name__, v)
    if isinstance(value, Plain):
        return ("P", value.type, value.symbolic)
    if isinstance(value, Instance):
        return ("F", value.form) if value.form else ("I", id(value))
    if isinstance(value, Function):
        return identity(value)
    if isinstance(value, External):
        return value.dotted
    if depth > 2:
        return type(value).__name__
    if isinstance(value, Sequence):
        if value.items is not None and len(value.items) <= 8:
            return (value.kind, *(shape(i, depth + 1) for i in value.items))
        return (value.kind, shape(value.element(), depth + 1))
    if isinstance(value, Mapping):
        return (
            ("D", id(value))
            if len(value.items) > 8
            else ("D", *((k, shape(v, depth + 1)) for k, v in value.items.items()))
        )
    if isinstance(value, Union):
        return ("U", *(shape(m, depth + 1) for m in value.members))
    if isinstance(value, Bound):
        return ("B", shape(value.function, depth + 1), shape(value.receiver, depth + 1))
    if isinstance(value, Stream):
        return (value.kind, value.passed_in, shape(value.element(), depth + 1))
    if isinstance(value, Slice):
        return ("S", shape(value.lower, depth + 1), shape(value.upper, depth + 1))
    if isinstance(value, Class):
        return (value.module.path, value.info.start)
    if isinstance(value, PyModule):
        return value.info.path
    if isinstance(value, Partial | Compiled):
        return id(value)
    return "?"


def call_key(args: list[Value], kwargs: dict[str, Value], traced: bool, starts: bool) -> Any:
    """The memo key of a call."""
    key = (traced, starts, *(shape(a) for a in args), *((k, shape(v)) for k, v in kwargs.items()))
    try:
        hash(key)
    except TypeError:
        return (traced, starts, len(args), *kwargs)
    return key


def kind(value: Value, depth: int = 0) -> str:
    """What a value is in one word: enough to tell a tensor, a number and a list of either apart."""
    if as_tensor(value) is not None:
        return "tensor"
    if isinstance(value, Const | Plain):
        return "None" if is_none(value) else "plain"
    if isinstance(value, Sequence) and depth < 2:
        return f"[{kind(value.element(), depth + 1)}]"
    return type(value).__name__


def kinds(args: list[Value], kwargs: dict[str, Value]) -> tuple[object, ...]:
    """The kinds of the arguments of a call."""
    return (*(kind(a) for a in args), *((k, kind(v)) for k, v in kwargs.items()))


_NO_CODE = frozenset((Tensor, Const, Plain, Unknown, Sequence, Mapping, Union))


def family(identity: Any, args: list[Value], kwargs: dict[str, Value]) -> Any:
    """The calls that may answer for each other once a function has been run often: same code, and the same classes and
    functions among the arguments, since what those do is not alike."""
    return (identity, *(_code_of(a) for a in args), *(_code_of(a) for a in kwargs.values()))


def _code_of(value: Value) -> Any:
    if value.__class__ in _NO_CODE:
        return None
    if isinstance(value, Instance):
        return (value.cls.module.path, value.cls.info.start) if value.cls is not None else value.base
    if isinstance(value, Function):
        return identity(value)
    if isinstance(value, Bound):
        return (_code_of(value.function), _code_of(value.receiver))
    if isinstance(value, Class):
        return (value.module.path, value.info.start)
    return None


# -- running ------------------------------------------------------------------------------------------------------


def run(
    machine: Machine,
    frame: Frame,
    function: Function,
    tree: FunctionTree,
    args: list[Value],
    kwargs: dict[str, Value],
    node: cst.CSTNode | None,
    opaque: bool,
    starts: bool,
) -> tuple[Value, Frame]:
    """Execute a function body; give its result and the finished frame."""
    from gblint.interpreter.expressions import evaluate
    from gblint.interpreter.statements import execute

    env = Environment({}, function.closure)
    child = Frame(function.module, tree.chunk, env, function, frame, node, frame.traced, starts)
    if frame.fallen is not None and not starts:
        child.fallen = frame.fallen
    if function.name == "__init__" and args and isinstance(args[0], Instance) and args[0].base.startswith("torch.nn."):
        child.helpers = 0
    machine.executed.add((function.module.path, function.qualname, 0 if function.info is None else function.info.start))
    env.names = bind(machine, child, function, tree, args, kwargs, opaque)
    if frame.pure == 1:
        child.given = set(env.names)
    if starts and machine.listens(child, "entry"):
        machine.emit(child, "entry", Entry(_name_node(tree), function, is_root=frame.caller is None))
    if isinstance(tree.node, cst.Lambda):
        return evaluate(machine, child, tree.node.body), child
    if tree.is_generator:
        child.push("generator")
    falls = execute(machine, child, tree.node.body)
    if tree.is_generator:
        return _generator_result(function, child), child
    if tree.is_async:
        return Unknown("awaitable"), child
    results = child.returns + ([NONE] if falls else [])
    return (join_all(results) if results else Unknown("never returns")), child


def _name_node(tree: FunctionTree) -> cst.CSTNode:
    """Where Dynamo says a function starts: its first decorator, if it has one."""
    if not isinstance(tree.node, cst.FunctionDef):
        return tree.node
    return tree.node.decorators[0].decorator if tree.node.decorators else tree.node.name


def _generator_result(function: Function, child: Frame) -> Value:
    elem = join_all(child.yields) if child.yields else None
    items = list(child.yields) if len(child.yields) == 1 else None
    return Stream("generator", elem, items if function.mark == "contextmanager" else None)


def bind(
    machine: Machine,
    child: Frame,
    function: Function,
    tree: FunctionTree,
    args: list[Value],
    kwargs: dict[str, Value],
    opaque: bool,
) -> dict[str, Value]:
    """The variables a call starts with. Parameters that get nothing hold their default, else Unknown."""
    from gblint.interpreter.guesses import believe_annotation

    signature = tree.signature
    names: dict[str, Value] = {}
    for name, value in zip(signature.positional, args, strict=False):
        names[name] = value
    spare = dict(kwargs)
    for name in (*signature.positional, *signature.keyword):
        if name in spare and name not in names:
            names[name] = spare.pop(name)
        elif name not in names:
            names[name] = default_value(machine, child, function, tree, name, opaque)
        if name in signature.annotations:
            names[name] = believe_annotation(machine, function, tree, name, names[name])
    if signature.star:
        rest = args[len(signature.positional) :]
        names[signature.star] = Sequence("tuple", list(rest)) if not opaque else _at_least(rest)
    if signature.star_star:
        names[signature.star_star] = rest_by_name = Mapping(spare, exact=not opaque)
        rest_by_name.outside = "yes" if child.starts else "alone"
    return names


def _at_least(first: list[Value]) -> Sequence:
    """A tuple that starts with these values; what follows is not known."""
    found = Sequence("tuple", None, join_all(first) if first else None)
    found.prefix = first or None
    return found


def default_value(
    machine: Machine, child: Frame, function: Function, tree: FunctionTree, name: str, opaque: bool = False
) -> Value:
    """The value of a parameter that was not passed."""
    if function.defaults is not None and name in function.defaults:
        return function.defaults[name]
    default = tree.signature.defaults.get(name)
    if default is None or opaque:
        return Unknown(f"argument {name} is not known")
    from gblint.interpreter.expressions import evaluate

    scope = Frame(function.module, tree.chunk, Environment({}, function.closure), None)
    return evaluate(machine, scope, default)


def marked_call(
    machine: Machine, frame: Frame, function: Function, args: list[Value], kwargs: dict[str, Value], node: cst.CSTNode
) -> Value | None:
    """A call of a function Dynamo was told something about; None if it is to be run all the same."""
    from gblint.interpreter import customs, trials
    from gblint.interpreter.guesses import return_guess

    if function.mark in ("contextmanager", "lru_cache", "jit"):
        return None
    if not frame.traced:
        return None
    machine.marked[node] = function
    mark = function.mark
    if mark in trials.MARKS:
        trials.leave_out(machine, function, args, kwargs, node)
    if mark == "custom_op" and not customs.has_fake(machine, function):
        mark = "custom_op_without_fake"
    machine.emit_call(
        frame, Call(node, f"mark:{mark}", args, kwargs, _receiver(function, args), name=full_name(function))
    )
    if mark in trials.MARKS:
        return _run_eagerly(machine, frame, function, args, kwargs, node)
    return None if mark == "context_decorator" else return_guess(machine, function, args)


def _run_eagerly(
    machine: Machine, frame: Frame, function: Function, args: list[Value], kwargs: dict[str, Value], node: cst.CSTNode
) -> Value:
    """What a function gives that runs between two graphs; what its annotation says where it does not tell."""
    from gblint.interpreter.guesses import return_guess

    frame.traced = False
    try:
        value = machine.call_function(frame, function, args, kwargs, node)
    finally:
        frame.traced = True
    return return_guess(machine, function, args) if isinstance(value, Unknown) else mark_input(value)


def _receiver(function: Function, args: list[Value]) -> Value | None:
    """What a method was called on; None for plain functions, static methods and properties."""
    from gblint.interpreter.classes import _binding_kind

    is_method = function.owner is not None and function.info is not None and _binding_kind(function) in ("", "class")
    return args[0] if is_method and args else None


# -- decorators ---------------------------------------------------------------------------------------------------

_BINDING = {
    "staticmethod",
    "classmethod",
    "property",
    "abstractmethod",
    "abc.abstractmethod",
    "typing.override",
    "override",
    "final",
}
_MARKS = {
    "torch.compiler.disable": "disable",
    "torch._dynamo.disable": "disable",
    "torch._disable_dynamo": "disable",
    "torch._dynamo.disallow_in_graph": "disallow_in_graph",
    "torch.compiler.allow_in_graph": "allow_in_graph",
    "torch._dynamo.allow_in_graph": "allow_in_graph",
    "torch._dynamo.nonstrict_trace": "nonstrict_trace",
    "torch.compiler.nonstrict_trace": "nonstrict_trace",
    "torch._dynamo.leaf_function": "leaf_function",
    "torch._dynamo.decorators.leaf_function": "leaf_function",
    "torch.compiler.assume_constant_result": "assume_constant_result",
    "torch._dynamo.assume_constant_result": "assume_constant_result",
    "torch.compiler.substitute_in_graph": "substitute",
    "torch.library.custom_op": "custom_op",
    "torch.library.triton_op": "custom_op",
    "torch.jit.script": "jit",
    "torch.jit.ignore": "",
    "torch.jit.unused": "",
    "contextlib.contextmanager": "contextmanager",
    "contextlib.asynccontextmanager": "contextmanager",
    "functools.lru_cache": "lru_cache",
    "functools.cache": "lru_cache",
}
_MANAGERS = (
    "torch.no_grad",
    "torch.enable_grad",
    "torch.inference_mode",
    "torch.autocast",
    "torch.amp.",
    "torch.cuda.amp.",
)


def mark_of(dotted: str) -> str | None:
    """What a decorator tells Dynamo about a function; None if nothing is known of it."""
    return _MARKS.get(dotted)


def method_value(machine: Machine, owner: Class | None, module: ModuleInfo, info: FunctionInfo) -> Value:
    """The value a `def` at module or class level binds: the function with its decorators applied."""
    key = (module.path, info.start)
    value = machine.function_values.get(key)
    if value is None:
        function = Function(
            module, info.qualname, info, owner=owner, closure=owner.closure if owner is not None else None
        )
        machine.function_values[key] = function  # seen by decorators that refer back to it
        value = decorate(machine, module, function, info.decorators)
        machine.function_values[key] = value
    return value


def decorate(machine: Machine, module: ModuleInfo, function: Function, texts: tuple[str, ...]) -> Value:
    """Apply decorators given as source text, innermost first."""
    value: Value = function
    for text in reversed(texts):
        head = text.split("(", 1)[0].strip()
        if head in _BINDING or head.endswith((".setter", ".getter", ".deleter")):
            continue
        value = _apply_text(machine, module, function, value, text, head)
    if value is not function and isinstance(value, Function) and texts:
        return _bound_alike(function, value)
    return value


def _bound_alike(function: Function, wrapper: Function) -> Function:
    """A wrapper that is looked up on objects the way the method beneath it would be."""
    from gblint.interpreter.classes import _binding_kind

    kind = _binding_kind(function)
    if not kind:
        return wrapper
    copy = with_mark(wrapper, wrapper.mark)
    copy.binding = kind
    return copy


def _apply_text(machine: Machine, module: ModuleInfo, function: Function, value: Value, text: str, head: str) -> Value:
    from gblint.interpreter.expressions import evaluate_text

    scope = Frame(module, Chunk(module, 1, _EMPTY), Environment({}, function.closure))
    decorator = evaluate_text(machine, scope, head)
    if isinstance(decorator, External):
        dotted = machine.knowledge.canonical(decorator.dotted)
        called = evaluate_text(machine, scope, text) if "(" in text and dotted == COMPILE else None
        if isinstance(called, Partial):
            _tell_decorator(machine, function, head, called.kwargs)
        known = external_decorator(machine, dotted, value, called, "recursive=False" in text.replace(" ", ""))
        if known is not None:
            return known
        return value
    if isinstance(decorator, Unknown) or decorator is None:
        return value
    if isinstance(decorator, Function) and not decorator.mark:
        from gblint.interpreter.passing import hands_back

        if hands_back(machine, decorator, "(" in text):
            return value
    called = evaluate_text(machine, scope, text) if "(" in text else decorator
    return apply(machine, scope, called, value)


COMPILE = "torch.compile"


def tell_compile(machine: Machine, frame: Frame, node: cst.CSTNode, arguments: dict[str, Value]) -> None:
    """Tell the rules how something is compiled, by code of the project."""
    if arguments and frame.chunk.tree is not _EMPTY and machine.project.owns(frame.module.path):
        machine.emit(
            Frame(frame.module, frame.chunk, Environment({}), traced=True), "compile", Compile(node, arguments)
        )


def _tell_decorator(machine: Machine, function: Function, head: str, arguments: dict[str, Value]) -> None:
    tree = tree_of(machine, function)
    if tree is None or not isinstance(tree.node, cst.FunctionDef):
        return
    for decorator in tree.node.decorators:
        node = decorator.decorator
        if isinstance(node, cst.Call) and code(node.func) == head:
            scope = Frame(function.module, tree.chunk, Environment({}))
            tell_compile(machine, scope, node, arguments)


def apply(machine: Machine, scope: Frame, decorator: Value | None, value: Value) -> Value:
    """decorator(value) for a decorator whose source is at hand; the undecorated value if nothing callable comes of
    it."""
    if not isinstance(decorator, Function | Bound | Partial | Class | Instance):
        return value
    if (
        isinstance(decorator, Instance)
        and decorator.base == "contextlib.ContextDecorator"
        and isinstance(value, Function)
    ):
        return with_mark(value, "context_decorator")
    try:
        result = machine.call(scope, decorator, [value], {}, _NOWHERE)
    except RecursionError:
        return value
    return result if isinstance(result, Function | Bound | Partial | Instance | Compiled) else value


def external_decorator(
    machine: Machine, dotted: str, value: Value, called: Value | None, shallow: bool = False
) -> Value | None:
    """The result of a decorator from torch or the stdlib; None if it leaves the function as it is.

    called: what the call that makes the decorator gave, if it is one. shallow: `disable` was told to leave the
    functions called alone.
    """
    if dotted == COMPILE:
        compiled = Compiled(value, called.kwargs if isinstance(called, Partial) else None)
        machine.compiled.append((compiled, None, None))  # type: ignore[arg-type]
        return compiled
    mark = mark_of(dotted)
    if mark == "disable" and shallow:
        mark = "disable_frame"
    if mark and isinstance(value, Function):
        return with_mark(value, mark)
    return None


def with_mark(function: Function, mark: str) -> Function:
    """A copy of a function that carries a mark."""
    copy = Function(
        function.module,
        function.qualname,
        function.info,
        function.node,
        function.chunk,
        function.closure,
        function.owner,
        mark,
    )
    copy.defaults = function.defaults
    copy.binding = function.binding
    return copy


_NOWHERE = cst.Name("_")
from gblint.interpreter.source import Tree as _Tree  # noqa: E402

_EMPTY = _Tree(cst.Module([]), 0, "")
