# expect: GB0033 @ 9
# source: https://github.com/pytorch/rl/pull/3303
# fix: keep-tensor ; auto: safe (full_like with a 0-d tensor becomes an expand; the result is only read)
import torch


def gae(gamma, lmbda, value, next_value, reward, done):
    not_done = 1.0 - done
    decay = torch.full_like(not_done, gamma * lmbda) * not_done
    delta = reward + gamma * next_value * not_done - value
    adv, running = torch.zeros_like(delta), torch.zeros_like(delta[0])
    for t in reversed(range(delta.shape[0])):
        running = delta[t] + decay[t] * running
        adv[t] = running
    return adv, adv + value


torch.manual_seed(0)
fn = torch.compile(gae, backend="eager")
value, next_value, reward = torch.randn(3, 6, 2).unbind(0)
done = (torch.rand(6, 2) > 0.8).float()
adv, ret = fn(torch.tensor(0.99), torch.tensor(0.95), value, next_value, reward, done)
print(f"checksum {(adv.sum() + 2 * ret.sum()).item():.4f}")
