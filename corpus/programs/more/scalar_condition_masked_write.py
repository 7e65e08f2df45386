# expect: GB0033 @ 8
import torch


@torch.compile
def reset_if_bad(state, score):
    bad = score.mean() < 0
    state[bad] = 0.0
    return state * 2


reset_if_bad(torch.ones(3), torch.tensor([-1.0, -2.0]))
