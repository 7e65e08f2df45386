"""A print that is part of the graph.

What it does:
    Turns `print("text", value)` into `torch._higher_order_ops.print("text {}", value)`, an operator that a graph can
    hold: the message comes when the graph runs, in its place.
Applicability:
    Unsafe: not every backend knows the operator.
Preconditions:
    `[tool.gblint.fix] logging = "reorder"` (there it is tried where the print cannot be moved). The print goes to the
    standard output, with the usual separator and line end, and its text holds no quotes. Torch 2.10 or later.
"""

from __future__ import annotations

import libcst as cst

from gblint.codemod_api import Codemod, CodemodMeta, Declined, Example, Refusal, Repair, Site, require

OPERATOR = "torch._higher_order_ops.print"


class GraphPrint(Codemod):
    """Prints by an operator of the graph."""

    meta = CodemodMeta(
        name="graph-print",
        summary="print by an operator of the graph",
        fixes=("print-call",),
        rank=20,
        logging=("reorder",),
    )
    EXAMPLES = (
        Example(
            """
import torch

@torch.compile
def f(x):
    y = x * 2
    print("doubled:", y.shape, y)
    print(f"mean {y.mean():.2f} of {y.shape[0]}")
    return y + 1

print("checksum", f(torch.ones(2)).sum().item())
""",
            """
import torch

@torch.compile
def f(x):
    y = x * 2
    torch._higher_order_ops.print("doubled: {} {}", y.shape, y)
    torch._higher_order_ops.print("mean {:.2f} of {}", y.mean(), y.shape[0])
    return y + 1

print("checksum", f(torch.ones(2)).sum().item())
""",
            "unsafe",
        ),
    )
    DECLINES = (
        Declined(
            """
import sys
import torch

@torch.compile
def f(x):
    y = x * 2
    print("doubled", y.shape, file=sys.stderr)
    return y + 1

f(torch.ones(2))
""",
            "other keywords",
        ),
        Declined(
            r'''
import torch

@torch.compile
def f(x, width):
    print()
    print('a "word"', x)
    print("""two
    lines""", x)
    print(b"bytes", x)
    print(r"a\d", x)
    print(rf"a\d {x.ndim}")
    print(f"{x.shape=}")
    print(f"{x.ndim:{width}}")
    print(*x.shape)
    shown = print("shown", x)
    return x * 2, shown

f(torch.ones(2), 3)
''',
            "the text is raw",
        ),
    )

    def repair(self, site: Site) -> Repair | None:
        call = site.node
        if not isinstance(call, cst.Call) or site.callee(call) != "builtins.print":
            return None
        require(site.torch >= (2, 10), "this torch has no print that a graph can hold")
        require(isinstance(site.parent(call), cst.Expr), "the result of the call is used")
        require(
            all(a.keyword is None and not a.star for a in call.args),
            "the print has other keywords or a starred argument",
        )
        require(call.args, "the print has nothing to say")
        texts: list[str] = []
        values: list[str] = []
        for argument in call.args:
            text, own = self._part(site, argument.value)
            texts.append(text)
            values += own
        require(not any('"' in text or "\n" in text for text in texts), "the text has quotes in it")
        name, imports = site.refer(OPERATOR)
        arguments = ", ".join([f'"{" ".join(texts)}"', *values])
        return Repair(
            "unsafe", "print by an operator of the graph", [site.replace(call, f"{name}({arguments})"), *imports]
        )

    def _part(self, site: Site, node: cst.BaseExpression) -> tuple[str, list[str]]:
        """What an argument adds to the text, and the values to fill in."""
        if isinstance(node, cst.SimpleString):
            require(not node.prefix.strip("rRuU"), "the text is of bytes")
            self._require_plain(node.prefix, node.raw_value)
            return node.raw_value.replace("{", "{{").replace("}", "}}"), []
        if isinstance(node, cst.FormattedString):
            return self._formatted(site, node)
        return "{}", [site.flat(node)]

    def _require_plain(self, prefix: str, text: str) -> None:
        require("r" not in prefix.lower() or "\\" not in text, "the text is raw")

    def _formatted(self, site: Site, node: cst.FormattedString) -> tuple[str, list[str]]:
        text, values = "", []
        for part in node.parts:
            if isinstance(part, cst.FormattedStringText):
                self._require_plain(node.start, part.value)
                text += part.value
                continue
            assert isinstance(part, cst.FormattedStringExpression)
            if part.equal is not None:
                raise Refusal("the text names what it shows")
            spec = "".join(site.text(s) for s in part.format_spec) if part.format_spec else ""
            require("{" not in spec, "the format is computed")
            text += "{" + (f"!{part.conversion}" if part.conversion else "") + (f":{spec}" if spec else "") + "}"
            values.append(site.flat(part.expression))
        return text, values
