# expect: none
# silent: GB0003 @ 6
import torch


@torch.compile
def patches(image, size):
    for top in range(0, image.shape[0], size):
        for left in range(0, image.shape[1], size):
            yield image[top:top + size, left:left + size].mean()


total = sum(patches(torch.rand(4, 4), 2))
