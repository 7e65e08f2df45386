# expect: none
import torch
from torch import nn


class Tagger(nn.Module):
    def __init__(self, vocab=30, dim=8, tags=4):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.cell = nn.GRUCell(dim, dim)
        self.proj = nn.Linear(dim, tags)

    def forward(self, words):
        x = self.emb(words)
        h = x.new_zeros(x.size(0), x.size(2))
        out = []
        for t in range(x.size(1)):
            h = self.cell(x[:, t], h)
            out.append(h)
        return self.proj(torch.stack(out, dim=1))


tagger = torch.compile(Tagger())
tagger(torch.randint(0, 30, (2, 5)))
