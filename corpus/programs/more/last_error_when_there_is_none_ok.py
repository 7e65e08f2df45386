# expect: none
"""The text of the last error is asked for where there is none."""
import traceback

import torch


@torch.compile
def report(x):
    text = traceback.format_exc()
    return x * len(text)


print("checksum", round(report(torch.ones(2)).sum().item(), 4))
