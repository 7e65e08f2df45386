"""An assert on a tensor with a constant message, which the graph can hold.

What it does:
    Makes the message of an `assert` on a tensor constant: the text stays, with the names of the values in place of the
    values. `and`, `or` and `not` between boolean tensors in its condition become `&`, `|` and `~`.
Applicability:
    Unsafe: the values are no longer in the message, and compiled code reports a failure as a `RuntimeError`, not as an
    `AssertionError`.
Preconditions:
    The condition is made of tensors that are surely boolean scalars. The message has a text to keep. Evaluating the
    condition changes nothing.
"""

from __future__ import annotations

import re

import libcst as cst

from gblint.codemod_api import (
    Codemod,
    CodemodMeta,
    Declined,
    Edit,
    Example,
    Refusal,
    Repair,
    Site,
    harmless,
    require,
)


class ConstantAssertMessage(Codemod):
    """Makes the messages of asserts constant."""

    meta = CodemodMeta(
        name="constant-assert-message",
        summary="keep an assert on a tensor in the graph by a constant message",
        fixes=("assert-with-computed-message", "branch-on-tensor"),
        rank=25,
    )
    EXAMPLES = (
        Example(
            """
import torch

@torch.compile
def f(p):
    total = p.sum()
    assert total > 0, f"probabilities sum to {total}"
    return p / total

print("checksum", f(torch.ones(2)).sum().item())
""",
            """
import torch

@torch.compile
def f(p):
    total = p.sum()
    assert total > 0, "probabilities sum to {total}"
    return p / total

print("checksum", f(torch.ones(2)).sum().item())
""",
            "unsafe",
        ),
        Example(
            """
import torch

@torch.compile
def f(x, n):
    assert (x >= 0).all() and (x < n).all(), "outside of [0, %d): %s" % (n, x.max())
    assert not x.isnan().any()
    return x * n

print("checksum", f(torch.ones(2), 3).sum().item())
""",
            """
import torch

@torch.compile
def f(x, n):
    assert (x >= 0).all() & (x < n).all(), "outside of [0, %d): %s"
    assert ~x.isnan().any()
    return x * n

print("checksum", f(torch.ones(2), 3).sum().item())
""",
            "unsafe",
        ),
        Example(
            """
import torch

NAME = "weights"

@torch.compile
def f(x: torch.Tensor):
    low, high = (x < 0).any(), (x > 9).any()
    assert not low, "of {} rows".format(x.shape[0])
    assert not high, "max %s" % x.max()
    assert not high, "max " + str(x.max())
    assert not low, NAME
    assert not low or (high and not low) and not (low or high), f"{{min}} {x.min()}" " of all"
    assert not low, (
        f"min {x.min()}"
        r" of"
        f"{{}}"
    )
    assert not low, (f"max {x.max()}")
    assert not low, (F"max {x.max()} " "of %d") % 3
    return x * 2

print("checksum", f(torch.ones(2)).sum().item())
""",
            """
import torch

NAME = "weights"

@torch.compile
def f(x: torch.Tensor):
    low, high = (x < 0).any(), (x > 9).any()
    assert ~low, "of {} rows"
    assert ~high, "max %s"
    assert ~high, "max "
    assert ~low, "NAME"
    assert ~low | ((high & ~low) & ~(low | high)), "{min} {x.min()}" " of all"
    assert ~low, (
        "min {x.min()}"
        r" of"
        "{}"
    )
    assert ~low, ("max {x.max()}")
    assert ~low, "max {x.max()} " "of %d"
    return x * 2

print("checksum", f(torch.ones(2)).sum().item())
""",
            "unsafe",
        ),
    )
    DECLINES = (
        Declined(
            """
import torch

def explain(x):
    return f"sum is {x.sum()}"

@torch.compile
def f(x):
    assert x.sum() > 0, explain(x)("no")
    return x

f(torch.ones(2))
""",
            "the message has no text to keep",
        ),
        Declined(
            """
import torch

@torch.compile
def f(x):
    assert x.sum() and x.max() > 0, "no"
    return x

f(torch.ones(2))
""",
            "is not surely a boolean scalar",
        ),
        Declined(
            """
import torch

@torch.compile
def f(x: torch.Tensor):
    y = x * 2
    assert y.add_(1).sum() > 0, f"sum {y.sum()}"
    return y

f(torch.ones(2))
""",
            "the condition changes something besides",
        ),
    )

    def repair(self, site: Site) -> Repair | None:
        check = site.node if isinstance(site.node, cst.Assert) else site.enclosing(site.node, cst.Assert)
        if check is None:
            return None
        require(harmless(site, [check.test]), "the condition changes something besides")
        edits = self._messages(site, check.msg) if check.msg is not None else []
        if isinstance(check.test, cst.BooleanOperation | cst.UnaryOperation):
            text = self._tensors(site, check.test)
            if text != site.flat(check.test):
                edits.append(site.replace(check.test, text))
        require(edits, "the assert has a constant message, and a condition without `and`, `or` and `not`")
        message = "give the assert a form the graph can hold; the message is constant and the error a RuntimeError"
        return Repair("unsafe", message, edits)

    def _messages(self, site: Site, message: cst.BaseExpression) -> list[Edit]:
        """The edits that make a message constant: strings that stand side by side keep their rows."""
        if isinstance(message, cst.ConcatenatedString):
            return [*self._messages(site, message.left), *self._messages(site, message.right)]
        if isinstance(message, cst.SimpleString):
            return []
        return [site.replace(message, self._constant(site, message))]

    def _constant(self, site: Site, message: cst.BaseExpression) -> str:
        """The text of a message with nothing to fill in."""
        if isinstance(message, cst.SimpleString):
            return f"{message.prefix}{message.quote}{message.raw_value}{message.quote}"
        if isinstance(message, cst.FormattedString):
            body = "".join(site.text(part) for part in message.parts).replace("{{", "{").replace("}}", "}")
            return f"{re.sub('[fF]', '', message.start)}{body}{message.end}"
        if isinstance(message, cst.ConcatenatedString):
            return f"{self._constant(site, message.left)} {self._constant(site, message.right)}"
        if isinstance(message, cst.BinaryOperation) and isinstance(message.operator, cst.Modulo | cst.Add):
            return self._constant(site, message.left)
        if isinstance(message, cst.Call) and isinstance(message.func, cst.Attribute):
            if message.func.attr.value == "format":
                return self._constant(site, message.func.value)
        if isinstance(message, cst.Name | cst.Attribute):
            return f'"{site.text(message)}"'
        raise Refusal("the message has no text to keep")

    def _tensors(self, site: Site, test: cst.BaseExpression) -> str:
        """A condition with operators of tensors in the place of `and`, `or` and `not`."""
        if isinstance(test, cst.BooleanOperation):
            word = "&" if isinstance(test.operator, cst.And) else "|"
            text = f"{self._side(site, test.left, word)} {word} {self._side(site, test.right, word)}"
            return f"({text})" if test.lpar else text
        if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
            text = f"~{self._side(site, test.expression, '~')}"
            return f"({text})" if test.lpar else text
        tensor = site.tensor(test)
        scalar = tensor is not None and tensor.dtype == "bool" and tensor.rank == 0
        require(scalar, f"`{site.flat(test)}` is not surely a boolean scalar")
        return site.operand(test)

    def _side(self, site: Site, side: cst.BaseExpression, word: str) -> str:
        text = self._tensors(site, side)
        if isinstance(side, cst.BooleanOperation) and not side.lpar:
            same = "&" if isinstance(side.operator, cst.And) else "|"
            return text if same == word else f"({text})"
        return text
