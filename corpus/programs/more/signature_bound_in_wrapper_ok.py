# expect: none
# note: the options are copied before one is filled in
import functools
import inspect
import torch


def with_defaults(function):
    signature = inspect.signature(function)

    @functools.wraps(function)
    def wrapper(x, **options):
        options = {**options, "scale": options.get("scale") or 2.0}
        bound = signature.bind(x, **options)
        bound.apply_defaults()
        return function(*bound.args, **bound.kwargs)

    return wrapper


@with_defaults
def scaled(x, scale=1.0, *, shift=0.5):
    return x * scale + shift


compiled = torch.compile(scaled, backend="eager")

if __name__ == "__main__":
    compiled(torch.ones(3), scale=3.0)
