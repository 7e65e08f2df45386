# expect: none
# source: https://github.com/Xilinx/brevitas/pull/1592
# fix: hoist ; auto: manual (sizes kept as buffers become plain ints)
# fixes: config_static_group_size.py
import torch
import torch.nn as nn


class GroupQuant(nn.Module):
    def __init__(self, group_size=4):
        super().__init__()
        self.group_size = group_size

    def forward(self, w):
        size = self.group_size
        groups = w.reshape(w.size(0), -1, size)
        scale = groups.abs().amax(-1, keepdim=True) / 7
        return (torch.round(groups / scale) * scale).reshape(w.shape)


torch.manual_seed(0)
quant = torch.compile(GroupQuant(), backend="eager")
print(f"checksum {quant(torch.randn(3, 8)).sum().item():.4f}")
