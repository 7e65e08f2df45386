"""What a break costs: the graph is split, the frame falls back to eager, or nothing is left to lose."""

from __future__ import annotations

import pytest

from tests.interpreter.programs import Analyst


def test_a_break_in_a_straight_line_splits(analyst: Analyst) -> None:
    analyst.check("""
        @torch.compile
        def f(x: Tensor):
            graph_break()  # splits
            if x.shape[0] > 2:
                graph_break()  # splits
            with torch.no_grad():
                graph_break()  # splits
            return x
    """)


@pytest.mark.parametrize(
    "block",
    [
        "for _ in range(9)",
        "while x.shape[0] > 1",
        "try",
        "with scope()",
        "with Manager()",
        "with unheard_of(), scope()",
    ],
)
def test_a_break_that_cannot_be_resumed_drops_the_frame(analyst: Analyst, block: str) -> None:
    analyst.check(f"""
        @contextlib.contextmanager
        def scope():
            yield

        class Manager:
            def __enter__(self):
                return self

            def __exit__(self, *args):
                return None

        @torch.compile
        def f(x: Tensor):
            {block}:
                graph_break()  # falls
            {"finally: pass" if block == "try" else "pass"}
            graph_break()  # masked
            return x
    """)


def test_what_comes_before_the_break_that_drops_the_frame_is_found_first(analyst: Analyst) -> None:
    analyst.check("""
        @torch.compile
        def f(x: Tensor):
            graph_break()  # splits
            for _ in range(9):
                graph_break()  # falls
                graph_break()  # masked
            return x
    """)


def test_a_masked_finding_names_the_row_that_hides_it(analyst: Analyst) -> None:
    result = analyst.check("""
        @torch.compile
        def f(x: Tensor):
            try:
                graph_break()  # falls
            except ValueError:
                pass
            graph_break()  # masked
    """)
    falls, masked = result.findings
    assert masked.masked_by == falls.row
    assert (falls.masked_by, masked.severity) == (0, "info")


def test_a_helper_that_breaks_in_a_loop_costs_its_caller_the_frame(analyst: Analyst) -> None:
    analyst.check("""
        def helper(x):
            graph_break()  # falls
            return x

        @torch.compile
        def f(x: Tensor):
            for _ in range(9):
                x = helper(x)
            graph_break()  # masked
            return x

        @torch.compile
        def g(x: Tensor):
            x = other(x)
            graph_break()  # splits
            return x

        def other(x):
            graph_break()  # splits
            return x
    """)


def test_a_helper_called_from_a_frame_that_fell_starts_a_frame_of_its_own(analyst: Analyst) -> None:
    analyst.check("""
        def helper(x):
            graph_break()  # splits
            return x

        @torch.compile
        def f(x: Tensor):
            for _ in range(9):
                graph_break()  # falls
            return helper(x)
    """)


def test_a_break_before_the_return_at_the_end_of_a_loop_splits(analyst: Analyst) -> None:
    analyst.check("""
        @torch.compile
        def f(x: Tensor):
            for _ in range(9):
                x = x + 1
                if x.sum() > 0:  # splits
                    return x
            return x
    """)


def test_a_frame_that_falls_on_one_path_only_is_not_lost_on_the_other(analyst: Analyst) -> None:
    analyst.check("""
        @torch.compile
        def f(x: Tensor, flag: bool):
            if flag:
                for _ in range(9):
                    graph_break()  # falls
            graph_break()  # splits
            return x
    """)


def test_loops_and_guards_of_the_way_to_a_break(analyst: Analyst) -> None:
    result = analyst.run("""
        def helper(x):
            graph_break()
            return x

        @torch.compile
        def f(x: Tensor, flag: bool):
            graph_break()
            if flag:
                graph_break()
                for _ in range(9):
                    helper(x)
            return x
    """)
    by_row = {f.row: (f.guards, f.hot, f.heat) for f in result.findings}
    helper, plain, guarded = (by_row[row] for row in sorted(by_row))
    assert (plain[0], guarded[0], helper[0]) == (0, 1, 1)
    assert (plain[1], guarded[1], helper[1]) == (True, False, False)
    assert helper[2] > guarded[2]


def test_a_function_called_twice_is_reported_at_its_least_guarded(analyst: Analyst) -> None:
    result = analyst.run("""
        def helper(x):
            graph_break()
            return x

        @torch.compile
        def f(x: Tensor, flag: bool):
            if flag:
                helper(x)
            return helper(x)
    """)
    assert [f.guards for f in result.findings] == [0]
