"""A method of a constant whose result Dynamo cannot hold.

What breaks:
    `match.groupdict()`, `pattern.scanner(...)`, `template.get_identifiers()`, `template.is_valid()`: methods of
    regular-expression matches, patterns and string templates that give a dict, an iterator or the like.
Why Dynamo breaks:
    Dynamo takes such objects for constants and calls their methods while tracing. It can go on only with results that
    are constants too: numbers, strings and tuples of them.
Example:
    parts = match.groupdict()
    major = int(parts["major"])
Instead:
    major = int(match.group("major"))
Fix:
    Ask for single groups (`group`, `groups`, `match["name"]`), or parse the text outside the compiled function.
Torch versions:
    Since 2.10 under this id.
Limits:
    Only what was measured for the release is reported. `group`, `groups`, `span`, `start` and `end` are fine.
"""

from __future__ import annotations

from gblint.rule_api import Break, Call, Context, Rule, RuleMeta


class ResultNotModelled(Rule):
    """Methods of constants with results that are none."""

    meta = RuleMeta(
        code="GB0292",
        slug="result-not-modelled",
        summary="a method of a constant gives what Dynamo cannot hold",
        category="supportable",
        advice="Ask for single values that are numbers or strings, or call it outside the compiled function.",
        by_hand="which single values are wanted of the result is not in the code",
        torch=">=2.10",
    )
    measured = True
    BREAKS = (
        """
import re
import torch

VERSION = re.match(r"(?P<major>[0-9]+)[.](?P<minor>[0-9]+)", "2.13")

@torch.compile
def scaled(x):
    x = x + 1
    parts = VERSION.groupdict()  # GB0292
    return x * int(parts["major"])

scaled(torch.ones(2))
""",
    )
    CLEAN = (
        """
import re
import torch

VERSION = re.compile(r"(?P<major>[0-9]+)[.](?P<minor>[0-9]+)")

@torch.compile
def scaled(x, text: str):
    match = VERSION.match(text)
    return x * int(match.group("major")) * len(match.groups()) + match.end()

scaled(torch.ones(2), "2.13")
""",
    )

    def on_call(self, event: Call, context: Context) -> Break | None:
        return Break(f"`{context.text(event.node)}` gives a value that Dynamo cannot hold while tracing")
