# expect: GB0036 @ 14
# expect: GB0124 @ 15
# source: https://github.com/huggingface/diffusers/pull/11696
# fix: hoist ; auto: manual (set_begin_index: the loop knows its step number)
import torch


class FlowSteps:
    def __init__(self, steps=5):
        self.timesteps = torch.linspace(1000, 1, steps)
        self.sigmas = torch.cat([self.timesteps / 1000, torch.zeros(1)])

    def position_of(self, t):
        hits = torch.nonzero(self.timesteps == t)
        return hits[-1].item()

    def step(self, velocity, t, sample):
        i = self.position_of(t)
        return sample + (self.sigmas[i + 1] - self.sigmas[i]) * velocity


torch.manual_seed(0)
sched = FlowSteps()
step = torch.compile(sched.step, backend="eager")
x = torch.randn(2, 4)
for t in sched.timesteps:
    x = step(torch.tanh(x), t, x)
print(f"checksum {x.sum().item():.4f}")
