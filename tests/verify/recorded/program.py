"""What the recorded logs beside this file come from: run with torch 2.13.0."""

import copy
import warnings

import torch


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


@torch.compile(backend="eager", fullgraph=True)
def whole(x):
    print(x)
    return x


loops(torch.ones(2))
calls(torch.ones(2))
calls(torch.ones(3))
list(counts(torch.ones(2)))
whole(torch.ones(2))
