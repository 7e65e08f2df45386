# expect: GB0036 @ 7
# expect: GB0036 @ 8
import torch


def collapse(path, blank=0):
    path = torch.unique_consecutive(path)
    return path[path != blank]


@torch.compile
def greedy_ctc(log_probs):
    best = log_probs.argmax(-1)
    return collapse(best)


greedy_ctc(torch.randn(10, 4))
