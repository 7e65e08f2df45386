"""What goes wrong around gblint: the right answer or a clear error with exit code 2, and no file half written."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.conftest import Result
from tests.faults import killing

FILES = 12
WAIT = 120
START = "\nimport sys\nfrom gblint.cli.main import run_and_exit\nrun_and_exit()\n"

linux = pytest.mark.skipif(sys.platform != "linux", reason="goes by what Linux does")


@pytest.fixture
def folder() -> Iterator[Path]:
    """An empty folder that every user may enter, unlike those of pytest."""
    made = Path(tempfile.mkdtemp(prefix="faults-"))
    made.chmod(0o755)
    yield made
    shutil.rmtree(made)


def gblint(folder: Path, *arguments: str, fault: str = "", unprivileged: bool = False, processes: int = 0) -> Result:
    """Run gblint as a process of its own, after some lines of Python that put a fault in its way.

    unprivileged: permissions hold. processes: how many the user may have.
    """

    def limit() -> None:
        if processes:
            resource.setrlimit(resource.RLIMIT_NPROC, (processes, processes))

    done = subprocess.run(
        [
            *(_without_powers() if unprivileged else []),
            sys.executable,
            "-c",
            textwrap.dedent(fault) + START,
            *arguments,
        ],
        cwd=folder,
        capture_output=True,
        timeout=WAIT,
        preexec_fn=limit,
    )
    out, err = done.stdout.decode(), done.stderr.decode()
    assert "Traceback" not in out + err
    return Result(done.returncode, out, err)


def _without_powers() -> list[str]:
    """What runs a command so that permissions hold for it, even where this process is the super-user's."""
    if os.geteuid() != 0:
        return []
    if shutil.which("setpriv") is None:
        pytest.skip("permissions do not hold for the super-user")
    return ["setpriv", "--inh-caps=-all", "--bounding-set=-all"]


def fix(folder: Path, *arguments: str, fault: str = "", unprivileged: bool = False) -> Result:
    options = ("fix", "--unsafe-fixes", "--no-cache", "--isolated", "--jobs", "1", *arguments, ".")
    return gblint(folder, *options, fault=fault, unprivileged=unprivileged)


def check(folder: Path, *arguments: str, fault: str = "", unprivileged: bool = False, processes: int = 0) -> Result:
    options = ("check", "--isolated", "--output-format", "concise", *arguments, ".")
    return gblint(folder, *options, fault=fault, unprivileged=unprivileged, processes=processes)


@pytest.fixture
def old(folder: Path) -> dict[Path, bytes]:
    return killing.write(folder, FILES)


def changed(old: dict[Path, bytes]) -> int:
    return sum(path.read_bytes() != data for path, data in old.items())


@linux
def test_killed_at_any_time(folder: Path) -> None:
    """The slice of `python -m tests.faults.killing` that there is time for."""
    killed = killing.Killing(folder, files=6, seed=int(time.time()))
    killed.run(4)
    assert killed.seen["killed"]
    assert killed.seen["completed by the next run"] == 1


def test_a_full_disk(folder: Path, old: dict[Path, bytes]) -> None:
    fault = """
        import errno, os
        def full(*_):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        os.fsync = full
    """
    result = fix(folder, fault=fault)
    assert result.code == 2
    assert "net0.py: cannot be written: No space left on device; left as it is" in result.err
    assert f"0 of {FILES} files were fixed" in result.err
    assert changed(old) == 0
    assert killing.beside(folder) == []


@linux
def test_a_disk_that_fills_up(folder: Path) -> None:
    """A real one, where this process may have one of its own."""
    disk = folder / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(disk)], capture_output=True)
    if mounted.returncode:
        pytest.skip("no file system may be mounted here")
    try:
        old = killing.write(disk, FILES)
        _fill(disk / "filler")
        result = fix(disk)
        assert result.code == 2
        assert "cannot be written: No space left on device; left as it is" in result.err
        assert changed(old) == 0
        assert killing.beside(disk) == ["filler"]
        before = check(disk, "--no-cache")
        cached = check(disk)
        assert (cached.code, cached.out) == (before.code, before.out) == (1, before.out)
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def _fill(path: Path) -> None:
    with open(path, "wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(4096))


def test_output_that_cannot_be_written(folder: Path, old: dict[Path, bytes]) -> None:
    if not os.path.exists("/dev/full"):
        pytest.skip("there is no /dev/full")
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "gblint", "check", "--isolated", "--no-cache", "."],
            cwd=folder, stdout=full, stderr=subprocess.PIPE, timeout=WAIT,
        )  # fmt: skip
    assert done.returncode == 2
    assert b"No space left on device" in done.stderr
    assert b"Traceback" not in done.stderr


def test_a_read_only_file(folder: Path, old: dict[Path, bytes]) -> None:
    (folder / "net3.py").chmod(0o444)
    result = fix(folder, unprivileged=True)
    assert result.code == 2
    assert "net3.py: is read-only; left as it is" in result.err
    assert f"{FILES - 1} of {FILES} files were fixed" in result.err
    assert changed(old) == FILES - 1
    assert killing.beside(folder) == []


def test_a_folder_that_is_not_yours(folder: Path, old: dict[Path, bytes]) -> None:
    for path in old:
        path.chmod(0o666)
    folder.chmod(0o555)
    try:
        result = fix(folder, unprivileged=True)
    finally:
        folder.chmod(0o755)
    assert result.code == 2
    assert "net0.py: cannot be written: Permission denied; left as it is" in result.err
    assert changed(old) == 0
    assert killing.beside(folder) == []


def test_a_file_that_may_not_be_read(folder: Path, old: dict[Path, bytes]) -> None:
    (folder / "net3.py").chmod(0)
    result = check(folder, "--no-cache", unprivileged=True)
    assert result.code == 1
    assert "net3.py:1:1: GBL000 unreadable cannot be read: Permission denied" in result.out
    assert f"in {FILES - 1} files" in result.out


def test_a_file_that_changes_while_others_are_written(folder: Path, old: dict[Path, bytes]) -> None:
    fault = """
        from gblint.fixing import session
        real = session.replace_file
        def replace_file(path, old, new):
            if path.endswith("net3.py"):
                with open(path, "a") as file:
                    file.write("# mine\\n")
            real(path, old, new)
        session.replace_file = replace_file
    """
    result = fix(folder, fault=fault)
    assert result.code == 2
    assert "net3.py: changed while gblint was at work; left as it is" in result.err
    assert (folder / "net3.py").read_bytes() == old[folder / "net3.py"] + b"# mine\n"
    assert changed(old) == FILES


def test_a_file_that_changes_while_it_is_written(folder: Path, old: dict[Path, bytes]) -> None:
    fault = """
        import os
        real = os.fsync
        def fsync(handle):
            real(handle)
            with open("net3.py", "a") as file:
                file.write("# mine\\n")
        os.fsync = fsync
    """
    result = fix(folder, "--codemod", "guard-logging", fault=fault)
    assert result.code == 2
    assert "net3.py: changed while gblint was at work; left as it is" in result.err
    assert (folder / "net3.py").read_bytes().startswith(old[folder / "net3.py"] + b"# mine\n")
    assert killing.beside(folder) == []


@pytest.mark.parametrize("shift", [-10 * 365 * 86400, 10 * 365 * 86400])
def test_time_stamps_and_clocks_that_are_wrong(folder: Path, old: dict[Path, bytes], shift: int) -> None:
    """A change of the same length under the same time stamp is seen, and files from the future are repaired."""
    path = folder / "net3.py"
    stamp = int(time.time()) + shift
    for each in old:
        os.utime(each, (stamp, stamp))
    clock = f"import time\nreal = time.time_ns\ntime.time_ns = lambda: real() + {shift * 10**9}"
    assert "net3.py:12" in check(folder, fault=clock).out
    assert "net3.py:12" in check(folder).out
    path.write_bytes(old[path].replace(b'print("doubled"', b'tuple("doubled"'))
    os.utime(path, (stamp, stamp))
    for fault in (clock, ""):
        assert "net3.py:12" not in check(folder, fault=fault).out
    path.write_bytes(old[path])
    os.utime(path, (stamp, stamp))
    assert fix(folder, fault=clock).code == 0
    assert changed(old) == FILES


@pytest.mark.parametrize("spared", [0, 1])
def test_no_room_for_another_process(folder: Path, old: dict[Path, bytes], spared: int) -> None:
    """The work is done all the same."""
    fault = f"""
        import errno, os
        real, left = os.fork, [{spared}]
        def fork():
            if not left[0]:
                raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))
            left[0] -= 1
            return real()
        os.fork = fork
    """
    alone = check(folder, "--no-cache", "--jobs", "1")
    assert alone.code == 1
    assert check(folder, "--no-cache", "--jobs", "2", fault=fault).out == alone.out


@linux
def test_a_user_who_may_have_no_more_processes(folder: Path, old: dict[Path, bytes]) -> None:
    if os.geteuid() == 0:
        pytest.skip("the super-user may have any number")
    alone = check(folder, "--no-cache", "--jobs", "1")
    limited = check(folder, "--no-cache", "--jobs", "2", processes=1)
    assert (limited.code, limited.out) == (alone.code, alone.out)


@pytest.mark.parametrize("command", ["check", "fix"])
def test_a_worker_that_is_killed(folder: Path, old: dict[Path, bytes], command: str) -> None:
    """As the system does where memory runs out."""
    fault = """
        import os, signal
        from gblint import parallel
        real = parallel._run_one
        def _run_one(number):
            if number == 5:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(number)
        parallel._run_one = _run_one
    """
    extra = ["--unsafe-fixes"] if command == "fix" else []
    result = gblint(folder, command, "--isolated", "--no-cache", "--jobs", "2", *extra, ".", fault=fault)
    assert result.code == 2
    assert "a process that analysed files was ended from outside; nothing is reported" in result.err
    assert "--jobs 1 takes less" in result.err
    assert result.out == ""
    assert changed(old) == 0


def test_what_a_killed_run_has_left_goes_and_what_another_writes_stays(folder: Path, old: dict[Path, bytes]) -> None:
    fcntl = pytest.importorskip("fcntl")
    left, held = folder / ".net1.py.abc.gblint", folder / ".net2.py.abc.gblint"
    left.touch()
    with open(held, "wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert fix(folder).code == 0
    assert changed(old) == FILES
    assert killing.beside(folder) == [held.name]
