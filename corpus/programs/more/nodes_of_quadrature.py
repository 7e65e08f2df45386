# expect: GB0007 @ 13
# expect: GB0008 @ 19
# needs: numpy
# note: functions of numpy.polynomial and seed sequences are Python code that Dynamo skips
import numpy as np
import torch

SEEDS = np.random.SeedSequence(7)


@torch.compile(backend="eager")
def integrate(x):
    nodes, weights = np.polynomial.legendre.leggauss(3)
    return x + len(nodes) * len(weights)


@torch.compile(backend="eager")
def reseed(x):
    first, second = SEEDS.generate_state(2)
    return x * 2


if __name__ == "__main__":
    integrate(torch.ones(3))
    reseed(torch.ones(3))
