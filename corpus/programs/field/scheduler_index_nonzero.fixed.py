# expect: none
# source: https://github.com/huggingface/diffusers/pull/11696
# fix: hoist ; auto: manual (set_begin_index: the loop knows its step number)
# fixes: scheduler_index_nonzero.py
import torch


class FlowSteps:
    def __init__(self, steps=5):
        self.timesteps = torch.linspace(1000, 1, steps)
        self.sigmas = torch.cat([self.timesteps / 1000, torch.zeros(1)])

    def step(self, velocity, i, sample):
        return sample + (self.sigmas[i + 1] - self.sigmas[i]) * velocity


torch.manual_seed(0)
sched = FlowSteps()
step = torch.compile(sched.step, backend="eager")
x = torch.randn(2, 4)
for i in range(len(sched.timesteps)):
    x = step(torch.tanh(x), i, x)
print(f"checksum {x.sum().item():.4f}")
