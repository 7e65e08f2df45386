"""`gblint fix --verify`: what a run of the program approves is kept, all else is taken back."""

from __future__ import annotations

import json
import os
import shlex
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gblint import registry
from gblint.codemod_api import Codemod, CodemodMeta, Edit, Repair, Site
from gblint.errors import GblintError
from gblint.fixing import propose
from gblint.fixing.placed import Placed
from gblint.fixing.rewrite import replace_file
from tests.conftest import Result, Write
from tests.verify.forks import Forks

pytest.importorskip("torch")

MODEL = """\
import torch

STEP = [1]


@torch.compile
def good(x):
    print("good")
    return x + 1


@torch.compile
def bad(x):
    print("bad")
    return x.sin() * 3


@torch.compile
def unused(x):
    print("unused")
    return x


for _ in range(3):
    x = torch.ones(2, requires_grad=True)
    bad(good(x)).sum().backward()
    STEP[0] += 1
__import__("time").sleep(sum(STEP[1:]))
"""
UNSTEADY = MODEL.replace("torch.ones(2", "torch.full((2,), __import__('time').time() % 1")
GUARD = '    if not torch.compiler.is_compiling():\n        print("{0}")\n'
Edits = Callable[[Site], list[Edit]]
Fix = Callable[..., Result]


def guarded(*names: str) -> str:
    text = MODEL
    for name in names:
        text = text.replace(f'    print("{name}")\n', GUARD.format(name))
    return text


@pytest.fixture(scope="module")
def forks() -> Iterator[Forks]:
    with Forks() as server:
        yield server


@pytest.fixture
def model(project: Write) -> Path:
    return project({"model.py": MODEL}) / "model.py"


@pytest.fixture
def fix(gblint: Fix, forks: Forks, model: Path) -> Fix:
    """`gblint fix --verify` of the model, by running it."""

    def call(*arguments: str) -> Result:
        program = shlex.join(forks.words(model))
        return gblint("fix", "-n", "--isolated", "--unsafe-fixes", "--verify", program, *arguments)

    return call


@pytest.fixture
def double(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """A codemod that puts a text in the place of the print in `bad`, and guards the others."""

    def use(text: str) -> None:
        class Double(Codemod):
            meta = CodemodMeta("double", "a test double", ("print-call",))

            def repair(self, site: Site) -> Repair | None:
                statement = site.statement(site.node)
                name = site.function.name.value
                new = text if name == "bad" else GUARD.format(name).replace("\n    ", "\n").removeprefix("    ")
                return Repair("safe", "do it", [site.replace_lines(statement, statement, new)])

        monkeypatch.setattr(registry, "load_codemods", lambda: (Double,))
        propose.codemods_for.cache_clear()

    yield use
    propose.codemods_for.cache_clear()


def rolled_back(result: Result, model: Path, reason: str) -> None:
    """The repair of `bad` alone was given up, for a reason that is said."""
    print(result.err)
    assert model.read_text() == guarded("good", "unused")
    (line,) = [line for line in result.err.splitlines() if "not repaired by double" in line]
    assert line.startswith("model.py:14: GB0059 print-call: not repaired by double: ")
    assert reason in line
    assert result.code == 1


def test_good_repairs_are_kept(fix: Fix, model: Path) -> None:
    result = fix("--check-outputs")
    assert result.code == 0
    assert model.read_text() == guarded("good", "bad", "unused")
    lines = result.err.splitlines()
    assert lines[0].startswith("gblint: `")
    assert lines[0].endswith("` is run on the source as it is, and again after repairs")
    assert "records what compiled callables give" in lines[1]
    assert [line for line in lines if line.startswith("gblint: run")] == [
        "gblint: run 1, the source as it is",
        "gblint: run 2, the source as it is without compiling",
        "gblint: run 3, 3 repairs",
        "gblint: run 4, 3 repairs without compiling",
    ]
    assert [line.split()[-1] for line in lines if line.startswith("model.py:") and "[" in line] == [
        "gone", "gone", "reached",
    ]  # fmt: skip
    table = [line.split() for line in lines]
    assert ["graph", "breaks,", "sites", "2", "0"] in table
    assert ["graphs", "2", "2"] in table
    assert ["recompiles", "0", "0"] in table
    assert any(row[:2] == ["model.py:8", "GB0059"] and row[-2:] == ["1", "gone"] for row in table)
    assert "Fixed 3 graph breaks in 1 file." in result.err
    assert "Of 1 repair the run says nothing" in result.err


def test_changed_numbers_are_rolled_back(fix: Fix, model: Path, double: Callable[[str], None]) -> None:
    double("x = x * 1.01\n")
    result = fix("--check-outputs")
    rolled_back(result, model, "the results are not the same: what call 2 of a compiled callable gave differs")
    assert "Fixed 2 graph breaks in 1 file. 1 repair not kept." in result.err


def test_changed_gradients_are_rolled_back(fix: Fix, model: Path, double: Callable[[str], None]) -> None:
    double("x = x.detach() + 0 * x\n")
    rolled_back(fix("--check-outputs"), model, "the gradients at place 3 differs")


def test_what_only_eager_code_does_counts_too(fix: Fix, model: Path, double: Callable[[str], None]) -> None:
    double("if not torch.compiler.is_compiling():\n    x = x + 1\n")
    rolled_back(fix("--check-outputs"), model, "without compilation the results are not the same")


def test_without_outputs_numbers_are_not_looked_at(fix: Fix, model: Path, double: Callable[[str], None]) -> None:
    double("x = x * 1.01\n")
    assert fix().code == 0
    assert "x = x * 1.01" in model.read_text()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("getattr(torch, '_dynamo').__dict__['graph_' + 'break']()\n", "a new break came up: model.py:"),
        ("x = x + STEP[0]\n", "recompiles instead of 0"),
        ("assert x.shape[0] > STEP[0]\n", "the command failed with exit code 1"),
    ],
    ids=["break", "recompiles", "exit"],
)
def test_what_makes_it_worse_is_rolled_back(
    fix: Fix, model: Path, double: Callable[[str], None], text: str, reason: str
) -> None:
    double(text)
    rolled_back(fix(), model, reason)


def test_what_the_run_refutes_is_left_alone(fix: Fix, model: Path) -> None:
    allow = '__import__("torch._dynamo")\nvars(torch)["_dynamo"].config.reorderable_logging_functions.add(print)\n'
    text = MODEL.replace("import torch\n", f"import torch\n{allow}")
    model.write_text(text)
    result = fix()
    assert model.read_text() == text.replace('    print("unused")\n', GUARD.format("unused"))
    assert result.err.count("nothing is to be repaired: Dynamo traced it without a break") == 2


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM], ids=lambda s: s.name)
def test_an_interrupt_restores(fix: Fix, model: Path, double: Callable[[str], None], signum: signal.Signals) -> None:
    double("STEP.append(60)\n")
    known = signal.getsignal(signum)

    def interrupt() -> None:
        while model.read_text() == MODEL:
            time.sleep(0.05)
        time.sleep(0.5)
        os.kill(os.getpid(), signum)

    watcher = threading.Thread(target=interrupt)
    watcher.start()
    result = fix()
    watcher.join()
    assert result.code == 2
    assert "interrupted" in result.err
    assert model.read_text() == MODEL
    assert signal.getsignal(signum) == known
    assert os.listdir(model.parent) == ["model.py"]


def test_a_timeout_restores(fix: Fix, model: Path, double: Callable[[str], None]) -> None:
    double("STEP.append(60)\n")
    rolled_back(fix("--timeout", "8"), model, "the command was ended after 8 s")


def test_a_failure_of_gblint_restores(fix: Fix, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        assert model.read_text() != MODEL
        raise GblintError("full")

    monkeypatch.setattr("gblint.fixing.proving.judge_edits", fails)
    assert fix().code == 2
    assert model.read_text() == MODEL


def test_a_program_that_writes_its_own_source(fix: Fix, model: Path) -> None:
    own = MODEL + "if open(__file__).read().count('compiling') > 1:\n    open(__file__, 'a').write('# mine\\n')\n"
    model.write_text(own)
    result = fix()
    assert result.code == 2
    assert "model.py: changed while gblint was at work; left as it is" in result.err
    (folder,) = [word for word in result.err.split() if "gblint-originals-" in word]
    (copy,) = Path(folder).iterdir()
    assert copy.read_text() == own
    assert model.read_text().endswith("# mine\n")


def test_a_program_that_a_break_stops_goes_on_after_repair(fix: Fix, model: Path) -> None:
    model.write_text(MODEL.replace("@torch.compile\ndef good", "@torch.compile(fullgraph=True)\ndef good"))
    result = fix("--check-outputs")
    assert result.code == 0
    assert "gblint: warning: the command failed with exit code 1" in result.err
    assert model.read_text().count("is_compiling") == 3


@pytest.mark.parametrize(
    ("text", "arguments", "said"),
    [
        ("import torch\n", (), "nothing was compiled in the run"),
        (MODEL + "import time\ntime.sleep(60)\n", ("--timeout", "6"), "the command has to end by itself"),
        (UNSTEADY, ("--check-outputs",), "two runs of the unchanged program differ"),
    ],
    ids=["nothing", "endless", "unsteady"],
)
def test_a_program_that_is_no_measure(fix: Fix, model: Path, text: str, arguments: tuple[str, ...], said: str) -> None:
    model.write_text(text)
    result = fix(*arguments)
    assert result.code == 2
    assert said in result.err
    assert model.read_text() == text


def test_check_repairs_and_reports_what_is_left(gblint: Fix, forks: Forks, model: Path) -> None:
    """As `fix --verify`, then `check --verify` on the repaired source: each predicted break has its verdict."""
    program = shlex.join(forks.words(model))
    options = ("check", "-n", "--isolated", "--output-format", "json", "--fix", "--verify", program)
    nothing = gblint(*options)
    assert model.read_text() == MODEL  # no repair of a print is safe
    verdicts = {f["location"]["row"]: f["verdict"] for f in json.loads(nothing.out)["findings"]}
    assert (nothing.code, verdicts) == (1, {8: "confirmed", 14: "confirmed", 20: "not-reached"})
    result = gblint(*options, "--unsafe-fixes")
    assert model.read_text() == guarded("good", "bad", "unused")
    assert "Fixed 3 graph breaks in 1 file." in result.err
    assert "to verify 0 predictions" in result.err
    assert (result.code, json.loads(result.out)["findings"]) == (0, [])


def test_what_check_does_not_approve_of_is_taken_back_and_reported(
    gblint: Fix, forks: Forks, model: Path, double: Callable[[str], None]
) -> None:
    double("torch._dynamo.graph_break()\n")
    program = shlex.join(forks.words(model))
    result = gblint("check", "-n", "--isolated", "--output-format", "concise", "--fix", "--verify", program)
    assert model.read_text() == guarded("good", "unused")
    assert "not repaired by double" in result.err
    assert result.code == 1
    assert "model.py:15:5: GB0059 print-call" in result.out


def test_what_does_not_go_together(gblint: Fix, model: Path) -> None:
    assert "go with --verify" in gblint("fix", "--check-outputs").err
    assert "--verify excludes --diff" in gblint("fix", "--diff", "--verify", "true").err
    assert "--verify excludes --diff" in gblint("check", "--fix", "--diff", "--verify", "true").err
    assert "standard input" in gblint("check", "-", "--fix", "--verify", "true").err
    assert "it is empty" in gblint("fix", "--verify", "").err
    assert "there is no program" in gblint("fix", "-n", "--verify", "no-such-program").err
    assert model.read_text() == MODEL


# ------------------------------------------------------------------------------------------------------------ files


def test_files_are_put_and_restored(tmp_path: Path) -> None:
    one, two = tmp_path / "one.py", tmp_path / "two.py"
    one.write_bytes(b"1")
    two.write_bytes(b"2")
    old = {str(one): b"1", str(two): b"2"}
    with Placed() as files:
        files.put(old, {str(one): b"10", str(two): b"20"})
        assert (one.read_bytes(), two.read_bytes()) == (b"10", b"20")
        files.put(old, {str(two): b"21"})
        assert (one.read_bytes(), two.read_bytes()) == (b"1", b"21")
    assert (one.read_bytes(), two.read_bytes()) == (b"1", b"2")
    assert not files.folder.exists()
    with Placed() as files:
        files.put(old, {str(one): b"10"})
        files.keep()
    assert one.read_bytes() == b"10"
    assert not files.folder.exists()


def test_one_file_that_cannot_be_restored_keeps_no_other_back(tmp_path: Path) -> None:
    one, two = tmp_path / "one.py", tmp_path / "two.py"
    one.write_bytes(b"1")
    two.write_bytes(b"2")
    files = Placed()
    with pytest.raises(GblintError, match="changed while") as raised:
        _put_and_disturb(files, one, two)
    assert (one.read_bytes(), two.read_bytes()) == (b"mine", b"2")
    assert str(files.folder) in raised.value.hint


def _put_and_disturb(files: Placed, one: Path, two: Path) -> None:
    with files:
        files.put({str(one): b"1", str(two): b"2"}, {str(one): b"10", str(two): b"20"})
        one.write_bytes(b"mine")


def test_an_interrupt_waits_until_a_file_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "one.py"
    file.write_bytes(b"1")

    def slow(*arguments: object) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        replace_file(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr("gblint.fixing.placed.replace_file", slow)
    with Placed() as files:
        with pytest.raises(KeyboardInterrupt):
            files.put({str(file): b"1"}, {str(file): b"10"})
        monkeypatch.undo()
        assert file.read_bytes() == b"10"
    assert file.read_bytes() == b"1"
