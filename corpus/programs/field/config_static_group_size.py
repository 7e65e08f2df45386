# expect: GB0007 @ 16
# expect: GB0124 @ 16
# source: https://github.com/Xilinx/brevitas/pull/1592
# fix: hoist ; auto: manual (sizes kept as buffers become plain ints)
import torch
import torch.nn as nn


class GroupQuant(nn.Module):
    def __init__(self, group_size=4):
        super().__init__()
        self.register_buffer("group_size", torch.tensor(group_size))

    def forward(self, w):
        size = self.group_size
        groups = w.reshape(w.size(0), -1, int(size))
        scale = groups.abs().amax(-1, keepdim=True) / 7
        return (torch.round(groups / scale) * scale).reshape(w.shape)


torch.manual_seed(0)
quant = torch.compile(GroupQuant(), backend="eager")
print(f"checksum {quant(torch.randn(3, 8)).sum().item():.4f}")
