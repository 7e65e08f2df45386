# expect: GB0142 @ 364
# expect: GB0142 @ 365
# expect: GB0142 @ 366
# expect: GB0142 @ 367
# expect: GB0142 @ 368
# expect: GB0142 @ 369
# expect: GB0142 @ 370
# expect: GB0142 @ 371
# expect: GB0142 @ 372
# expect: GB0142 @ 373
# expect: GB0142 @ 374
# expect: GB0142 @ 375
# expect: GB0142 @ 376
# expect: GB0142 @ 377
# expect: GB0142 @ 378
# expect: GB0142 @ 379
# expect: GB0142 @ 380
# expect: GB0142 @ 381
# expect: GB0142 @ 385
import contextlib
from contextlib import ContextDecorator, contextmanager

import torch


class Base:
    pass


class Plain(ContextDecorator):
    """Does nothing."""

    pass

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False


class Counted(ContextDecorator):
    count = 0

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False


class Nested(ContextDecorator):
    class Inner:
        pass

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False


class Kept(ContextDecorator):
    def __init__(self, name, rate=1):
        self.name = name
        self.rate = rate

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False


class Fixed(ContextDecorator):
    def __init__(self, name):
        self.name = name
        self.rate = 1

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False


class Twice(ContextDecorator):
    def __init__(self, name):
        self.name = self.rate = name

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False


class Other(ContextDecorator):
    def __init__(self, name):
        name.rate = name

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False


class Called(ContextDecorator):
    def __init__(self):
        super().__init__()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False


class Tested(ContextDecorator):
    def __init__(self, name):
        if name:
            self.name = name

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False


class Writing(ContextDecorator):
    name = None

    def note(self):
        self.name = 1

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False


class Adding(ContextDecorator):
    def __init__(self, name):
        self.name = name

    def note(self):
        self.name += 1

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False


class Typed(ContextDecorator):
    def note(self):
        self.name: int = 1

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False


class Deleting(ContextDecorator):
    def note(self):
        del self.name

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False


class Reading(ContextDecorator):
    def __init__(self, name):
        self.name = name

    def note(self, other):
        other.name = self.name
        return self.name

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False


class Static(ContextDecorator):
    @staticmethod
    def note():
        return 1

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False


class Bare(ContextDecorator):
    def note():
        return 1

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False


class Both(contextlib.ContextDecorator, Base):
    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False


def made(name):
    return Plain()


@contextmanager
def scope(name):
    yield name


@contextlib.contextmanager
def bare():
    yield


Again = Plain
Again = Counted
holder = Base()
holder.scope = scope


@Plain()
def in_plain(x):
    return x + 1


@Counted()
def in_counted(x):
    return x + 1


@Nested()
def in_nested(x):
    return x + 1


@Kept("a", rate=2)
def in_kept(x):
    return x + 1


@Fixed(None)
def in_fixed(x):
    return x + 1


@Twice(True)
def in_twice(x):
    return x + 1


@Other(torch)
def in_other(x):
    return x + 1


@Called()
def in_called(x):
    return x + 1


@Tested(False)
def in_tested(x):
    return x + 1


@Writing()
def in_writing(x):
    return x + 1


@Adding(1)
def in_adding(x):
    return x + 1


@Typed()
def in_typed(x):
    return x + 1


@Deleting()
def in_deleting(x):
    return x + 1


@Reading(-1)
def in_reading(x):
    return x + 1


@Static()
def in_static(x):
    return x + 1


@Bare()
def in_bare(x):
    return x + 1


@Both()
def in_both(x):
    return x + 1


@made("a")
def in_made(x):
    return x + 1


@scope("ab")
def in_scope(x):
    return x + 1


@scope(holder)
def in_scoped(x):
    return x + 1


@bare()
def in_bare_one(x):
    return x + 1


@Again()
def in_again(x):
    return x + 1


@holder.scope("a")
def in_held(x):
    return x + 1


@torch.compile
def run(x):
    x = in_plain(x)
    x = in_counted(x)
    x = in_nested(x)
    x = in_kept(x)
    x = in_fixed(x)
    x = in_twice(x)
    x = in_other(x)
    x = in_called(x)
    x = in_tested(x)
    x = in_writing(x)
    x = in_adding(x)
    x = in_typed(x)
    x = in_deleting(x)
    x = in_reading(x)
    x = in_static(x)
    x = in_bare(x)
    x = in_both(x)
    x = in_made(x)
    x = in_scope(x)
    x = in_scoped(x)
    x = in_bare_one(x)
    x = in_again(x)
    x = in_held(x)
    return x


run(torch.ones(2))
