# expect: none
# source: https://github.com/pytorch/pytorch/issues/117758
# note: a hook that fills a dict is traced, the write is replayed after the graph
import torch
import torch.nn as nn

features = {}


def keep(name):
    def hook(module, inputs, output):
        features[name] = output.detach()
    return hook


class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 4, 3, padding=1)
        self.block = nn.Sequential(nn.Conv2d(4, 4, 3, padding=1), nn.ReLU())
        self.head = nn.Linear(4, 2)

    def forward(self, x):
        return self.head(self.block(self.stem(x)).mean((-1, -2)))


torch.manual_seed(0)
net = Backbone()
for name in ("stem", "block"):
    getattr(net, name).register_forward_hook(keep(name))
run = torch.compile(net, backend="eager")
out = run(torch.randn(1, 3, 5, 5))
print(f"checksum {(out.sum() + sum(f.sum() for f in features.values())).item():.4f}")
