# expect: GB0170 @ 10
import torch

STOP = [0, 3]


@torch.compile
def finished(tokens):
    last = tokens[-1]
    if last in STOP:
        return tokens[:-1]
    return tokens


finished(torch.tensor([4, 2, 3]))
