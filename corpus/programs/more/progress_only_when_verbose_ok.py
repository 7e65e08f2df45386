# expect: none
import torch


class Trainer:
    def __init__(self, model, verbose=False):
        self.model = model
        self.verbose = verbose

    def compute_loss(self, x, y):
        out = self.model(x)
        loss = ((out - y) ** 2).mean()
        if self.verbose:
            print("loss", loss)
        return loss

    def fit(self, data):
        compute = torch.compile(self.compute_loss)
        losses = [compute(x, y) for x, y in data]
        print("mean loss", sum(losses) / len(losses))


Trainer(torch.nn.Linear(3, 1)).fit([(torch.randn(2, 3), torch.randn(2, 1))])
