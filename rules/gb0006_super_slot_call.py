"""`super().method()` where the method is implemented in C.

What breaks:
    `super().__init__(…)` in an exception class that overrides `__init__`; `super().__repr__()`, `__str__`,
    `__eq__`, `__hash__`, `__format__`, `__dir__` and other slots of `object`; the slots of `Exception`; methods of
    `collections.deque`.
Why Dynamo breaks:
    Through `super()` Dynamo traces Python functions only. A slot of a C type is a wrapper, not a function.
Example:
    class ShapeError(Exception):
        def __init__(self, shape):
            super().__init__(f"bad {shape}")
            self.shape = shape
Instead:
    class ShapeError(Exception):
        pass
Fix:
    Do not override `__init__` of an exception (arguments end up in `args`), or raise it outside the compiled
    region. For other slots, write the comparison or the text yourself.
Torch versions:
    Every release; methods of exceptions are traced since 2.15.
Limits:
    `super().__init__()`, `__setattr__`, `__getattribute__`, `__new__` and `__delattr__` of plain classes, and
    methods of `dict`, `list`, `set`, `OrderedDict` do not break. `Exception.__init__(self, …)` without `super()`
    is GB0156.
"""

from __future__ import annotations

import libcst as cst

from gblint.rule_api import Break, Call, Context, Rule, RuleMeta

OBJECT_SLOTS = (
    "__repr__", "__str__", "__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__hash__", "__format__",
    "__dir__",
)  # fmt: skip
EXCEPTION_SLOTS = ("__init__", "__str__", "__repr__", "with_traceback", "add_note")


class SuperSlotCall(Rule):
    """super() calls of C slots."""

    meta = RuleMeta(
        code="GB0006",
        slug="super-slot-call",
        summary="`super()` reaches a method implemented in C",
        category="supportable",
        advice="Do not override __init__ of an exception; raise it outside the compiled function.",
        by_hand="an exception made in another way would show its handlers something else",
    )
    calls = (
        "builtins.*",
        "collections.deque.*", "collections.defaultdict.__missing__",
    )  # fmt: skip
    BREAKS = (
        """
import torch

class ShapeError(Exception):
    def __init__(self, shape):
        super().__init__(f"bad {shape}")  # GB0006
        self.shape = shape

class KeyMissing(KeyError):
    def __init__(self, key):
        super(KeyMissing, self).__init__(key)  # GB0006

@torch.compile
def checked(x):
    try:
        if x.shape[0] != 3:
            raise ShapeError(x.shape)
    except ShapeError:
        x = x.new_zeros(3)
    return x + 1

@torch.compile
def stored(x):
    error = KeyMissing("a")
    return x + 1 if error is not None else x

checked(torch.ones(2))
stored(torch.ones(2))
""",
        """
import torch

class Named:
    def __eq__(self, other):
        return super().__eq__(other)  # GB0006

    def label(self):
        return super().__repr__()  # GB0006

@torch.compile
def labelled(x, named: Named):
    x = x * len(named.label())
    return x + 1 if named == 1 else x - 1

labelled(torch.ones(2), Named())
""",
    )
    CLEAN = (
        """
import torch

class Plain(Exception):
    pass

class Coded(Exception):
    def __init__(self, code):
        self.code = code

    def __str__(self):
        return "coded"

@torch.compile
def checked(x):
    try:
        if x.shape[0] != 3:
            raise Plain("bad")
    except Plain:
        x = x.new_zeros(3)
    error = Coded(2)
    return x + error.code

checked(torch.ones(2))
""",
        """
import torch

class Tracked:
    def __init__(self):
        super().__init__()

    def __setattr__(self, name, value):
        super().__setattr__(name, value)

class Table(dict):
    def __init__(self, items):
        super().__init__(items)

    def __getitem__(self, key):
        return super().__getitem__(key)

    def get(self, key, default=None):
        return super().get(key, default)

@torch.compile
def stored(x, state: Tracked):
    state.last = x * 2
    table = Table({"a": 1})
    return state.last + table["a"] + table.get("b", 3)

stored(torch.ones(2), Tracked())
""",
        """
import torch

class NetError(Exception):
    def __init__(self, code):
        super().__init__(code)

@torch.compile
def step(x):
    if x.shape[0] > 100:
        raise NetError(1)
    return x + 1

step(torch.ones(2))
""",
        """
import torch

class Sized(list):
    def append(self, item):
        super().append(item)

    def __len__(self):
        return super().__len__()

@torch.compile
def grown(x: torch.Tensor):
    rows = Sized()
    rows.append(x)
    return x * len(rows)

grown(torch.rand(2))
""",
    )

    def on_call(self, event: Call, context: Context) -> Break | None:
        if not _is_super_call(event.node):
            return None
        owner, _, name = event.callee.rpartition(".")
        if owner == "builtins.object":
            breaks = name in OBJECT_SLOTS
        elif owner.startswith("builtins."):
            exception = owner.endswith(("Exception", "Error", "Warning"))
            breaks = exception and name in EXCEPTION_SLOTS and context.torch < (2, 15)
        else:
            breaks = True
        if not breaks:
            return None
        slot = f"{owner.removeprefix('builtins.')}.{name}"
        return Break(f"`{context.text(event.node)}` reaches `{slot}`, which is C code")


def _is_super_call(node: cst.CSTNode) -> bool:
    """True for `super(…).name(…)`."""
    if not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute):
        return False
    inner = node.func.value
    return isinstance(inner, cst.Call) and isinstance(inner.func, cst.Name) and inner.func.value == "super"
