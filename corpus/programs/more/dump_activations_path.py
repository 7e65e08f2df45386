# expect: GB0007 @ 12
import os

import torch

DUMP = "/tmp/does-not-exist-activations"


@torch.compile
def project(x, w):
    y = x @ w
    if os.path.isdir(DUMP):
        torch.save(y, os.path.join(DUMP, "y.pt"))
    return y.relu()


project(torch.randn(2, 3), torch.randn(3, 3))
