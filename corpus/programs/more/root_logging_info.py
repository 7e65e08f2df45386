# expect: GB4841 @ 10
import logging

import torch


@torch.compile
def rescale(batch, lo=0.0, hi=1.0):
    span = batch.amax() - batch.amin()
    logging.info("rescaling to [%s, %s]", lo, hi)
    return (batch - batch.amin()) / span * (hi - lo) + lo


rescale(torch.rand(4))
