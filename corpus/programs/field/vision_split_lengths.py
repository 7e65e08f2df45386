# expect: GB0033 @ 18
# also: GB7000 @ 18
# source: https://github.com/huggingface/transformers/pull/45816
# fix: keep-tensor ; auto: manual (per-segment attention becomes one block mask)
import torch
import torch.nn as nn
import torch.nn.functional as F


class VisionAttention(nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        self.qkv = nn.Linear(dim, 3 * dim)

    def forward(self, x, cu_seqlens):
        q, k, v = self.qkv(x).chunk(3, -1)
        lengths = cu_seqlens[1:] - cu_seqlens[:-1]
        parts = [torch.split(t, lengths.tolist()) for t in (q, k, v)]
        outs = [F.scaled_dot_product_attention(a[None], b[None], c[None])[0]
                for a, b, c in zip(*parts)]
        return torch.cat(outs)


torch.manual_seed(0)
attn = torch.compile(VisionAttention(), backend="eager")
x = torch.randn(9, 8)
with torch.no_grad():
    total = attn(x, torch.tensor([0, 4, 9])).sum() + attn(x, torch.tensor([0, 2, 5, 9])).sum()
print(f"checksum {total.item():.4f}")
