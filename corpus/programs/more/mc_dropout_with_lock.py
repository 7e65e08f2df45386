# expect: GB0142 @ 13
import threading

import torch


class SharedCache:
    def __init__(self):
        self._lock = threading.RLock()
        self._items = {}

    def get(self, key, make):
        with self._lock:
            if key not in self._items:
                self._items[key] = make()
            return self._items[key]


CACHE = SharedCache()


@torch.compile
def positions(x):
    table = CACHE.get(x.size(1), lambda: torch.arange(x.size(1)))
    return x + table


positions(torch.zeros(2, 5))
