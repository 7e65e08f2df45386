# expect: none
import torch


@torch.compile
def merge_windows(windows, grid):
    batch = windows.shape[0] // (grid[0] * grid[1])
    dims = list(windows.shape[1:])
    size = torch.Size([batch, *grid, *dims])
    return windows.reshape(size).permute(0, 1, 3, 2, 4).reshape(batch, grid[0] * dims[0], -1)


merge_windows(torch.randn(8, 2, 3), (2, 2))
