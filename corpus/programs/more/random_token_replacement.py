# expect: GB0107 @ 7
import torch


@torch.compile
def corrupt(tokens, p: float, vocab: int):
    noise = torch.empty_like(tokens).random_(vocab)
    chosen = torch.rand(tokens.shape) < p
    return torch.where(chosen, noise, tokens)


corrupt(torch.randint(0, 9, (2, 6)), 0.3, 9)
