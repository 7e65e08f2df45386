"""What a condition is worth, and what it teaches on either side."""

from __future__ import annotations

import pytest

from gblint.interpreter.values import Tensor, as_tensor, maybe_none, members, type_name
from tests.interpreter.programs import Analyst, kinds


@pytest.mark.parametrize(
    "test",
    [
        "not torch.compiler.is_compiling()",
        "not torch._dynamo.is_compiling()",
        "isinstance(x, str)",
        "not isinstance(x, torch.Tensor)",
        "not torch.is_tensor(x)",
        "x is None",
        "flag is not None",
        "flag and x.sum() > 0",
        "False or 0",
        "len([1, 2]) > 3",
        "'a' in {'b': 1}",
        "1 > 2 > 0",
        "not hasattr(x, 'shape')",
        "torch.jit.is_scripting()",
        "callable(3)",
    ],
)
def test_a_side_that_is_never_taken_is_not_run(analyst: Analyst, test: str) -> None:
    analyst.check(f"""
        @torch.compile
        def f(x: Tensor, flag=None):
            if {test}:
                graph_break()
                return 0
            return x

        f(torch.rand(3))
    """)


@pytest.mark.parametrize(
    "test",
    [
        "x.shape[0] > 2",
        "len(x) > 2",
        "x.requires_grad",
        "unheard_of()",
        "x.dim() == 3",
        "x.is_cuda",
        "isinstance(unheard_of(), str)",
    ],
)
def test_both_sides_of_an_open_condition_are_run(analyst: Analyst, test: str) -> None:
    analyst.check(f"""
        @torch.compile
        def f(x: Tensor):
            if {test}:
                graph_break()  # splits
            else:
                graph_break()  # splits
            return x
    """)


def test_conditions_on_releases_and_platforms_are_open_or_settled_but_never_break(analyst: Analyst) -> None:
    analyst.check("""
        NEW = tuple(int(p) for p in torch.__version__.split(".")[:2]) >= (2, 4)

        @torch.compile
        def f(x: Tensor):
            if NEW and sys.version_info >= (3, 9) and torch.cuda.is_available():
                x = x + 1
            return x
    """)


def test_a_module_constant_settles_a_condition(analyst: Analyst) -> None:
    analyst.check("""
        DEBUG = False
        LEVELS = ("a", "b")

        @torch.compile
        def f(x: Tensor):
            if DEBUG:
                graph_break()
            if "c" in LEVELS:
                graph_break()
            if "a" in LEVELS:
                graph_break()  # splits
            return x
    """)


def test_branch_on_a_tensor_breaks_where_the_tensor_is_tested(analyst: Analyst) -> None:
    analyst.check("""
        @torch.compile
        def f(x: Tensor, y: Optional[Tensor] = None):
            if y is None:
                return x
            if y.sum() > 0:  # splits
                return x + 1
            return x - 1 if x.any() else x  # splits

        f(torch.rand(3), torch.rand(3))
    """)


def test_none_is_ruled_out_on_one_side_and_certain_on_the_other(analyst: Analyst) -> None:
    values = analyst.seen("""
        @torch.compile
        def f(x: Optional[Tensor]):
            if x is None:
                probe.see(x)
            else:
                probe.see(x)
            if x is not None:
                probe.see(x)
            if not x is None:
                probe.see(x)
    """)
    assert kinds(values) == ["Const", "tensor", "tensor", "tensor"]


def test_an_early_return_teaches_what_follows(analyst: Analyst) -> None:
    values = analyst.seen("""
        @torch.compile
        def f(x: Optional[Tensor], y: Union[str, Tensor]):
            if x is None:
                return
            probe.see(x)
            if isinstance(y, str):
                return
            probe.see(y)
    """)
    assert [type(v) for v in values] == [Tensor, Tensor]


def test_isinstance_splits_a_union(analyst: Analyst) -> None:
    values = analyst.seen("""
        @torch.compile
        def f(y: Union[str, Tensor]):
            probe.see(y)
            if isinstance(y, str):
                probe.see(y)
            elif torch.is_tensor(y):
                probe.see(y)
            if isinstance(y, (int, torch.Tensor)):
                probe.see(y)
    """)
    assert [as_tensor(v) is not None for v in values] == [True, False, True, True]
    assert all(type_name(member) == "str" for member in members(values[1]))
    assert isinstance(values[2], Tensor)


def test_facts_hold_within_and_after_a_boolean_operation(analyst: Analyst) -> None:
    values = analyst.seen("""
        @torch.compile
        def f(x: Optional[Tensor], y: Optional[Tensor]):
            if x is None or probe.see(x) is None:
                pass
            if x is not None and y is not None:
                probe.see(x)
                probe.see(y)
            a = x if x is not None else torch.zeros(3)
            probe.see(a)
    """)
    assert kinds(values) == ["tensor"] * 4


def test_facts_about_attributes_hold_until_they_are_set(analyst: Analyst) -> None:
    values = analyst.seen("""
        class Holder:
            def __init__(self, x: Optional[Tensor] = None):
                self.x = x

        @torch.compile
        def f(holder: Holder, other: Optional[Tensor]):
            holder.x = other
            if holder.x is not None:
                probe.see(holder.x)
                holder.x = None
                probe.see(holder.x)
    """)
    assert [maybe_none(v) for v in values] == [False, True]


def test_guards_that_belong_together(analyst: Analyst) -> None:
    """`if mask is None or (flag and tracing()): return` leaves a mask; a helper that says True settles the rest."""
    analyst.check("""
        def tracing():
            return torch.compiler.is_compiling()

        @torch.compile
        def skipped(x: Tensor, mask: Optional[Tensor], flag: bool):
            if flag or (mask is not None and tracing()):
                return x
            if mask is not None and mask.all():
                return x
            return x + 1

        @torch.compile
        def tested(x: Tensor, mask: Optional[Tensor], flag: bool):
            if flag or (mask is not None and isinstance(mask, str)):
                return x
            if mask is not None and mask.all():  # splits
                return x
            return x + 1
    """)


def test_an_assert_teaches(analyst: Analyst) -> None:
    values = analyst.seen("""
        @torch.compile
        def f(x: Optional[Tensor], y: Union[str, Tensor]):
            assert x is not None
            assert isinstance(y, torch.Tensor), "a tensor is needed"
            probe.see(x)
            probe.see(y)
    """)
    assert kinds(values)[0] == "tensor"
    assert isinstance(values[1], Tensor)


def test_an_arm_that_raises_is_not_judged(analyst: Analyst) -> None:
    analyst.check("""
        @torch.compile
        def f(x: Tensor, size: int):
            if x.shape[0] != size:
                text = f"{x.sum().item()}"
                raise ValueError(text)
            return x
    """)


def test_flags_learn_their_value_from_being_tested(analyst: Analyst) -> None:
    analyst.check("""
        @torch.compile
        def f(x: Tensor, fast: bool, kind: str):
            if fast:
                if not fast:
                    graph_break()
            if kind == "a":
                if kind == "b":
                    graph_break()
                if kind == "a":
                    graph_break()  # splits
            return x
    """)


def test_what_one_path_may_leave_behind_is_joined(analyst: Analyst) -> None:
    values = analyst.seen("""
        @torch.compile
        def f(x: Tensor, fast: bool):
            y = None
            if fast:
                y = x
                z = 1
            probe.see(y)
            probe.see(z)
    """)
    assert kinds(values) == ["Union", "Const"]
