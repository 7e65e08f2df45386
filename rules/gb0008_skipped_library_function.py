"""A Python function of torch or the standard library whose file Dynamo is told not to trace.

What breaks:
    Methods of an optimizer other than `step` (`zero_grad`, `state_dict`, `load_state_dict`, `add_param_group`), of
    a learning-rate scheduler and of `GradScaler`; `torch.autograd.detect_anomaly`, `saved_tensors_hooks`,
    `save_on_cpu`, `set_multithreading_enabled`; iterating or indexing a `DataLoader` or `Dataset`; a module made
    by `torch.jit.trace`; `secrets.*`; `copy.copy` of a module.
Why Dynamo breaks:
    These files are on Dynamo's skip list: what they do (global state, hooks, processes) has no place in a graph.
Example:
    optimizer.zero_grad()
    loss = self.loss(model(x), y)
Instead:
    loss = compiled_loss(x, y)  # compile the model or the loss; keep the optimizer outside
Fix:
    Compile the forward pass and the loss, and leave optimizer, scheduler, data loading and debugging modes
    outside.
Torch versions:
    Every release.
Limits:
    `module.zero_grad()` does not break; `optimizer.step()` is GB0025, building an optimizer GB0467.
"""

from __future__ import annotations

from gblint.rule_api import Break, Call, Context, Instance, Iterate, Rule, RuleMeta, Value

LOADERS = ("torch.utils.data.DataLoader", "torch.utils.data.dataloader.DataLoader")


class SkippedLibraryFunction(Rule):
    """Calls into files on the skip list."""

    meta = RuleMeta(
        code="GB0008",
        slug="skipped-library-function",
        summary="a library function that Dynamo is told not to trace is called",
        category="supportable",
        advice="Keep it outside: compile the forward pass and the loss only.",
        by_hand="what the library does there would have to be written anew",
    )
    measured = True
    calls = (
        "torch.optim.*", "torch.GradScaler.*", "torch.cuda.amp.GradScaler.*", "torch.GradScaler",
        "torch.autograd.detect_anomaly", "torch.autograd.set_detect_anomaly", "torch.autograd.graph.save_on_cpu",
        "torch.autograd.graph.saved_tensors_hooks", "torch.autograd.set_multithreading_enabled",
        "torch.autograd.profiler.emit_nvtx", "torch.utils.data.DataLoader", "torch.utils.data.DataLoader.*",
        "torch.utils.data.Dataset.*", "torch.utils.data.TensorDataset.*", "torch.utils.data.Subset.*",
        "torch.profiler.profile.step", "torch.jit.TracedModule.*", "torch.jit.TopLevelTracedModule.*",
        "secrets.*", "numpy.random.SeedSequence.*", "numpy.random.bit_generator.SeedSequence.*",
    )  # fmt: skip
    BREAKS = (
        """
import torch
from torch import nn

model = nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)

@torch.compile
def train_step(x):
    optimizer.zero_grad()  # GB0008
    loss = model(x).sum()
    scheduler.step()  # GB0008
    return loss * 2

train_step(torch.ones(3, 2))
""",
        """
import torch
from torch import nn

class Trainer:
    def __init__(self):
        self.model = nn.Linear(2, 1)
        self.optimizer = torch.optim.AdamW(self.model.parameters())
        self.scaler = torch.amp.GradScaler("cpu")

    def loss(self, x):
        self.optimizer.zero_grad(set_to_none=True)  # GB0008
        loss = self.model(x).sum()
        return self.scaler.scale(loss)  # GB0008

trainer = Trainer()
torch.compile(trainer.loss)(torch.ones(3, 2))
""",
        """
import torch

loader = torch.utils.data.DataLoader(torch.arange(4.0), batch_size=2)

@torch.compile
def total(x):
    torch.autograd.set_detect_anomaly(False)  # GB0008
    x = x + 1
    for batch in loader:  # GB0008
        x = x + batch.sum()
    return x

total(torch.ones(1))
""",
        """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.traced = torch.jit.trace(nn.Linear(2, 2), torch.ones(3, 2))

    def forward(self, x):
        y = x + 1
        return self.traced(y)  # GB0008

torch.compile(Net())(torch.ones(3, 2))
""",
    )
    CLEAN = (
        """
import torch
from torch import nn

model = nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

@torch.compile
def loss(x):
    model.zero_grad()
    rate = optimizer.param_groups[0]["lr"]
    return model(x).sum() * rate

optimizer.zero_grad()
loss(torch.ones(3, 2)).backward()
optimizer.step()
""",
        """
import torch

class Meter:
    def zero_grad(self):
        return 1

    def state_dict(self):
        return {"a": 1}

@torch.compile
def step(x, meter: Meter):
    return x * meter.zero_grad() + len(meter.state_dict())

step(torch.ones(2), Meter())
""",
        """
import torch
from torch import nn

model = nn.Sequential(nn.Linear(2, 2), nn.ReLU())

@torch.compile
def step(x):
    total = sum(p.sum() for p in model.parameters())
    with torch.autograd.profiler.record_function("step"), torch.no_grad():
        return model(x) * total

step(torch.ones(3, 2))
""",
    )

    def on_call(self, event: Call, context: Context) -> Break | None:
        verdict = context.knowledge.verdict(event.callee)
        if verdict is not None and verdict != self.meta.code:
            return None
        if verdict is None and not self._listed(event):
            return None
        return Break(f"`{context.text(event.node)}` runs library code that Dynamo is told not to trace")

    def on_iterate(self, event: Iterate, context: Context) -> Break | None:
        if not _is_loader(event.value):
            return None
        text = context.text(event.node)
        return Break(f"iterating the data loader `{text}` runs code that Dynamo is told not to trace")

    def _listed(self, event: Call) -> bool:
        """A method of an optimizer or scheduler (no constructor, and not `optimizer.step`), or a name given above."""
        owner, _, name = event.callee.rpartition(".")
        if not event.callee.startswith("torch.optim."):
            return True
        if event.receiver is None or name.startswith("__"):
            return False
        return "lr_scheduler" in owner or name != "step"


def _is_loader(value: Value) -> bool:
    return isinstance(value, Instance) and value.base in LOADERS
