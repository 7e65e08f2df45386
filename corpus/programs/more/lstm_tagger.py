# expect: GB0014 @ 14
import torch
from torch import nn


class Tagger(nn.Module):
    def __init__(self, vocab=30, dim=8, tags=4):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.rnn = nn.LSTM(dim, dim, batch_first=True, bidirectional=True)
        self.proj = nn.Linear(2 * dim, tags)

    def forward(self, words):
        states, _ = self.rnn(self.emb(words))
        return self.proj(states)


tagger = torch.compile(Tagger())
tagger(torch.randint(0, 30, (2, 5)))
