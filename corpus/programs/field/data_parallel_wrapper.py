# expect: none
# source: https://github.com/pytorch/torchtitan/pull/1895
# note: a wrapper that forwards attributes and calls hooks in Python does not break by itself
import contextlib
import torch
import torch.nn as nn


class Sharded(nn.Module):
    def __init__(self, module):
        super().__init__()
        self.module = module
        self.require_sync, self.calls = True, 0

    def __getattr__(self, name):
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(super().__getattr__("module"), name)

    @contextlib.contextmanager
    def no_sync(self):
        old, self.require_sync = self.require_sync, False
        try:
            yield
        finally:
            self.require_sync = old

    def forward(self, *args, **kwargs):
        if self.require_sync:
            self.calls += 1
        return self.module(*args, **kwargs) * self.in_features


torch.manual_seed(0)
model = Sharded(nn.Linear(4, 3))
run = torch.compile(model, backend="eager")
total = run(torch.randn(2, 4)).sum().item() + run(torch.randn(2, 4)).sum().item()
print(f"checksum {total + model.calls:.4f}")
