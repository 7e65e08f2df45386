"""An attribute set on a function, or a module hook registered, inside the region.

What breaks:
    `function.attribute = value` (also `+=` in a decorator that counts calls), `module.register_forward_hook(...)`,
    `register_forward_pre_hook`, `register_full_backward_hook` and the other hooks of modules.
Why Dynamo breaks:
    It keeps track of attributes set on objects of classes, not on functions. Registering a hook counts handles in an
    attribute of a class, which is the same to Dynamo.
Example:
    def wrapper(*args):
        wrapper.calls += 1
        return function(*args)
Instead:
    calls = {"count": 0}
    def wrapper(*args):
        calls["count"] += 1
        return function(*args)
Fix:
    Keep the state in a dict, an object or a global. Register hooks before compiling.
Torch versions:
    Since 2.13 under this id; before, GB0059, for attributes of classes as well. Attributes of functions are
    followed since 2.14, hooks are not.
Limits:
    A function defined in the region may have attributes, but is not told apart. `tensor.register_hook` is fine.
"""

from __future__ import annotations

from gblint.rule_api import Break, Call, Class, Context, Function, Partial, Rule, RuleMeta, SetAttr

HOOKS = (
    "register_forward_hook", "register_forward_pre_hook", "register_full_backward_hook",
    "register_full_backward_pre_hook", "register_backward_hook", "register_state_dict_pre_hook",
    "register_state_dict_post_hook", "register_load_state_dict_pre_hook", "register_load_state_dict_post_hook",
)  # fmt: skip


class AttributeOfFunction(Rule):
    """Attributes of functions, hooks of modules."""

    meta = RuleMeta(
        code="GB0467",
        slug="attribute-of-function",
        summary="an attribute is set on a function, or a module hook is registered, in the region",
        category="supportable",
        advice="Keep state in a dict or an object; register hooks before compiling.",
        by_hand="where else what the function carries should be kept is not in the code",
        torch=">=2.13",
        renamed=(("<2.13", "GB0059"),),
    )
    calls = tuple(f"torch.nn.Module.{name}" for name in HOOKS)
    BREAKS = (
        """
import torch
from torch import nn

def counted(function):
    def wrapper(x):
        wrapper.calls += 1  # GB0467
        return function(x)

    wrapper.calls = 0
    return wrapper

@counted
def double(x):
    return x * 2

@torch.compile
def doubled(x: torch.Tensor):
    return double(x + 1)

class Watched(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def forward(self, x):
        x = x * 2
        self.linear.register_forward_hook(lambda module, args, out: out)  # GB0467
        return self.linear(x)

doubled(torch.rand(3))
torch.compile(Watched())(torch.rand(2, 3))
""",
        """
import torch
from torch import nn

LAYER = nn.Linear(3, 3)

@torch.compile
def hooked(x: torch.Tensor):
    y = x * 2
    nn.Module.register_forward_hook(LAYER, lambda *given: None)  # GB0467
    return LAYER(y)

hooked(torch.rand(3))
""",
    )
    CLEAN = (
        """
import torch
from torch import nn

class Counter:
    total = 0

calls = {"count": 0}

def counted(x):
    calls["count"] += 1
    Counter.total += 1
    return x * 2

class Watched(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)
        self.linear.register_forward_hook(lambda module, args, out: out * 2)

    def forward(self, x):
        self.last = x.shape

        h = self.linear(counted(x))
        h.register_hook(lambda grad: grad)
        return h + 1

torch.compile(Watched())(torch.rand(2, 3))
""",
    )

    def on_setattr(self, event: SetAttr, context: Context) -> Break | None:
        if isinstance(event.receiver, Class) and context.torch < (2, 13):
            return Break(
                f"`{context.text(event.node)}` sets an attribute of a class, which Dynamo does not follow", 0.9
            )
        if not isinstance(event.receiver, Function | Partial) or context.torch >= (2, 14):
            return None
        # A nested function is mostly a decorator's wrapper, made before the region.
        nested = isinstance(event.receiver, Function) and event.receiver.info is None
        message = f"`{context.text(event.node)}` sets an attribute of a function, which Dynamo does not follow"
        return Break(message, 0.8 if nested else 1.0)

    def on_call(self, event: Call, context: Context) -> Break | None:
        return Break(f"`{context.text(event.node)}` registers a module hook while the model is being traced", 0.95)
