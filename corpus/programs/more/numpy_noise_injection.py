# expect: none
# needs: numpy
import numpy as np
import torch


def jitter(shape, scale):
    return torch.as_tensor(np.random.normal(scale=scale, size=shape), dtype=torch.float32)


class NoisyLinear(torch.nn.Linear):
    def forward(self, x):
        return super().forward(x + jitter(tuple(x.shape), 0.1))


layer = torch.compile(NoisyLinear(4, 2))
layer(torch.randn(3, 4))
