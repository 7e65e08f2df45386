"""Nothing of what is checked, repaired, drawn or served is run, and no torch is imported: an audit hook, which Python
itself calls, sees to that.

The hook lives in a process of its own, since one that is set cannot be taken off; workers inherit it.
"""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.conftest import Write

HOST = """
import os, sys

log = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
STARTS = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.startfile", "socket.connect")

def write(event, text):
    os.write(log, f"{event}\\t{text}\\n".encode("utf-8", "backslashreplace"))

def hook(event, args):
    if event == "import":
        write(event, args[0])
    elif event == "exec":
        write(event, args[0].co_filename)
    elif event == "open" and isinstance(args[0], (str, bytes)) and args[2] & (os.O_WRONLY | os.O_RDWR):
        write("write", os.path.abspath(os.fsdecode(args[0])))
    elif event == "os.fork":
        write("fork", "")
    elif event in STARTS:
        write("start", repr(args))

sys.addaudithook(hook)
program, sys.argv = sys.argv[2], sys.argv[2:]
try:
    exec(compile(program, "<program>", "exec"))
finally:
    write("modules", " ".join(sys.modules))
"""
GBLINT = "import sys; sys.argv[0] = 'gblint'; from gblint.__main__ import main; main()"
MARKER = "it-ran.txt"
RUNS = f"open({MARKER!r}, 'a').write(__name__)\n"


class Seen(NamedTuple):
    """Exit code and output of a watched process, and what the hook saw."""

    code: int
    out: str
    events: list[tuple[str, str]]

    def of(self, kind: str) -> list[str]:
        return [text for event, text in self.events if event == kind]


def watched(program: str, *arguments: str, scratch: Path, said: bool = False) -> Seen:
    """Run a program under the hook, in the current folder, its own folder on the path like a console script's.
    said: it may tell on standard error what it has done."""
    host, log = scratch / "host.py", scratch / "events.txt"
    host.write_text(HOST)
    log.unlink(missing_ok=True)
    done = subprocess.run(
        [sys.executable, str(host), str(log), program, *arguments], capture_output=True, text=True, timeout=300
    )
    assert "Traceback" not in done.stderr
    assert said or [line for line in done.stderr.splitlines() if not line.startswith("gblint: warning:")] == []
    events = [line.partition("\t") for line in log.read_text("utf-8").splitlines()]
    return Seen(done.returncode, done.stdout, [(event, text) for event, _, text in events])


TRAPS = f"""
{RUNS}
import os, torch, trap_library
from torch import nn

assert os.system("touch {MARKER}") is None
eval(compile("open({MARKER!r}, 'w')", "trap", "exec"))

class Meta(type):
    def __new__(cls, *args):
        open({MARKER!r}, "w")
        return super().__new__(cls, *args)

class Base(metaclass=Meta):
    def __init_subclass__(cls):
        open({MARKER!r}, "w")

def trap(function=open({MARKER!r}, "w")):
    open({MARKER!r}, "w")
    return function

class Net(nn.Module, Base):
    scale: "open({MARKER!r}, 'w')" = trap(2)

    @property
    def gate(self):
        open({MARKER!r}, "w")
        return 1

    @trap
    def forward(self, x, factor=trap(3), *, size: trap(int) = f"{{open({MARKER!r}, 'w')}}"):
        __import__("trap_library").run()
        exec("open({MARKER!r}, 'w')")
        return trap_library.helper(x) * self.gate

net = torch.compile(Net(), mode=trap("default"))
"""
SCRIPT = f"""
{RUNS}
import torch
from trap_model import net

if __name__ == "__main__":
    open({MARKER!r}, "w")
    for _ in range(3):
        net(torch.ones(3)).sum().backward()
"""
LIBRARY = f"""
{RUNS}
def helper(x):
    if x.sum() > 0:
        return -x
    return x

def run():
    open({MARKER!r}, "w")
"""
PACKAGE = f"""
{RUNS}
import torch

class Library(torch.nn.Module):
    def forward(self, x):
        print("seen")
        return x
"""
SPARE = """
import torch
from torch import nn

class Spare(nn.Module):
    def forward(self, x):
        return x.item()
"""


@pytest.fixture
def traps(project: Write) -> Path:
    """A project that leaves a mark when anything of it, or of its environment, is run or imported."""
    packages = f".venv/lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages"
    files = {
        "pyproject.toml": '[project]\nname = "traps"\n\n[tool.gblint]\npython = ".venv"\n',
        "setup.py": RUNS,
        "conftest.py": RUNS,
        "trap_model.py": TRAPS,
        "trap_script.py": SCRIPT,
        # Names that gblint itself imports: it must not pick up what lies in the current folder.
        **{f"{name}.py": RUNS for name in ("networkx", "libcst", "rich", "sitecustomize", "usercustomize", "msgspec")},
        **{f"spare_{n}.py": SPARE for n in range(24)},  # enough to be given to workers
        ".venv/pyvenv.cfg": f"home = /usr/bin\nversion = {sys.version_info.major}.{sys.version_info.minor}.0\n",
        ".venv/bin/python": f"#!/bin/sh\ntouch {MARKER}\n",
        f"{packages}/trap_library.py": LIBRARY,
        f"{packages}/trap_package/__init__.py": RUNS,
        f"{packages}/trap_package/models.py": PACKAGE,
        f"{packages}/trap.pth": f"import trap_library; open({MARKER!r}, 'w')\n",
        f"{packages}/sitecustomize.py": RUNS,
    }
    folder = project(files)
    os.chmod(folder / ".venv/bin/python", 0o755)
    return folder


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_nothing_of_the_checked_code_runs(traps: Path, tmp_path_factory: pytest.TempPathFactory, jobs: str) -> None:
    before = {path for path in traps.rglob("*") if path.is_file()}
    options = ("-j", jobs, "--roots", "modules", "--min-confidence", "0")
    seen = watched(GBLINT, "check", *options, scratch=tmp_path_factory.mktemp("host"))

    assert seen.code == 1
    assert {"trap_model.py", "trap_library.py", "spare_0.py"} <= set(re.findall(r"\w+\.py", seen.out))
    assert bool(seen.of("fork")) == (jobs == "2" and hasattr(os, "fork"))
    assert not (traps / MARKER).exists()
    assert [name for name in seen.of("exec") if Path(name).is_relative_to(traps)] == []
    assert [name for name in seen.of("import") if name.startswith(("trap", "spare", "conftest", "setup"))] == []
    assert seen.of("start") == []
    after = {path for path in traps.rglob("*") if path.is_file() and ".gblint_cache" not in path.parts}
    assert after == before
    writes = [Path(name) for name in seen.of("write") if Path(name).is_relative_to(traps)]
    assert [path for path in writes if ".gblint_cache" not in path.parts] == []


def nothing_ran(seen: Seen, traps: Path) -> None:
    """Nothing of the project was run or imported, and no process was started."""
    assert not (traps / MARKER).exists()
    assert [name for name in seen.of("exec") if Path(name).is_relative_to(traps)] == []
    assert [name for name in seen.of("import") if name.startswith(("trap", "spare", "conftest", "setup"))] == []
    assert seen.of("start") == []


OTHERS = {
    "fix": ("fix", "--unsafe-fixes", "--roots", "modules"),
    "check --fix": ("check", "--fix", "--roots", "modules"),
    "fix --diff": ("fix", "--diff", "--unsafe-fixes", "-j1"),
    "graph": ("graph", "--roots", "all"),
    "explain": ("explain", "GB0170"),
    "override": ("override", "trap_package.models:Library", "-o", "-"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_commands_run_nothing_either(traps: Path, tmp_path_factory: pytest.TempPathFactory, name: str) -> None:
    seen = watched(GBLINT, *OTHERS[name], scratch=tmp_path_factory.mktemp("host"), said=True)
    assert seen.code in (0, 1)
    nothing_ran(seen, traps)
    allowed = {*traps.glob("spare_*.py"), traps / "trap_model.py", traps / "trap_script.py"} if "fix" in name else set()
    writes = {Path(file) for file in seen.of("write") if Path(file).is_relative_to(traps)}
    beside = {file for file in writes if ".gblint_cache" not in file.parts and file.suffix == ".py"}
    assert beside <= allowed


def test_the_server_runs_nothing(traps: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    pytest.importorskip("pygls")
    from tests.server.editor import Editor

    scratch = tmp_path_factory.mktemp("host")
    (scratch / "host.py").write_text(HOST)
    log = scratch / "events.txt"
    server = [sys.executable, str(scratch / "host.py"), str(log), GBLINT, "server"]

    async def session() -> None:
        async with Editor(traps, server) as editor:
            uri = editor.open("trap_model.py")
            while not (published := editor.published[uri]) or not published[-1].diagnostics:
                await asyncio.sleep(0.05)  # what is said first is of the file alone
            await editor.diagnostics(editor.open("spare_0.py"))

    asyncio.run(asyncio.wait_for(session(), 120))
    lines = [line.partition("\t") for line in log.read_text("utf-8").splitlines()]
    nothing_ran(Seen(0, "", [(event, text) for event, _, text in lines]), traps)


COMMANDS = [
    ("check",),
    ("check", "--strict"),
    ("fix", "--diff", "-q"),
    ("check", "--roots", "all", "-n"),
    ("graph",),
    ("config",),
    ("explain",),
    ("logs", "setup.py"),
    ("calibrate",),
]


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_torch_is_not_imported(
    traps: Path, tmp_path_factory: pytest.TempPathFactory, arguments: tuple[str, ...]
) -> None:
    seen = watched(GBLINT, *arguments, scratch=tmp_path_factory.mktemp("host"))
    assert seen.code in (0, 1)
    assert [name for name in seen.of("import") if name.partition(".")[0] in ("torch", "numpy")] == []
    (modules,) = seen.of("modules")
    loaded = {name.partition(".")[0] for name in modules.split()}
    assert "gblint" in loaded
    assert loaded.isdisjoint({"torch", "numpy", "trap_model", "trap_script", "trap_library"})


def test_the_hook_sees_what_it_has_to_see(project: Write, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = project({"trap_small.py": RUNS + "import os\nos.system('true')\n"})
    program = "import sys; sys.path.insert(0, '.'); import trap_small"
    seen = watched(program, scratch=tmp_path_factory.mktemp("host"))
    assert seen.code == 0
    assert "trap_small" in seen.of("import")
    assert [Path(name).name for name in seen.of("exec") if Path(name).is_relative_to(folder)] == ["trap_small.py"]
    assert str(folder / MARKER) in seen.of("write")
    assert len(seen.of("start")) == 1
    assert "trap_small" in seen.of("modules")[0].split()
