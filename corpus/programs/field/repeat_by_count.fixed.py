# expect: none
# source: https://github.com/pytorch/pytorch/issues/108195
# fix: hoist ; auto: manual (output_size has to be known)
# fixes: repeat_by_count.py
import torch
import torch.nn as nn


class LengthRegulator(nn.Module):
    def __init__(self, dim=6):
        super().__init__()
        self.fc = nn.Linear(dim, dim)

    def forward(self, phonemes, durations, n_frames):
        frames = torch.repeat_interleave(phonemes, durations, dim=0, output_size=n_frames)
        return torch.tanh(self.fc(frames))


torch.manual_seed(0)
model = torch.compile(LengthRegulator(), backend="eager")
durations = torch.tensor([2, 1, 3])
print(f"checksum {model(torch.randn(3, 6), durations, int(durations.sum())).sum().item():.4f}")
