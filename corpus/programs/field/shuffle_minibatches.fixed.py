# expect: none
# source: https://github.com/pytorch/pytorch/issues/197085
# fix: hoist ; auto: manual (seeding and shuffling are data work)
# fixes: shuffle_minibatches.py
import random
import torch


def minibatch_order(n, parts):
    order = list(range(n))
    random.shuffle(order)
    return [torch.tensor(order[i::parts]) for i in range(parts)]


def ppo_epoch(obs, adv, order):
    loss = 0.0
    for i, rows in enumerate(order):
        loss = loss + (i + 1) * (obs[rows].mean(-1) * adv[rows]).sum()
    return loss


fn = torch.compile(ppo_epoch, backend="eager")
random.seed(0)
torch.manual_seed(0)
obs, adv = torch.randn(6, 3), torch.randn(6)
a, b = (fn(obs, adv, minibatch_order(6, 2)) for _ in range(2))
print(f"checksum {(a + 2 * b).item():.4f}")
