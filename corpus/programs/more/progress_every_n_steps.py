# expect: GB0059 @ 16
import torch


class Trainer:
    log_every = 1

    def __init__(self, model):
        self.model = model
        self.step_count = 0

    def compute_loss(self, x, y):
        out = self.model(x)
        loss = ((out - y) ** 2).mean()
        if self.step_count % self.log_every == 0:
            print("step %d" % self.step_count, "loss", loss)
        return loss

    def fit(self, data):
        compute = torch.compile(self.compute_loss)
        for x, y in data:
            compute(x, y)


Trainer(torch.nn.Linear(3, 1)).fit([(torch.randn(2, 3), torch.randn(2, 1))])
