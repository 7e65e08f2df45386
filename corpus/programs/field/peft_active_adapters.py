# expect: none
# source: https://github.com/huggingface/peft/issues/1199
# note: told that adapter checks make fullgraph impossible; they are all Python values
import torch
import torch.nn as nn


class LoraLinear(nn.Module):
    def __init__(self, base, rank=2):
        super().__init__()
        self.base = base
        self.lora_A, self.lora_B = nn.ModuleDict(), nn.ModuleDict()
        self.scaling, self.active, self.merged = {}, [], False
        for name in ("style", "subject"):
            self.lora_A[name] = nn.Linear(base.in_features, rank, bias=False)
            self.lora_B[name] = nn.Linear(rank, base.out_features, bias=False)
            self.scaling[name] = 0.5
            self.active.append(name)

    def forward(self, x, *args, **kwargs):
        out = self.base(x, *args, **kwargs)
        if self.merged:
            return out
        for name in self.active:
            if name not in self.lora_A.keys():
                continue
            x = x.to(self.lora_A[name].weight.dtype)
            out = out + self.lora_B[name](self.lora_A[name](x)) * self.scaling[name]
        return out


torch.manual_seed(0)
layer = torch.compile(LoraLinear(nn.Linear(6, 5)), backend="eager")
print(f"checksum {layer(torch.randn(3, 6)).sum().item():.4f}")
