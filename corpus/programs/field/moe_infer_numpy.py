# expect: GB0036 @ 21
# expect: GB0170 @ 24
# also: GB7000 @ 24
# source: https://github.com/huggingface/diffusers/pull/11477
# fix: keep-tensor ; auto: manual
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
        order = choice.argsort()
        ends = choice.bincount(minlength=len(self.experts)).cpu().numpy().cumsum(0)
        for e, end in enumerate(ends):
            start = 0 if e == 0 else ends[e - 1]
            if start == end:
                continue
            rows = order[start:end]
            out[rows] = self.experts[e](x[rows]) * weight[rows, None]
        return out


torch.manual_seed(0)
moe = torch.compile(MoEInfer(), backend="eager")
total = sum(moe(torch.randn(9, 8)).pow(2).sum().item() for _ in range(2))
print(f"checksum {total:.3f}")
