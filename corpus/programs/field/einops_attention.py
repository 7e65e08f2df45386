# expect: none
# needs: einops
# source: https://github.com/arogozhnikov/einops/issues/250
# note: 99 breaks in 2023, none with einops 0.8
import torch
import torch.nn as nn
from einops import rearrange, repeat


class Attention(nn.Module):
    def __init__(self, dim=8, heads=2):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.null = nn.Parameter(torch.zeros(heads, dim // heads))

    def forward(self, x):
        q, k, v = (rearrange(t, "b n (h d) -> b h n d", h=self.heads) for t in self.qkv(x).chunk(3, -1))
        null = repeat(self.null, "h d -> b h 1 d", b=x.shape[0])
        k, v = torch.cat([null, k], -2), torch.cat([null, v], -2)
        sim = torch.einsum("b h i d, b h j d -> b h i j", q, k)
        return rearrange(sim.softmax(-1) @ v, "b h n d -> b n (h d)")


torch.manual_seed(0)
attn = torch.compile(Attention(), backend="eager")
print(f"checksum {attn(torch.randn(2, 5, 8)).sum().item():.4f}")
