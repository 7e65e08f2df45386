# expect: none
import torch

from boost import Ensemble
from boost.metrics import announce, margin_report

ensemble = Ensemble(features=4, stages=2)


def objective(x, y):
    scores = ensemble(x)
    return torch.nn.functional.soft_margin_loss(scores, y), margin_report(scores, y)


loss, margin = torch.compile(objective)(torch.randn(5, 4), torch.tensor([1.0, -1.0, 1.0, 1.0, -1.0]))
announce(margin)
