# expect: none
import torch


@torch.compile
def activate(x, spec):
    match spec:
        case {"kind": "relu"}:
            return x.relu()
        case {"kind": "leaky", "slope": slope}:
            return torch.where(x > 0, x, slope * x)
        case _:
            return x


activate(torch.randn(3), {"kind": "leaky", "slope": 0.1})
