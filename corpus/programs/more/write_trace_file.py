# expect: GB0059 @ 9
# expect: GB0142 @ 9
import torch


@torch.compile
def trace_scores(scores):
    top = scores.topk(2).values
    with open("/dev/null", "w") as sink:
        sink.write("scored")
    return top


trace_scores(torch.rand(5))
