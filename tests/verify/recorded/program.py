"""What the logs beside this file were recorded from (see record.py); tests name its rows."""

import contextlib
import copy
import warnings

import torch

torch._dynamo.config.recompile_limit = 2


def helper(x):
    return copy.copy([x])[0]


def several(xs):
    return [helper(x) for x in xs]


@torch.compile(backend="eager")
def loops(x):
    x = torch.add(
        x,
        x.sum().item(),
    )
    for _ in range(2):
        print("hi")
    return x


@torch.compile(backend="eager")
def calls(x):
    x = helper(x + 1)
    xs = several([x])
    warnings.warn("slow", stacklevel=1)
    return xs[0].sin()


@torch.compile(backend="eager")
def counts(x):
    yield x + 1


class Net(torch.nn.Module):
    def forward(self, x):
        x = x.sin()
        torch._dynamo.graph_break()
        return x.cos()


@torch.compile(backend="eager")
def limited(x, word):
    return x + len(word)


@torch.compile(backend="eager")
def wrong(x):
    return x @ torch.ones(7)


@torch.compile(backend="eager", fullgraph=True)
def whole(x):
    print(x)
    return x


loops(torch.ones(2))
calls(torch.ones(2))
calls(torch.ones(3))
list(counts(torch.ones(2)))
torch.compile(torch.nn.Sequential(Net()), backend="eager")(torch.ones(2))
for word in "a bb ccc dddd".split():
    limited(torch.ones(2), word)
with contextlib.suppress(Exception):
    wrong(torch.ones(3))
whole(torch.ones(2))
