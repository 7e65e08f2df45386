# expect: none
# source: https://github.com/huggingface/lerobot/pull/2159
# fix: keep-tensor ; auto: unsafe (callers see tensors, not floats)
# fixes: policy_loss_dict.py
import torch
import torch.nn as nn
import torch.nn.functional as F


class ChunkPolicy(nn.Module):
    def __init__(self, obs=6, act=3):
        super().__init__()
        self.enc = nn.Linear(obs, 2 * act)

    def forward(self, batch):
        mu, logvar = self.enc(batch["obs"]).chunk(2, -1)
        l1 = F.l1_loss(mu, batch["action"])
        loss_dict = {"l1_loss": l1.detach()}
        kl = (-0.5 * (1 + logvar - mu.pow(2) - logvar.exp())).sum(-1).mean()
        loss_dict["kld_loss"] = kl.detach()
        return l1 + 10.0 * kl, loss_dict


torch.manual_seed(0)
policy = torch.compile(ChunkPolicy(), backend="eager")
loss, info = policy({"obs": torch.randn(4, 6), "action": torch.randn(4, 3)})
total = loss.item() + info["l1_loss"].item() + info["kld_loss"].item()
print(f"checksum {total:.4f}")
