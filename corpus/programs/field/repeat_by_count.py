# expect: GB0036 @ 14
# source: https://github.com/pytorch/pytorch/issues/108195
# fix: hoist ; auto: manual (output_size has to be known)
import torch
import torch.nn as nn


class LengthRegulator(nn.Module):
    def __init__(self, dim=6):
        super().__init__()
        self.fc = nn.Linear(dim, dim)

    def forward(self, phonemes, durations):
        frames = torch.repeat_interleave(phonemes, durations, dim=0)
        return torch.tanh(self.fc(frames))


torch.manual_seed(0)
model = torch.compile(LengthRegulator(), backend="eager")
print(f"checksum {model(torch.randn(3, 6), torch.tensor([2, 1, 3])).sum().item():.4f}")
