"""What one process keeps between checks gives the findings of a fresh check, whatever has changed."""

from __future__ import annotations

import os
import random
import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gblint.analysis import Interrupted
from gblint.checking import Options, Outcome, check
from gblint.resident import NEAR, REPAIRS, WHOLE, Resident
from tests.conftest import Write

MODELS = Path(__file__).parents[2] / "corpus" / "models"


def seen(outcome: Outcome, repairs: bool = True) -> bytes:
    """What a report would be made of."""
    findings = [*outcome.findings, *outcome.doubtful]
    if not repairs:
        findings = [msgspec.structs.replace(f, fixes=(), refusals=(), examined=False) for f in findings]
    return msgspec.json.encode((findings, outcome.problems, outcome.notes, outcome.silenced))


def options(path: Path, overlay: dict[Path, bytes]) -> Options:
    return Options(paths=(str(path),), overlay=overlay, cache_dir=path.parents[-2] / "no-cache-here", no_cache=True)


def assert_like_fresh(resident: Resident, path: Path, overlay: dict[Path, bytes]) -> Outcome:
    """Both speeds of a check give what a check in a process of its own would."""
    fresh = check(options(path, overlay))
    for effort in (WHOLE, REPAIRS):
        resident.effort = effort
        outcome = check(options(path, overlay), None, resident)
        repairs = effort == REPAIRS
        assert seen(outcome, repairs) == seen(fresh, repairs)
    assert not resident.partial
    return fresh


def edits(text: str, dice: random.Random) -> Iterator[str]:
    """Versions of a text as somebody types who adds, moves, breaks and mends."""
    for _ in range(3):
        lines = text.split("\n")
        row = dice.randrange(len(lines))
        kind = dice.choice(["blank", "remove", "swap", "break", "function", "double", "rename", "setting"])
        if kind == "blank":
            lines.insert(row, "")
        elif kind == "remove":
            del lines[row]
        elif kind == "swap":
            other = dice.randrange(len(lines))
            lines[row], lines[other] = lines[other], lines[row]
        elif kind == "break":
            lines[row] += "("
        elif kind == "function":
            lines.append("def added(x):\n    return x.item()")
        elif kind == "double":
            lines.insert(row, lines[row])
        elif kind == "rename":
            lines = [line.replace("forward", "forwards") for line in lines]
        else:
            lines.insert(0, "import torch\ntorch._dynamo.config.capture_scalar_outputs = True")
        yield "\n".join(lines)
        if kind != "break":
            text = "\n".join(lines)


@pytest.mark.parametrize("seed", range(4))
def test_edits_of_several_open_files(tmp_path: Path, seed: int) -> None:
    shutil.copytree(MODELS, tmp_path / "models")
    (tmp_path / "pyproject.toml").touch()
    dice = random.Random(seed)
    files = sorted((tmp_path / "models").rglob("*.py"))
    overlay: dict[Path, bytes] = {}
    resident = Resident()
    for path in dice.sample(files, 4):
        for text in edits(path.read_text("utf-8"), dice):
            overlay[path] = text.encode()
            assert_like_fresh(resident, path, overlay)
        assert_like_fresh(resident, dice.choice(files), overlay)
        if dice.random() < 0.5:
            del overlay[path]


FILES = {
    "pyproject.toml": "",
    "app/__init__.py": "",
    "app/model.py": """
        import torch
        from torch import nn
        from app.helper import helper


        class Net(nn.Module):
            def forward(self, x: torch.Tensor):
                y = helper(x)
                return y.item()
    """,
    "app/helper.py": """
        def helper(x):
            if x.sum() > 0:
                return x
            return x * 2
    """,
    "train.py": """
        import torch
        from app.model import Net

        net = torch.compile(Net())
    """,
}


def test_changes_on_disk(project: Write) -> None:
    root = project(FILES)
    resident, model, helper = Resident(), root / "app/model.py", root / "app/helper.py"
    assert_like_fresh(resident, model, {})
    assert assert_like_fresh(resident, helper, {}).findings
    helper.write_text("def helper(x):\n    return x\n", "utf-8")
    assert not assert_like_fresh(resident, helper, {}).findings
    (root / "train.py").unlink()
    assert assert_like_fresh(resident, model, {}).findings[0].root_kind == "assumed"
    (root / "other.py").write_text("import torch\nfrom app.helper import helper\ntorch.compile(helper)\n", "utf-8")
    assert_like_fresh(resident, model, {})
    helper.write_text("def helper(x):\n    return x[x > 0]\n", "utf-8")
    assert assert_like_fresh(resident, helper, {}).findings
    helper.rename(root / "helper.py")
    assert_like_fresh(resident, model, {})
    assert_like_fresh(resident, root / "helper.py", {})
    (root / "pyproject.toml").write_text('[tool.gblint]\nignore = ["GB0036"]\n', "utf-8")
    assert_like_fresh(resident, root / "helper.py", {})


def test_a_file_that_only_the_editor_has(project: Write) -> None:
    root = project(FILES)
    resident, new = Resident(), root / "app/new.py"
    assert_like_fresh(resident, root / "app/model.py", {})
    overlay = {new: b"import torch\n\n@torch.compile\ndef f(x):\n    print(x)\n"}
    assert assert_like_fresh(resident, new, overlay).findings
    assert_like_fresh(resident, root / "app/model.py", {})


def test_a_buffer_leaves_the_cache_alone(project: Write) -> None:
    root = project(FILES)
    model = root / "app/model.py"
    resident = Resident()
    check(Options(paths=(str(model),)), None, resident)
    size = sum(f.stat().st_size for f in (root / ".gblint_cache").rglob("*.db"))
    for number in range(20):
        overlay = {model: model.read_bytes() + b"\n# typing" * number}
        check(Options(paths=(str(model),), overlay=overlay), None, resident)
    assert sum(f.stat().st_size for f in (root / ".gblint_cache").rglob("*.db")) == size


def test_the_first_look_runs_the_units_of_the_file_alone(project: Write) -> None:
    root = project(FILES)
    resident = Resident()
    resident.effort = NEAR
    outcome = check(Options(paths=(str(root / "app/model.py"),)), None, resident)
    assert [f.root_kind for f in outcome.findings] == ["assumed"]
    assert not resident.ready(root / "app/model.py")
    resident.effort = WHOLE
    outcome = check(Options(paths=(str(root / "app/model.py"),)), None, resident)
    assert [f.root_kind for f in outcome.findings] == ["explicit"]
    assert resident.ready(root / "app/model.py")


def test_an_interrupt_ends_an_analysis_and_spoils_nothing(project: Write) -> None:
    loops = "\n".join(f"    for i in range({n}):\n        x = x + helper(x)" for n in range(400))
    source = f"import torch\nfrom app.helper import helper\n\n\n@torch.compile\ndef f(x):\n{loops}\n    return x\n"
    root = project(FILES | {"long.py": source})
    resident, path = Resident(), root / "long.py"
    assert_like_fresh(resident, path, {})
    ended: list[float] = []

    def interrupt() -> None:
        time.sleep(0.05)
        ended.append(time.monotonic())
        resident.interrupt()

    overlay = {path: source.replace("x + helper", "x * helper").encode()}
    thread = threading.Thread(target=interrupt)
    thread.start()

    def type_on() -> None:
        for _ in range(50):
            overlay[path] += b"\n#"
            check(options(path, overlay), None, resident)

    with pytest.raises(Interrupted):
        type_on()
    assert time.monotonic() - ended[0] < 1.0
    thread.join()
    assert_like_fresh(resident, path, overlay)


def test_an_interrupt_before_the_analysis_has_begun_is_not_lost(
    project: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = project(FILES)
    resident, path = Resident(), root / "app/model.py"
    assert_like_fresh(resident, path, {})
    load = resident.load_project

    def interrupted(*given: Any) -> Any:
        resident.interrupt()
        return load(*given)

    monkeypatch.setattr(resident, "load_project", interrupted)
    with pytest.raises(Interrupted):
        check(options(path, {}), None, resident)
    monkeypatch.undo()
    resident.interrupt()
    resident.resume()
    assert_like_fresh(resident, path, {})


def test_files_written_within_one_tick_of_the_clock_are_read_again(project: Write) -> None:
    root = project(FILES)
    resident, helper = Resident(), root / "app/helper.py"
    assert_like_fresh(resident, helper, {})
    before = helper.stat()
    helper.write_text(helper.read_text("utf-8").replace("* 2", "* 3").replace("> 0", "> 1"), "utf-8")
    os.utime(helper, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert "> 1" in assert_like_fresh(resident, helper, {}).findings[0].message


def test_which_of_two_copies_is_imported_is_looked_at_again(project: Write) -> None:
    files = {name: text for name, text in FILES.items() if name != "train.py"}
    root = project(files | {"app/model_old.py": FILES["app/model.py"]})
    resident, init = Resident(), root / "app/__init__.py"

    def run(text: str) -> set[str]:
        outcome = assert_like_fresh(resident, root, {init: text.encode()})
        return {Path(f.filename).stem for f in outcome.findings} - {"helper"}

    new, old = "from .model import Net\n", "from .model_old import Net\n"
    assert run(new) == {"model"}
    assert run(old) == {"model_old"}
    assert run("") == {"model", "model_old"}
    assert run(new + "x = 1\n") == {"model"}
