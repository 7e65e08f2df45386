"""Experts that compute the rows routed to them: every expert computes all rows, and a mask picks what counts.

What it does:
    A loop over the experts that were hit (`mask.sum((-1, -2)).nonzero()`) becomes one over all of them, as many as the
    one-hot encoding has. `slot, rows = torch.where(mask[e])` (or `rows = torch.where(choice == e)[0]`) becomes the mask
    itself: `x[rows]` is `x`, `weight[rows, slot, None]` the weights under the mask summed over the slots, and
    `out.index_add_(0, rows, y)` or `out[rows] = y` takes `y` where the mask says so. A guard against no rows goes.
Applicability:
    Unsafe: each expert computes every row, what it does is taken to treat rows one by one, sums are rounded in another
    order, and parameters of an expert that was not hit get a gradient of zero instead of none.
Preconditions:
    The rows are used in these forms only, and nothing computed of them is seen to look at several rows at once.
Instead:
    `torch._dynamo.config.capture_dynamic_output_shape_ops = True`, or a grouped matrix product.
"""

from __future__ import annotations

import re
from itertools import islice

import libcst as cst

from gblint.codemod_api import (
    Codemod,
    CodemodMeta,
    Declined,
    Example,
    Repair,
    Routing,
    Site,
    changed_in_place,
    changes_state,
    refuse,
    require,
    walk,
)

MESSAGE = "let every expert compute all rows; takes it to treat rows one by one, and costs their number in time"


class DenseExperts(Codemod):
    """Loops over experts and the rows routed to them."""

    meta = CodemodMeta(
        name="dense-experts",
        summary="let every expert compute all rows and pick with a mask",
        fixes=("shape-from-contents",),
        rank=25,
    )
    EXAMPLES = (
        Example(
            """
import torch
from torch import nn


class Experts(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(4, 2)
        self.experts = nn.ModuleList(nn.Linear(4, 4) for _ in range(2))

    def forward(self, x):
        choice = self.gate(x).argmax(-1)
        out = torch.zeros_like(x)
        for i, expert in enumerate(self.experts):
            rows = torch.where(choice == i)[0]
            if rows.numel() == 0:
                continue
            out.index_add_(0, rows, expert(x[rows]))
        return out


torch.manual_seed(0)
print("checksum", f"{torch.compile(Experts())(torch.randn(3, 4)).sum().item():.4f}")
""",
            """
import torch
from torch import nn


class Experts(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(4, 2)
        self.experts = nn.ModuleList(nn.Linear(4, 4) for _ in range(2))

    def forward(self, x):
        choice = self.gate(x).argmax(-1)
        out = torch.zeros_like(x)
        for i, expert in enumerate(self.experts):
            picked = choice == i
            out.add_(torch.where(picked[:, None], expert(x), 0))
        return out


torch.manual_seed(0)
print("checksum", f"{torch.compile(Experts())(torch.randn(3, 4)).sum().item():.4f}")
""",
            "unsafe",
        ),
        Example(
            """
import torch
import torch.nn.functional as F


@torch.compile
def experts(x, index, weights, up):
    out = torch.zeros_like(x)
    with torch.no_grad():
        mask = F.one_hot(index, num_classes=up.shape[0]).permute(2, 1, 0)
        hit = torch.greater(mask.sum(dim=(-1, -2)), 0).nonzero()
    for e in hit:
        e = e[0]
        slot, rows = torch.where(mask[e])
        state = F.linear(x[rows], up[e])
        state = state * weights[rows, slot, None]
        out.index_add_(0, rows, state.to(out.dtype))
    return out


x, up = torch.arange(8.0).view(4, 2), torch.arange(12.0).view(3, 2, 2)
index = torch.tensor([[0, 1], [1, 0], [1, 0], [0, 1]])
print("checksum", experts(x, index, torch.rand(4, 2).round(), up).shape)
""",
            """
import torch
import torch.nn.functional as F


@torch.compile
def experts(x, index, weights, up):
    out = torch.zeros_like(x)
    with torch.no_grad():
        mask = F.one_hot(index, num_classes=up.shape[0]).permute(2, 1, 0)
    for e in range(up.shape[0]):
        picked = mask[e].t()
        state = F.linear(x, up[e])
        state = state * (weights * picked).sum(-1, keepdim=True)
        out.add_(torch.where(picked.any(-1, keepdim=True), state.to(out.dtype), 0))
    return out


x, up = torch.arange(8.0).view(4, 2), torch.arange(12.0).view(3, 2, 2)
index = torch.tensor([[0, 1], [1, 0], [1, 0], [0, 1]])
print("checksum", experts(x, index, torch.rand(4, 2).round(), up).shape)
""",
            "unsafe",
        ),
        Example(
            """
import torch
from torch.nn.functional import one_hot

@torch.compile
def experts(x, index, weights, up):
    out = torch.zeros_like(x)
    mask = one_hot(index, len(up)).permute(2, 1, 0)
    for e in (mask.sum((-1, -2)) > 0).nonzero():
        slot, rows = torch.where(mask[e].squeeze(0))
        state = x.index_select(0, rows) @ up[int(e)]
        out[rows] += state * weights[rows, slot].unsqueeze(-1) * (e.item() + 1)
    return out

x, up = torch.arange(8.0).view(4, 2), torch.arange(12.0).view(3, 2, 2)
index = torch.tensor([[0, 1], [1, 0], [1, 0], [0, 1]])
print("checksum", experts(x, index, torch.ones(4, 2), up).sum().item())
""",
            """
import torch
from torch.nn.functional import one_hot

@torch.compile
def experts(x, index, weights, up):
    out = torch.zeros_like(x)
    mask = one_hot(index, len(up)).permute(2, 1, 0)
    for e in range(len(up)):
        picked = mask[e].t()
        state = x @ up[e]
        out.add_(
            torch.where(
                picked.any(-1, keepdim=True),
                state * (weights * picked).sum(-1).unsqueeze(-1) * (e + 1),
                0,
            )
        )
    return out

x, up = torch.arange(8.0).view(4, 2), torch.arange(12.0).view(3, 2, 2)
index = torch.tensor([[0, 1], [1, 0], [1, 0], [0, 1]])
print("checksum", experts(x, index, torch.ones(4, 2), up).sum().item())
""",
            "unsafe",
        ),
    )
    DECLINES = (
        Declined(
            """
import torch

@torch.compile
def rows(ids):
    return torch.where(ids == 2)[0] * 2

rows(torch.tensor([2, 0, 2]))
""",
            "are not assigned to variables",
        ),
        Declined(
            """
import torch

@torch.compile
def spread(x, ids):
    rows = torch.where(ids == 2)[0]
    return x[rows] - rows.max()

spread(torch.ones(3, 2), torch.tensor([2, 0, 2]))
""",
            "is no masked form of the rows",
        ),
        Declined(
            """
import torch

@torch.compile
def hits(x, mask):
    for e in mask.sum(dim=-1).nonzero():
        x = x + e
    return x

hits(torch.ones(3), torch.tensor([[1, 0], [0, 0]]))
""",
            "how many there are is not to be seen",
        ),
        Declined(
            """
import torch

@torch.compile
def doubled(x, ids):
    rows = torch.where(ids == 2)[0]
    return x[rows] * 2

doubled(torch.ones(3, 2), torch.tensor([2, 0, 2]))
""",
            "nothing is written through the rows",
        ),
        Declined(
            """
import torch

@torch.compile
def cleared(tensor, ids):
    rows = torch.where(ids == 2)[0]
    out = tensor * 2
    out[rows] = 0
    return out

for tensor in (torch.ones(3), torch.ones(3, 2)):
    cleared(tensor, torch.tensor([2, 0, 2]))
""",
            "are not known",
        ),
        Declined(
            """
import torch

def centred(rows):
    return rows - rows.mean(0)

@torch.compile
def per_group(x, ids):
    out = torch.zeros_like(x)
    rows = torch.where(ids == 2)[0]
    out[rows] = centred(x[rows])
    return out

per_group(torch.ones(3, 2), torch.tensor([2, 0, 2]))
""",
            "looks at several rows at once",
        ),
    )

    def repair(self, site: Site) -> Repair | None:
        node = site.node
        require(isinstance(node, cst.Call), "the rows have no call of their own")
        assert isinstance(node, cst.Call)
        loop = _hit_loop(site, node)
        if loop is not None:
            return _over_all(site, node, loop)
        routing = Routing(site, node)
        return Repair("unsafe", MESSAGE, routing.edits())


# -- the experts that were hit -----------------------------------------------------------------------------------------


def _hit_loop(site: Site, node: cst.Call) -> cst.For | None:
    """The loop over the numbers of the experts that were hit, given as a column."""
    if site.callee(node).rpartition(".")[2] not in ("nonzero", "argwhere"):
        return None
    others = (cst.LessThan, cst.LessThanEqual, cst.Equal, cst.GreaterThanEqual)
    asked = (t for n in walk(node) if isinstance(n, cst.Comparison) for t in n.comparisons)
    require(not any(isinstance(t.operator, others) for t in asked), "the experts may be those that were not hit")
    above = site.parent(node)
    if isinstance(above, cst.For) and above.iter is node:
        return above
    if not isinstance(above, cst.Assign) or len(above.targets) != 1:
        return None
    name = site.flat(above.targets[0].target)
    uses = site.loads(name)
    if len(uses) == 1:
        loop = site.parent(uses[0])
        return loop if isinstance(loop, cst.For) and loop.iter is uses[0] else None
    return None


def _over_all(site: Site, node: cst.Call, loop: cst.For) -> Repair:
    require(isinstance(loop.target, cst.Name), "the loop variable is no name")
    assert isinstance(loop.target, cst.Name)
    outside = [c for n in walk(loop.body) if (c := changed_in_place(site, n)) is not None and not site.binds(c.value)]
    require(not outside and not changes_state(site, [loop.body]), "a round changes what outlives the call")
    count = _classes(site)
    edits = [site.replace(loop.iter, f"range({count})")]
    above = site.parent(node)
    if isinstance(above, cst.Assign):
        edits.append(site.remove(site.statement(above)))
    variable = loop.target.value
    rebound = False
    for use in site.loads(variable):
        if loop not in site.ancestors(use):
            continue
        if rebound:
            edits.append(site.replace(use, variable))  # a repair that takes it for a tensor has to wait
            continue
        number = _first(site, use)
        require(number is not None, f"`{variable}` is used as a column of numbers")
        assert number is not None
        holder = site.parent(number)
        if isinstance(holder, cst.Assign) and [site.flat(t.target) for t in holder.targets] == [variable]:
            edits.append(site.remove(site.statement(holder)))
            rebound = True
        elif number is not use:
            edits.append(site.replace(number, _plain(site, number, variable)))
    return Repair("unsafe", "loop over all experts, not those that were hit; costs their number in time", edits)


def _first(site: Site, use: cst.Name) -> cst.BaseExpression | None:
    """The expression round a loop variable that takes its only number: `e[0]`, `e.item()`, `int(e)`; for a part of a
    tensor `mask[e].squeeze(0)`."""
    name = use.value
    part = re.compile(rf"[\w.]+\[{name}\]\.squeeze\(0\)")
    for above in islice(site.ancestors(use), 5):
        text = site.flat(above) if isinstance(above, cst.BaseExpression) else ""
        if text in (f"{name}[0]", f"{name}.item()", f"int({name})") or part.fullmatch(text):
            assert isinstance(above, cst.BaseExpression)
            return above
    return None


def _plain(site: Site, number: cst.BaseExpression, variable: str) -> str:
    text = site.flat(number)
    return text.removesuffix(".squeeze(0)") if text.endswith(".squeeze(0)") else variable


def _classes(site: Site) -> str:
    """How many experts there are: the number of classes of the one encoding in the function."""
    found: set[str] = set()
    for call in walk(site.function.body):
        if isinstance(call, cst.Call) and site.callee(call) == "torch.nn.functional.one_hot":
            named = [a.value for a in call.args if a.keyword is not None and a.keyword.value == "num_classes"]
            given = [a.value for a in call.args if a.keyword is None][1:]
            found.update(site.flat(n) for n in [*named, *given])
    if len(found) != 1:
        refuse("how many there are is not to be seen")
    return found.pop()
