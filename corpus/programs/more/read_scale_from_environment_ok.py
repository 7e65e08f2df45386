# expect: none
import math
import os

import torch


@torch.compile
def attention_scores(q, k):
    scale = float(os.environ.get("ATTN_SCALE", 1 / math.sqrt(q.size(-1))))
    scores = torch.matmul(q, k.transpose(-2, -1)) * scale
    return scores.softmax(-1)


attention_scores(torch.randn(2, 3, 4), torch.randn(2, 3, 4))
