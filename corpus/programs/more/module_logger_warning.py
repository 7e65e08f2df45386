# expect: GB0291 @ 18
import logging

import torch
import torch.nn as nn

_LOG = logging.getLogger("resampler")


class Resampler(nn.Module):
    def __init__(self, num_latents=4, dim=8):
        super().__init__()
        self.latents = nn.Parameter(torch.randn(num_latents, dim))
        self.attn = nn.MultiheadAttention(dim, 2, batch_first=True)

    def forward(self, feats):
        if feats.shape[1] < self.latents.shape[0]:
            _LOG.warning("only %d features for %d latents", feats.shape[1], self.latents.shape[0])
        q = self.latents.expand(feats.shape[0], -1, -1)
        return self.attn(q, feats, feats, need_weights=False)[0]


net = torch.compile(Resampler().eval())
with torch.no_grad():
    net(torch.randn(2, 3, 8))
