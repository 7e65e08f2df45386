# expect: none
# note: dict.fromkeys is traced when it is called on the class
import torch


@torch.compile(backend="eager")
def count(x, names):
    found = list(dict.fromkeys([*names, "last"]))
    return x * len(found)


if __name__ == "__main__":
    count(torch.ones(3), ["a", "b", "a"])
