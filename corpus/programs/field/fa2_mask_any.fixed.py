# expect: none
# source: https://github.com/huggingface/transformers/issues/37199
# fix: remove ; auto: manual
# fixes: fa2_mask_any.py
import torch
import torch.nn as nn
import torch.nn.functional as F


class Attention(nn.Module):
    def __init__(self, dim=16, heads=2):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.out = nn.Linear(dim, dim)

    def prepare_mask(self, padding):
        if padding is not None:
            return padding[:, None, None, :].bool()
        return None

    def forward(self, x, padding=None):
        b, s, d = x.shape
        q, k, v = self.qkv(x).view(b, s, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=self.prepare_mask(padding))
        return self.out(y.transpose(1, 2).reshape(b, s, d))


torch.manual_seed(0)
attn = torch.compile(Attention().eval(), backend="eager")
x = torch.randn(2, 5, 16)
full, holes = torch.ones(2, 5), torch.tensor([[1.0, 1, 1, 1, 1], [1, 1, 1, 0, 0]])
with torch.no_grad():
    total = attn(x, full).sum() + 2 * attn(x, holes).sum() + attn(x).sum()
print(f"checksum {total.item():.4f}")
