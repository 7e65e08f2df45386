"""Which rules are switched on: codes, prefixes of codes and rule names, the most specific mention winning."""

from __future__ import annotations

import re
from typing import NamedTuple

_EXACT = 1000
_PREFIX = re.compile(r"[A-Z]{2,}\d*|[A-Za-z]{2,}\d+|gb|Gb|gB")  # a word such as "graph" is a name


class Layer(NamedTuple):
    """Choices from one place (a settings file or the command line); `select` None keeps what the layer before chose."""

    select: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()


class Selection:
    """Choices of several layers, later ones over earlier ones. Without any, all rules are on that are not optional."""

    def __init__(self, *layers: Layer) -> None:
        self._layers = layers
        self._known: dict[tuple[str, str, bool], bool] = {}

    def enabled(self, code: str, name: str, optional: bool = False) -> bool:
        """Whether findings of a rule are wanted. optional: it is off until it is selected."""
        key = (code, name, optional)
        if key not in self._known:
            self._known[key] = self._decide(*key)
        return self._known[key]

    def _decide(self, code: str, name: str, optional: bool) -> bool:
        on = not optional
        for layer in self._layers:
            if layer.select is not None:
                on = False
            wanted = strength((*(layer.select or ()), *layer.extend_select), code, name)
            unwanted = strength(layer.ignore, code, name)
            if unwanted and unwanted >= wanted:
                on = False
            elif wanted:
                on = True
        return on


def strength(selectors: tuple[str, ...], code: str, name: str) -> int:
    """How specifically a rule is mentioned: 0 for not at all."""
    return max((_strength(s, code, name) for s in selectors), default=0)


def _strength(selector: str, code: str, name: str) -> int:
    upper = selector.upper()
    if upper == code or selector.lower() == name:
        return _EXACT
    if upper == "ALL":
        return 1
    return 1 + len(upper) if _PREFIX.fullmatch(selector) and code.startswith(upper) else 0
