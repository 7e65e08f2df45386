"""What every generated program starts with: imports, and a few definitions that its statements may use."""

PRELUDE = """\
import contextlib
import copy
import gc
import itertools
import logging
import math
import os
import random
import sys
import threading
import time
import traceback
import warnings
from collections import OrderedDict, defaultdict
from dataclasses import dataclass
from functools import partial, reduce
from typing import NamedTuple

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

logger = logging.getLogger(__name__)
lock = threading.Lock()
LIMIT = 0.75
VERBOSE = False
DEBUG = False
MODE = 'gelu'
STEPS = {'relu': 1, 'gelu': 2}
ACTIVATIONS = defaultdict(lambda: torch.tanh, relu=F.relu, gelu=F.gelu)
STATE = {}
HISTORY = []
SEEN = set()
CACHE = {}
CALLS = 0
options = {'scale': 0.5}


@dataclass
class Config:
    scale: float = 0.5
    enabled: bool = True
    name: str = 'relu'


class Pair(NamedTuple):
    hidden: torch.Tensor
    score: torch.Tensor


class Timer:
    def __enter__(self):
        self.entered = True
        return self

    def __exit__(self, *exc):
        return False


config = Config()


@contextlib.contextmanager
def section(name):
    STATE['section'] = name
    yield


def pair_of(t):
    return Pair(t, t.sum())


def scaled(tensors, factor):
    for t in tensors:
        yield t * factor


def note(value, loud=False):
    if loud:
        print('note', value)


def count_call():
    global CALLS
    CALLS += 1


def not_tensor(flag):
    return torch.logical_not(flag)


@torch.compiler.disable
def disabled(t):
    return t * 2


def listing(t):
    found = []
    for i in range(2):
        found.append(t + i)
    return found


def total(value):
    if isinstance(value, torch.Tensor):
        return round(float(value.detach().double().sum()), 3)
    if isinstance(value, (list, tuple)):
        return [total(item) for item in value]
    if isinstance(value, dict):
        return {key: total(item) for key, item in value.items()}
    return value


"""
