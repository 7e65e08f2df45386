# expect: GB0124 @ 6
import torch


def crop_to_longest(tokens, pad=0):
    longest = int((tokens != pad).sum(dim=1).max())
    return tokens[:, :longest]


@torch.compile
def encode(table, tokens):
    tokens = crop_to_longest(tokens)
    return table[tokens].mean(dim=1)


encode(torch.randn(10, 4), torch.tensor([[3, 4, 0, 0], [1, 2, 5, 0]]))
