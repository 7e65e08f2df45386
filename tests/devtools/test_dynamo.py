"""The harness sees what Dynamo does, and survives programs that misbehave."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gblint.devtools.dynamo import Break, DynamoRunner

PRINTS_IN_LOOP = """\
import torch

@torch.compile
def f(x):
    for _ in range(2):
        print("step")
        x = x + 1
    return x

f(torch.ones(2))
"""


@pytest.fixture(scope="module")
def runner() -> Iterator[DynamoRunner]:
    with DynamoRunner(limit=20) as runner:
        yield runner


def test_break_is_located_with_what_wraps_it(runner: DynamoRunner) -> None:
    observed = runner.observe(PRINTS_IN_LOOP)
    assert observed.places() == {(6, "GB0059")}
    assert observed.breaks[0].wrapped_by == ("GB7000",)
    assert observed.output == "step\nstep\n"
    assert (observed.error, observed.graphs) == ("", 0)
    assert {5, 6} <= set(observed.traced[""])
    assert 7 not in observed.traced[""]


def test_clean_program_is_traced(runner: DynamoRunner) -> None:
    observed = runner.observe(PRINTS_IN_LOOP.replace('print("step")', "x = x * 2"))
    assert observed.breaks == ()
    assert observed.graphs == 1
    assert set(observed.traced[""]) >= {5, 6, 7, 8}


def test_generator_frame_is_refused_silently(runner: DynamoRunner) -> None:
    observed = runner.observe("import torch\n\n@torch.compile\ndef g(x):\n    yield x + 1\n\nlist(g(torch.ones(2)))\n")
    assert observed.breaks == ()
    assert {code for _, code in observed.silent_places()} == {"GB0003"}


def test_break_under_fullgraph_is_seen_and_reported_as_error(runner: DynamoRunner) -> None:
    observed = runner.observe(PRINTS_IN_LOOP.replace("torch.compile", "torch.compile(fullgraph=True)"))
    assert observed.places() == {(6, "GB0059")}
    assert "Unsupported" in observed.error


def test_break_in_another_file_of_a_folder(runner: DynamoRunner, tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text("def show(x):\n    print(x)\n    return x\n")
    (tmp_path / "main.py").write_text("import torch\nimport helper\n\ntorch.compile(helper.show)(torch.ones(1))\n")
    breaks = runner.observe(tmp_path).breaks
    assert [(b.gb_id, b.file, b.row) for b in breaks] == [("GB0059", "helper.py", 2)]
    assert breaks[0].reason


def test_break_in_a_library_counts_at_the_call_in_the_program(runner: DynamoRunner) -> None:
    program = """\
import copy, torch

@torch.compile
def f(x):
    return copy.copy([x])

f(torch.ones(1))
"""
    assert {row for row, _ in runner.observe(program).places()} == {5}


def test_results_come_in_order_and_programs_do_not_share_state(runner: DynamoRunner) -> None:
    programs = [f"import sys\nprint({i}, 'seen' in vars(sys))\nsys.seen = 1\n" for i in range(5)]
    outputs = [observed.output for observed in runner.observe_all(programs, jobs=3)]
    assert outputs == [f"{i} False\n" for i in range(5)]


def test_misbehaving_programs(tmp_path: Path) -> None:
    with DynamoRunner(limit=5) as runner:
        endless, dead, failing, fine = runner.observe_all(
            ["while True: pass", "import os; os._exit(3)", "raise KeyError('x')", "raise SystemExit(0)"]
        )
        with pytest.raises(FileNotFoundError, match="no program at"):
            runner.observe(tmp_path / "absent.py")
    assert endless.error == "time limit of 5 s"
    assert dead.error == "process died without a result"
    assert failing.error == "KeyError: 'x'"
    assert fine.error == ""


def test_missing_torch_is_said(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\nexit 1\n")
    python.chmod(0o755)
    with DynamoRunner(python=str(python)) as runner, pytest.raises(RuntimeError, match="is torch installed"):
        runner.observe("pass")


def test_break_is_hashable_data() -> None:
    assert len({Break("GB0059", 1), Break("GB0059", 1)}) == 1


def test_what_releases_up_to_2_9_say_without_a_link_is_known_by_its_title() -> None:
    """There the host meets titles alone, and exceptions that do not tell of the break they wrap."""
    from gblint.devtools.dynamo_host import ids_in, message_of

    assert ids_in("Data-dependent branching\n  Explanation: none") == ["GB0170"]
    assert ids_in("STORE_ATTR-caused graph break") == []
    assert ids_in("x https://site/gb/gb0059.html y https://site/gb/gb7000.html") == ["GB0059", "GB7000"]

    class Old(Exception):
        """An exception of Dynamo's without the attributes that later releases gave it."""

    outer, inner = Old("outer"), torch_unsupported("inner")
    outer.__cause__ = inner
    assert message_of(outer) == "inner\nouter"
    assert message_of(Old("alone")) == "alone"


def torch_unsupported(text: str) -> Exception:
    import torch._dynamo.exc

    made = torch._dynamo.exc.Unsupported.__new__(torch._dynamo.exc.Unsupported)
    made.args, made.msg, made.logged = (text,), text, False
    return made
