# expect: none
# source: https://github.com/huggingface/diffusers/pull/11477
# fix: keep-tensor ; auto: manual
# fixes: moe_infer_numpy.py
import torch
import torch.nn as nn


class MoEInfer(nn.Module):
    def __init__(self, dim=8, n=4):
        super().__init__()
        self.gate = nn.Linear(dim, n)
        self.experts = nn.ModuleList(nn.Linear(dim, dim) for _ in range(n))

    @torch.no_grad()
    def forward(self, x):
        weight, choice = self.gate(x).softmax(-1).max(-1)
        out = torch.zeros_like(x)
        for e, expert in enumerate(self.experts):
            mine = (choice == e)[:, None]
            out = torch.where(mine, expert(x) * weight[:, None], out)
        return out


torch.manual_seed(0)
moe = torch.compile(MoEInfer(), backend="eager")
total = sum(moe(torch.randn(9, 8)).pow(2).sum().item() for _ in range(2))
print(f"checksum {total:.3f}")
