# expect: none
# source: https://github.com/meta-pytorch/torchtune/pull/2771
# fix: capture-scalar ; auto: unsafe (process-wide config; backends differ)
# fixes: moe_split_sizes.py
import torch
import torch.nn as nn

torch._dynamo.config.capture_scalar_outputs = True


class MoE(nn.Module):
    def __init__(self, dim=8, n=3):
        super().__init__()
        self.router = nn.Linear(dim, n)
        self.experts = nn.ModuleList(nn.Linear(dim, dim) for _ in range(n))

    def forward(self, x):
        choice = self.router(x).argmax(-1)
        order = choice.argsort(stable=True)
        counts = torch.stack([(choice == e).sum() for e in range(len(self.experts))])
        chunks = torch.split(x[order], counts.tolist())
        out = torch.cat([f(c) for f, c in zip(self.experts, chunks)])
        return torch.zeros_like(out).index_copy(0, order, out)


torch.manual_seed(0)
moe = torch.compile(MoE(), backend="eager")
total = sum(moe(torch.randn(12, 8)).pow(2).sum().item() for _ in range(2))
print(f"checksum {total:.3f}")
