# expect: none
# source: https://github.com/pytorch/pytorch/issues/141964
# fix: unwrap-decorator ; auto: unsafe (the decorator becomes a with block inside the body)
# fixes: context_decorator_mode.py
import contextlib
import torch
import torch.nn as nn

modes = ["train"]


@contextlib.contextmanager
def exploration(mode):
    modes.append(mode)
    try:
        yield
    finally:
        modes.pop()


policy = nn.Linear(4, 2)


@exploration("deterministic")
def act(obs):
    loc = policy(obs)
    return loc.tanh() if modes[-1] == "deterministic" else torch.randn_like(loc)


torch.manual_seed(0)
nn.init.constant_(policy.weight, 0.1)
nn.init.constant_(policy.bias, 0.2)
run = torch.compile(act, backend="eager")
print(f"checksum {run(torch.randn(3, 4)).sum().item():.4f}")
