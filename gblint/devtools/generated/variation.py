"""Varies a program by chance: its inputs, values, operators, names, the order of its statements, what stands around
them, and how all of it is written.

What comes out need not make sense, only compile: programs that end in an error do not count.
"""

from __future__ import annotations

import ast
import copy
import random
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

EVENTS = ast.parse("events = []\n\ndef note(value):\n    events.append(len(events))\n    return value\n").body
NUMBERS = (0, 1, -1, 2, 3, 0.0, 0.5, -2.0, 1e-3, 100.0)
COMPARISONS = (ast.Gt, ast.Lt, ast.GtE, ast.LtE, ast.Eq, ast.NotEq)
OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div)
MODULES = ("torch", "F", "nn", "np", "math", "copy", "contextlib", "logging", "time", "warnings", "os", "collections")
NAMES = ("mask", "keep", "taken", "out", "result", "y", "rows", "total", "value", "flag", "chosen", "x", "new", "size")
READERS = ("sum", "item", "mean", "abs", "tolist", "numel")  # what a program prints is what is left without them
# What stands around statements; the last statement of the text holds them.
AROUND = (
    "with torch.no_grad():\n    pass",
    "with torch.enable_grad():\n    pass",
    "for _ in range(1):\n    pass",
    "for step in range(2):\n    pass",
    "if torch.is_grad_enabled():\n    pass",
    "if len(events) < 5:\n    pass",
    "try:\n    pass\nfinally:\n    events.append('done')",
    "try:\n    pass\nexcept RuntimeError:\n    events.append('failed')",
    "while True:\n    pass\n    break",
)
# Statements that read or change a variable.
USES = (
    "events.append({0})",
    "{0} += 1",
    "{0}.mul_(2)",
    "{0}[0] = 5",
    "{0}.add_(1)",
    "{0} = {0} * 1",
    "other = {0}",
    "events.append({0}.shape)",
    "{0}[:1] += 1",
    "events.append(type({0}).__name__)",
)
# Inputs made of another: with other values, and of another shape, type or layout.
VALUES = (
    "{0} * -1", "{0} * 4", "{0} - 1", "{0}.clone()", "torch.rand_like({0})", "torch.randn_like({0})", "-{0}",
    "{0}.flip(0)",
)  # fmt: skip
INPUTS = (
    "{0} * -1", "{0} * 0", "{0} * 4", "{0} - 1", "{0} + float('nan')", "{0} * float('inf')", "{0}.half()",
    "{0}.double()", "{0}.long()", "{0}.int()", "{0}.bool()", "{0}.requires_grad_()", "{0}.mT",
    "torch.stack([{0}, {0}], -1)[..., 0]",
    "{0}[:0]", "{0}[None]", "{0}[0]", "{0}.clone()", "torch.rand_like({0})", "torch.randn_like({0})", "-{0}",
    "{0}.flip(0)", "{0}.expand(2, *{0}.shape)", "torch.cat([{0}, {0}])", "{0}.bfloat16()",
    "torch.arange({0}.numel()).reshape({0}.shape) * 1.0", "torch.arange({0}.numel()).reshape({0}.shape) - 1.5",
    "{0}.ne({0})", "torch.nn.Parameter({0})", "{0}.to(torch.uint8)", "{0}[..., :1]", "{0}.squeeze()",
)  # fmt: skip
FACTORIES = {"ones", "zeros", "tensor", "full", "arange", "rand", "randn", "eye", "randint", "empty", "linspace"}


def varied(text: str, draw: random.Random, changes: int, usual: bool = False) -> str:
    """The program with about so many changes, its results in statements of their own and on further inputs; usual:
    inputs keep their shape and type."""
    tree = ast.parse(text)
    variation = Variation(tree, draw, VALUES if usual else INPUTS)
    variation.expose()
    for _ in range(changes):
        variation.change()
    variation.call_again()
    return decorated(ast.unparse(ast.fix_missing_locations(tree)) + "\n", draw)


class Variation:
    """Changes one tree. inputs: forms of further inputs."""

    def __init__(self, tree: ast.Module, draw: random.Random, inputs: Sequence[str] = INPUTS) -> None:
        self.tree = tree
        self.draw = draw
        self.inputs = inputs

    # -------------------------------------------------------------------------------------------- what is looked at

    def expose(self) -> None:
        """What is printed stands in statements of its own; what the program has noted on the way comes last."""
        self.tree.body[:] = [new for statement in self.tree.body for new in exposed(statement)]
        first = next((i for i, s in enumerate(self.tree.body) if not isinstance(s, (ast.Import, ast.ImportFrom))), 0)
        self.tree.body[first:first] = copy.deepcopy(EVENTS)
        self.tree.body.append(ast.Expr(ast.Name("events", ast.Load())))

    def call_again(self) -> None:
        """Call what is compiled on other inputs too, and look at the inputs afterwards."""
        body = self.tree.body
        calls = [s for s in body if isinstance(s, ast.Expr) and isinstance(s.value, ast.Call)]
        for statement in self.draw.sample(calls, min(len(calls), 1)):
            for _ in range(self.draw.choice((0, 1, 1, 2))):
                more = copy.deepcopy(statement)
                for holder, field, leaf in list(tensors(more)):
                    if self.draw.random() < 0.7:
                        put(holder, field, filled(self.draw.choice(self.inputs), leaf))
                body.insert(body.index(statement) + 1, more)
        for statement in [s for s in calls if self.draw.random() < 0.3]:
            self._bind_input(body, body.index(statement), statement)

    def _bind_input(self, body: list[ast.stmt], at: int, statement: ast.stmt) -> None:
        leaves = list(tensors(statement))
        if not leaves:
            return
        holder, field, leaf = self.draw.choice(leaves)
        name = f"given{at}"
        put(holder, field, ast.Name(name, ast.Load()))
        body[at:at] = [ast.Assign([ast.Name(name, ast.Store())], leaf)]
        if self.draw.random() < 0.3 and isinstance(statement, ast.Expr):
            statement.value = filled("{0}.sum().backward()", statement.value)
            put(holder, field, filled("{0}", ast.Name(name, ast.Load())))
            body.insert(at + 2, ast.Expr(filled(f"{name}.grad", leaf)))
        body.insert(at + 2, ast.Expr(ast.Name(name, ast.Load())))

    # ------------------------------------------------------------------------------------------------------ changes

    def change(self) -> None:
        """Make one change; sometimes it finds nothing to change."""
        changes: tuple[tuple[int, Callable[[], None]], ...] = (
            (3, self.number), (3, self.comparison), (2, self.operator), (2, self.negated), (2, self.noted),
            (3, self.surrounded), (3, self.used), (2, self.aliased), (2, self.swapped_arms), (1, self.swapped),
            (2, self.returned_too), (2, self.renamed), (2, self.augmented), (2, self.lifted), (2, self.kept_in),
            (1, self.repeated), (1, self.in_else), (2, self.input), (2, self.helper), (1, self.closure),
            (1, self.method), (1, self.without_annotations), (1, self.inlined), (1, self.compared),
            (1, self.chosen), (2, self.gradients),
        )  # fmt: skip
        (one,) = self.draw.choices([c for _, c in changes], [w for w, _ in changes])
        one()

    def number(self) -> None:
        places = [n for n in self.inner(ast.Constant) if isinstance(n.value, (int, float)) and n.value is not True]
        if places and not isinstance((one := self.draw.choice(places)).value, bool):
            one.value = self.draw.choice(NUMBERS)

    def comparison(self) -> None:
        places = [n for n in self.inner(ast.Compare) if isinstance(n.ops[0], COMPARISONS)]
        if not places:
            return
        one = self.draw.choice(places)
        if self.draw.random() < 0.3 and len(one.ops) == 1:
            one.left, one.comparators = one.comparators[0], [one.left]
        else:
            one.ops[0] = self.draw.choice(COMPARISONS)()

    def operator(self) -> None:
        places = [n for n in self.inner(ast.BinOp) if isinstance(n.op, OPERATORS)]
        if places:
            self.draw.choice(places).op = self.draw.choice(OPERATORS)()

    def negated(self) -> None:
        places = self.inner(ast.If, ast.IfExp, ast.While)
        if places:
            one = self.draw.choice(places)
            one.test = filled(self.draw.choice(("not {0}", "bool({0})", "not (not {0})", "({0}) is True")), one.test)

    def noted(self) -> None:
        """An expression has a side effect."""
        self._replace(self.draw.choice(("note({0})", "note({0})", "(({0}))", "[{0}][0]", "(lambda: {0})()")))

    def lifted(self) -> None:
        """An expression is computed before, into a variable."""
        for body, at in self._places():
            found = [p for p in expressions(body[at]) if isinstance(p[2], (ast.BinOp, ast.Call, ast.Compare))]
            if found:
                holder, field, value = self.draw.choice(found)
                put(holder, field, ast.Name("before", ast.Load()))
                body.insert(at, ast.Assign([ast.Name("before", ast.Store())], value))
                return

    def compared(self) -> None:
        self._replace("({0}) * ({0} == {0})")

    def chosen(self) -> None:
        self._replace("({0} if len(events) < 3 else {0} * 2)")

    def inlined(self) -> None:
        self._replace("(kept := {0})")

    def _replace(self, form: str) -> None:
        for body, at in self._places():
            found = [p for p in expressions(body[at]) if not isinstance(p[2], ast.Constant)]
            if found:
                holder, field, value = self.draw.choice(found)
                put(holder, field, filled(form, value))
                return

    def surrounded(self) -> None:
        for body, at in self._places():
            last = min(len(body), at + self.draw.randint(1, 3))
            around = ast.parse(self.draw.choice(AROUND)).body[0]
            around.body[:1] = body[at:last]  # type: ignore[attr-defined]
            if isinstance(around, ast.While) and isinstance(around.body[-2], ast.Return):
                del around.body[-1]
            body[at:last] = [around]
            return

    def used(self) -> None:
        for body, at in self._places():
            names = sorted({n.id for s in body[: at + 1] for n in ast.walk(s) if isinstance(n, ast.Name)})
            names = [n for n in names if n not in MODULES and n not in ("events", "note", "range", "self")]
            if names and not isinstance(body[at], ast.Return):
                body[at + 1 : at + 1] = ast.parse(self.draw.choice(USES).format(self.draw.choice(names))).body
                return

    def aliased(self) -> None:
        """A second name, or a view, of a variable, that is given back too."""
        for function in self._functions():
            names = bound(function)
            if not names:
                continue
            name = self.draw.choice(names)
            form = self.draw.choice(("{0}", "{0}[:1]", "{0}.view(-1)", "{0}.detach()", "[{0}]", "{0}.T"))
            at = self.draw.randint(0, len(function.body) - 1)
            function.body[at:at] = ast.parse(f"alias = {form.format(name)}").body
            give_too(function, "alias")
            return

    def returned_too(self) -> None:
        for function in self._functions():
            names = bound(function)
            if names:
                give_too(function, self.draw.choice(names))
                return

    def swapped_arms(self) -> None:
        places = [n for n in self.inner(ast.If, ast.IfExp) if n.orelse]
        if places:
            one = self.draw.choice(places)
            one.body, one.orelse = one.orelse, one.body

    def swapped(self) -> None:
        for body, at in self._places():
            if at and not isinstance(body[at], ast.Return):
                body[at - 1], body[at] = body[at], body[at - 1]
                return

    def repeated(self) -> None:
        for body, at in self._places():
            if not isinstance(body[at], ast.Return):
                body.insert(at, copy.deepcopy(body[at]))
                return

    def in_else(self) -> None:
        for body, at in self._places():
            if isinstance(body[at], ast.If) and not body[at].orelse:  # type: ignore[attr-defined]
                other = copy.deepcopy(body[at].body)  # type: ignore[attr-defined]
                for node in (n for s in other for n in ast.walk(s) if isinstance(n, ast.Constant)):
                    if isinstance(node.value, (int, float)) and not isinstance(node.value, bool):
                        node.value = self.draw.choice(NUMBERS)
                body[at].orelse = other  # type: ignore[attr-defined]
                return

    def renamed(self) -> None:
        """A variable gets a name that something else may have."""
        for function in self._functions():
            names = bound(function)
            new = self.draw.choice(NAMES)
            if names and not any(isinstance(n, ast.Name) and n.id == new for n in ast.walk(function)):
                rename(function, self.draw.choice(names), ast.Name(new))
                return

    def kept_in(self) -> None:
        """A variable becomes an item of a dictionary or an attribute."""
        for function in self._functions():
            names = [n for n in bound(function) if n not in parameters(function)]
            if names:
                kept = self.draw.choice(("box['y']", "box.y"))
                rename(function, self.draw.choice(names), ast.parse(kept, mode="eval").body)
                start = "box = {}" if "[" in kept else "box = Box()"
                function.body[:0] = ast.parse(start).body
                if "[" not in kept:
                    self.tree.body[:0] = ast.parse("class Box:\n    pass").body
                    self._imports_first()
                return

    def augmented(self) -> None:
        """`y = y + 1` becomes `y += 1`, and the other way round."""
        for body, at in self._places():
            match body[at]:
                case ast.Assign([ast.Name(name)], ast.BinOp(ast.Name(left), op, right)) if name == left:
                    body[at] = ast.AugAssign(ast.Name(name, ast.Store()), op, right)
                    return
                case ast.AugAssign(ast.Name(name), op, right):
                    value = ast.BinOp(ast.Name(name, ast.Load()), op, right)
                    body[at] = ast.Assign([ast.Name(name, ast.Store())], value)
                    return
                case ast.Assign([ast.Name(name)], value) if self.draw.random() < 0.3:
                    body[at] = ast.Assign([ast.Name("also", ast.Store()), ast.Name(name, ast.Store())], value)
                    return

    def gradients(self) -> None:
        """With or without them."""
        for function in self._functions():
            plain = [d for d in function.decorator_list if "no_grad" not in ast.unparse(d)]
            if len(plain) == len(function.decorator_list):
                plain.append(ast.parse("torch.no_grad()", mode="eval").body)
            function.decorator_list = plain
            return

    def without_annotations(self) -> None:
        for function in self._functions():
            for argument in function.args.args:
                argument.annotation = None if argument.annotation else ast.parse("torch.Tensor", mode="eval").body
            return

    def input(self) -> None:
        found = [p for s in self.tree.body if not isinstance(s, (ast.FunctionDef, ast.ClassDef)) for p in tensors(s)]
        if found:
            holder, field, leaf = self.draw.choice(found)
            put(holder, field, filled(self.draw.choice(self.inputs), leaf))

    def helper(self) -> None:
        """What was compiled is called by a function that is compiled."""
        for function in self._compiled():
            name = function.name
            body = self.draw.choice((
                f"return {name}_inner(*args)",
                f"result = {name}_inner(*args)\n    return result",
                f"return [{name}_inner(*args) for _ in range(1)]",
                f"got = []\n    for _ in range(2):\n        got.append({name}_inner(*args))\n    return got[-1]",
                f"with torch.no_grad():\n        return {name}_inner(*args)",
            ))  # fmt: skip
            at = self.tree.body.index(function)
            function.name += "_inner"
            compiling = [d for d in function.decorator_list if "compile" in ast.unparse(d)]
            function.decorator_list = [d for d in function.decorator_list if d not in compiling]
            signature = ", ".join(parameters(function))
            if self.draw.random() < 0.7:
                body = body.replace("*args", signature)
            else:
                signature = "*args"
            self.tree.body[at + 1 : at + 1] = ast.parse(f"@torch.compile\ndef {name}({signature}):\n    {body}").body
            return

    def closure(self) -> None:
        """What is compiled is made by a function."""
        for function in self._compiled():
            at = self.tree.body.index(function)
            made = ast.parse(f"def make():\n    shift = 1\n    return {function.name}\n\n{function.name} = make()").body
            made[0].body.insert(1, function)  # type: ignore[attr-defined]
            self.tree.body[at : at + 1] = made
            return

    def method(self) -> None:
        """What is compiled is a method of a module."""
        for function in self._compiled():
            at = self.tree.body.index(function)
            name = function.name
            function.name = "forward"
            compiling = [d for d in function.decorator_list if "compile" in ast.unparse(d)]
            function.decorator_list = [d for d in function.decorator_list if d not in compiling]
            function.args.args.insert(0, ast.arg("self"))
            made = ast.parse(f"class Module(torch.nn.Module):\n    pass\n\n{name} = torch.compile(Module())").body
            made[0].body[:] = [function]  # type: ignore[attr-defined]
            self.tree.body[at : at + 1] = made
            return

    # ------------------------------------------------------------------------------------------------------- places

    def inner(self, *kinds: type[ast.AST]) -> list[Any]:
        """Nodes of some kinds within functions."""
        return [n for f in self._functions() for s in f.body for n in ast.walk(s) if isinstance(n, kinds)]

    def _functions(self) -> list[ast.FunctionDef]:
        """The functions of the program, in any order."""
        found = [n for n in ast.walk(self.tree) if isinstance(n, ast.FunctionDef)]
        found = [f for f in found if f.name not in ("note", "__init__")]
        return self.draw.sample(found, len(found))

    def _compiled(self) -> list[ast.FunctionDef]:
        return [
            n
            for n in self.tree.body
            if isinstance(n, ast.FunctionDef) and any(ast.unparse(d) == "torch.compile" for d in n.decorator_list)
        ]

    def _places(self) -> list[tuple[list[ast.stmt], int]]:
        """Statements in functions, by the list they stand in, in any order."""
        found = [(body, at) for f in self._functions() for body in bodies(f) for at in range(len(body))]
        return self.draw.sample(found, len(found))

    def _imports_first(self) -> None:
        self.tree.body.sort(key=lambda s: not isinstance(s, (ast.Import, ast.ImportFrom)))


def exposed(statement: ast.stmt) -> Iterator[ast.stmt]:
    """A statement of the main program without its prints: what they were given stands alone."""
    match statement:
        case ast.Expr(ast.Call(ast.Name("print"), arguments)):
            for value in (v for argument in arguments for v in shown(argument)):
                yield ast.Expr(value)
        case ast.For():
            statement.body = [new for inner in statement.body for new in exposed(inner)]
            yield statement
        case ast.With():
            statement.body = [new for inner in statement.body for new in exposed(inner)]
            yield statement
        case _:
            yield statement


def shown(value: ast.expr) -> Iterator[ast.expr]:
    """What an argument of a print is about: without the sums and roundings that make it short."""
    match value:
        case ast.Constant():
            return
        case ast.JoinedStr(parts):
            for part in parts:
                if isinstance(part, ast.FormattedValue):
                    yield from shown(part.value)
        case ast.Starred(inner):
            yield filled("list({0})", inner) if isinstance(inner, ast.GeneratorExp) else inner
        case ast.Call(ast.Name("round"), [first, *_]):
            yield from shown(first)
        case ast.Call(ast.Attribute(inner, name), []) if name in READERS:
            yield from shown(inner)
        case _:
            yield value


def tensors(tree: ast.AST) -> Iterator[tuple[ast.AST, object, ast.expr]]:
    """The calls of factories in a statement, with the place where each stands."""
    for holder, field, value in expressions(tree):
        match value:
            case ast.Call(ast.Attribute(ast.Name("torch"), name)) if name in FACTORIES:
                yield holder, field, value


def expressions(tree: ast.AST) -> Iterator[tuple[ast.AST, object, ast.expr]]:
    """The expressions of a statement that may be replaced, each as (holder, field or (field, index), expression). Not
    those in blocks and functions in it."""
    for field, value in ast.iter_fields(tree):
        if field in ("body", "orelse", "finalbody", "handlers", "decorator_list", "func", "annotation", "args") and (
            isinstance(tree, ast.stmt) or field == "func" or isinstance(tree, ast.Lambda)
        ):
            continue
        for index, item in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if not isinstance(item, ast.AST):
                continue
            if isinstance(item, ast.expr) and not _is_fixed(tree, field, item):
                yield tree, field if index is None else (field, index), item
            yield from expressions(item)
    match tree:
        case ast.Call(ast.Attribute() as called):
            yield from expressions(called)


def _is_fixed(holder: ast.AST, field: str, item: ast.expr) -> bool:
    """Whether an expression has to stay in its place as it is."""
    if isinstance(item, (ast.Starred, ast.Slice, ast.JoinedStr, ast.FormattedValue)):
        return True
    if isinstance(item, ast.Name) and item.id in MODULES:
        return True
    if not isinstance(getattr(item, "ctx", ast.Load()), ast.Load):
        return True
    return isinstance(holder, (ast.JoinedStr, ast.FormattedValue)) or field in ("target", "targets", "format_spec")


def put(holder: ast.AST, field: object, value: ast.expr) -> None:
    if isinstance(field, tuple):
        getattr(holder, field[0])[field[1]] = value
    else:
        setattr(holder, str(field), value)


def filled(form: str, value: ast.expr) -> ast.expr:
    """An expression made of a form and another expression."""
    return ast.parse(form.format(f"({ast.unparse(value)})"), mode="eval").body


def bodies(function: ast.FunctionDef) -> Iterator[list[ast.stmt]]:
    """The lists of statements in a function."""
    for node in ast.walk(function):
        for field in ("body", "orelse", "finalbody"):
            inner = getattr(node, field, None)
            if isinstance(inner, list) and inner:
                yield inner


def parameters(function: ast.FunctionDef) -> list[str]:
    return [a.arg for a in function.args.args if a.arg not in ("self", "ctx", "cls")]


def bound(function: ast.FunctionDef) -> list[str]:
    """The variables of a function, in order."""
    stored = [n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    return list(dict.fromkeys([*parameters(function), *stored]))


def give_too(function: ast.FunctionDef, name: str) -> None:
    """Let a function give a variable back as well."""
    for node in ast.walk(function):
        if isinstance(node, ast.Return) and node.value is not None:
            node.value = ast.Tuple([node.value, ast.Name(name, ast.Load())], ast.Load())


class _Renaming(ast.NodeTransformer):
    def __init__(self, old: str, new: ast.expr) -> None:
        self.old, self.new = old, new

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id != self.old:
            return node
        new = copy.deepcopy(self.new)
        new.ctx = node.ctx  # type: ignore[attr-defined]
        return new

    def visit_arg(self, node: ast.arg) -> ast.arg:
        if node.arg == self.old and isinstance(self.new, ast.Name):
            node.arg = self.new.id
        return node


def rename(function: ast.FunctionDef, old: str, new: ast.expr) -> None:
    _Renaming(old, new).visit(function)


def decorated(text: str, draw: random.Random) -> str:
    """The text with comments, blank lines, parentheses, and statements over several lines or on one."""
    lines: list[str] = []
    for line in text.splitlines():
        chance = draw.random()
        indent = line[: len(line) - len(line.lstrip())]
        assignment = re.fullmatch(r"(\s+\w+ = )(.+)", line)
        if chance < 0.05 and line.strip() and not line.lstrip().startswith(("else", "elif", "except", "finally")):
            lines += [f"{indent}# {draw.choice(('why', 'if so', '{0} %s', 'x = 1'))}", line]
        elif chance < 0.1 and line.strip():
            lines.append(f"{line}  # {draw.choice(('note', 'type: ignore', 'noqa', '…'))}")
        elif chance < 0.16 and assignment:
            lines += [f"{assignment[1]}(", f"{indent}    {assignment[2]}  # the value", f"{indent})"]
        elif chance < 0.19 and assignment and lines and re.fullmatch(rf"{indent}\w+ = [^#]+", lines[-1]):
            lines[-1] += f"; {line.strip()}"
        else:
            lines.append(line)
    return "\n".join(lines) + "\n"
