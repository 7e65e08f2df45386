# expect: GB0170 @ boost/ensemble.py:25
# expect: GB0291 @ boost/metrics.py:13
import torch

from boost import Ensemble
from boost.metrics import margin_report

ensemble = Ensemble(features=4, stages=2)


def objective(x, y):
    scores = ensemble(x)
    margin_report(scores, y)
    return torch.nn.functional.soft_margin_loss(scores, y)


torch.compile(objective)(torch.randn(5, 4), torch.tensor([1.0, -1.0, 1.0, 1.0, -1.0]))
