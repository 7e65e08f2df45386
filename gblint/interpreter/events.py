"""What Dynamo would have to decide on: the interpreter reports these, rules answer with a `Break` or nothing.

Every event carries `node` (the libcst expression or statement Dynamo's line points at). All values are abstract.
"""

from __future__ import annotations

from collections.abc import Mapping as MappingType
from dataclasses import dataclass, field

import libcst as cst

from gblint.interpreter.values import Class, Function, Instance, Value


@dataclass(slots=True)
class Event:
    """Base of all events."""

    node: cst.CSTNode


@dataclass(slots=True)
class Call(Event):
    """A call that leaves the traced source.

    callee: canonical dotted name: "builtins.print", "torch.nonzero", "torch.Tensor.item", "logging.Logger.info",
        "numpy.random.rand", "torch.nn.LSTM.__call__" (calling a module instance), or a mark of a user function:
        "mark:disable", "mark:custom_op" (the dotted name of the function is then in `name`).
    receiver: the object of a method call, None for a plain call.
    opaque_args: `*args` or `**kwargs` of unknown content were passed. used: something is done with the result.
    """

    callee: str
    args: list[Value] = field(default_factory=list)
    kwargs: MappingType[str, Value] = field(default_factory=dict)
    receiver: Value | None = None
    opaque_args: bool = False
    name: str = ""
    used: bool = True

    def argument(self, position: int, name: str) -> Value | None:
        """The argument given by position or by keyword; None if it is not given."""
        if name in self.kwargs:
            return self.kwargs[name]
        return self.args[position] if position < len(self.args) else None


@dataclass(slots=True)
class Branch(Event):
    """A truth test. kind: "if", "while", "assert", "ternary", "and", "or", "not", "filter" (comprehension condition)
    or "match". message: the assert message value ("assert" only); plain_message: it is a constant or absent."""

    kind: str
    value: Value
    plain_message: bool = True


@dataclass(slots=True)
class Compare(Event):
    """A comparison that is not elementwise: operator "in", "not in", "is" or "is not"."""

    operator: str
    left: Value
    right: Value


@dataclass(slots=True)
class Operator(Event):
    """A binary, comparison or in-place operator: "+", "**", "@", "==", "+=" …; unary: "-", "~", "abs" with right
    None."""

    operator: str
    left: Value
    right: Value | None


@dataclass(slots=True)
class Index(Event):
    """A subscript: base[index…]. store: it is assigned (or deleted) to; value: what is stored."""

    base: Value
    index: list[Value]
    store: bool = False
    value: Value | None = None


@dataclass(slots=True)
class Format(Event):
    """A value put into text. kind: "fstring", "percent", "format"; used: the text is more than thrown away."""

    kind: str
    value: Value
    used: bool = True


@dataclass(slots=True)
class Enter(Event):
    """A `with` item. callee: dotted name of the manager's class or factory ("torch.no_grad", "threading.Lock",
    "builtins.open"), "user" for a class or @contextmanager of the project, "" if unknown."""

    callee: str
    manager: Value


@dataclass(slots=True)
class Iterate(Event):
    """A value iterated by for, a comprehension, unpacking, or a builtin such as list()."""

    value: Value


@dataclass(slots=True)
class SetAttr(Event):
    """receiver.name = value (also through setattr with a known name). before: what the attribute was, where the new
    value is made of it (`self.step += 1`, `self.step = self.step + 1`)."""

    receiver: Value
    name: str
    value: Value
    before: Value | None = None


@dataclass(slots=True)
class GetAttr(Event):
    """receiver.name read where the receiver is a tensor or an object of an external class. owner: "torch.Tensor", …"""

    receiver: Value
    name: str
    owner: str


@dataclass(slots=True)
class Construct(Event):
    """An object is made in the region. base: first external class of its ancestry ("torch.nn.Module",
    "torch.nn.Linear", "torch.nn.Parameter", "torch.optim.Adam", "builtins.Exception", "types.SimpleNamespace" …);
    cls: the class of the project, if it is one."""

    base: str
    cls: Class | None
    args: list[Value]
    kwargs: MappingType[str, Value]
    result: Instance | None = None


@dataclass(slots=True)
class Entry(Event):
    """A frame Dynamo starts on its own: a compiled root, or a function called from a frame that runs eagerly."""

    function: Function
    is_root: bool


@dataclass(slots=True)
class Import(Event):
    """An import statement executed in the region. module: absolute dotted name; found: its source, the stdlib or torch
    has it; guarded: it stands in a try that survives an
    error, with a handler that does not raise one itself."""

    module: str
    found: bool
    guarded: bool


@dataclass(slots=True)
class ClassDef(Event):
    """A class statement executed in the region."""

    name: str


@dataclass(slots=True)
class Raise(Event):
    """A raise statement that is reached, or an expression that fails. callee: dotted name of the exception class, ""
    if unknown; caught: a handler in the same region takes it. missing: the variable that is None where the expression
    fails; `value` is then what is known of it."""

    callee: str
    value: Value | None
    caught: bool
    missing: str = ""


@dataclass(slots=True)
class Delete(Event):
    """del of a name ("name"), attribute ("attribute") or global ("global")."""

    kind: str
    name: str


@dataclass(slots=True)
class Globals(Event):
    """A read of a local that is unbound on this path ("unbound"), or a write to a global ("store")."""

    kind: str
    name: str


@dataclass(slots=True)
class Guard(Event):
    """A test of whether the code is being compiled that keeps code from Dynamo for nothing: it could trace that code,
    and what the code does does not outlive the call. node: the test."""


@dataclass(slots=True)
class Compile(Event):
    """`torch.compile` is called, or `compile` of a module, with keyword arguments that are all in view."""

    arguments: MappingType[str, Value]


@dataclass(slots=True)
class Break:
    """A rule's answer: Dynamo breaks the graph at the event.

    certainty: 0..1, how sure the facts are (usually that of the tensor involved); the shipped table turns it into a
        probability.
    message: one sentence, present tense, names in backquotes; says what breaks and why.
    about: the value whose origin explains the finding (its provenance is shown as "because …").
    node: where to report if not at the event's node. result: the value after the break, if the break changes it
        (`.item()` gives a number).
    fatal: Dynamo fails or drops the whole frame wherever this stands (the frame falls back even in a straight line).
    silent: Dynamo skips the frame without logging a break.
    consequence: what there is to say where nothing breaks: "recompiles" (the function is compiled anew at every call
        until Dynamo gives up), "needless" (something is kept from Dynamo that it could trace), "fails" (an error, with
        or without a graph) or "ignored" (what was asked for is not done); "" for a graph break.
    code: the id of this case in the target release, where it is not that of the rule.
    """

    message: str
    certainty: float = 1.0
    about: Value | None = None
    node: cst.CSTNode | None = None
    result: Value | None = None
    fatal: bool = False
    silent: bool = False
    consequence: str = ""
    advice: str = ""
    code: str = ""
