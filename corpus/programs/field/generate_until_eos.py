# expect: GB0170 @ 25
# also: GB7000 @ 25
# source: https://github.com/huggingface/transformers/pull/29662
# fix: where ; auto: manual (a fixed number of steps, finished rows are padded)
import torch
import torch.nn as nn

EOS, PAD = 0, 0


class LM(nn.Module):
    def __init__(self, vocab=6):
        super().__init__()
        self.embed = nn.Embedding(vocab, 8)
        self.head = nn.Linear(8, vocab)

    @torch.no_grad()
    def generate(self, ids, max_new=8):
        unfinished = torch.ones(ids.size(0), dtype=torch.long)
        for _ in range(max_new):
            token = self.head(self.embed(ids).mean(1)).argmax(-1)
            token = token * unfinished + PAD * (1 - unfinished)
            ids = torch.cat([ids, token[:, None]], 1)
            unfinished = unfinished * (token != EOS).long()
            if unfinished.max() == 0:
                break
        return ids


torch.manual_seed(3)
lm = LM()
generate = torch.compile(lm.generate, backend="eager")
total = sum((generate(torch.tensor(p)) * torch.tensor([[2], [3]])).sum().item()
            for p in ([[1, 2], [3, 4]], [[3, 4], [4, 3]]))
print(f"checksum {total:.1f}")
