# expect: none
# needs: numpy
import numpy as np
import torch


@torch.compile
def calibrate(scores, bins=4):
    edges = np.linspace(0.0, 1.0, bins + 1)
    hist, _ = np.histogram(scores.numpy(), bins=edges)
    return torch.from_numpy(hist / hist.sum())


calibrate(torch.rand(20))
