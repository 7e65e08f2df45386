# expect: none
"""A local is deleted whose name an inner function uses for a variable of its own."""
import torch


@torch.compile
def outer(x):
    def inner(t):
        buffer = t * 2
        return buffer

    buffer = x + 1
    y = inner(buffer)
    del buffer
    return y


print("checksum", round(outer(torch.ones(2)).sum().item(), 4))
