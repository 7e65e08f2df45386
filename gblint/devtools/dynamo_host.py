"""The process that runs programs under Dynamo: torch is imported once, each program runs in a fork.

`python -m gblint.devtools.dynamo_host` reads one `Request` a line (JSON) from stdin and writes one
`Answer` a line to stdout, in the order in which programs end. Arguments are programs to
run first, in the process itself. `DynamoRunner` starts it.
"""

from __future__ import annotations

import ast
import contextlib
import gc
import importlib
import logging
import os
import random
import re
import runpy
import selectors
import signal
import sys
import tempfile
import time
import traceback
import types
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from types import FrameType
from typing import Any

import msgspec
import torch
import torch._dynamo.convert_frame as convert_frame
import torch._dynamo.symbolic_convert as symbolic_convert

from gblint.devtools.observed import UNNUMBERED, Answer, Break, Observed, Request

# Dynamo puts a link to the page of the graph break into each message; the wrapped break comes first.
GB_LINK = re.compile(r"/gb/gb(\d{4})\.html")
WARM_UP = """
for backend in ("eager", "inductor"):
    torch.compile(lambda x: [x + 1, x.item()], backend=backend)(torch.ones(1))
"""
FIRST_COMPILE_IMPORTS = ("torch", "sympy", "functorch", "mpmath", "networkx", "numpy")
WARM_UP_SECONDS = 20  # of a program


class Watch:
    """Listens to Dynamo in this process and keeps what it says about the program at `path`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.is_folder = path.name == "main.py"
        self.breaks: dict[tuple[str, int, str], Break] = {}
        self.silent: dict[tuple[str, int, str], Break] = {}
        self.traced: dict[str, set[int]] = {}
        self.names: dict[str, str | None] = {}

    def file_of(self, filename: str) -> str | None:
        """ "" for the program's file, a relative path for a file of its folder, None for anything else."""
        if filename not in self.names:
            self.names[filename] = self._file_of(Path(filename).absolute())
        return self.names[filename]

    def _file_of(self, file: Path) -> str | None:
        if file == self.path:
            return ""
        if self.is_folder and self.path.parent in file.parents:
            return file.relative_to(self.path.parent).as_posix()
        return None

    def place(self, stack: Iterable[Any] | None) -> tuple[str, int] | None:
        """Innermost frame that is the program's: in `stack` (outermost first), else among those running now.

        The latter is where a library function that Dynamo compiles as a frame of its own was called.
        """
        return self.stack_place(stack) or self.running_place()

    def stack_place(self, stack: Iterable[Any] | None) -> tuple[str, int] | None:
        for frame in reversed(list(stack or ())):
            file = self.file_of(frame.filename)
            if file is not None:
                return file, frame.lineno
        return None

    def running_place(self) -> tuple[str, int] | None:
        frame: FrameType | None = sys._getframe()
        while frame is not None:
            file = self.file_of(frame.f_code.co_filename)
            if file is not None:
                return file, frame.f_lineno
            frame = frame.f_back
        return None

    def broke(self, message: str, place: tuple[str, int] | None) -> None:
        """Note a graph break; one whose stack has no frame of the program is a library's own business."""
        if place is not None:
            self._note(self.breaks, message, place)

    def refused(self, message: str, place: tuple[str, int] | None) -> None:
        """Note a frame refused without a logged break."""
        if place is not None and ids_in(message):
            self._note(self.silent, message, place)

    @staticmethod
    def _note(into: dict[tuple[str, int, str], Break], message: str, place: tuple[str, int]) -> None:
        first, *others = ids_in(message) or [UNNUMBERED]
        file, row = place
        known = into.get((file, row, first))
        wraps = tuple(dict.fromkeys([*(known.wrapped_by if known else ()), *others]))
        into[file, row, first] = Break(first, row, file, wraps, message.partition("\n")[0])

    def saw(self, filename: str, row: int) -> None:
        file = self.file_of(filename)
        if file is not None:
            self.traced.setdefault(file, set()).add(row)

    def install(self) -> None:
        """Hook into Dynamo; to be called once, in a process that runs one program and ends."""
        self._hook_breaks()
        self._hook_refused_frames()
        self._hook_lines()

    def _hook_breaks(self) -> None:
        tracer = symbolic_convert.InstructionTranslatorBase
        if not hasattr(tracer, "log_graph_break"):
            self._hook_breaks_of_2_9()
            return
        original = tracer.log_graph_break

        def log_graph_break(translator: Any, code_options: Any, reason: str, exc: Any) -> None:
            if not exc.logged:
                stack = getattr(exc, "real_stack", None)
                if stack is None:
                    stack = torch._guards.TracingContext.extract_stack()
                self.broke(message_of(exc), self.place(stack))
            original(translator, code_options, reason, exc)

        tracer.log_graph_break = log_graph_break  # type: ignore[method-assign,assignment]

    def _hook_breaks_of_2_9(self) -> None:
        """There it is a function, and is told the exception only by being called while that is handled."""
        watch, module = self, vars(symbolic_convert)
        original = module["log_graph_break"]

        def log_graph_break(
            code_options: Any, reason: str = "", exc_info: bool = False, user_stack: Any = None
        ) -> None:
            stack = torch._guards.TracingContext.extract_stack() if user_stack is None else user_stack
            exc = sys.exc_info()[1] if exc_info else None
            watch.broke(reason if exc is None else message_of(exc), watch.place(stack))
            original(code_options, reason, exc_info, user_stack)

        module["log_graph_break"] = log_graph_break

    def _hook_refused_frames(self) -> None:
        """Two ways out of convert_frame pass by log_graph_break: a logged skip and a silent one."""
        watch = self

        class LoggedSkips(logging.Handler):
            def emit(self, record: logging.LogRecord) -> None:
                exc: Any = record.exc_info[1] if record.exc_info else None
                if exc is None or getattr(exc, "logged", False) or getattr(exc, "watched", False):
                    return
                exc.watched = True
                watch.broke(message_of(exc), watch.place(getattr(exc, "real_stack", None)))

        logger = logging.getLogger("torch._dynamo.convert_frame.__graph_breaks")
        logger.setLevel(logging.DEBUG)
        logger.propagate = False
        logger.handlers[:] = [LoggedSkips()]

        original = convert_frame.ConvertFrameAssert.__call__

        def call(converter: Any, frame: Any, *args: Any, **kwargs: Any) -> Any:
            try:
                return original(converter, frame, *args, **kwargs)
            except torch._dynamo.exc.Unsupported as exc:
                if not getattr(exc, "logged", False) and not getattr(exc, "watched", False):
                    exc.watched = True  # type: ignore[attr-defined]
                    place = watch.stack_place(getattr(exc, "real_stack", None))
                    if place and not hasattr(exc, "logged"):
                        watch.broke(message_of(exc), place)  # up to 2.9 a break without resuming is first logged here
                    else:
                        watch.refused(message_of(exc), place or watch.start_of(frame.f_code))
                raise

        convert_frame.ConvertFrameAssert.__call__ = call  # type: ignore[method-assign,assignment]

    def start_of(self, code: Any) -> tuple[str, int] | None:
        file = self.file_of(code.co_filename)
        return None if file is None else (file, code.co_firstlineno)

    def _hook_lines(self) -> None:
        tracer = symbolic_convert.InstructionTranslatorBase
        original = tracer.starts_line

        def starts_line(translator: Any, lineno: int) -> None:
            self.saw(translator.f_code.co_filename, lineno)
            original(translator, lineno)

        tracer.starts_line = starts_line  # type: ignore[method-assign,assignment]


def message_of(exc: Any) -> str:
    """What Dynamo says of a break. Up to 2.9 the break that another one wraps is told by its own exception only."""
    message = str(getattr(exc, "msg", None) or exc)
    wrapped = exc.__cause__
    if not hasattr(exc, "logged") and isinstance(wrapped, torch._dynamo.exc.Unsupported):
        return f"{message_of(wrapped)}\n{message}"
    return message


def ids_in(message: str) -> list[str]:
    """The ids in what Dynamo says. Where it gives no link (2.9 does so for branches) the registry knows the title."""
    title = message.partition("\n")[0]
    text = message if GB_LINK.search(message) else torch._dynamo.exc.get_gbid_documentation_link(title) or ""
    return ["GB" + number for number in GB_LINK.findall(text)]


def use_eager_backend() -> None:
    """Let programs write plain `torch.compile(f)`: Dynamo does the same for any backend."""

    def run_as_is(backend: Any, module: Any, inputs: Any, **_: Any) -> Callable[..., Any]:
        return module.forward  # type: ignore[no-any-return]

    torch._TorchCompileInductorWrapper.__call__ = run_as_is  # type: ignore[method-assign,assignment]


def observe(path: Path, eager: bool = False, digest: bool = False, rows: bool = False) -> Observed:
    """Run the program at `path` as `__main__` in this process; its stdout must already be a file."""
    torch.set_num_threads(1)
    plain, ran = run_plainly(path) if rows else ("", {})
    torch._dynamo.config.disable = eager
    warnings.simplefilter("ignore")
    use_eager_backend()
    watch = Watch(path)
    watch.install()
    sys.path.insert(0, str(path.parent))
    sys.argv = [str(path)]
    start = time.monotonic()
    results: list[str] = []
    error = plain or run(path, watch, results if digest else None)
    sys.stdout.flush()
    return Observed(
        breaks=tuple(watch.breaks.values()),
        silent=tuple(watch.silent.values()),
        error=error,
        results=tuple(results),
        traced={file: sorted(rows) for file, rows in watch.traced.items()},
        ran=ran,
        graphs=torch._dynamo.utils.counters["stats"].get("unique_graphs", 0),
        seconds=round(time.monotonic() - start, 3),
    )


def run_plainly(path: Path) -> tuple[str, dict[str, list[int]]]:
    """Run the program with Dynamo off, its output to nowhere: the exception that left it, and the rows that ran."""
    watch = Watch(path)

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        if event == "call" and watch.file_of(frame.f_code.co_filename) is None:
            return None
        if event == "line":
            watch.saw(frame.f_code.co_filename, frame.f_lineno)
        return trace

    torch._dynamo.config.disable = True
    sys.settrace(trace)
    try:
        with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
            error = run(path, watch)
    finally:
        sys.settrace(None)
        torch._dynamo.config.disable = False
    random.seed(0)
    return error, {file: sorted(rows) for file, rows in watch.traced.items()}


def run(path: Path, watch: Watch, results: list[str] | None = None) -> str:
    """The exception that left the program, as text; a graph break in it (fullgraph=True) is noted as such.

    results: where to note what its statements give, None for not at all.
    """
    try:
        if results is None:
            runpy.run_path(str(path), run_name="__main__")
        else:
            run_noting(path, results)
    except BaseException as exc:
        if isinstance(exc, SystemExit) and not exc.code:
            return ""
        if GB_LINK.search(str(exc)):
            watch.broke(str(exc), watch.place(getattr(exc, "real_stack", None)) or ("", 0))
        return "".join(traceback.format_exception_only(exc)).strip()[:600]
    return ""


def run_noting(path: Path, results: list[str]) -> None:
    """Run a program, and note what each call gives that is a statement of its own in the main program."""

    def note(value: object) -> object:
        results.append(digest_of(value))
        return value

    tree = ast.fix_missing_locations(Noting().visit(ast.parse(path.read_bytes(), str(path))))
    module = types.ModuleType("__main__")
    module.__file__ = str(path)
    vars(module)[Noting.NAME] = note
    sys.modules["__main__"] = module
    exec(compile(tree, str(path), "exec", dont_inherit=True), vars(module))


class Noting(ast.NodeTransformer):
    """Passes the value of each call that is a statement of the main program through a function."""

    NAME = "__gblint_note__"

    def visit_Expr(self, node: ast.Expr) -> ast.Expr:
        if isinstance(node.value, ast.Call):
            note = ast.copy_location(ast.Name(self.NAME, ast.Load()), node)
            node.value = ast.copy_location(ast.Call(note, [node.value], []), node)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        return node

    visit_AsyncFunctionDef = visit_ClassDef = visit_FunctionDef  # type: ignore[assignment]  # noqa: N815


def digest_of(value: Any, depth: int = 0) -> str:
    """A value in short: shape, type and sum of tensors (to what rounding may change), and of what containers hold. A
    tensor of no dimension counts as its number: that a caller sees one for the other is what some repairs say of
    themselves."""
    if isinstance(value, torch.Tensor):
        plain = value.detach()
        if plain.dim() == 0 and not plain.is_complex() and not plain.is_quantized:
            return digest_of(plain.item(), depth)
        if plain.is_sparse or plain.is_complex() or plain.is_quantized or not plain.numel():
            return f"{tuple(plain.shape)} {plain.dtype}"
        total = plain.double().sum().item()
        return f"{tuple(plain.shape)} {plain.dtype} {total:.4g}"
    if isinstance(value, (list, tuple)) and depth < 4:
        return f"[{', '.join(digest_of(item, depth + 1) for item in value)}]"
    if isinstance(value, dict) and depth < 4:
        return f"{{{', '.join(f'{key}: {digest_of(item, depth + 1)}' for key, item in value.items())}}}"
    if isinstance(value, float):
        return f"{value:.4g}"
    return repr(value) if isinstance(value, (int, str, bool, type(None))) else type(value).__name__


def child(request: Request, result: int) -> None:
    """Body of the forked process: run, write the answer to the descriptor `result`, end without clean-up."""
    os.setsid()
    random.seed(0)  # Python seeds anew in a forked process; two runs of a program are to be alike
    with tempfile.TemporaryDirectory() as scratch:
        stdout = Path(scratch, "stdout")
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(os.open(stdout, os.O_CREAT | os.O_WRONLY), 1)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        os.chdir(scratch)
        observed = observe(Path(request.path), request.eager, request.digest, request.rows)
        text = stdout.read_text(encoding="utf8", errors="replace")
    answer = Answer(request.key, msgspec.structs.replace(observed, output=text[-20_000:]))
    with os.fdopen(result, "wb") as pipe:
        pipe.write(msgspec.json.encode(answer))


class Running:
    """A forked program: its process, its deadline and what it has answered so far."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self.deadline = time.monotonic() + request.limit
        self.answer = b""
        self.pipe, write_end = os.pipe()
        self.pid = os.fork()
        if self.pid:
            os.close(write_end)
            return
        try:
            child(request, write_end)
        finally:
            os._exit(0)

    def finish(self, late: bool) -> bytes:
        """Reap the process (and what it started) and return the line to send."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.pipe)
        if self.answer:
            return self.answer
        problem = f"time limit of {self.request.limit:g} s" if late else "process died without a result"
        return msgspec.json.encode(Answer(self.request.key, Observed(error=problem)))


def serve(requests: int, answers: int) -> None:
    """Fork a program for each line read from `requests`, until it is closed and all programs have ended."""
    selector = selectors.DefaultSelector()
    selector.register(requests, selectors.EVENT_READ)
    running: dict[int, Running] = {}
    buffer, is_open = b"", True
    while is_open or running:
        for key, _ in selector.select(timeout=0.2 if running else None):
            data = os.read(key.fd, 65536)
            if key.fd != requests:
                running[key.fd].answer += data
                if not data:
                    end(selector, running, key.fd, answers)
            elif data:
                *lines, buffer = (buffer + data).split(b"\n")
                for line in lines:
                    program = Running(msgspec.json.decode(line, type=Request))
                    running[program.pipe] = program
                    selector.register(program.pipe, selectors.EVENT_READ)
            else:
                is_open = False
                selector.unregister(requests)
        now = time.monotonic()
        for pipe in [pipe for pipe, program in running.items() if program.deadline < now]:
            end(selector, running, pipe, answers, late=True)


def end(
    selector: selectors.BaseSelector, running: dict[int, Running], pipe: int, answers: int, late: bool = False
) -> None:
    selector.unregister(pipe)
    line = running.pop(pipe).finish(late) + b"\n"
    while line:
        line = line[os.write(answers, line) :]


def import_what_a_first_compile_imports() -> None:
    """Half of a first compile is imports: learn in a child which, then have them before forking."""
    read_end, write_end = os.pipe()
    pid = os.fork()
    if not pid:
        with os.fdopen(write_end, "w") as pipe:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            use_eager_backend()
            exec(WARM_UP, {"torch": torch})
            used = [name for name in sys.modules if name.partition(".")[0] in FIRST_COMPILE_IMPORTS]
            pipe.write("\n".join(used))
        os._exit(0)
    os.close(write_end)
    with os.fdopen(read_end) as pipe:
        names = pipe.read().split()
    os.waitpid(pid, 0)
    for name in names:
        with contextlib.suppress(Exception):  # one that imports only in some state: the compile itself will do it
            importlib.import_module(name)


def warm_up(programs: Iterable[str]) -> None:
    """Run programs in this process, so that what torch works out once is there before forking. One that takes longer
    than a while is given up."""
    use_eager_backend()
    signal.signal(signal.SIGALRM, _give_up)
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere), contextlib.redirect_stderr(nowhere):
        for program in programs:
            signal.setitimer(signal.ITIMER_REAL, WARM_UP_SECONDS)
            with contextlib.suppress(Exception):
                runpy.run_path(program, run_name="__main__")
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    torch._dynamo.reset()


def _give_up(*_: object) -> None:
    raise TimeoutError


def main() -> None:
    answers = os.dup(1)
    os.dup2(2, 1)
    import_what_a_first_compile_imports()
    if sys.argv[1:]:
        warm_up(sys.argv[1:])
    gc.collect()
    gc.freeze()  # else each fork would copy what its collector looks at
    serve(0, answers)


if __name__ == "__main__":
    main()
