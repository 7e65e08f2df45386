# expect: GB0147 @ 8
import types

import torch


def make_state(hidden, step):
    return types.SimpleNamespace(hidden=hidden, step=step)


@torch.compile
def cell(x, w):
    state = make_state(torch.tanh(x @ w), 1)
    return state.hidden * state.step


cell(torch.randn(2, 3), torch.randn(3, 3))
