# expect: none
# source: https://github.com/PriorLabs/TabPFN/pull/1166
# fix: hoist ; auto: unsafe (the import must not depend on what runs before it)
# fixes: lazy_backend_import.py
import torch
import torch.nn as nn
import torch.nn.functional as F


def load_fast_attention():
    try:
        import flash_attn_interface
        return flash_attn_interface.flash_attn_func
    except ImportError:
        return None


FAST_ATTENTION = load_fast_attention()


class Attention(nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        self.qkv = nn.Linear(dim, 3 * dim)

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, -1)
        attend = FAST_ATTENTION or F.scaled_dot_product_attention
        return attend(q, k, v)


torch.manual_seed(0)
attn = torch.compile(Attention(), backend="eager")
print(f"checksum {attn(torch.randn(2, 4, 8)).sum().item():.4f}")
