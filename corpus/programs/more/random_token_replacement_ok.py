# expect: none
import torch


@torch.compile
def corrupt(tokens, p: float, vocab: int):
    noise = torch.randint_like(tokens, vocab)
    chosen = torch.bernoulli(torch.full(tokens.shape, p)).bool()
    out = tokens.clone()
    out[chosen] = 0
    return torch.where(chosen, noise, out)


corrupt(torch.randint(0, 9, (2, 6)), 0.3, 9)
