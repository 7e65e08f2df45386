# expect: GB0291 @ 26
# source: https://github.com/tenstorrent/tt-torch/issues/852
# fix: remove ; auto: unsafe (config.ignore_logging_functions drops the message under compile)
import functools
import logging
import torch
import torch.nn as nn


@functools.lru_cache(None)
def warning_once(self, *args):
    self.warning(*args)


logging.Logger.warning_once = warning_once
logger = logging.getLogger("models.decoder")


class Decoder(nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(dim, dim) for _ in range(2))

    def forward(self, x, use_cache=True):
        if self.training and use_cache:
            logger.warning_once("use_cache is off while checkpointing")
            use_cache = False
        for layer in self.layers:
            x = torch.tanh(layer(x))
        return (x, x) if use_cache else (x, None)


torch.manual_seed(0)
model = torch.compile(Decoder(), backend="eager")
print(f"checksum {model(torch.randn(3, 8))[0].sum().item():.4f}")
