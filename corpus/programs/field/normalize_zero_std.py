# expect: GB0170 @ 11
# source: https://github.com/pytorch/vision/pull/9314
# fix: hoist ; auto: manual (the check moves to where std is made)
import torch
import torch.nn as nn


def normalize(image, mean, std):
    mean = torch.as_tensor(mean, dtype=image.dtype)
    std = torch.as_tensor(std, dtype=image.dtype)
    if (std == 0).any():
        raise ValueError("a zero in std would divide by zero")
    return image.sub(mean.view(-1, 1, 1)).div_(std.view(-1, 1, 1))


class Preprocess(nn.Module):
    def __init__(self, mean, std):
        super().__init__()
        self.mean, self.std = mean, std

    def forward(self, image):
        return normalize(image, self.mean, self.std)


torch.manual_seed(0)
pre = torch.compile(Preprocess([0.4, 0.5, 0.6], [0.2, 0.2, 0.3]), backend="eager")
print(f"checksum {pre(torch.rand(3, 4, 4)).sum().item():.4f}")
