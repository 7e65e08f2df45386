# expect: GB0098 @ 24
# source: https://github.com/pytorch/pytorch/issues/173452
# fix: remove ; auto: unsafe (the decorator may be there on purpose)
import torch
import torch.nn as nn

captured = {}


def save_as(name):
    @torch.compiler.disable
    def hook(module, args, output):
        captured[name] = output.detach()
    return hook


torch.manual_seed(0)
teacher = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 4))
for i in (0, 2):
    teacher[i].register_forward_hook(save_as(f"layer{i}"))
run = torch.compile(teacher, backend="eager")
total = 0.0
for _ in range(2):
    out = run(torch.randn(3, 6))
    total += out.sum().item() + sum(v.abs().sum().item() for v in captured.values())
print(f"checksum {total:.4f}")
