# expect: none
# source: https://github.com/linkedin/Liger-Kernel/pull/1274
# fix: where ; auto: unsafe (the callee must be elementwise)
# fixes: loss_bool_index.py
import torch


def soft_gate(ratio, temperature):
    return torch.sigmoid(temperature * (ratio - 1)) * 4 / temperature


def policy_loss(logp, old_logp, adv):
    ratio = (logp - old_logp).exp()
    up = adv > 0
    gated = torch.where(up, soft_gate(ratio, 1.0), soft_gate(ratio, 1.05))
    return -(gated * adv).mean()


torch.manual_seed(0)
fn = torch.compile(policy_loss, backend="eager")
total = sum(fn(torch.randn(8), torch.randn(8), torch.randn(8)).item() for _ in range(2))
print(f"checksum {total:.4f}")
