# expect: GB0246 @ 7
import torch
import torch.nn.functional as F


def dice(pred, target):
    hot = F.one_hot(target).float()
    inter = (pred * hot).sum()
    return 1 - 2 * inter / (pred.sum() + hot.sum())


torch.compile(dice)(torch.rand(4, 3), torch.tensor([0, 1, 2, 1]))
