# expect: GB0036 @ 9
# expect: GB4347 @ 9
import torch
import torch.nn as nn


class LengthRegulator(nn.Module):
    def forward(self, phones, durations):
        out = [torch.repeat_interleave(p, d, dim=0) for p, d in zip(phones, durations)]
        return nn.utils.rnn.pad_sequence(out, batch_first=True)


torch.compile(LengthRegulator())(torch.randn(2, 3, 4), torch.tensor([[1, 2, 1], [2, 2, 1]]))
