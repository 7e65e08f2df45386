# expect: GB0007 @ 7
import torch


@torch.compile
def deterministic_noise(x, seed):
    torch.manual_seed(seed)
    return x + torch.randn_like(x)


deterministic_noise(torch.zeros(3), 7)
