# expect: none
import torch

STOP = (0, 3)


@torch.compile
def finished(tokens, stop_name="eos"):
    stops = torch.tensor(STOP)
    done = torch.isin(tokens, stops)
    if stop_name in ("eos", "pad") and len(STOP) in [1, 2]:
        done = done.cumsum(-1) > 0
    return tokens.masked_fill(done, 0)


finished(torch.tensor([4, 2, 3]))
