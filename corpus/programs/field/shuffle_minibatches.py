# expect: GB0007 @ 10
# source: https://github.com/pytorch/pytorch/issues/197085
# fix: hoist ; auto: manual (seeding and shuffling are data work)
import random
import torch


def minibatch_order(n, parts):
    order = list(range(n))
    random.shuffle(order)
    return [order[i::parts] for i in range(parts)]


def ppo_epoch(obs, adv, parts=2):
    loss = 0.0
    for i, rows in enumerate(minibatch_order(obs.size(0), parts)):
        loss = loss + (i + 1) * (obs[rows].mean(-1) * adv[rows]).sum()
    return loss


fn = torch.compile(ppo_epoch, backend="eager")
random.seed(0)
torch.manual_seed(0)
obs, adv = torch.randn(6, 3), torch.randn(6)
print(f"checksum {(fn(obs, adv) + 2 * fn(obs, adv)).item():.4f}")
