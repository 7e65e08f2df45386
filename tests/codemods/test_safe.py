"""Programs, shrunk from generated ones, in which a repair changed a result that it must not change."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from gblint.checking import Options
from gblint.fixing.plan import Choice
from gblint.fixing.session import repair


class Program(NamedTuple):
    """why: what had been overlooked. text: a function to compile, and calls. line: what has to be there after safe
    repairs: as it was, or as it is repaired now."""

    why: str
    text: str
    line: str


PROGRAMS = (
    Program(
        "a masked value is named within the expression",
        """
def f(x: torch.Tensor):
    x[x < 0] = (kept := -x[x < 0]) + 1
    return x

f(torch.ones(2))
""",
        "x[x < 0] = (kept := -x[x < 0]) + 1",
    ),
    Program(
        "the rest returns the argument itself, which a caller may change",
        """
@torch.no_grad()
def f(x: torch.Tensor):
    if x.sum() > 0:
        return x * 2
    pass
    return x

f(torch.ones(2))
""",
        "return x",
    ),
    Program(
        "a mask of another shape is an error, but only if it is used",
        """
@torch.no_grad()
def f(x: torch.Tensor, m: torch.Tensor):
    y = x.clone()
    if m.any():
        y[m] = 0
    return y

f(torch.ones(2), torch.ones(2) > 0)
""",
        "if m.any():",
    ),
    Program(
        "what is written under a mask is converted to the type of the tensor",
        """
def f(x: torch.Tensor):
    y = torch.zeros_like(x, dtype=torch.long)
    mask = x > 2
    y[mask] = x[mask].round()
    return y

f(torch.tensor([0.0, 9.0]))
""",
        "y.copy_(torch.where(mask, x.round(), y))",
    ),
    Program(
        "an index of bytes is a mask",
        """
def f(x: torch.Tensor, i: torch.Tensor):
    return x[i[0]] * 2

f(torch.ones(2), torch.tensor([1], dtype=torch.uint8))
""",
        "return x[i[0]] * 2",
    ),
    Program(
        "torch.isin takes no truth values",
        """
@torch.no_grad()
def f(x: torch.Tensor):
    y = x * 2
    if x in STOP:
        y = y * 2
    return y

f(torch.tensor(True))
""",
        "if x in STOP:",
    ),
    Program(
        "the reader stands on the same line",
        """
def f(ids: torch.Tensor):
    x = ids.long() * 2
    values = x.reshape(-1).tolist(); return torch.tensor(list(dict.fromkeys(values)))

f(torch.tensor([1, 1]))
""",
        "values = x.reshape(-1).tolist(); return torch.tensor(list(dict.fromkeys(values)))",
    ),
    Program(
        "what a fill is like is computed by a function of the project",
        """
def note(value):
    STOP.append(1)
    return value

@torch.compile
def f(x: torch.Tensor, s: torch.Tensor):
    return torch.full_like(note(x), s.sum()) + 1

f(torch.ones(2), torch.tensor(2.0))
""",
        "return torch.full_like(note(x), s.sum()) + 1",
    ),
    Program(
        "the arguments of a fill in another order",
        """
def f(x: torch.Tensor, s: torch.Tensor):
    return torch.full_like(fill_value=s.sum(), input=x) + 1

f(torch.ones(2), torch.tensor(2.0))
""",
        "return torch.full_like(fill_value=s.sum(), input=x) + 1",
    ),
    Program(
        "a mask that a function of the project computes",
        """
def note(value):
    STOP.append(1)
    return value

@torch.compile
def f(x: torch.Tensor):
    y = x.clone()
    y[note(x > 0)] = x[note(x > 0)] * 2
    return y

f(torch.ones(2))
""",
        "y[note(x > 0)] = x[note(x > 0)] * 2",
    ),
    Program(
        "an arm gives the tensor itself, which is changed afterwards",
        """
@torch.no_grad()
def f(x: torch.Tensor):
    if x.sum() > 0:
        y = x
    else:
        y = x + 1
    y.add_(1)
    return y, x

f(torch.ones(2))
""",
        "if x.sum() > 0:",
    ),
    Program(
        "an arm gives a view of the tensor, which is changed afterwards",
        """
@torch.no_grad()
def f(x: torch.Tensor):
    if x.sum() > 0:
        y = x.detach()
    else:
        y = x + 1
    x.mul_(2)
    return y * 2

f(torch.ones(2))
""",
        "if x.sum() > 0:",
    ),
    Program(
        "a loop sets an item of a dictionary",
        """
@torch.no_grad()
def f(scores: torch.Tensor):
    box = {}
    labels = torch.zeros(scores.shape, dtype=torch.long)
    for box["i"] in range(scores.shape[0]):
        if scores[box["i"]] > 0.5:
            labels[box["i"]] = 1
    return labels

f(torch.ones(2))
""",
        'for box["i"] in range(scores.shape[0]):',
    ),
    Program(
        "a mask of the diagonal is changed in place",
        """
def f(c: torch.Tensor):
    away = ~torch.eye(3).bool()
    away[0] = True
    return c[..., away].sum(-1)

f(torch.ones(2, 3, 3))
""",
        "return c[..., away].sum(-1)",
    ),
    Program(
        "what an answer of NumPy is, is asked by identity",
        """
def f(x: torch.Tensor, a: float):
    if (np.isnan(a) or np.isinf(a)) is True:
        return x * 2
    return x

f(torch.ones(2), 1.0)
""",
        "if (np.isnan(a) or np.isinf(a)) is True:",
    ),
    Program(
        "which operand a conjunction gives is asked by identity",
        """
def f(x: torch.Tensor, flag: bool):
    if (x.sum() > 0 and flag) is True:
        return x * 2
    return x

f(torch.ones(2), True)
""",
        "if (x.sum() > 0 and flag) is True:",
    ),
    Program(
        "what is tested is bound anew within a loop",
        """
@torch.no_grad()
def f(grads, most: float):
    norm = torch.stack([g.norm() for g in grads]).norm()
    by = norm > most
    if by:
        for g in grads:
            by = most / norm
            g.mul_(by)
    return norm

f([torch.ones(2)], 1.0)
""",
        "g.mul_(torch.where(chosen, by, 1.0))",
    ),
    Program(
        "the power of a negative number, which a graph reads as the negative power",
        """
def f(x: torch.Tensor):
    return pow(-2, x) + 1

f(torch.ones(2))
""",
        "return pow(-2, x) + 1",
    ),
    Program(
        "the negation of a conjunction",
        """
@torch.no_grad()
def f(x: torch.Tensor):
    y = x * 2
    if not (x.sum() > 0 and x.sum() < 9):
        y = y * 3
    return y

f(torch.ones(2))
""",
        "y = torch.where(~((x.sum() > 0) & (x.sum() < 9)), y * 3, y)",
    ),
    Program(
        "a manager swallows errors, but not those that Dynamo meets while it traces the block",
        """
def f(x: torch.Tensor):
    y = x
    with contextlib.ExitStack() as stack:
        stack.enter_context(Tolerant())
        y = y * 2
        y = y + torch.ones(3)
    return y

import contextlib

class Tolerant:
    def __enter__(self):
        return self

    def __exit__(self, *exc):
        return True

f(torch.zeros(0))
""",
        "stack.enter_context(Tolerant())",
    ),
    Program(
        "a variable that is bound further on hides what it is named like",
        """
def f(x: torch.Tensor):
    with closing(Reader()):
        y = x * 2
    closing = 1
    return y * closing

from contextlib import closing

class Reader:
    def close(self):
        pass

f(torch.ones(2))
""",
        "with closing(Reader()):",
    ),
)


UNSAFE = (
    Program(
        "a value for the caller to pass goes behind the parentheses of the last argument",
        """
def f(x: torch.Tensor, parts):
    return x * parts[0] * int(np.prod(x.numpy()))

x = torch.ones(2)
f(x, (torch.ones(2), [x]
))
f(x, (((x, 1)) ))
""",
        "f(x, (((x, 1)) ), int(np.prod(x.numpy())))",
    ),
    Program(
        "two values that were given one name come one after the other",
        """
def f(x):
    n = int(np.prod(x.numpy()))
    n = int(np.prod(x.numpy() if len(SEEN) < 3 else x.numpy() * 2))
    return x * n

f(torch.ones(4))
""",
        "def f(x, n_2, n_3):",
    ),
    Program(
        "a branch that is taken while there is time",
        """
def f(x: torch.Tensor):
    start = time.time()
    if not time.time() - start > 100:
        x = x + 1
    return x

f(torch.ones(2))
""",
        "if not time.time() - start > 100:",
    ),
    Program(
        "a branch that is taken below a limit",
        """
def f(x: torch.Tensor):
    start = time.time()
    x = x * 2
    if time.time() - start < 100:
        x = x + 1
    return x

f(torch.ones(2))
""",
        "if time.time() - start < 100:",
    ),
    Program(
        "the weights are read twice in the new form",
        """
def f(x: torch.Tensor, ids: torch.Tensor):
    return ids.bincount(note(x), minlength=4)

f(torch.ones(3), torch.tensor([0, 1, 3]))
""",
        "return bincount_2",
    ),
    Program(
        "a set tells numbers apart by value, tensors by identity",
        """
def f(x: torch.Tensor):
    values = (x * 2).long().tolist()
    return x * len(set(values))

f(torch.ones(3))
""",
        "def f(x: torch.Tensor, values):",
    ),
    Program(
        "the line of a statement that goes holds another one",
        """
def f(loss: torch.Tensor, mask: torch.Tensor):
    kept = mask.T; loss = loss[mask]
    return loss.mean(), kept

f(torch.ones(3), torch.ones(3) > 0)
""",
        "kept = mask.T; loss = loss[mask]",
    ),
)

HEAD = """
import time

import numpy as np
import torch

STOP = [0, 3]
SEEN = []

def note(value):
    SEEN.append(len(SEEN))
    return value

@torch.compile"""


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.why)
def test_safe_repairs_change_no_result(program: Program, tmp_path: Path) -> None:
    assert program.line in repaired(program, Choice(), tmp_path)


@pytest.mark.parametrize("program", UNSAFE, ids=lambda program: program.why)
def test_unsafe_repairs_change_no_result_without_a_word(program: Program, tmp_path: Path) -> None:
    assert program.line in repaired(program, Choice(unsafe=True), tmp_path)


def repaired(program: Program, choice: Choice, folder: Path) -> list[str]:
    """The lines of a program after its repair."""
    file = folder / "program.py"
    text = f"{HEAD}{program.text}"
    file.write_text(text, encoding="utf8")
    made = repair(Options(paths=(str(file),), isolated=True, no_cache=True), choice)
    assert made.before.findings
    new = made.new.get(str(file), text.encode()).decode("utf8")
    return [line.strip() for line in new.splitlines()]
