# expect: none
# note: the order has two dimensions, and so its element has one
import torch


@torch.compile(backend="eager")
def suppress(areas, scores):
    rows, columns = scores.shape
    order = scores.argsort(dim=1, descending=True)
    first, rest = order[0], order[1:]
    return areas[first].sum() * columns + areas[rest].sum() * rows


if __name__ == "__main__":
    suppress(torch.rand(5), torch.rand(3, 5))
