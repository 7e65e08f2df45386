# expect: none
import torch


@torch.compile
def reset_where_bad(state, score, floor: float = 0.0):
    bad = score < floor
    state = state.clone()
    state[bad] = floor
    state.masked_fill_(score.isnan(), 1.0)
    return state * 2


reset_where_bad(torch.ones(2), torch.tensor([-1.0, 2.0]))
