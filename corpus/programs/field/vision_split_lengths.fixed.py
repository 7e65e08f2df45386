# expect: none
# source: https://github.com/huggingface/transformers/pull/45816
# fix: keep-tensor ; auto: manual (per-segment attention becomes one block mask)
# fixes: vision_split_lengths.py
import torch
import torch.nn as nn
import torch.nn.functional as F


class VisionAttention(nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        self.qkv = nn.Linear(dim, 3 * dim)

    def forward(self, x, cu_seqlens):
        q, k, v = self.qkv(x).chunk(3, -1)
        segment = torch.searchsorted(cu_seqlens[1:], torch.arange(x.size(0)), right=True)
        mask = segment[:, None] == segment[None, :]
        return F.scaled_dot_product_attention(q[None], k[None], v[None], attn_mask=mask[None])[0]


torch.manual_seed(0)
attn = torch.compile(VisionAttention(), backend="eager")
x = torch.randn(9, 8)
with torch.no_grad():
    total = attn(x, torch.tensor([0, 4, 9])).sum() + attn(x, torch.tensor([0, 2, 5, 9])).sum()
print(f"checksum {total.item():.4f}")
