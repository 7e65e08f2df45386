"""Ranges of torch releases, as rules state them."""

from __future__ import annotations

from operator import eq, ge, gt, le, lt, ne

_OPERATORS = {">=": ge, ">": gt, "<=": le, "<": lt, "==": eq, "!=": ne}


def applies(specifier: str, release: tuple[int, int]) -> bool:
    """Whether a range holds for a minor release: comma-separated `>=2.8`, `<2.15`, `==2.13`.

    Raises ValueError if the range says something else.
    """
    for part in specifier.split(","):
        text = part.strip()
        operator = text.rstrip("0123456789. ")
        if operator not in _OPERATORS:
            raise ValueError(f"torch range {specifier!r}: write parts like '>=2.8', with one of {' '.join(_OPERATORS)}")
        wanted = tuple(int(n) for n in text[len(operator) :].split(".")[:2])
        if not _OPERATORS[operator](release, wanted):
            return False
    return True
