# expect: GB0142 @ 37
# source: https://github.com/pytorch/pytorch/issues/141964
# fix: unwrap-decorator ; auto: unsafe (the decorator becomes a with block inside the body)
import contextlib
import torch
import torch.nn as nn

modes = ["train"]


class exploration(contextlib.ContextDecorator):
    def __init__(self, mode):
        self.mode = mode

    def __enter__(self):
        modes.append(self.mode)
        return self

    def __exit__(self, *exc):
        modes.pop()
        return False


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
