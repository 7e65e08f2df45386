"""Errors a person can act on."""

from __future__ import annotations

from collections.abc import Iterable


class GblintError(Exception):
    """gblint cannot do its work (exit code 2).

    message: what happened and where, one line; hint: what to do about it, one line or "".
    """

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


def suggest(word: str, known: Iterable[str]) -> str:
    """A hint naming the known word nearest to a misspelt one, or all of them when nothing is near."""
    import difflib

    names = list(known)
    near = difflib.get_close_matches(word, names, n=1, cutoff=0.6)
    if near:
        return f"did you mean `{near[0]}`?"
    return f"known: {', '.join(names)}"
