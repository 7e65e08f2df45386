# expect: none
# source: https://github.com/huggingface/transformers/issues/36484
# note: reported as a break; layer_idx and the growing length only recompile
import torch
import torch.nn as nn
import torch.nn.functional as F


class DynamicCache:
    def __init__(self):
        self.key_cache, self.value_cache = [], []

    def update(self, k, v, layer_idx):
        if len(self.key_cache) <= layer_idx:
            self.key_cache.append(k)
            self.value_cache.append(v)
        else:
            self.key_cache[layer_idx] = torch.cat([self.key_cache[layer_idx], k], 1)
            self.value_cache[layer_idx] = torch.cat([self.value_cache[layer_idx], v], 1)
        return self.key_cache[layer_idx], self.value_cache[layer_idx]


class Layer(nn.Module):
    def __init__(self, layer_idx, dim=8):
        super().__init__()
        self.layer_idx, self.qkv = layer_idx, nn.Linear(dim, 3 * dim)

    def forward(self, x, cache):
        q, k, v = self.qkv(x).chunk(3, -1)
        k, v = cache.update(k, v, self.layer_idx)
        return x + F.scaled_dot_product_attention(q, k, v)


torch.manual_seed(0)
layers, cache = [torch.compile(Layer(i), backend="eager") for i in range(2)], DynamicCache()
for n in (3, 1, 1):
    x = torch.ones(1, n, 8)
    for layer in layers:
        x = layer(x, cache)
print(f"checksum {x.sum().item():.4f}")
