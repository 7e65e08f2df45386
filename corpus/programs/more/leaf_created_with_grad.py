# expect: GB0225 @ 7
import torch


@torch.compile
def slack_variables(x):
    slack = torch.zeros(x.shape[0], requires_grad=True)
    margin = 1 - x.sum(1) - slack
    return margin.clamp(min=0).mean()


slack_variables(torch.randn(4, 2))
