# expect: GB0124 @ 16
# source: https://github.com/Lightning-AI/pytorch-lightning/issues/16822
# fix: keep-tensor ; auto: unsafe (readers of the log see tensors; .item() moves to where it is read)
import torch
import torch.nn as nn
import torch.nn.functional as F


class LitAutoEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc, self.dec = nn.Linear(12, 3), nn.Linear(3, 12)
        self.logged = {}

    def log(self, name, value):
        self.logged[name] = value.item()

    def training_step(self, batch):
        x = batch.flatten(1)
        loss = F.mse_loss(self.dec(self.enc(x)), x)
        self.log("train_loss", loss)
        self.log("norm", x.norm())
        return loss


torch.manual_seed(0)
lit = LitAutoEncoder()
step = torch.compile(lit.training_step, backend="eager")
total = step(torch.randn(5, 3, 4)).item() + sum(float(v) for v in lit.logged.values())
print(f"checksum {total:.4f}")
