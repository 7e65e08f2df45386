"""Writes small programs in reach of the codemods: `repairable(seed)` is one, the same for the same seed.

A program starts from one of the examples and near misses in the codemods' own files, or from one of `STARTS`, and is
varied by chance.
"""

from __future__ import annotations

import random
from functools import lru_cache

from gblint.devtools.generated.starts import STARTS, written
from gblint.devtools.generated.variation import varied
from gblint.registry import load_codemods

# Shares of programs that start from STARTS, from examples of safe repairs, and from the other examples and near misses.
SHARES = {False: (0.5, 0.45, 0.05), True: (0.2, 0.1, 0.7)}

CHANGES = (0, 1, 1, 1, 2, 2, 3)  # in a program


@lru_cache(maxsize=1)
def _examples() -> tuple[list[str], list[str]]:
    """The programs in the codemods' files: those that safe repairs are shown with, and the others."""
    shown = [example for codemod in load_codemods() for example in codemod.EXAMPLES]
    safe = [example.before for example in shown if example.applicability == "safe"]
    near = [declined.program for codemod in load_codemods() for declined in codemod.DECLINES]
    return safe, [example.before for example in shown if example.applicability != "safe"] + near


def repairable(seed: int, unsafe: bool = False) -> str:
    """The text of the program of a seed; unsafe: most of them in reach of unsafe repairs."""
    draw = random.Random(seed)
    safe, others = _examples()
    while True:
        (source,) = draw.choices((STARTS, safe, others), SHARES[unsafe])
        start = written(draw.choice(source), draw)
        try:
            text = varied(start, draw, draw.choice(CHANGES), usual=unsafe)
            compile(text, "program.py", "exec", dont_inherit=True)
        except SyntaxError:
            continue
        return text
