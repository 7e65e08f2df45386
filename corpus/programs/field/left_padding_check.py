# expect: GB0124 @ 15
# source: https://github.com/huggingface/transformers/pull/37944
# fix: assert-async ; auto: unsafe (other exception type, raised later)
import torch
import torch.nn as nn


class Decoder(nn.Module):
    def __init__(self, vocab=20, dim=8):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)

    def update_mask(self, mask, x):
        if mask is not None:
            right_padded = mask[:, -1].sum().item() != x.size(0)
            if right_padded:
                raise ValueError("the cache wants left padding")
            return (1.0 - mask[:, :, None]) * -100.0
        return torch.zeros(())

    def forward(self, ids, mask=None):
        x = self.embed(ids)
        return (x + self.update_mask(mask, x)).tanh()


torch.manual_seed(0)
model = torch.compile(Decoder(), backend="eager")
ids = torch.randint(0, 20, (3, 6))
mask = torch.ones(3, 6)
mask[1, :2] = 0
total = model(ids, mask).sum() + model(ids).sum()
print(f"checksum {total.item():.4f}")
