"""A loop that a tensor ends early runs to its bound; from the point where it would have ended nothing changes.

What it does:
    For `for … in …:` with `if c: break` the loop keeps a flag, and each variable that a round hands on keeps its value
    once the flag is set: `x = torch.where(done, old_x, x)`. `if c: return v` inside such a loop keeps the first `v` in
    the same way. Where the test asks whether rows are finished, and the loop itself masks those, the `break` is all
    that goes.
Applicability:
    Unsafe: the rounds after the end are computed as well, and what they compute must not fail or have an effect. Where
    only the `break` goes, what grows by one each round grows to its full length.
Preconditions:
    The loop is a `for` and has no `else`; its rounds only assign variables, and the branch only leaves the loop. What a
    round hands on has a value before the loop and keeps its shape.
Instead:
    A fixed number of rounds, or `torch.while_loop`.
"""

from __future__ import annotations

import libcst as cst

from gblint.codemod_api import (
    Choice,
    Codemod,
    CodemodMeta,
    Condition,
    Declined,
    Edit,
    Example,
    Repair,
    Selector,
    Site,
    Statement,
    always_returns,
    applied,
    arm_of,
    body_of,
    bound_before,
    calls_of,
    changed_names,
    changes_state,
    check_effects,
    condition,
    is_live,
    refuse,
    require,
    returned,
    tested,
    walk,
)

GROWS = ("cat", "concat", "concatenate", "stack", "hstack", "vstack", "pad")
MESSAGE = "run the loop to its bound; rounds after the end are computed too"


class FreezeLoopExit(Codemod):
    """Loops that a tensor ends."""

    meta = CodemodMeta(
        name="freeze-loop-exit",
        summary="a loop runs to its bound and changes nothing once it would have ended",
        fixes=("branch-on-tensor", "read-tensor-value"),
        rank=34,
    )

    EXAMPLES = (
        Example(
            """
import torch

@torch.compile
def settle(x: torch.Tensor):
    for _ in range(5):
        new = (x + 2 / x) / 2
        shift = (new - x).abs().max()
        x = new
        if shift < 0.01:
            break
    return x
print(f"checksum {settle(torch.ones(2)).sum().item():.5f}")
""",
            """
import torch

@torch.compile
def settle(x: torch.Tensor):
    done = torch.zeros((), dtype=torch.bool, device=x.device)
    for _ in range(5):
        old_x = x
        new = (x + 2 / x) / 2
        shift = (new - x).abs().max()
        x = new
        x = torch.where(done, old_x, x)
        done = done | (shift < 0.01)
    return x
print(f"checksum {settle(torch.ones(2)).sum().item():.5f}")
""",
            "unsafe",
        ),
        Example(
            """
import torch

@torch.compile
def decode(ids: torch.Tensor):
    alive = torch.ones(2, dtype=torch.long)
    for _ in range(4):
        token = (ids.sum(1) % 3) * alive
        ids = torch.cat([ids, token[:, None]], 1)
        alive = alive * (token != 0).long()
        if alive.max() == 0:
            break
    return ids

print("checksum", decode(torch.tensor([[1, 2], [2, 3]])).sum().item())
""",
            """
import torch

@torch.compile
def decode(ids: torch.Tensor):
    alive = torch.ones(2, dtype=torch.long)
    for _ in range(4):
        token = (ids.sum(1) % 3) * alive
        ids = torch.cat([ids, token[:, None]], 1)
        alive = alive * (token != 0).long()
    return ids

print("checksum", decode(torch.tensor([[1, 2], [2, 3]])).sum().item())
""",
            "unsafe",
        ),
        Example(
            """
import torch

@torch.compile
def first(x: torch.Tensor):
    for i in range(4):
        x = x * 2
        y = x + i
        if y.sum() > 10:
            return y
    return y

print("checksum", first(torch.ones(2)).sum().item(), first(torch.zeros(2)).sum().item())
""",
            """
import torch

@torch.compile
def first(x: torch.Tensor):
    done = early = None
    for i in range(4):
        x = x * 2
        y = x + i
        early = y if done is None else torch.where(done, early, y)
        ended = y.sum() > 10
        done = ended if done is None else done | ended
    if done is not None:
        return torch.where(done, early, y)
    return y

print("checksum", first(torch.ones(2)).sum().item(), first(torch.zeros(2)).sum().item())
""",
            "unsafe",
        ),
    )
    DECLINES = (
        Declined(
            """
import torch

@torch.compile
def left(x: torch.Tensor, y: torch.Tensor):
    steps = 0
    while True:
        x = x * 2
        if x.sum() > 10:
            break
    for i in range(3):
        x = torch.cat([x, x])
        if x.sum() > 10:
            break
    for i in range(3):
        y = y * 2
        steps = steps + 1
        if y.sum() > 10:
            break
    for i in range(3):
        y = y * 2
        print(i)
        if y.sum() > 10:
            break
    for i in range(3):
        y = y * 2
        if y.sum() > 10:
            break
    else:
        y = y - 1
    for i in range(3):
        y = y * 2
        if i > 1:
            if y.sum() > 10:
                break
    for i in range(3):
        y = y * 2
        if y.sum() > 10:
            y = y - 1
            break
    for i in range(3):
        y = y * 2
        if i > 1 and y.sum() > 10:
            break
    for i in range(3):
        if y.sum() > 10:
            break
        y = y * 2
    for i in range(3):
        unread = y * i
        if unread.sum() > 10:
            break
    for i in range(3):
        unset = y * i
        if unset.sum() > 10:
            break
    return x / steps, unset

@torch.compile
def several(x: torch.Tensor):
    for i in range(3):
        x = x * 2
        if x.sum() > 10:
            return x, i
    return x, 3

@torch.compile
def follows(x: torch.Tensor):
    for i in range(3):
        x = x * 2
        if x.sum() > 10:
            return x
    x = x + 1
    return x

left(torch.ones(2), torch.ones(2))
several(torch.ones(2))
follows(torch.ones(2))
""",
            "may never end",
        ),
    )

    def repair(self, site: Site) -> Repair | None:
        if not isinstance(site.node, cst.BaseExpression):
            return None
        holder, test = tested(site)
        loop = site.loop(holder) if isinstance(holder, cst.If) else None
        if not isinstance(holder, cst.If) or loop is None or holder.orelse is not None:
            return None
        exits = arm_of(site, body_of(site, holder.body))
        if not isinstance(exits.ending, cst.Break | cst.Return):
            return None
        if not isinstance(loop, cst.For):
            refuse("a `while` loop may never end by itself")
        require(loop.orelse is None, "the loop has an `else`")
        require(site.parent(site.parent(holder) or holder) is loop, "the branch stands deeper inside the loop")
        require(not exits.steps, "the branch does more than leave the loop")
        body = body_of(site, loop.body)
        check_effects(site, [s for s in body if s is not holder])
        found = condition(site, test)
        if isinstance(exits.ending, cst.Return):
            return _returning(site, holder, loop, found, exits.returns)
        if _masks_rows(site, test, body) and not changes_state(site, [test]):
            return Repair(
                "unsafe",
                "run the loop to its bound, finished rows stay as they are; what grows each round grows to full length",
                [site.remove(holder)],
            )
        return _freezing(site, holder, loop, found, body)


def _masks_rows(site: Site, test: cst.BaseExpression, body: list[Statement]) -> bool:
    """Whether the test asks about a variable that only ever turns one way (`done = done | …`), and by which the rounds
    mask what they compute."""
    names = {n.value for n in walk(test) if isinstance(n, cst.Name)}
    for name in names:
        stores = [s for s in site.stores(name) if any(a in body for a in site.ancestors(s))]
        if not stores or not all(_turns_one_way(site, site.statement(s), name) for s in stores):
            continue
        own = {site.statement(s) for s in stores}
        if any(_masks(site, load) for load in site.loads(name) if site.statement(load) in set(body) - own):
            return True
    return False


def _turns_one_way(site: Site, line: Statement, name: str) -> bool:
    small = line.body[0] if isinstance(line, cst.SimpleStatementLine) else None
    if isinstance(small, cst.AugAssign):
        return isinstance(small.operator, cst.BitOrAssign | cst.BitAndAssign | cst.MultiplyAssign)
    if not isinstance(small, cst.Assign):
        return False
    value = small.value
    if isinstance(value, cst.BinaryOperation):
        sides = {site.text(value.left), site.text(value.right)}
        return name in sides and isinstance(value.operator, cst.BitOr | cst.BitAnd | cst.Multiply)
    called, args = applied(site, value)
    return called in ("mul", "logical_or", "logical_and", "bitwise_or", "bitwise_and") and name in map(site.text, args)


def _masks(site: Site, load: cst.Name) -> bool:
    """Whether a read multiplies by the variable or chooses with it."""
    above = site.parent(load)
    while isinstance(above, cst.UnaryOperation | cst.Subscript):
        above = site.parent(above)
    if isinstance(above, cst.BinaryOperation):
        return isinstance(above.operator, cst.Multiply)
    call = site.parent(above) if isinstance(above, cst.Arg) else None
    return isinstance(call, cst.Call) and applied(site, call)[0] in ("where", "masked_fill", "mul")


def _freezing(site: Site, holder: cst.If, loop: cst.For, found: Condition, body: list[Statement]) -> Repair:
    require(not found.python, f"the test has a part for Python (`{found.python}`)")
    require(body[-1] is holder, "the round goes on behind the branch")
    done = site.fresh("done")
    selector = Selector(site, found, done, site.indent(holder))
    names = _handed_on(site, loop, body)
    require(names, "nothing that the rounds compute is read afterwards")
    old = {n: site.fresh(f"old_{n}") for n in names}
    text = ""
    for name in names:
        old_value = Choice(old[name], [cst.Name(old[name])])
        text += selector.assign(name, old_value, Choice(name, [cst.Name(name)]))
    text += f"{done} = {done} | {found.operand}\n"
    selector.note_calls(calls_of(site, [s for s in body if s is not holder]))
    zeros, imports = site.refer("torch.zeros")
    dtype, more = site.refer("torch.bool")
    edits = [
        site.insert_before(loop, f"{done} = {zeros}((), dtype={dtype}, device={names[0]}.device)\n"),
        site.insert_before(body[0], "".join(f"{old[n]} = {n}\n" for n in names)),
        site.replace_lines(holder, holder, text),
    ]
    return Repair("unsafe", selector.message(MESSAGE), [*edits, *selector.imports, *imports, *more])


def _handed_on(site: Site, loop: cst.For, body: list[Statement]) -> list[str]:
    """The variables that a round gives to the next or to what follows; raises Refusal for one that cannot be kept."""
    bound = changed_names(body) - changed_names_of_target(loop)
    names = [n for n in _in_order(site, bound) if is_live(site, n, body)]
    for name in names:
        require(bound_before(site, name, loop), f"`{name}` is read afterwards and has no value before the loop")
        if not _is_tensor(site, name, body):
            refuse(f"`{name}` is handed on and is not known to be a tensor")
        for store in site.stores(name):
            line = site.statement(store)
            grows = any(applied(site, c)[0] in GROWS for c in walk(line) if isinstance(c, cst.Call))
            inside = any(above in body for above in (line, *site.ancestors(line)))
            require(not (inside and grows), f"`{name}` grows each round")
    return names


def changed_names_of_target(loop: cst.For) -> set[str]:
    """The variables of a loop itself."""
    return {n.value for n in walk(loop.target) if isinstance(n, cst.Name)}


def _in_order(site: Site, names: set[str]) -> list[str]:
    return sorted(names, key=lambda n: site.span(site.stores(n)[0]))


def _is_tensor(site: Site, name: str, body: list[Statement]) -> bool:
    loads = [n for n in site.loads(name) if site.value(n) is not None]
    return bool(loads) and all(site.tensor(n) is not None for n in loads)


def _returning(site: Site, holder: cst.If, loop: cst.For, found: Condition, values: list[Choice]) -> Repair:
    """`if c: return v`: the first such `v` is kept, and chosen where the function returns behind the loop."""
    require(len(values) == 1, "the branch returns several values, or nothing")
    following = site.following(loop)
    require(len(following) == 1 and always_returns(following[0]), "more follows than a `return`")
    last = following[0]
    small = last.body[0] if isinstance(last, cst.SimpleStatementLine) else None
    if not isinstance(small, cst.Return) or small.value is None:
        refuse("the other way gives nothing")
    done, early, ended = site.fresh("done"), site.fresh("early"), site.fresh("ended")
    selector = Selector(site, found, done, site.indent(holder))
    kept = Choice(early, [cst.Name(early)])
    first = f"{values[0].text} if {done} is None else {selector.select(kept, values[0])}"
    text = f"{early} = {first}\n{ended} = {found.tensor}\n{done} = {ended} if {done} is None else {done} | {ended}\n"
    if found.python:
        text = f"if {found.python}:\n" + "".join(site.step + line for line in text.splitlines(keepends=True))
    selector.note_calls(calls_of(site, [s for s in body_of(site, loop.body) if s is not holder]))
    end = returned(selector, [kept], [Choice(site.flat(small.value), [small.value])])
    edits: list[Edit] = [
        site.insert_before(loop, f"{done} = {early} = None\n"),
        site.replace_lines(holder, holder, text),
        site.insert_before(last, f"if {done} is not None:\n{site.step}{end}"),
    ]
    return Repair("unsafe", selector.message(MESSAGE), [*edits, *selector.imports])
