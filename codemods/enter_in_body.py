"""A context manager used as a decorator is entered in the function's body.

What it does:
    Takes the decorator off and puts the body of the function into a `with` statement: the manager is then made while
    Dynamo traces, which it can follow, instead of outside, which it cannot.
Applicability:
    Safe where making the manager in each call is the same as making it once: its arguments are literals, and it is a
    `@contextmanager` function (which makes a manager for each call anyway), or a class of the file whose `__init__`
    only stores its arguments and whose other methods store nothing on the object. Else unsafe: the manager is made in
    each call, with the arguments as they are then.
Preconditions:
    The manager is the function's only decorator, and is called there. Making it has no effect that is seen: its
    `__init__` calls nothing for what it does. The body holds no string over several lines that would be moved.
"""

from __future__ import annotations

import libcst as cst

from gblint.codemod_api import (
    Codemod,
    CodemodMeta,
    Declined,
    Example,
    Repair,
    Site,
    class_site,
    definition,
    marked,
    refuse,
    require,
    walk,
    without_decorator,
)


class EnterInBody(Codemod):
    """Makes a `with` statement of a decorator."""

    meta = CodemodMeta(
        name="enter-in-body",
        summary="enter a context manager in the body, not by a decorator",
        fixes=("library-lock",),
        rank=30,
    )
    EXAMPLES = (
        Example(
            """
import contextlib

import torch

modes = ["train"]

class exploration(contextlib.ContextDecorator):
    def __init__(self, mode):
        self.mode = mode

    def __enter__(self):
        modes.append(self.mode)
        return self

    def __exit__(self, *exc):
        modes.pop()
        return False

@exploration("sure")
def act(x):
    \"\"\"What to do.\"\"\"
    # the mode decides
    if modes[-1] == "sure":
        return x * 2
    return x * 3

print("checksum", torch.compile(act)(torch.ones(2)).sum().item())
""",
            """
import contextlib

import torch

modes = ["train"]

class exploration(contextlib.ContextDecorator):
    def __init__(self, mode):
        self.mode = mode

    def __enter__(self):
        modes.append(self.mode)
        return self

    def __exit__(self, *exc):
        modes.pop()
        return False

def act(x):
    \"\"\"What to do.\"\"\"
    # the mode decides
    with exploration("sure"):
        if modes[-1] == "sure":
            return x * 2
        return x * 3

print("checksum", torch.compile(act)(torch.ones(2)).sum().item())
""",
        ),
        Example(
            """
import contextlib

import torch

level = 2

class scaled(contextlib.ContextDecorator):
    def __init__(self, by):
        self.by = by

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        return False

@scaled(level)
def act(x):
    return x * 2

print("checksum", torch.compile(act)(torch.ones(2)).sum().item())
""",
            """
import contextlib

import torch

level = 2

class scaled(contextlib.ContextDecorator):
    def __init__(self, by):
        self.by = by

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        return False

def act(x):
    with scaled(level):
        return x * 2

print("checksum", torch.compile(act)(torch.ones(2)).sum().item())
""",
            "unsafe",
        ),
        Example(
            """
import contextlib

import torch

class entered(contextlib.ContextDecorator):
    def __enter__(self):
        self.inside = True
    def __exit__(self, *exc):
        return False

class sized(contextlib.ContextDecorator):
    def __init__(self, size, more=1):
        self.size = size + more

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        return False

@entered()
def one(x):
    return x * 2

@sized(2)
def two(x):
    return x * 2

print("checksum", torch.compile(one)(torch.ones(2)).sum().item() + torch.compile(two)(torch.ones(2)).sum().item())
""",
            """
import contextlib

import torch

class entered(contextlib.ContextDecorator):
    def __enter__(self):
        self.inside = True
    def __exit__(self, *exc):
        return False

class sized(contextlib.ContextDecorator):
    def __init__(self, size, more=1):
        self.size = size + more

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        return False

def one(x):
    with entered():
        return x * 2

def two(x):
    with sized(2):
        return x * 2

print("checksum", torch.compile(one)(torch.ones(2)).sum().item() + torch.compile(two)(torch.ones(2)).sum().item())
""",
            "unsafe",
        ),
    )
    DECLINES = (
        Declined(
            """
import contextlib

import torch

class counted(contextlib.ContextDecorator):
    def __enter__(self):
        return self

    def __exit__(self, *exc):
        return False

counting = counted()

@counting
def act(x):
    return x * 2

print("checksum", torch.compile(act)(torch.ones(2)).sum().item())
""",
            "made elsewhere",
        ),
        Declined(
            '''
import contextlib

import torch

def noted(function):
    return function

class quiet(contextlib.ContextDecorator):
    def __enter__(self):
        return self

    def __exit__(self, *exc):
        return False

@quiet()
@noted
def decorated(x):
    return x * 2

@quiet()
def short(x): return x * 2

@quiet()
def told(x):
    """Does nothing."""

torch.compile(decorated)(torch.ones(2))
torch.compile(short)(torch.ones(2))
torch.compile(told)(torch.ones(2))
''',
            "has other decorators too",
        ),
    )

    def repair(self, site: Site) -> Repair | None:
        function = marked(site)
        if function is None or function.mark != "context_decorator":
            return None
        place, tree = definition(site, function)
        require(len(tree.decorators) == 1, f"`{function.name}` has other decorators too")
        (decorator,) = tree.decorators
        manager = decorator.decorator
        if not isinstance(manager, cst.Call):
            refuse(f"the manager of `{function.name}` is made elsewhere")
        require(
            isinstance(tree.body, cst.IndentedBlock), f"the body of `{function.name}` stands on the line of its `def`"
        )
        body = [s for s in tree.body.body if isinstance(s, cst.SimpleStatementLine | cst.BaseCompoundStatement)]
        if tree.get_docstring() is not None:
            body = body[1:]
        require(body, f"`{function.name}` has no body besides its docstring")
        text = f"with {place.text(manager)}:\n{place.body_text(body, place.step)}"
        edits = [without_decorator(place, decorator), place.replace_lines(body[0], body[-1], text)]
        message = f"enter the context manager in the body of `{function.name}`"
        _check_making(place, manager.func)
        if all(_is_literal(a.value) for a in manager.args) and _keeps_nothing(place, manager.func):
            return Repair("safe", message, edits)
        return Repair("unsafe", f"{message}, made anew in each call", edits)


def _is_literal(node: cst.BaseExpression) -> bool:
    return isinstance(node, cst.SimpleString | cst.BaseNumber) or (
        isinstance(node, cst.Name) and node.value in ("True", "False", "None")
    )


def _check_making(site: Site, manager: cst.BaseExpression) -> None:
    """Refuses where the class of the manager is in view and does what is not to be done in each call, or what Dynamo
    does not follow: a call in `__init__` for its effect, a decorated `__enter__`."""
    info = site.module.classes.get(manager.value) if isinstance(manager, cst.Name) else None
    if info is None:
        return
    place, tree = class_site(site, info)
    for method in (s for s in tree.body.body if isinstance(s, cst.FunctionDef)):
        name = method.name.value
        entering = name in ("__enter__", "__exit__")
        require(not (entering and method.decorators), f"`{info.qualname}.{name}` is decorated, which is not traced")
        if name != "__init__":
            continue
        for node in walk(method.body):
            effect = isinstance(node, cst.Expr) and isinstance(node.value, cst.Call)
            alone = not effect or place.text(node).startswith("super().__init__(")
            require(alone, f"making `{info.qualname}` has an effect, which it would have in each call")


def _keeps_nothing(site: Site, manager: cst.BaseExpression) -> bool:
    """Whether a new manager for each call is as good as one for all."""
    if not isinstance(manager, cst.Name):
        return False
    name = manager.value
    if len(site.module.bindings.get(name, ())) != 1:
        return False
    for function in site.module.functions:
        if function.qualname == name:
            return function.decorators in (("contextlib.contextmanager",), ("contextmanager",))
    info = site.module.classes.get(name)
    if info is None or info.decorators or info.bases not in (("contextlib.ContextDecorator",), ("ContextDecorator",)):
        return False
    _, tree = class_site(site, info)
    methods = [s for s in tree.body.body if isinstance(s, cst.FunctionDef)]
    others = [s for s in tree.body.body if not isinstance(s, cst.FunctionDef)]
    return not any(_is_state(s) for s in others) and all(_stores_nothing(m) for m in methods)


def _is_state(statement: cst.CSTNode) -> bool:
    """Whether a statement of a class body is more than a docstring or `pass`."""
    if not isinstance(statement, cst.SimpleStatementLine):
        return True
    return not all(
        isinstance(s, cst.Pass) or (isinstance(s, cst.Expr) and isinstance(s.value, cst.BaseString))
        for s in statement.body
    )


def _stores_nothing(method: cst.FunctionDef) -> bool:
    """Whether `__init__` does nothing but `self.x = x` with its parameters; or another method binds no attribute."""
    if method.decorators or not method.params.params:
        return False
    own = method.params.params[0].name.value
    names = {p.name.value for p in method.params.params}
    if method.name.value != "__init__":
        return not any(isinstance(n, cst.Attribute) and _is_stored(n, own, method) for n in walk(method.body))
    for line in method.body.body:
        for statement in line.body if isinstance(line, cst.SimpleStatementLine) else (None,):
            if not isinstance(statement, cst.Assign) or not _keeps_parameter(statement, own, names - {own}):
                return False
    return True


def _keeps_parameter(statement: cst.Assign, own: str, names: set[str]) -> bool:
    """Whether an assignment is `self.x = parameter`."""
    target = statement.targets[0].target
    is_own = isinstance(target, cst.Attribute) and _is_name(target.value, own)
    return (
        is_own
        and len(statement.targets) == 1
        and isinstance(statement.value, cst.Name)
        and (statement.value.value in names)
    )


def _is_name(node: cst.CSTNode, name: str) -> bool:
    return isinstance(node, cst.Name) and node.value == name


def _is_stored(attribute: cst.Attribute, own: str, method: cst.FunctionDef) -> bool:
    """Whether `self.x` is bound, changed in place or handed on in a method: any use but reading it."""
    if not _is_name(attribute.value, own):
        return False
    binders = (cst.AssignTarget, cst.AugAssign, cst.AnnAssign, cst.NamedExpr, cst.Del)
    return any(isinstance(n, binders) and attribute in set(walk(n.target)) for n in walk(method.body))
