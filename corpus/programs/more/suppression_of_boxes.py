# expect: GB0033 @ 13
# note: the best box that is left is picked by an element of the order, which has no dimensions
import torch


@torch.compile(backend="eager")
def suppress(boxes, scores, limit: float):
    if len(boxes.shape) != 2 or scores.dim() != 1:
        raise ValueError("boxes are rows, scores a vector")
    areas = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    order = scores.argsort(descending=True)
    first, rest = order[0], order[1:]
    overlap = torch.minimum(areas[first], areas[rest])
    return rest[:2] * (overlap.sum() > limit)


if __name__ == "__main__":
    suppress(torch.rand(5, 4), torch.rand(5), 0.5)
