# expect: none
# source: https://github.com/Koratahiu/Advanced_Optimizers/pull/6
# note: a per-parameter update with tensor state, EMA included, is captured
import torch
import torch.nn as nn


class MomentumEMA(torch.optim.Optimizer):
    def __init__(self, params, lr=0.1, beta=0.9, decay=0.99):
        super().__init__(params, dict(lr=lr, beta=beta, decay=decay))
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p] = {"m": torch.zeros_like(p), "ema": p.detach().clone()}
        self._update = torch.compile(self._update, backend="eager")

    @torch.no_grad()
    def _update(self, p, grad, state, group):
        state["m"].mul_(group["beta"]).add_(grad)
        p.add_(state["m"], alpha=-group["lr"])
        state["ema"].lerp_(p, 1 - group["decay"])

    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                self._update(p, p.grad, self.state[p], group)


torch.manual_seed(0)
model = nn.Linear(4, 2)
opt = MomentumEMA(model.parameters())
for _ in range(3):
    opt.zero_grad()
    model(torch.randn(5, 4)).pow(2).mean().backward()
    opt.step()
print(f"checksum {sum(s['ema'].abs().sum() for s in opt.state.values()).item():.4f}")
