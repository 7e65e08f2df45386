# expect: none
# source: https://github.com/sgl-project/SpecForge/pull/222
# fix: keep-tensor ; auto: unsafe (callers see tensors, not floats)
# fixes: draft_accuracy_item.py
import torch
import torch.nn as nn


class DraftHead(nn.Module):
    def __init__(self, dim=8, vocab=12):
        super().__init__()
        self.head = nn.Linear(dim, vocab)

    def accuracy(self, logits, target, mask):
        hit = (logits.argmax(-1) == target) * mask
        return hit.sum() / (mask.sum() + 1e-6)

    def forward(self, x, target, mask):
        accs, losses = [], []
        for _ in range(2):
            logits = self.head(x)
            accs.append(self.accuracy(logits, target, mask))
            losses.append((logits.logsumexp(-1) * mask).mean())
            x = x.roll(1, 0)
        return losses, accs


torch.manual_seed(0)
step = torch.compile(DraftHead(), backend="eager")
losses, accs = step(torch.randn(6, 8), torch.randint(0, 12, (6,)), torch.ones(6))
print(f"checksum {sum(float(l) for l in losses) + sum(float(a) for a in accs):.4f}")
