"""Statements: which code is reached, and what variables hold after it."""

from __future__ import annotations

import pytest

from gblint.analysis import Settings
from gblint.interpreter.values import Const, Sequence, Tensor, Union
from tests.interpreter.programs import Analyst, kinds


def test_loops_run_their_body_and_what_follows(analyst: Analyst) -> None:
    analyst.check("""
        @torch.compile
        def f(x: Tensor, n: int):
            for _ in range(n):
                graph_break()  # falls
            else:
                graph_break()  # masked
            while n > 0:
                n -= 1
            graph_break()  # masked
            return x

        @torch.compile
        def g(x: Tensor, n: int):
            for _ in range(n):
                x = x + 1
            graph_break()  # splits
            return x
    """)


def test_a_loop_over_nothing_is_not_run(analyst: Analyst) -> None:
    analyst.check("""
        @torch.compile
        def f(x: Tensor):
            for _ in ():
                graph_break()
            while False:
                graph_break()
            return x
    """)


def test_a_short_loop_is_unrolled(analyst: Analyst) -> None:
    values = analyst.seen("""
        @torch.compile
        def f(x: Tensor):
            for item in (1, "a", x):
                probe.see(item)
    """)
    assert kinds(values) == ["Const", "Const", "tensor"]


def test_a_variable_changed_in_a_loop_is_seen_with_both_values(analyst: Analyst) -> None:
    values = analyst.seen("""
        @torch.compile
        def f(x: Tensor, n: int):
            state = None
            for _ in range(n):
                probe.see(state)
                state = x
            probe.see(state)
    """)
    assert kinds(values) == ["Const", "Union", "Union"]


def test_break_and_continue_end_an_iteration(analyst: Analyst) -> None:
    analyst.check("""
        @torch.compile
        def f(x: Tensor):
            for _ in (1, 2):
                continue
                graph_break()
            for _ in (1, 2):
                break
                graph_break()
            while True:
                y = x
                break
            if y.sum() > 0:  # splits
                return y
            return x
    """)


def test_code_after_a_return_is_not_reached(analyst: Analyst) -> None:
    analyst.check("""
        @torch.compile
        def f(x: Tensor, fast: bool):
            if fast:
                return x
            else:
                raise ValueError
            graph_break()
    """)


def test_handlers_are_for_runs_in_which_the_body_failed(analyst: Analyst) -> None:
    analyst.check("""
        @torch.compile
        def known(x: Tensor):
            try:
                return x + 1
            except RuntimeError:
                graph_break()

        @torch.compile
        def unknown(x: Tensor):
            try:
                y = unheard_of(x)
            except RuntimeError:
                graph_break()  # falls
                y = x
            return y

        @torch.compile
        def last(x: Tensor):
            try:
                return x
            finally:
                graph_break()  # falls
    """)


def test_after_try_all_ways_are_joined(analyst: Analyst) -> None:
    values = analyst.seen("""
        @torch.compile
        def f(x: Tensor):
            try:
                y = unheard_of(x)
                y = x
            except RuntimeError as error:
                y = None
            else:
                probe.see(y)
            probe.see(y)
    """)
    assert kinds(values) == ["tensor", "Union"]


def test_with_binds_what_the_manager_gives(analyst: Analyst) -> None:
    values = analyst.seen("""
        @contextlib.contextmanager
        def scope(value):
            yield value

        class Manager:
            def __enter__(self):
                return 7

            def __exit__(self, *args):
                pass

        @torch.compile
        def f(x: Tensor):
            with scope(x) as y:
                probe.see(y)
            with Manager() as number, contextlib.nullcontext("a") as text:
                probe.see(number)
                probe.see(text)
            with torch.no_grad():
                probe.see(x)
    """)
    assert kinds(values) == ["tensor", "Const", "Const", "tensor"]
    assert [v.value for v in values if isinstance(v, Const)] == [7, "a"]


def test_a_manager_that_swallows_lets_control_go_on(analyst: Analyst) -> None:
    analyst.check("""
        @torch.compile
        def f(x: Tensor):
            with contextlib.suppress(ValueError):
                raise ValueError
            x = x + 1
            return x
    """)


def test_match_takes_the_only_case_that_fits(analyst: Analyst) -> None:
    analyst.check("""
        def pick(x, mode):
            match mode:
                case "slow":
                    graph_break()
                    return 1
                case "fast":
                    return x.sum()
                case _:
                    graph_break()

        @torch.compile
        def f(x: Tensor):
            if pick(x, "fast") > 0:  # splits
                return x
            return x
    """)


def test_match_binds_names(analyst: Analyst) -> None:
    values = analyst.seen("""
        @dataclasses.dataclass
        class Point:
            x: Tensor
            y: int

        @torch.compile
        def f(x: Tensor, n: int):
            match (x, 1):
                case (a, b):
                    probe.see(a)
                    probe.see(b)
            match Point(x, 2):
                case Point(x=first, y=second):
                    probe.see(first)
                    probe.see(second)
            match n:
                case 1:
                    r = x
                case 2 | 3 as whole:
                    r = "text"
                case other if other > 5:
                    r = None
            probe.see(r)
    """)
    assert kinds(values[:4]) == ["tensor", "Const", "tensor", "Const"]
    assert isinstance(values[4], Union)
    assert len(values[4].members) == 3


def test_walrus_binds_outside_of_its_expression(analyst: Analyst) -> None:
    values = analyst.seen("""
        @torch.compile
        def f(x: Tensor):
            if (y := x + 1).shape[0] > 2 and (z := "a"):
                probe.see(z)
            probe.see(y)
            total = [last := v for v in (x, x)]
    """)
    assert kinds(values) == ["Const", "tensor"]


def test_unpacking(analyst: Analyst) -> None:
    values = analyst.seen("""
        @torch.compile
        def f(x: Tensor, pair: tuple[Tensor, int]):
            a, (b, c) = 1, (x, "s")
            probe.see(a), probe.see(b), probe.see(c)
            first, *rest, last = (x, 1, 2, None)
            probe.see(first), probe.see(rest), probe.see(last)
            t, n = pair
            probe.see(t), probe.see(n)
            rows, columns = x.shape
            probe.see(rows)
            u, v = x.chunk(2)
            probe.see(v)
            for i, (k, w) in enumerate({"a": x}.items()):
                probe.see(i), probe.see(k), probe.see(w)
            p = q = x
            probe.see(q)
    """)
    assert kinds(values) == [
        "Const", "tensor", "Const",
        "tensor", "Sequence", "Const",
        "tensor", "Plain",
        "Plain", "tensor",
        "Const", "Const", "tensor",
        "tensor",
    ]  # fmt: skip
    middle = values[4]
    assert isinstance(middle, Sequence)
    assert middle.items is not None
    assert [item.value for item in middle.items if isinstance(item, Const)] == [1, 2]


def test_comprehensions(analyst: Analyst) -> None:
    values = analyst.seen("""
        @torch.compile
        def f(x: Tensor, others: list[Tensor], n: int):
            probe.see([y + 1 for y in others][0])
            probe.see({k: x for k in ("a", "b")}["a"])
            probe.see([y for y in (x, None) if y is not None][0])
            probe.see(sum(y for y in others))
            probe.see(len({i for i in range(n)}))
            probe.see([i * j for i in (1, 2) for j in others][0])
            probe.see(*[y for y in (x, "a")])
            y = "kept"
            [y for y in others]
            probe.see(y)
    """)
    assert kinds(values) == ["tensor"] * 4 + ["Plain", "tensor", "tensor", "Const", "Const"]


@pytest.mark.parametrize(("python", "what"), [("3.11", "splits"), ("3.12", "falls")])
def test_a_break_in_a_comprehension_drops_the_frame_where_it_is_inlined(
    analyst: Analyst, python: str, what: str
) -> None:
    text = """
        @torch.compile
        def f(x: Tensor, others: list[Tensor]):
            return [y for y in others if y.sum() > 0]  # WHAT
    """
    analyst.check(text.replace("WHAT", what), settings=Settings(python=python))


def test_globals_and_nonlocals(analyst: Analyst) -> None:
    values = analyst.seen("""
        STATE = None

        @torch.compile
        def f(x: Tensor):
            global STATE
            STATE = x
            probe.see(STATE)
            count = 0

            def inner():
                nonlocal count
                count = x

            inner()
            probe.see(count)
    """)
    assert kinds(values) == ["tensor", "tensor"]


def test_augmented_assignment_and_deletion(analyst: Analyst) -> None:
    values = analyst.seen("""
        @torch.compile
        def f(x: Tensor):
            items = [x]
            items += [1]
            probe.see(items[1])
            n = 1
            n += 2
            probe.see(n)
            n *= x
            probe.see(n)
            d = {"a": x, "b": 1}
            d["c"] = None
            del d["a"]
            probe.see("a" in d)
            probe.see(d["c"])
    """)
    assert kinds(values) == ["Const", "Const", "tensor", "Const", "Const"]
    assert [v.value for v in values if isinstance(v, Const)] == [1, 3, False, None]


def test_an_import_inside_a_function_binds_a_module(analyst: Analyst) -> None:
    analyst.check(
        """
        @torch.compile
        def f(x: Tensor):
            from helpers import breaks
            import helpers as h
            h.breaks()
            return breaks()
        """,
        files={"helpers.py": "def breaks():\n    graph_break()  # splits\n"},
    )


def test_annotated_variables_are_believed_where_nothing_is_known(analyst: Analyst) -> None:
    values = analyst.seen("""
        @torch.compile
        def f(x: Tensor):
            y: Tensor = unheard_of(x)
            probe.see(y)
            z: Tensor = 1
            probe.see(z)
    """)
    assert isinstance(values[0], Tensor)
    assert isinstance(values[1], Const)
