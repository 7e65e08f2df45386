# expect: none
# source: https://github.com/pytorch/pytorch/issues/115122
# fix: functional-call ; auto: manual
# fixes: maml_deepcopy_module.py
import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))


@torch.no_grad()
def adapted_loss(x, y, step):
    fast = {k: p + step * p.sign() for k, p in net.named_parameters()}
    return ((torch.func.functional_call(net, fast, (x,)) - y) ** 2).mean()


fn = torch.compile(adapted_loss, backend="eager")
x, y = torch.randn(6, 4), torch.randn(6, 1)
print(f"checksum {(fn(x, y, 0.1) + fn(x, y, 0.1)).item():.4f}")
