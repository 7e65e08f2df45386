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
    base: a table whose rules come before these.
    """

    def __init__(self, rules: Iterable[Rule], knowledge: Knowledge, base: RuleTable | None = None) -> None:
        self._own = list(rules)
        self._base = base
        self._knowledge = knowledge
        self.by_kind: dict[str, list[Entry]] = {k: self._listeners(f"on_{k}") for k in KINDS}
        if base is not None:
            self.by_kind = {kind: base.by_kind[kind] + own for kind, own in self.by_kind.items()}
        self._calls = self._listeners("on_call")
        self._callees: dict[str, list[Entry]] = {}

    def _listeners(self, method: str) -> list[Entry]:
        return [(rule, getattr(rule, method)) for rule in self._own if hasattr(rule, method)]

    def for_callee(self, callee: str) -> list[Entry]:
        """The rules that want to see a call of `callee`."""
        found = self._callees.get(callee)
        if found is None:
            others = self._base.for_callee(callee) if self._base is not None else []
            found = others + [entry for entry in self._calls if self._wants(entry[0], callee)]
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
