"""Programs, shrunk from generated ones, in which a repair changed a result that it must not change."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from gblint.checking import Options
from gblint.fixing.plan import Choice
from gblint.fixing.session import repair


class Program(NamedTuple):
    """why: what had been overlooked. text: a function to compile, and calls. line: what has to be there after the
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
    Program(
        "calls whose statements have the same text are told apart by their rows",
        """
class Kept(torch.nn.Module):
    def forward(self, x, mask):
        return x[mask]

kept = torch.compile(Kept())
kept(torch.ones(3), torch.ones(3) > 0)
kept(torch.ones(3), torch.ones(3) > 0)
""",
        "kept(x, mask, x[mask])\nx = torch.ones(3)\nmask = torch.ones(3) > 0\nkept(x, mask, x[mask])",
    ),
    Program(
        "a part of a local object was set before",
        """
@torch.compile
def f(x: torch.Tensor):
    box = {}
    box["y"] = x * 2
    if box["y"].sum() > 0:
        note(x)
    return x

f(torch.ones(2))
""",
        'if box["y"].sum() > 0:',
    ),
    Program(
        "an argument is changed through a view before it is read",
        """
@torch.compile
def f(x: torch.Tensor):
    other = x.T
    other += 1
    return other, x.tolist()

f(torch.ones(2, 2))
""",
        "return other, x.tolist()",
    ),
    Program(
        "what is to be computed by the caller changes an argument",
        """
@torch.compile
def f(x: torch.Tensor, limits):
    if x.sum() > limits.pop():
        note(x)
    return x * 2, limits

f(torch.ones(2), [3, 2])
""",
        "if x.sum() > limits.pop():",
    ),
    Program(
        "a call runs more than one function",
        """
class Given(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        weight = torch.ones_like(x, requires_grad=True)
        return x * 2, weight

given = torch.compile(Given())

@torch.compile
def two(x: torch.Tensor):
    return x * 2

for f in (given, two):
    f(torch.ones(2))
""",
        "def forward(self, x: torch.Tensor):",
    ),
    Program(
        "arguments are gathered by a star",
        """
def inner(x: torch.Tensor, other: torch.Tensor):
    return x * other, torch.equal(input=x, other=other), torch.allclose(x, other)

@torch.compile
def f(*args):
    with torch.no_grad():
        return inner(*args)

f(torch.ones(2), torch.ones(2))
""",
        "def f(*args):",
    ),
    Program(
        "an `or` gives the value itself",
        """
@torch.compile
def f(x: torch.Tensor):
    return x + (x.sum() or x.max())

f(torch.ones(2))
""",
        "return x + (x.sum() or x.max())",
    ),
    Program(
        "the values of a generator are asked for one by one",
        """
@torch.compile
def f(x: torch.Tensor):
    yield x * 2

print(next(f(torch.ones(2))))
""",
        "yield x * 2",
    ),
    Program(
        "a generator is handed on by its name",
        """
@torch.compile
def f(x: torch.Tensor):
    yield x * 2

for g in (f, iter):
    next(iter(g(torch.ones(2))))
""",
        "yield x * 2",
    ),
    Program(
        "the next element is that of a part of an expression",
        """
@torch.compile
def f(xs):
    return next(xs if len(SEEN) < 3 else iter(())) * 2

def stream():
    yield torch.ones(2)

f(stream())
""",
        "xs = iter(xs)",
    ),
    Program(
        "a manager is made anew in each call, which is counted",
        """
class counted(contextlib.ContextDecorator):
    def __init__(self):
        SEEN.append(1)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        return False

@counted()
def f(x):
    return x * 2

torch.compile(f)(torch.ones(2))
""",
        "@counted()",
    ),
    Program(
        "a manager whose `__enter__` is decorated",
        """
class entered(contextlib.ContextDecorator):
    @torch.no_grad()
    def __enter__(self):
        return self

    def __exit__(self, *exc):
        return False

@entered()
def f(x):
    return x * 2

torch.compile(f)(torch.ones(2))
""",
        "@entered()",
    ),
    Program(
        "None in code that does not run",
        """
@torch.compile
def f(x: torch.Tensor, mask: torch.Tensor):
    if mask.any():
        return mask
    if x is None:
        return None
    return x

f(*[torch.ones(2), torch.ones(2)])
""",
        "if mask.any():",
    ),
    Program(
        "None is assigned beside other things",
        """
@torch.compile
def f(x: torch.Tensor, mask: torch.Tensor):
    if mask.all():
        mask = None
        x = (
            x + 1  # the value
        )
    return x, mask

f(*[torch.ones(2), torch.ones(2)])
""",
        "if mask.all():",
    ),
    Program(
        "a part of a test that may be skipped is noted",
        """
@torch.compile
def f(x: torch.Tensor):
    if x.sum() > 0 or note(x > 2).any():
        x = x + 1
    return x

f(*[torch.ones(2)])
""",
        "if x.sum() > 0 or note(x > 2).any():",
    ),
    Program(
        "what an arm calls is noted",
        """
@torch.compile
def f(x: torch.Tensor):
    err = x.abs().max()
    while err > 0.01:
        x = note(x) / 2
        err = x.abs().max()
    return x

f(torch.ones(2))
""",
        "while err > 0.01:",
    ),
    Program(
        "an argument that an arm replaces is changed in place afterwards",
        """
@torch.compile
def f(x: torch.Tensor):
    if x.sum() < 0:
        x = x * 2
    x.add_(1)
    return x

f(*[torch.ones(2)])
""",
        "if x.sum() < 0:",
    ),
    Program(
        "a module that gives another shape",
        """
halve = torch.nn.MaxPool1d(2)

@torch.compile
def f(x: torch.Tensor):
    if x.sum() > 0:
        x = halve(x)
    return x

f(*[torch.ones(1, 2)])
""",
        "if x.sum() > 0:",
    ),
    Program(
        "a number is returned where a tensor may be",
        """
@torch.compile
def f(x: torch.Tensor):
    y = x * 2
    z = 1.0 if x.sum() > 0 else y
    return y, z

f(*[torch.ones(2)])
""",
        "z = 1.0 if x.sum() > 0 else y",
    ),
    Program(
        "truth values and numbers",
        """
@torch.compile
def f(x: torch.Tensor):
    y = x > 0
    return y.long() + 1 if x.sum() > 0 else y

f(*[torch.ones(2)])
""",
        "return y.long() + 1 if x.sum() > 0 else y",
    ),
    Program(
        "what `int` makes of a tensor of an unknown type",
        """
@torch.compile
def f(x: torch.Tensor, s: torch.Tensor):
    return x * int(s) + 0.5

f(torch.ones(2), torch.tensor(2.5))
f(torch.ones(2), torch.tensor(3))
""",
        "return x * s.long() + 0.5",
    ),
    Program(
        "a list may be empty or hold more than what it was made of",
        """
@torch.compile
def f(x: torch.Tensor):
    axes = torch.arange(end=len(x)).tolist()
    axes.append(0.5)
    return x * sum(axes)

f(*[torch.ones(2)])
""",
        "return x * sum(axes)",
    ),
    Program(
        "torch.tensor takes numbers",
        """
@torch.compile
def f(x: torch.Tensor):
    values = x.int().tolist()
    return torch.tensor(values[::-1])

f(*[torch.ones(2)])
""",
        "values = x.int().tolist()\nreturn torch.tensor(values[::-1])",
    ),
    Program(
        "the number of an expert is used as a number where the loop makes it one",
        """
@torch.compile
def experts(x, index, up):
    out = torch.zeros_like(x)
    mask = torch.nn.functional.one_hot(index, num_classes=up.shape[0]).permute(2, 1, 0)
    hit = torch.greater(mask.sum(dim=(-1, -2)), 0).nonzero()
    for e in hit:
        e = e[0]
        slot, rows = torch.where(mask[e])
        state = torch.nn.functional.linear(x[rows], up[e])
        out.index_add_(0, rows, state.to(out.dtype))
    return out

experts(torch.ones(4, 2), torch.ones(4, 2, dtype=torch.long), torch.ones(3, 2, 2))
""",
        "state = torch.nn.functional.linear(x, up[e])",
    ),
    Program(
        "a round over the experts that were hit is counted",
        """
@torch.compile
def experts(x, index, up):
    out = torch.zeros_like(x)
    mask = torch.nn.functional.one_hot(index, num_classes=up.shape[0]).permute(2, 1, 0)
    for e in torch.greater(mask.sum(dim=(-1, -2)), 0).nonzero():
        e = e[0]
        SEEN.append(1)
        slot, rows = torch.where(mask[e])
        out.index_add_(0, rows, (x[rows] @ up[e]).to(out.dtype))
    return out

experts(*[torch.ones(4, 2), torch.ones(4, 2, dtype=torch.long), torch.ones(3, 2, 2)])
""",
        "for e in torch.greater(mask.sum(dim=(-1, -2)), 0).nonzero():",
    ),
    Program(
        "a row is written into the tensor that it is a part of",
        """
@torch.compile
def f(a: torch.Tensor, m: torch.Tensor):
    j = m.sum()
    a[j] = a[0]
    return a

f(torch.ones(3, 3), torch.ones(2) > 0)
""",
        "a[j] = a[0]",
    ),
    Program(
        "the mask is asked for something else than whether it masks",
        """
def prepare(padding):
    if padding is not None and (padding == 2).any():
        return padding.bool()
    return None

@torch.compile
def f(x: torch.Tensor, padding: torch.Tensor):
    kept = prepare(padding)
    return x if kept is None else x * kept

f(*[torch.ones(3), torch.zeros(3)])
""",
        "if padding is not None and (padding == 2).any():",
    ),
    Program(
        "giving the mask is noted",
        """
def prepare(padding):
    if padding is not None and (padding == 0).any():
        return note(padding.bool())
    return None

@torch.compile
def f(x: torch.Tensor, padding: torch.Tensor):
    kept = prepare(padding)
    return x if kept is None else x * kept

f(*[torch.ones(3), torch.ones(3)])
""",
        "if padding is not None and (padding == 0).any():",
    ),
    Program(
        "the fake of an operator needs a part of an object",
        """
class Box:
    pass

@torch.compile
@torch.no_grad()
def f(x: torch.Tensor):
    box = Box()
    box.y = x * 2
    if x in STOP:
        box.y = box.y * 0
    return box.y

f(torch.tensor(1))
""",
        "def f(x: torch.Tensor):\nbox = Box()",
    ),
    Program(
        "the fake of an operator needs what a list holds",
        """
@torch.compile
@torch.no_grad()
def f(x: torch.Tensor):
    kept = []
    for row in x:
        if row.sum() < 0:
            continue
        kept.append(row)
    return torch.stack(kept)

f(torch.ones(2, 2))
""",
        "def f(x: torch.Tensor):\nkept = []",
    ),
    Program(
        "a result of an operator may be a view of what it is given",
        """
@torch.compile
@torch.no_grad()
def f(x: torch.Tensor):
    y = x.detach()
    if x.sum() > 0:
        y.mul_(2)
    elif (x == 0).any():
        y += 1
    else:
        try:
            y[0] = 1
        finally:
            SEEN.append(1)
    return y, x

f(*[torch.ones(2)])
""",
        "def f(x: torch.Tensor):\ny = x.detach()",
    ),
    Program(
        "what grows each round grows under a test",
        """
@torch.compile
def f(ids: torch.Tensor, flag: bool):
    alive = torch.ones(2, dtype=torch.long)
    for _ in range(4):
        token = ids.sum(1) % 3 + alive
        if flag:
            ids = torch.cat([ids, token[:, None]], 1)
        alive = alive - token
        if alive.max() < 0:
            break
    return ids

f(torch.ones(2, 2, dtype=torch.long), True)
""",
        "if alive.max() < 0:",
    ),
    Program(
        "the time is kept in an object of the function's own",
        """
@torch.compile
def f(x: torch.Tensor):
    box = types.SimpleNamespace()
    box.start = time.time()
    took = time.time() - box.start
    return x * 2, took

f(torch.ones(2))
""",
        "box = types.SimpleNamespace()\nbox.start = time.time()",
    ),
    Program(
        "a test in front of a loop is computed once",
        """
@torch.no_grad()
def f(grads, most: float):
    norm = torch.stack([g.norm() for g in grads]).norm()
    if norm > note(most):
        for g in grads:
            g.mul_(most / norm)
    return norm

f([torch.ones(2), torch.ones(3)], 1.0)
""",
        "chosen = norm > note(most)",
    ),
    Program(
        "what a check calls is noted",
        """
def f(x):
    if note(x.isnan().any()):
        raise ValueError(f"no number: {x.min()}")
    return x.sqrt()

f(*[torch.ones(2)])
""",
        "if note(x.isnan().any()):",
    ),
    Program(
        "a loop over weights binds an item of a dictionary",
        """
class Frozen(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.head = torch.nn.Linear(2, 2)

    def forward(self, x):
        box = {}
        for box["p"] in self.head.parameters():
            box["p"].requires_grad = False
        return self.head(x)

torch.compile(Frozen())(torch.ones(2))
""",
        'box = {}\nfor box["p"] in self.head.parameters():',
    ),
    Program(
        "a side of an operator gives a view of what it is given",
        """
def f(x: torch.Tensor):
    y = x.view(-1) * 1
    if x.sum() <= 0:
        y = y + 1
        y = y * 2
    else:
        y = y.detach()
    return y

f(*[torch.ones(2)])
""",
        "return y.clone()",
    ),
)

HEAD = """
import contextlib
import time
import types

import numpy as np
import torch

STOP = [0, 3]
SEEN = []

def note(value):
    SEEN.append(len(SEEN))
    return value
"""


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.why)
def test_safe_repairs_change_no_result(program: Program, tmp_path: Path) -> None:
    assert f"\n{program.line}\n" in repaired(program, Choice(), tmp_path)


@pytest.mark.parametrize("program", UNSAFE, ids=lambda program: program.why)
def test_unsafe_repairs_change_no_result_without_a_word(program: Program, tmp_path: Path) -> None:
    assert f"\n{program.line}\n" in repaired(program, Choice(unsafe=True), tmp_path)


def repaired(program: Program, choice: Choice, folder: Path) -> str:
    """The lines of a program after its repair, without their indentation."""
    file = folder / "program.py"
    marked = "" if "torch.compile" in program.text else "\n@torch.compile"
    text = f"{HEAD}{marked}{program.text}"
    file.write_text(text, encoding="utf8")
    made = repair(Options(paths=(str(file),), isolated=True, no_cache=True), choice)
    assert made.before.findings
    new = made.new.get(str(file), text.encode()).decode("utf8")
    return "\n".join(line.strip() for line in f"\n{new}\n".split("\n"))
