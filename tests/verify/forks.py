"""`python file.py` at a fraction of its price: a server that has imported torch forks for each program.

`Forks()` starts the server; `words(file)` is a command that runs a file as `__main__`, with the environment, the
folder and the pipes of the process that the command starts, and ends with its exit code. Only two things differ from a
start of Python: torch is imported already, and reads its settings anew; and graphs run as they are, without a backend
(what Dynamo does is the same). Of `PYTHONPATH`, a `sitecustomize` is heeded.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from types import TracebackType

CLIENT = """
import json, os, socket, sys
with socket.socket(socket.AF_UNIX) as line:
    line.connect(sys.argv[1])
    request = json.dumps({"file": sys.argv[2], "cwd": os.getcwd(), "env": dict(os.environ)}).encode()
    socket.send_fds(line, [len(request).to_bytes(8, "big")], [1, 2])
    line.sendall(request)
    sys.exit(int(line.recv(16) or b"70"))
"""


class Forks:
    """A context manager around the server."""

    def __enter__(self) -> Forks:
        self._folder = tempfile.TemporaryDirectory()
        self._address = str(Path(self._folder.name, "socket"))
        self._client = Path(self._folder.name, "client.py")
        self._client.write_text(CLIENT)
        clean = {name: value for name, value in os.environ.items() if not name.startswith("TORCH")}
        self._server = subprocess.Popen(
            [sys.executable, __file__, self._address],
            stdout=subprocess.PIPE,
            env=clean | {"OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"},
        )
        assert self._server.stdout
        assert self._server.stdout.readline() == b"ready\n"
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.kill()
        self._server.communicate()
        self._folder.cleanup()

    def words(self, file: Path) -> tuple[str, ...]:
        return (sys.executable, "-IS", str(self._client), self._address, str(file))


# -------------------------------------------------------------------------------------------------------- the server


def serve(address: str) -> None:
    from gblint.devtools.dynamo_host import import_what_a_first_compile_imports, use_eager_backend

    import_what_a_first_compile_imports()
    use_eager_backend()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(address)
        listening.listen(16)
        os.write(1, b"ready\n")
        while True:
            line, _ = listening.accept()
            if os.fork() == 0:
                listening.close()
                answer(line)
            line.close()
            with contextlib.suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG) != (0, 0):
                    pass


def answer(line: socket.socket) -> None:
    """Run one program in a grandchild, and tell its exit code."""
    size, pipes, _, _ = socket.recv_fds(line, 8, 2)
    data = b""
    while len(data) < int.from_bytes(size, "big"):
        data += line.recv(1 << 20)
    request = json.loads(data)
    pid = os.fork()
    if pid:
        status = wait(pid, line)
        with contextlib.suppress(BrokenPipeError):
            line.sendall(str(os.waitstatus_to_exitcode(status) & 255).encode())
        os._exit(0)
    line.close()
    os.dup2(pipes[0], 1)
    os.dup2(pipes[1], 2)
    for pipe in pipes:
        os.close(pipe)
    os.environ.clear()
    os.environ.update(request["env"])
    os.chdir(request["cwd"])
    os._exit(run(request["file"]))


def wait(pid: int, line: socket.socket) -> int:
    """The status that a program ends with. It ends with its client, which stands for it towards the one who started
    that."""
    while (done := os.waitpid(pid, os.WNOHANG)) == (0, 0):
        if select.select([line], [], [], 0.02)[0]:  # the client sends nothing more, so it has ended
            os.kill(pid, signal.SIGKILL)
            done = os.waitpid(pid, 0)
            break
    return done[1]


def run(file: str) -> int:
    import runpy
    import traceback

    import torch
    from torch._logging import _internal

    torch.set_num_threads(1)
    _internal.LOG_TRACE_HANDLER = None
    _internal._init_logs()
    sys.path.insert(0, os.path.dirname(file))
    sys.argv = [file]
    code = 0
    try:
        for folder in filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep)):
            if os.path.exists(start := os.path.join(folder, "sitecustomize.py")):
                runpy.run_path(start)
        runpy.run_path(file, run_name="__main__")
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else int(error.code is not None)
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    return code


if __name__ == "__main__":
    serve(sys.argv[1])
