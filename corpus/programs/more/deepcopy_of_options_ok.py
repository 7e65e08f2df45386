# expect: none
import copy
from dataclasses import dataclass, field

import torch


@dataclass
class Options:
    temperature: float = 1.0
    stops: list = field(default_factory=list)


@torch.compile
def sharpen(logits, options):
    local = copy.deepcopy(options)
    local.temperature = local.temperature * 0.5
    local.stops.append(1)
    return (logits / local.temperature).softmax(-1)


sharpen(torch.randn(2, 5), Options())
