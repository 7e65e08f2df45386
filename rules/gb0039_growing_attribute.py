"""A module counts in an attribute: it is compiled anew at every call, until Dynamo gives up.

What breaks:
    No graph breaks. `self.step += 1`, `self.step = self.step + 1` and the like, in a compiled method of a module, where
    the attribute is an int, a string or a tuple.
Why Dynamo breaks:
    An int, a string or a tuple of a module is a constant of the graph, with a guard on its value. At the next call the
    value is another one, the guard fails, and the function is compiled again. After 8 times (`recompile_limit`) Dynamo
    leaves the function to run eagerly, and says so in a warning only. Floats do not do so: they become inputs of the
    graph when they change.
Example:
    def forward(self, x):
        self.step += 1
        return self.proj(x)
Instead:
    def forward(self, x):
        self.step.add_(1)  # self.register_buffer("step", torch.zeros((), dtype=torch.long))
        return self.proj(x)
Fix:
    Count where the model is called, or in a buffer, or set `torch._dynamo.config.allow_unspec_int_on_nn_module = True`:
    then an int that changes is an input of the graph.
Torch versions:
    Every release.
Limits:
    The rule is off until it is selected (`extend-select = ["GB0039"]`). A condition around the statement lowers the
    confidence, for it may bound the number of values. What is not found: ints in dicts and lists of a module or in
    global variables, ints of global objects, and lists that grow, although they are compiled anew alike.
"""

from __future__ import annotations

from gblint.rule_api import Break, Const, Context, Instance, Plain, Rule, RuleMeta, Sequence, SetAttr, Value, members


class GrowingAttribute(Rule):
    """Attributes of modules that are constants of the graph and change at each call."""

    meta = RuleMeta(
        code="GB0039",
        slug="growing-attribute",
        summary="an attribute of a module counts the calls, and each call is compiled anew",
        category="recompile",
        advice="Count outside of the compiled function, or in a buffer.",
        by_hand="who reads the count, and whether it is saved with the module, is not in the code",
        optional=True,
    )
    BREAKS = (
        """
import torch
from torch import nn

class Counted(nn.Module):
    def __init__(self):
        super().__init__()
        self.step = 0

    def forward(self, x):
        self.step += 1  # GB0039
        return x + 1

class Named(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.seen = width
        self.shapes = ()

    def forward(self, x):
        self.seen = self.seen + x.shape[0]  # GB0039
        self.shapes += (1,)  # GB0039
        return x * 2

class Child(nn.Module):
    def __init__(self):
        super().__init__()
        self.left = 100
        self.trace = ""

    def forward(self, x):
        self.left -= 1  # GB0039
        self.trace = "." + self.trace  # GB0039
        return x * self.left

class Parent(nn.Module):
    def __init__(self):
        super().__init__()
        self.child = Child()

    def forward(self, x):
        return self.child(x) + 1

for net in (Counted(), Named(4), Child(), Parent()):
    run = torch.compile(net)
    for _ in range(12):
        run(torch.ones(3))
""",
    )
    CLEAN = (
        """
import torch
from torch import nn

class Fine(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("step", torch.zeros((), dtype=torch.long))
        self.scale = 1.0
        self.flag = False
        self.phase = 0
        self.calls = 0
        self.width = 0

    def forward(self, x):
        self.step += 1
        self.scale = self.scale * 0.5
        self.flag = not self.flag
        self.phase = (self.phase + 1) % 2
        self.width = x.shape[0] + 1
        if not torch.compiler.is_compiling():
            self.calls += 1
        return x * self.scale + self.step

class Plain:
    def __init__(self):
        self.calls = 0

    def run(self, x):
        self.calls += 1
        return x + 1

for call in (torch.compile(Fine()), torch.compile(Plain().run)):
    for _ in range(12):
        call(torch.ones(3))
""",
        """
import torch
from torch import nn

torch._dynamo.config.allow_unspec_int_on_nn_module = True

class Counted(nn.Module):
    def __init__(self):
        super().__init__()
        self.step = 0

    def forward(self, x):
        self.step += 1
        return x + self.step

run = torch.compile(Counted())
for _ in range(12):
    run(torch.ones(3))
""",
    )

    def on_setattr(self, event: SetAttr, context: Context) -> Break | None:
        if event.before is None or context.enabled("allow_unspec_int_on_nn_module"):
            return None
        if not isinstance(event.receiver, Instance) or not event.receiver.base.startswith("torch.nn."):
            return None
        if not any(_is_constant(member) for member in members(event.before)):
            return None
        text = context.text(event.node)
        message = f"`{text}` changes at each call and is a constant of the graph, which is compiled anew for each value"
        return Break(message, about=event.receiver, consequence="recompiles")


def _is_constant(value: Value) -> bool:
    """Whether Dynamo takes the value of an attribute as it is: an int, a string, a tuple."""
    if isinstance(value, Const):
        return type(value.value) in (int, str, tuple)
    return (isinstance(value, Plain) and value.type in ("int", "str")) or isinstance(value, Sequence)
