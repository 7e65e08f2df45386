# expect: none
# source: https://github.com/pytorch/pytorch/issues/133483
# note: contextlib.contextmanager with a global counter is traced
import contextlib
import torch
import torch.nn as nn

depth = 0


@contextlib.contextmanager
def nested():
    global depth
    depth += 1
    try:
        yield depth
    finally:
        depth -= 1


class Block(nn.Module):
    def __init__(self, dim=6):
        super().__init__()
        self.fc = nn.Linear(dim, dim)

    @torch.no_grad()
    def forward(self, x):
        with nested() as d, contextlib.nullcontext():
            with nested() as e:
                return self.fc(x) * d + e


torch.manual_seed(0)
block = torch.compile(Block(), backend="eager")
print(f"checksum {block(torch.randn(2, 6)).sum().item() + depth:.4f}")
