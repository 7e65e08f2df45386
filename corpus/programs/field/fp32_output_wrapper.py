# expect: none
# source: https://github.com/huggingface/accelerate/issues/2645
# note: a wrapper object that walks the outputs is traced
import functools
from collections import namedtuple
import torch
import torch.nn as nn

Out = namedtuple("Out", "logits aux")


def map_tensors(func, data):
    if isinstance(data, (tuple, list)):
        done = (map_tensors(func, o) for o in data)
        return type(data)(*done) if hasattr(data, "_fields") else type(data)(done)
    return func(data) if isinstance(data, torch.Tensor) else data


class UpcastOutputs:
    def __init__(self, fn):
        self.fn = fn
        functools.update_wrapper(self, fn)

    def __call__(self, *args, **kwargs):
        return map_tensors(lambda t: t.float(), self.fn(*args, **kwargs))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 3, dtype=torch.bfloat16)

    def forward(self, x):
        y = self.fc(x.bfloat16())
        return Out(y, [y * 2, None])


torch.manual_seed(0)
out = torch.compile(UpcastOutputs(Model().forward), backend="eager")(torch.ones(2, 4))
print(f"checksum {(out.logits.sum() + out.aux[0].sum()).item():.4f}")
