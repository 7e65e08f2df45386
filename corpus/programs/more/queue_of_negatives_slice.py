# expect: GB0124 @ 15
import torch
import torch.nn as nn


class MoCoQueue(nn.Module):
    def __init__(self, size=8, dim=3):
        super().__init__()
        self.size = size
        self.register_buffer("queue", torch.zeros(size, dim))
        self.register_buffer("ptr", torch.zeros(1, dtype=torch.long))

    def forward(self, keys):
        n = keys.shape[0]
        ptr = int(self.ptr)
        self.queue[ptr:ptr + n] = keys
        self.ptr[0] = (ptr + n) % self.size
        return self.queue.clone()


torch.compile(MoCoQueue())(torch.randn(2, 3))
