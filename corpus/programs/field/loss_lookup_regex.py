# expect: none
# source: https://github.com/huggingface/transformers/issues/34615
# note: re.findall on the class name broke in 2.4 and moved to __init__; traced now
import re
import torch
import torch.nn as nn
import torch.nn.functional as F

LOSSES = {
    "ForCausalLM": lambda logits, labels: F.cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten()),
    "ForClassification": lambda logits, labels: F.cross_entropy(logits.mean(1), labels[:, 0]),
}


class TinyForCausalLM(nn.Module):
    def __init__(self, vocab=7):
        super().__init__()
        self.embed, self.head = nn.Embedding(vocab, 4), nn.Linear(4, vocab)

    @property
    def loss_function(self):
        found = re.findall(f"({'|'.join(LOSSES)})", self.__class__.__name__)
        return LOSSES[found[0] if found else "ForClassification"]

    def forward(self, ids, labels):
        return self.loss_function(self.head(self.embed(ids)), labels)


torch.manual_seed(0)
model = torch.compile(TinyForCausalLM(), backend="eager")
ids = torch.randint(0, 7, (2, 5))
print(f"checksum {model(ids, ids).item():.4f}")
