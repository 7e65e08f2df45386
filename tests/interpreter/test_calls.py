"""Calls: how arguments reach parameters, and which function a call runs."""

from __future__ import annotations

import pytest

from gblint.callgraph import unpack
from gblint.interpreter.values import Const, Mapping, Plain, Sequence
from tests.interpreter.programs import Analyst, kinds


def test_arguments_reach_their_parameters(analyst: Analyst) -> None:
    values = analyst.seen("""
        def see(a, b="default", *rest, c, d=None, **more):
            probe.see(a), probe.see(b), probe.see(rest), probe.see(c), probe.see(d), probe.see(more)

        @torch.compile
        def f(x: Tensor):
            see(x, c=x)
            see(1, x, 2, 3, c=4, d=x, e=x)
            see(*(x, 1, 2), **{"c": x, "z": 1})
    """)
    assert kinds(values) == [
        "tensor", "Const", "Sequence", "tensor", "Const", "Mapping",
        "Const", "tensor", "Sequence", "Const", "tensor", "Mapping",
        "tensor", "Const", "Sequence", "tensor", "Const", "Mapping",
    ]  # fmt: skip
    rests = [len(v.items or []) for v in values if isinstance(v, Sequence)]
    mores = [list(v.items) for v in values if isinstance(v, Mapping)]
    assert (rests, mores) == ([0, 2, 1], [[], ["e"], ["z"]])


def test_unknown_star_arguments_leave_the_rest_unknown(analyst: Analyst) -> None:
    values = analyst.seen("""
        def see(a, b=None):
            probe.see(a), probe.see(b)

        @torch.compile
        def f(x: Tensor, rest: tuple, options: dict):
            see(x)
            see(x, *rest)
            see(1, **options)
    """)
    assert kinds(values) == ["tensor", "Const", "tensor", "Unknown", "Const", "Unknown"]


@pytest.mark.parametrize(
    "call",
    [
        "helper(x)",
        "functools.partial(helper, flag=1)(x)",
        "functools.partial(functools.partial(helper), x)()",
        "(lambda y: helper(y))(x)",
        "list(map(helper, [x]))",
        "[helper(y) for y in (x,)]",
        "functools.reduce(lambda a, b: helper(b), [x, x])",
        "Tool.static(x)",
        "Tool().static(x)",
        "Tool.make(x)",
        "Tool().method(x)",
        "Tool.method(Tool(), x)",
        "Tool().prop",
        "Tool()(x)",
        "Child().method(x)",
        "getattr(Tool(), 'method')(x)",
        "Tool() + x",
        "Tool()[0]",
        "len(Tool())",
        "TABLE['a'](x)",
        "(helper if x is not None else None)(x)",
        "closure(x)()",
        "wrapped(x)",
        "cached(x)",
        "Tool.remembered(x)",
        "Tool().remembered(x)",
        "next(stream(x))",
        "sorted([1, 2], key=helper)",
        "torch.utils.checkpoint.checkpoint(helper, x)",
        "torch.func.vmap(helper)(x)",
    ],
)
def test_calls_that_run_the_helper(analyst: Analyst, call: str) -> None:
    result = analyst.run(f"""
        import torch.utils.checkpoint

        def helper(x, flag=0):
            graph_break()
            return x

        TABLE = {{"a": helper}}

        def closure(x):
            def inner():
                return helper(x)
            return inner

        def log(function):
            @functools.wraps(function)
            def wrapper(*args, **kwargs):
                return function(*args, **kwargs)
            return wrapper

        def cache(size=None):
            def decorate(function):
                known = {{}}

                @functools.wraps(function)
                def wrapper(*args):
                    return function(*args)
                return wrapper
            return decorate

        @log
        def wrapped(x):
            return helper(x)

        @functools.lru_cache
        def cached(x):
            return helper(x)

        def stream(x):
            yield helper(x)

        class Tool:
            @staticmethod
            def static(x):
                return helper(x)

            @classmethod
            def make(cls, x):
                return cls().method(x)

            @cache(size=3)
            @staticmethod
            def remembered(x):
                return helper(x)

            @property
            def prop(self):
                return helper(self)

            def method(self, x):
                return helper(x)

            def __call__(self, x):
                return helper(x)

            def __add__(self, other):
                return helper(other)

            def __getitem__(self, index):
                return helper(index)

            def __len__(self):
                helper(self)
                return 1

        class Child(Tool):
            def method(self, x):
                return super().method(x)

        @torch.compile
        def f(x: Tensor):
            return {call}
    """)
    assert any(name.endswith(".helper") for name in unpack(result.calls).places)
    assert "GB0025" in {f.code for f in result.findings}


def test_a_method_beneath_a_caching_decorator_gets_no_self(analyst: Analyst) -> None:
    values = analyst.seen("""
        def cache(function):
            def wrapper(*args):
                return function(*args)
            return wrapper

        class Tool:
            @cache
            @staticmethod
            def static(x, flag=None):
                probe.see(x), probe.see(flag)

            @cache
            def method(self, x):
                probe.see(x)

        @torch.compile
        def f(x: Tensor):
            Tool().static(x)
            Tool.static(x)
            Tool().method(x)
    """)
    assert kinds(values)[:2] == ["tensor", "Const"]
    assert kinds(values)[-1] == "tensor"
    assert "Instance" not in kinds(values)


def test_closures_see_the_variables_of_their_maker(analyst: Analyst) -> None:
    values = analyst.seen("""
        def maker(value, scale=2):
            def inner(y, size=scale):
                probe.see(value), probe.see(size)
            return inner

        @torch.compile
        def f(x: Tensor):
            maker(x)(1)
            maker("text", scale=3)(1)
    """)
    assert kinds(values) == ["tensor", "Const", "Const", "Const"]
    assert [v.value for v in values if isinstance(v, Const)] == [2, "text", 3]


def test_returns_of_all_paths_are_joined(analyst: Analyst) -> None:
    values = analyst.seen("""
        def both(x, flag):
            if flag:
                return x
            return None

        def neither(x):
            raise NotImplementedError

        def falls(x):
            x = x + 1

        @torch.compile
        def f(x: Tensor, flag: bool):
            probe.see(both(x, flag))
            probe.see(both(x, True))
            probe.see(falls(x))
    """)
    assert kinds(values) == ["Union", "tensor", "Const"]


def test_a_function_is_judged_for_each_kind_of_argument(analyst: Analyst) -> None:
    """The branch breaks for a tensor only, and the call with a number does not hide that."""
    analyst.check("""
        def positive(value):
            if value > 0:  # splits
                return 1
            return 0

        @torch.compile
        def numbers(n: int):
            return positive(n)

        @torch.compile
        def tensors(x: Tensor):
            return positive(x)
    """)
    analyst.check("""
        def positive(value):
            if value > 0:
                return 1
            return 0

        @torch.compile
        def numbers(n: int):
            return positive(n) + positive(3)
    """)


def test_super_follows_the_resolution_order(analyst: Analyst) -> None:
    values = analyst.seen("""
        class Base:
            def m(self):
                return "base"

        class Left(Base):
            def m(self):
                return super().m() + " left"

        class Right(Base):
            def m(self):
                return super().m() + " right"

        class Both(Left, Right):
            def m(self):
                return super().m() + " both"

        @torch.compile
        def f(x: Tensor):
            probe.see(Both().m())
    """)
    assert [v.value for v in values if isinstance(v, Const)] == ["base right left both"]


def test_properties_and_their_setters(analyst: Analyst) -> None:
    values = analyst.seen("""
        class Box:
            def __init__(self):
                self._value = None

            @property
            def value(self):
                return self._value

            @value.setter
            def value(self, new):
                self._value = new

        @torch.compile
        def f(x: Tensor):
            probe.see(Box().value)
            box = Box()
            box.value = x
            probe.see(box.value)
    """)
    assert kinds(values) == ["Const", "tensor"]


def test_getattr_of_a_class_answers_for_what_is_missing(analyst: Analyst) -> None:
    values = analyst.seen("""
        class Proxy:
            def __init__(self, x):
                self.x = x

            def __getattr__(self, name):
                return self.x

        @torch.compile
        def f(x: Tensor):
            probe.see(Proxy(x).anything)
            probe.see(getattr(Proxy(1), "other", None))
    """)
    assert kinds(values)[0] == "tensor"
    assert "Tensor" not in kinds(values[1:])


def test_partial_fills_arguments_from_both_ends(analyst: Analyst) -> None:
    values = analyst.seen("""
        def see(a, b, c=None):
            probe.see(a), probe.see(b), probe.see(c)

        @torch.compile
        def f(x: Tensor):
            functools.partial(see, 1, c=2)(x)
            functools.partial(see, c=2)(1, x, c=x)
    """)
    assert kinds(values) == ["Const", "tensor", "Const", "Const", "tensor", "tensor"]


def test_disabled_functions_are_not_entered(analyst: Analyst) -> None:
    result = analyst.check("""
        @torch.compiler.disable
        def hidden(x):
            graph_break()
            return x

        @torch.compile
        def f(x: Tensor):
            return hidden(x)  # splits
    """)
    assert [f.code for f in result.findings] == ["GB0098"]


def test_eager_code_outside_of_regions_is_not_reported(analyst: Analyst) -> None:
    analyst.check("""
        def helper(x):
            graph_break()
            if x.sum() > 0:
                print(x)
            return x

        @torch.compile
        def f(x: Tensor):
            return x + 1

        if __name__ == "__main__":
            x = helper(torch.rand(3))
            print(f(x))
            helper(f(x))
    """)


def test_generators_give_what_they_yield(analyst: Analyst) -> None:
    values = analyst.seen("""
        def pairs(x):
            yield x, "a"
            yield from [(x, "b")]

        @torch.compile
        def f(x: Tensor):
            for value, name in pairs(x):
                probe.see(value), probe.see(name)
    """)
    assert kinds(values) == ["tensor", "Plain"]
    assert isinstance(values[1], Plain)
    assert values[1].type == "str"


TABLE = """
    class Base:
        def run(self, y):
            return y
{classes}
    TABLE = {{{entries}}}

    @torch.compile
    def f(x: Tensor, key: str):
        TABLE[key]().run(x)
"""


@pytest.mark.parametrize(("size", "seen"), [(2, 1), (6, 1), (7, 7), (16, 16), (17, 0)])
def test_of_a_few_callables_one_is_followed_of_a_wide_table_all(analyst: Analyst, size: int, seen: int) -> None:
    kinds_of = "".join(f"    class C{n}(Base):\n        def run(self, y): probe.see(y)\n" for n in range(size))
    entries = ", ".join(f'"k{n}": C{n}' for n in range(size))
    assert kinds(analyst.seen(TABLE.format(classes=kinds_of, entries=entries))) == ["tensor"] * seen


@pytest.mark.parametrize(
    ("name", "seen"),
    [
        ('f"run_{key}"', 2),
        ('f"{key}_slow"', 1),
        ('"run_" + key', 2),
        ('key + "_slow"', 1),
        ('"run_{}".format(key)', 2),
        ('"{}_{}_slow".format(key, key)', 1),
        ('f"walk_{key}"', 0),
        ("key", 0),
    ],
)
def test_a_name_of_which_a_part_is_written_leads_to_all_that_are_called_so(
    analyst: Analyst, name: str, seen: int
) -> None:
    values = analyst.seen(f"""
        class Base:
            def run_slow(self, y): probe.see(y)
            def other(self, y): probe.see(y)

        class Tool(Base):
            def run_fast(self, y): probe.see(y)

        @torch.compile
        def f(x: Tensor, key: str):
            getattr(Tool(), {name})(x)
    """)
    assert kinds(values) == ["tensor"] * seen


def test_a_hook_of_modules_is_known_by_its_name(analyst: Analyst) -> None:
    analyst.check(
        """
        class Tap(nn.Module):
            def __init__(self, layer):
                super().__init__()
                self.layer = layer

            def forward(self, x):
                y = x + 1
                self.layer.register_forward_hook(keep)  # splits
                return y

        def keep(*given):
            return None
        """,
        mode="modules",
    )
