"""Which rules hear which event: tables built once, so that an event nobody listens to costs one lookup."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from gblint.interpreter.events import Break, Event
from gblint.knowledge import Knowledge
from gblint.rule_api import Context, Rule

Handler = Callable[[Event, Context], Break | None]
Entry = tuple[Rule, Handler]
KINDS = (
    "branch", "compare", "compile", "operator", "index", "format", "enter", "iterate", "setattr", "getattr",
    "construct", "entry", "guard", "import", "classdef", "raise", "delete", "globals",
)  # fmt: skip


class RuleTable:
    """The rules of one run, by event.

    rules: instances; knowledge: asked for the measured verdict of a callee on behalf of rules with `measured`.
    """

    def __init__(self, rules: Iterable[Rule], knowledge: Knowledge) -> None:
        self.rules = list(rules)
        self._knowledge = knowledge
        self.by_kind: dict[str, list[Entry]] = {k: self._listeners(f"on_{k}") for k in KINDS}
        self._calls = self._listeners("on_call")
        self._callees: dict[str, list[Entry]] = {}

    def _listeners(self, method: str) -> list[Entry]:
        return [(rule, getattr(rule, method)) for rule in self.rules if hasattr(rule, method)]

    def for_callee(self, callee: str) -> list[Entry]:
        """The rules that want to see a call of `callee`."""
        found = self._callees.get(callee)
        if found is None:
            found = [entry for entry in self._calls if self._wants(entry[0], callee)]
            self._callees[callee] = found
        return found

    def _wants(self, rule: Rule, callee: str) -> bool:
        for pattern in rule.calls:
            if pattern == callee or (pattern.endswith(".*") and callee.startswith(pattern[:-1])) or pattern == "*":
                return True
        return rule.measured and not _is_builtin(callee) and self._knowledge.verdict(callee) == rule.meta.code


def _is_builtin(callee: str) -> bool:
    """True for `repr`, not for `int.from_bytes`: whether a builtin breaks depends on what it is given, which rules of
    their own look at."""
    return callee.startswith("builtins.") and callee.count(".") == 1
