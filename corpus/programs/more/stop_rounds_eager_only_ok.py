# expect: none
import torch


def may_stop(x):
    return not (torch.compiler.is_compiling() or x.requires_grad)


@torch.compile
def spread(x):
    stops = (2, 4) if may_stop(x) else ()
    for step in range(6):
        mask = x > step
        if step + 1 in stops and not bool(mask.any()):
            break
        x = torch.where(mask, x * 0.5, x)
    return x


spread(torch.rand(4))
