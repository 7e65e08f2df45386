# expect: none
import torch


def expand_kv(kv, groups: int):
    return kv.repeat_interleave(groups, dim=1)


@torch.compile
def gqa(q, k, v):
    groups = q.shape[1] // k.shape[1]
    k, v = expand_kv(k, groups), expand_kv(v, groups)
    return torch.nn.functional.scaled_dot_product_attention(q, k, v)


gqa(torch.randn(1, 4, 3, 8), torch.randn(1, 2, 3, 8), torch.randn(1, 2, 3, 8))
