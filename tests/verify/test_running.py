"""The user's command is run as it is, whatever it does, and what it logs is read."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from gblint.errors import GblintError
from gblint.findings.local import FILE, load
from gblint.verify.environment import prepare
from gblint.verify.prove import observe
from gblint.verify.running import EXITED, INTERRUPTED, TIMED_OUT, TOO_LARGE, Command, ending, problem, run
from gblint.verify.sites import sites, within
from tests.conftest import Write
from tests.verify.forks import Forks

pytest.importorskip("torch")

PRINTS = """\
import sys
import torch

@torch.compile(backend="eager")
def f(x):
    print("traced", file=sys.stdout)
    return x + 1

f(torch.ones(2))
"""


@pytest.fixture(scope="module")
def forks() -> Forks:
    with Forks() as server:
        yield server


def python(text: str, **more: object) -> Command:
    return Command((sys.executable, "-c", text), **more)


# ------------------------------------------------------------------------------------------------------ environment


def test_settings_of_the_user_are_merged(tmp_path: Path) -> None:
    trace = tmp_path / "mine"
    trace.mkdir()
    (trace / "old.log").write_text("")
    (tmp_path / "mine.log").write_text("before\n")
    base = {
        "TORCH_LOGS": "+dynamo, recompiles,help",
        "TORCH_TRACE": str(trace),
        "TORCH_LOGS_OUT": str(tmp_path / "mine.log"),
    }
    env, places = prepare(base | {"HOME": "/h"}, tmp_path / "scratch")
    assert env["TORCH_LOGS"] == "+dynamo,recompiles,graph_breaks,trace_source,torch._dynamo.convert_frame"
    assert (env["TORCH_TRACE"], env["TORCH_LOGS_OUT"], env["HOME"]) == (str(trace), base["TORCH_LOGS_OUT"], "/h")
    assert (places.skip, places.old) == (7, {"old.log"})
    assert "recompiles" not in places.hidden
    assert "TORCHDYNAMO_VERBOSE" not in env
    assert prepare({}, tmp_path, verbose=True)[0]["TORCHDYNAMO_VERBOSE"] == "1"


def test_settings_that_would_blind_gblint_are_off_and_said(tmp_path: Path) -> None:
    env, places = prepare({"TORCH_LOGS_FORMAT": "short", "TORCH_CACHING_PRECOMPILE": "1"}, tmp_path)
    assert "TORCH_LOGS_FORMAT" not in env
    assert env["TORCH_CACHING_PRECOMPILE"] == "0"
    assert [note.split()[0] for note in places.notes] == ["TORCH_LOGS_FORMAT", "TORCH_CACHING_PRECOMPILE"]


# ------------------------------------------------------------------------------------------------------------- runs


def test_a_script(project: Write, forks: Forks) -> None:
    folder = project({"main.py": PRINTS})
    shown: list[bytes] = []
    ran = run(Command(forks.words(folder / "main.py")), show=shown.append)
    assert [(s.row, s.code) for s in sites(ran.said)] == [(6, "GB0059")]
    assert {4, 6, 7} <= ran.said.traced[str(folder / "main.py")]
    assert (ran.code, ran.failed, ran.said.processes) == (0, False, 1)
    assert ran.said.torch
    assert shown == [b"traced\n"]  # the logs that only gblint asked for are not the user's output
    assert problem(ran, ["x"]) is None


def test_logs_that_the_user_wants_are_kept(project: Write, forks: Forks) -> None:
    folder = project({"main.py": PRINTS})
    env = os.environ | {"TORCH_LOGS": "graph_breaks", "TORCH_TRACE": "traces", "TORCH_LOGS_OUT": "mine.log"}
    shown: list[bytes] = []
    for _ in range(2):
        shown.clear()
        ran = run(Command(forks.words(folder / "main.py"), env=env), show=shown.append)
        assert [(s.row, s.count) for s in sites(ran.said)] == [(6, 1)]  # not what the run before has left
    text = b"".join(shown)
    assert b"[__graph_breaks] Graph break in user code" in text
    assert b"[__trace_source]" not in text
    assert len(list((folder / "traces").iterdir())) == 2
    assert (folder / "mine.log").read_bytes().count(b"Graph break in user code") == 2


def test_an_error_under_fullgraph_is_a_break_with_its_stack(project: Write, forks: Forks) -> None:
    text = PRINTS.replace('backend="eager"', 'backend="eager", fullgraph=True').replace(
        "    print", "    g()\n    print"
    )
    text = text.replace("@torch.compile", "def g():\n    print(1)\n\n@torch.compile")
    folder = project({"main.py": text})
    ran = run(Command(forks.words(folder / "main.py")))
    (site,) = sites(ran.said)
    assert (site.row, site.effect, site.function) == (5, "raises", "g")
    assert [f.function for f in site.stack if f.filename.endswith("main.py")][-2:] == ["f", "g"]
    assert "failed with exit code 1" in ending(ran, None)
    assert "Unsupported" in ending(ran, None)


def test_a_function_that_is_compiled_no_more_is_one_break(project: Write, forks: Forks) -> None:
    """Log and trace both tell of it."""
    text = (
        'import torch\n\ntorch._dynamo.config.recompile_limit = 2\n\n@torch.compile(backend="eager")\n'
        'def f(x, word):\n    return x + len(word)\n\nfor word in "abcd":\n    f(torch.ones(2), word * ord(word))\n'
    )
    folder = project({"main.py": text})
    ran = run(Command(forks.words(folder / "main.py")))
    assert [(s.row, s.code, s.count, s.effect) for s in sites(ran.said)] == [(5, "GB0039", 1, "skips-frame")]
    assert sum(ran.said.recompiles.values()) == 2


RANKS = """\
import torch
import torch.distributed as distributed
from model import f

distributed.init_process_group("gloo")
f(torch.ones(2 + distributed.get_rank()))
distributed.destroy_process_group()
"""


@pytest.mark.parametrize(
    ("words", "times"),
    [
        (("-m", "torch.distributed.run", "--nproc-per-node", "2", "ranks.py"), 2),
        (("-m", "pytest", "-q", "test_model.py"), 1),
        (("-m", "model"), 1),
    ],
    ids=["torchrun", "pytest", "module"],
)
def test_other_ways_to_run(project: Write, words: tuple[str, ...], times: int) -> None:
    test = "import torch\nfrom model import f\n\ndef test_f():\n    f(torch.ones(2))\n"
    model = PRINTS.replace("\nf(torch", '\nif __name__ == "__main__":\n    f(torch')
    folder = project({"model.py": model, "ranks.py": RANKS, "test_model.py": test})
    ran = run(Command((sys.executable, *words), timeout=120, env=os.environ | {"PYTHONPATH": "."}))
    (site,) = sites(ran.said, within((), [folder]))
    assert (site.row, site.code, site.count, ran.code) == (6, "GB0059", times, 0)
    assert 7 in ran.said.traced[str(folder / "model.py")]
    assert ran.said.processes == times
    assert len(site.compile_ids) == times


def test_a_command_that_cannot_be_run_is_said(tmp_path: Path) -> None:
    with pytest.raises(GblintError, match=r"no program `train\.py`") as caught:
        run(Command(("train.py",)))
    assert caught.value.hint == "give the whole command: python train.py"
    file = tmp_path / "data.txt"
    file.write_text("")
    with pytest.raises(GblintError, match="cannot be run: Permission denied"):
        run(Command((str(file),)))


def test_no_torch() -> None:
    ran = run(Command((sys.executable, "-IS", "-c", "import torch")))
    error = problem(ran, ["python", "x"])
    assert error
    assert "has no torch: ModuleNotFoundError" in error.message


def test_torch_never_imported() -> None:
    error = problem(run(python("print('hello')")), ["python", "x"])
    assert error
    assert (error.message, error.hint) == ("`python x` never imported torch", "its last words: hello")
    error = problem(run(python("raise KeyError('seed')")), ["python", "x"])
    assert error
    assert error.message == "`python x` never imported torch before it failed with exit code 1"
    assert error.hint == "its last words: KeyError: 'seed'"


def test_an_exported_notebook_may_need_ipython() -> None:
    ran = run(python("get_ipython().run_line_magic('matplotlib', 'inline')"))
    error = problem(ran, ["python", "x"])
    assert error
    assert error.hint
    assert error.hint.endswith("runs with ipython")


def test_nothing_compiled(project: Write, forks: Forks) -> None:
    folder = project({"main.py": "import torch\ntorch.compile(lambda x: x)\n"})
    command = Command(forks.words(folder / "main.py"))
    error = problem(run(command), ["x"])
    assert error
    assert error.message == "nothing was compiled in `x`"
    off = run(Command(command.words, env=os.environ | {"TORCH_COMPILE_DISABLE": "1"}))
    error = problem(off, ["x"])
    assert error
    assert error.hint == "unset TORCH_COMPILE_DISABLE"


def test_torch_without_ids_is_too_old(project: Write, forks: Forks) -> None:
    folder = project({"main.py": PRINTS})
    ran = run(Command(forks.words(folder / "main.py")))
    for event in ran.said.breaks:
        event.message = type(event.message)(title="Unsupported: print", stack=event.message.stack)
    assert problem(ran, ["x"]) is None  # one break without an id, in a release that has them
    ran.said.torch = "2.7.1"
    error = problem(ran, ["x"])
    assert error
    assert "too old" in error.message


def test_timeout_ends_the_command_and_what_it_started(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    child = f"import os, time; open({str(pid)!r}, 'w').write(str(os.getpid())); time.sleep(60)"
    start = time.monotonic()
    ran = run(python(f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {child!r}])", timeout=2))
    assert time.monotonic() - start < 20
    assert (ran.ended, ran.failed) == (TIMED_OUT, True)
    assert "ended after 2 s" in ending(ran, 2.0)
    assert gone(int(pid.read_text()))


OWN_SESSION = """\
import pathlib, signal, subprocess, sys, time
child = "import os, signal, sys, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); x = bytearray(200_000_000);"
child += "open(sys.argv[1], 'w').write(str(os.getpid())); time.sleep(60)"
subprocess.Popen([sys.executable, "-c", child, sys.argv[1]], start_new_session=True)
while not (pathlib.Path(sys.argv[1]).exists() and {waits}):
    time.sleep(0.1)
"""


@pytest.mark.parametrize(("limits", "how"), [({"timeout": 4}, TIMED_OUT), ({"memory": 150, "timeout": 40}, TOO_LARGE)])
def test_what_moved_to_a_session_of_its_own_is_counted_and_ended_too(
    tmp_path: Path, limits: dict[str, float], how: str
) -> None:
    """As the workers of torchrun do."""
    pid = tmp_path / "pid"
    ran = run(Command((sys.executable, "-c", OWN_SESSION.format(waits=False), str(pid)), **limits))
    assert (ran.ended, ran.seconds < 30) == (how, True)
    assert not pid.exists() or gone(int(pid.read_text()))


def test_what_is_meant_to_outlive_the_command_does(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    ran = run(Command((sys.executable, "-c", OWN_SESSION.format(waits=True), str(pid))))
    assert ran.ended == EXITED
    number = int(pid.read_text())
    assert not gone(number)
    os.kill(number, signal.SIGKILL)


def gone(pid: int) -> bool:
    """Whether a process has ended, or has only to be waited for."""
    stat = Path("/proc", str(pid), "stat")
    return not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] == "Z"


def test_interrupt_ends_the_command() -> None:
    timer = threading.Timer(1.0, signal.raise_signal, [signal.SIGINT])
    timer.start()
    ran = run(python("import time\ntry: time.sleep(60)\nexcept KeyboardInterrupt: print('stopped')"))
    assert ran.ended == INTERRUPTED
    assert ran.tail[-1:] == ["stopped"]
    error = problem(ran, ["x"])
    assert error
    assert error.message.startswith("interrupted")


def test_output_of_any_kind_is_survived() -> None:
    text = (
        "import os; os.write(1, b'\\xff\\x00' * 3_000_000 + b'\\n'); os.write(2, b'\\x1b[2J' + bytes(range(256)) * 9)"
    )
    ran = run(python(text))
    assert ran.code == 0
    assert max(map(len, ran.tail)) <= 500


def test_scratch_is_removed(tmp_path: Path) -> None:
    env = {**os.environ, "TMPDIR": str(tmp_path)}
    code = "from gblint.verify.running import *; print(run(Command(('true',))).code)"
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert done.stdout == "0\n"
    assert list(tmp_path.iterdir()) == []


# ---------------------------------------------------------------------------------------------------------- command


def test_the_command_from_prediction_to_stored_verdicts(project: Write, forks: Forks, gblint: Callable) -> None:
    folder = project({"gblint.toml": "", "main.py": PRINTS})
    words = forks.words(folder / "main.py")
    result = gblint("verify", "main.py", "-n", "--show-output", "--", *words)
    assert result.code == 1
    assert "main.py:6:5 GB0059 print-call" in result.out
    assert "CONFIRMED [once]" in result.out
    assert f"Kept 1 verdict in {FILE}" in result.out
    assert "to verify 1 prediction" in result.err
    (verdict,) = load(folder / FILE).values()
    assert (verdict.rule, verdict.verdict, verdict.file) == ("GB0059 print-call", "confirmed", "main.py")
    (folder / FILE).unlink()
    for off in ("--no-store", "--isolated"):
        assert gblint("verify", "main.py", "-n", off, "--", *words).code == 1
        assert not (folder / FILE).exists()


def test_check_verifies_too(project: Write, forks: Forks, gblint: Callable) -> None:
    folder = project({"gblint.toml": "", "main.py": PRINTS.replace('    print("traced", file=sys.stdout)\n', "")})
    result = gblint(
        "check", "main.py", "-n", "--output-format", "json", "--verify", shlex.join(forks.words(folder / "main.py"))
    )
    assert json.loads(result.out)["findings"] == []
    assert result.code == 0


def test_a_run_that_failed_warns_and_still_reports(project: Write, forks: Forks, gblint: Callable) -> None:
    folder = project({"gblint.toml": "", "main.py": PRINTS + "raise SystemExit(3)\n"})
    result = gblint("verify", "main.py", "-n", "--", *forks.words(folder / "main.py"))
    assert result.code == 1
    assert "the command failed with exit code 3" in result.err
    assert "CONFIRMED" in result.out


def test_one_call_for_before_and_after(project: Write, forks: Forks) -> None:
    folder = project({"broken.py": PRINTS, "repaired.py": PRINTS.replace('    print("traced", file=sys.stdout)\n', "")})
    before = observe(forks.words(folder / "broken.py"), folders=[folder])
    after = observe(forks.words(folder / "repaired.py"))
    assert [(s.row, s.code) for s in before.sites] == [(6, "GB0059")]
    assert (after.sites, after.graphs, after.trouble, after.exit_code) == ([], 1, "", 0)
    assert (before.recompile_count, before.tail) == (0, ["traced"])
    assert 6 in after.traced[str(folder / "repaired.py")]
    nothing = project({"nothing.py": "import torch\nraise KeyError(3)\n"})
    failed = observe(forks.words(nothing / "nothing.py"))
    assert "exit code 1" in failed.trouble
    assert failed.tail[-1] == "KeyError: 3"
    with pytest.raises(GblintError, match="no program"):
        observe(["no-such-program"])


def test_memory_is_limited(forks: Forks, project: Write, gblint: Callable) -> None:
    hungry = "import torch, time\nx = torch.ones(100_000_000)\ntime.sleep(30)\n"
    ran = run(Command((sys.executable, "-c", "x = bytearray(300_000_000)\nimport time; time.sleep(30)"), memory=200))
    assert (ran.ended, ran.seconds < 20) == (TOO_LARGE, True)
    assert run(Command((sys.executable, "-c", "pass"), memory=1000)).ended == EXITED
    folder = project({"model.py": hungry})
    result = gblint("verify", folder, "-n", "--isolated", "--memory", "150", "--", sys.executable, folder / "model.py")
    assert result.code == 2
    assert "before it was ended for its memory" in result.err


USER_ERROR = """\
import torch

@torch.compile(backend="eager")
def f(x):
    y = x.sin()
    return y @ torch.ones({size})

{before}
f(torch.ones(3, 3))
{behind}
"""


@pytest.mark.parametrize(
    ("size", "before", "behind", "said"),
    [
        ("7", "", "", "fails in eager too: without compiling, the command ends in an error at this row"),
        ("7 if torch.compiler.is_compiling() else 3", "", "", "fails only compiled"),
        ("7 if torch.compiler.is_compiling() else 3", "", "raise KeyError", "fails too, but not at this row"),
    ],
)
def test_errors_of_the_users_are_run_again_in_eager(
    forks: Forks, project: Write, gblint: Callable, size: str, before: str, behind: str, said: str
) -> None:
    folder = project({"model.py": USER_ERROR.format(size=size, before=before, behind=behind)})
    options = ("verify", folder, "-n", "--isolated")
    result = gblint(*options, "--", *forks.words(folder / "model.py"))
    assert "running it again without compiling" in result.err
    assert result.code == 1
    (note,) = [line for line in result.out.splitlines() if line.startswith("  note:")]
    assert said in note
    data = json.loads(gblint(*options, "--output-format", "json", "--", *forks.words(folder / "model.py")).out)
    assert [said in f["verdict_note"] for f in data["findings"]] == [True]
    assert (data["eager_run"]["exit_code"] == 0) == ("only compiled" in said)


def test_what_ends_well_is_not_run_again(forks: Forks, project: Write, gblint: Callable) -> None:
    caught = USER_ERROR.format(size="7", before="try:", behind="except Exception:\n    pass").replace(
        "\nf(t", "\n    f(t"
    )
    folder = project({"model.py": caught})
    result = gblint("verify", folder, "-n", "--isolated", "--", *forks.words(folder / "model.py"))
    assert "again" not in result.err
    assert "failed once: TorchRuntimeError at model.py:6" in result.out
