# expect: GB0007 @ 9
# expect: GB0170 @ 10
import torch
from torch.distributions import Normal


@torch.compile
def log_likelihood(x, loc, scale):
    dist = Normal(loc, scale, validate_args=True)
    return dist.log_prob(x).sum()


log_likelihood(torch.randn(3), torch.zeros(3), torch.ones(3))
