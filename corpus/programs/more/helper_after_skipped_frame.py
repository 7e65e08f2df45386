# expect: GB0059 @ 14
# also: GB7000 @ 14
# note: the loop runs eagerly after the print, so that the helper is compiled alone and its index comes from outside
import torch


def scaled(x, table, step):
    return x * table[step]


@torch.compile(backend="eager")
def sample(x, table, steps):
    for step in steps:
        print("step")
        x = scaled(x, table, step)
    return x


if __name__ == "__main__":
    sample(torch.ones(3), torch.rand(10), torch.tensor([3, 5]))
