"""Programs before and after their repair, run side by side in processes that are forked when torch is warm.

A program calls what is compiled in statements at its top. What each of these statements gives is noted in full (type,
shape, strides, values, whether gradients flow), or that it raised; all of it has to be the same after the repair, with
Dynamo and without, and no break may have come. Needs torch.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import gc
import itertools
import linecache
import logging
import math
import os
import random
import re
import select
import signal
import sys
import tempfile
import time
import types
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import Any

import msgspec
import torch

from gblint.checking import Options
from gblint.devtools.dynamo_host import Watch, import_what_a_first_compile_imports, use_eager_backend
from gblint.findings.finding import Fix
from gblint.fixing.moved import Moved
from gblint.fixing.plan import Choice
from gblint.fixing.session import repair
from gblint.index.cache import content_digest

SECONDS = 5  # that one run of a program may take
NUMBER = re.compile(r"-?(?:inf|nan|\d+(?:\.\d+)?(?:e[-+]\d+)?)(?![\w(])")
LAYOUT = re.compile(r"([a-z]+\d*\([\d, ]*\))\([\d, ]*\)[-g]")  # of a tensor, as `noted` writes it
SCALAR = re.compile(r"[a-z]+\d*\(\) \[([^][]+)\]")  # a tensor of no dimension, without its layout
MOST_VALUES = 48  # of a tensor that are written out
NOTE = "__gblint_note__"
NUMBERS = itertools.count()
LOGGER = frozenset(vars(logging.Logger))
RAISES = "raises "
MISTAKES = tuple(f"{RAISES}{name}:" for name in ("TypeError", "NameError", "AttributeError", "UnboundLocalError"))
WRONG = ("CHANGED", "new break")
TOGETHER = 8  # programs that one process judges
NOTHING_RAN = "every call raises"


class Trial(msgspec.Struct):
    """How to judge: see `judged`."""

    unsafe: bool
    dynamo: bool
    known: Mapping[int, str]


class Ran(msgspec.Struct):
    """One run. results: of each statement that is an expression, what it gave; breaks: id and row of each."""

    results: list[str] = []
    error: str = ""
    breaks: list[tuple[str, int]] = []


class Judged(msgspec.Struct):
    """A program and its repair. verdict is one of

        invalid   the program ends in an error, or each of its calls raises
        kept      nothing was repaired
        same      the repaired program gives what it gave, and no break has come
        no error  a call that raised gives a result now; all else is the same
        as said   what differs is what the repairs made say of themselves (`Repair.differs`); all else is the same
        new break a break stands on a row that the repair wrote, in the place of rows that had none (where no call
                  raises, which may be a break as well)
        CHANGED   a result differs

    codemods: what was applied, by name; left: number of breaks after the repair; digest: of the repaired text;
    detail: what differs, or why the program is invalid; seconds: of a processor.
    """

    seed: int
    unsafe: bool
    verdict: str
    codemods: list[str] = []
    left: int = 0
    digest: str = ""
    detail: str = ""
    seconds: float = 0.0


UNKNOWN = Judged(-1, False, "")  # a process has ended before it came to a program


def judged(
    programs: Iterable[tuple[int, str]],
    unsafe: bool,
    dynamo: bool = True,
    known: Mapping[int, str] | None = None,
) -> Iterator[Judged]:
    """Repair programs, given with their seeds, and judge them, some in a process; what seems wrong is judged again in a
    process of its own.

    dynamo: False looks at results without Dynamo only, which is quicker. known: digests of repaired texts by seed;
    where the same comes out again, nothing is run, and nothing is given.
    """
    trial = Trial(unsafe, dynamo, known or {})
    waiting = iter(programs)
    while batch := list(itertools.islice(waiting, TOGETHER)):
        answers = _forked(trial, batch)
        for seed, text in batch:
            answer = answers.get(seed, UNKNOWN)
            if answer is UNKNOWN or (answer and answer.verdict in WRONG):
                answer = _forked(trial, ((seed, text),)).get(seed, UNKNOWN)
            if answer is UNKNOWN:
                answer = Judged(seed, unsafe, "invalid", detail="the process ended without an answer")
            if answer is not None:
                yield answer


def warm_up(texts: Iterable[str]) -> None:
    """Have in this process what the forked ones would each work out: imports, first compiles, tables of gblint."""
    torch.set_num_threads(1)
    import_what_a_first_compile_imports()
    use_eager_backend()
    with tempfile.TemporaryDirectory() as folder, _silent():
        for text in texts:
            _repaired(Path(folder, "program.py"), text, unsafe=True)
            with contextlib.suppress(Exception):
                exec(compile(text, "program.py", "exec"), {"__name__": "__main__"})
    torch._dynamo.reset()
    _settle()
    gc.collect()
    gc.freeze()  # else each fork would copy what its collector looks at


def _forked(trial: Trial, batch: Sequence[tuple[int, str]]) -> dict[int, Judged | None]:
    """What became of programs, by seed, as far as the process got."""
    read_end, write_end = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            os.setsid()
            with tempfile.TemporaryDirectory() as folder, _silent():
                os.chdir(folder)
                pair = Pair(trial, Path(folder).resolve() / "program.py")
                answers = {seed: pair.judge(seed, text) for seed, text in batch}
            with os.fdopen(write_end, "wb") as pipe:
                pipe.write(msgspec.json.encode(answers))
        finally:
            os._exit(0)
    os.close(write_end)
    with os.fdopen(read_end, "rb") as pipe:
        data = pipe.read() if select.select([pipe], [], [], 6 * SECONDS + SECONDS * len(batch))[0] else b"{}"
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return msgspec.json.decode(data or b"{}", type=dict[int, Judged | None])


class Pair:
    """Judges programs in this process, one after the other, in one file."""

    def __init__(self, trial: Trial, file: Path) -> None:
        self.trial = trial
        self.file = file

    @functools.cached_property
    def watch(self) -> Watch:
        watch = Watch(self.file)
        watch.install()
        return watch

    def judge(self, seed: int, text: str) -> Judged | None:
        began = time.process_time()
        answer = Judged(seed, self.trial.unsafe, "kept")
        _settle()
        new, made = _repaired(self.file, text, answer.unsafe)  # first: a run may change what the repair looks up
        digest = content_digest(new.encode()) if new != text else ""
        if digest and digest == self.trial.known.get(seed):
            return None
        before = _run(self.file, text, None)
        if before.error or all(map(_raises, before.results[:-1])):
            answer.verdict, answer.detail = "invalid", before.error or NOTHING_RAN
            return answer
        if new == text:
            return answer
        answer.codemods, answer.digest = [fix.codemod for fix in made], digest
        said = {aspect for fix in made for aspect in fix.differs}
        after = _run(self.file, new, None)
        self._compare(answer, before, after, said, compiled=False)
        if answer.verdict in ("same", "as said") and self.trial.dynamo:
            self._compile(answer, text, new, before, said)
        if answer.verdict == "same" and any(map(_runs_now, before.results, after.results)):
            answer.verdict = "no error"
        if answer.verdict == "CHANGED" and difference(before, _run(self.file, text, None), answer.unsafe):
            answer.verdict, answer.detail = "invalid", "gives another result each time"
        answer.seconds = round(time.process_time() - began, 3)
        return answer

    def _compare(self, answer: Judged, before: Ran, after: Ran, said: Set[str], compiled: bool = True) -> None:
        """Say whether results differ: no more than the repairs say of themselves, or more."""
        found = difference(before, after, answer.unsafe, compiled=compiled)
        if found and said and not difference(before, after, answer.unsafe, compiled=compiled, said=said):
            answer.verdict, answer.detail = "as said", found
        elif found:
            answer.verdict, answer.detail = "CHANGED", found
        elif answer.verdict == "kept":
            answer.verdict = "same"

    def _compile(self, answer: Judged, text: str, new: str, before: Ran, said: Set[str]) -> None:
        """Run the repaired program under Dynamo. The program as it was runs under Dynamo too where there is a
        difference, which may be Dynamo's own, or a break, which may have been there."""
        after = _run(self.file, new, self.watch)
        answer.left = len(after.breaks)
        differs = difference(before, after, answer.unsafe)
        if not differs and not after.breaks:
            return
        compiled = _run(self.file, text, self.watch)
        if compiled.error:
            answer.verdict, answer.detail = "invalid", f"under Dynamo: {compiled.error}"
        elif not any(map(_raises, before.results)) and (come := arrived(text, new, compiled, after)):
            answer.verdict, answer.detail = "new break", come
        elif differs and difference(compiled, after, answer.unsafe):
            self._compare(answer, before, after, said)


def repaired(text: str, unsafe: bool) -> str:
    """A program after its repair."""
    with tempfile.TemporaryDirectory() as folder:
        return _repaired(Path(folder).resolve() / "program.py", text, unsafe)[0]


def _repaired(file: Path, text: str, unsafe: bool) -> tuple[str, list[Fix]]:
    file.write_text(text, encoding="utf8")
    repaired = repair(Options(paths=(str(file),), isolated=True, no_cache=True), Choice(unsafe=unsafe))
    new = "".join(data.decode("utf8") for data in repaired.new.values()) or text
    return new, [step.fix for step in repaired.made]


# ----------------------------------------------------------------------------------------------------------- one run


def _run(file: Path, text: str, watch: Watch | None) -> Ran:
    """Run a program in this process; with Dynamo if there is a watch."""
    ran = Ran()
    file.write_text(text, encoding="utf8")
    linecache.checkcache(str(file))
    torch._dynamo.reset()
    torch._dynamo.config.disable = watch is None
    _settle()
    config = {name: _copy(value) for name, value in torch._dynamo.config.get_config_copy().items()}
    signal.signal(signal.SIGALRM, _give_up)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        _execute(file, ran.results)
    except BaseException as error:
        ran.error = f"{type(error).__name__}: {error}".strip()[:300]
    signal.setitimer(signal.ITIMER_REAL, 0)
    torch._dynamo.config.load_config(config)
    if watch:
        ran.breaks = [(one.gb_id, one.row) for one in watch.breaks.values()]
        watch.breaks.clear()
    return ran


def _execute(file: Path, results: list[str]) -> None:
    def note(give: Any) -> None:
        try:
            value = give()
        except TimeoutError:
            raise
        except Exception as error:
            results.append(f"{RAISES}{type(error).__name__}: {' '.join(str(error).split())[:200]}")
        else:
            results.append(noted(value))

    tree = ast.parse(file.read_bytes(), str(file))
    _note_expressions(tree.body)
    module = types.ModuleType(f"program_{next(NUMBERS)}")  # Dynamo remembers what it has seen in a module of a name
    module.__file__ = str(file)
    vars(module)[NOTE] = note
    sys.modules[module.__name__] = module
    exec(compile(ast.fix_missing_locations(tree), str(file), "exec", dont_inherit=True), vars(module))


def _note_expressions(body: Sequence[ast.stmt]) -> None:
    """Let each statement at the top (and in loops and blocks there) that is an expression be noted."""
    for statement in body:
        if isinstance(statement, ast.Expr) and not _sets_environment(statement.value):
            given = ast.Lambda(ast.arguments([], [], None, [], [], None, []), statement.value)
            statement.value = ast.copy_location(ast.Call(ast.Name(NOTE, ast.Load()), [given], []), statement)
        elif isinstance(statement, (ast.For, ast.With, ast.If)):
            _note_expressions(statement.body)


def _sets_environment(node: ast.expr) -> bool:
    """Whether a statement is there for what it does to the environment: where it stands is no result."""
    return isinstance(node, ast.Call) and ast.unparse(node.func).startswith("os.environ.")


def _give_up(*_: object) -> None:
    raise TimeoutError(f"time limit of {SECONDS} s")


def _settle() -> None:
    """Put back what a program may have changed for those after it."""
    torch.manual_seed(0)
    random.seed(0)
    torch.set_grad_enabled(True)
    torch.set_default_dtype(torch.float32)
    for name in set(vars(logging.Logger)) - LOGGER:
        delattr(logging.Logger, name)


def _copy(value: Any) -> Any:
    return value.copy() if isinstance(value, (list, dict, set)) else value


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    """Without output, that of C included. For processes that end soon, and for the time before forking."""
    sys.stdout.flush()
    kept = os.dup(1), os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        sys.stdout.flush()
        for target, descriptor in enumerate(kept, 1):
            os.dup2(descriptor, target)
            os.close(descriptor)
        os.close(nowhere)


# --------------------------------------------------------------------------------------------------------- comparing


def noted(value: Any, depth: int = 0) -> str:
    """A value in full, as text in which two runs can be compared."""
    if isinstance(value, torch.Tensor):
        return _tensor(value)
    if isinstance(value, (list, tuple)) and depth < 4:
        inner = ", ".join(noted(item, depth + 1) for item in value)
        return f"{type(value).__name__}<{inner}>"
    if isinstance(value, dict) and depth < 4:
        return "{" + ", ".join(f"{key!r}: {noted(item, depth + 1)}" for key, item in value.items()) + "}"
    if isinstance(value, float):
        return f"{value:.6g}"
    return repr(value) if isinstance(value, (int, str, bool, type(None))) else type(value).__name__


def _tensor(value: torch.Tensor) -> str:
    plain = value.detach()
    kind = str(value.dtype).removeprefix("torch.")
    head = f"{kind}{tuple(value.shape)}"
    if plain.layout is not torch.strided or plain.is_quantized or plain.is_nested:
        return head
    numbers = plain.flatten()[:MOST_VALUES].tolist()
    values = ", ".join(str(n) if isinstance(n, (bool, int, complex)) else f"{n:.6g}" for n in numbers)
    strides = tuple(s for s, size in zip(value.stride(), value.shape, strict=True) if size > 1 and value.numel())
    return f"{head}{strides}{'g' if value.requires_grad else '-'} [{values}]"


def _raises(result: str) -> bool:
    return result.startswith(RAISES)


def _runs_now(one: str, other: str) -> bool:
    return _raises(one) and not _raises(other)


def difference(one: Ran, other: Ran, unsafe: bool, compiled: bool = True, said: Set[str] = frozenset()) -> str:
    """What differs between two runs, "" if nothing does. A call that raised in the first has no result to compare, and
    nothing is compared after it where it does not raise in the other, or that is under Dynamo.

    compiled: the other run is under Dynamo. unsafe: a tensor of no dimension is as good as its number, and a copy may
    lie otherwise in memory or have a gradient of zero, which is what such repairs say of themselves. said: what else
    the repairs that were made say of themselves, see `gblint.codemod_api.Repair`.
    """
    if other.error and any(map(_raises, one.results[len(other.results) :][:1])):
        return ""  # the error comes where it came, now in what a call is given
    if other.error != one.error:
        return f"ends in {other.error or 'no error'}"
    if len(one.results) != len(other.results):
        return f"{len(one.results)} results before, {len(other.results)} after"
    for first, second in zip(one.results, other.results, strict=True):
        if _raises(first):
            if compiled or not _raises(second):
                return ""  # what it has done, or under Dynamo left undone, may be seen in all that comes later
            continue
        if unsafe:
            first, second = (_lenient(text) for text in (first, second))
        if "errors" in said and _raises(second) and not second.startswith(MISTAKES):
            return ""  # as where the first raises
        if not alike(first, second) and not (said and _as_said(first, second, said)):
            return f"{first[:300]} became {second[:300]}{' under Dynamo' if compiled else ''}"
    return ""


def _as_said(one: str, other: str, said: Set[str]) -> bool:
    """Whether two noted results differ by nothing but other random numbers, or by side effects that did not happen: of
    a list that records them some are left, in order (those numbered by its length bear other numbers)."""
    if "draws" in said and NUMBER.sub("#", one) == NUMBER.sub("#", other):
        return True
    if "effects" not in said or not (one.startswith("list<") and other.startswith("list<")):
        return False
    waiting = iter(_items(one))
    return all(item in waiting for item in _items(other))


def _items(noted_list: str) -> list[str]:
    """The items of a noted list, without their numbers."""
    items, depth = [""], 0
    for letter in NUMBER.sub("#", noted_list)[len("list<") : -1]:
        depth += (letter in "<([{") - (letter in ">)]}")
        if letter == "," and not depth:
            items.append("")
        else:
            items[-1] += letter
    return [item.strip() for item in items if item.strip()]


def _lenient(text: str) -> str:
    return SCALAR.sub(lambda m: m[1], LAYOUT.sub(r"\1", text))


def alike(one: str, other: str) -> bool:
    """Whether two noted results are the same but for rounding."""
    if one == other:
        return True
    if NUMBER.sub("#", one) != NUMBER.sub("#", other):
        return False
    pairs = zip(NUMBER.findall(one), NUMBER.findall(other), strict=True)
    exact = 2e-3 if "float16" in one else 1e-4
    return all(a == b or math.isclose(float(a), float(b), rel_tol=exact, abs_tol=1e-6) for a, b in pairs)


def arrived(text: str, new: str, before: Ran, after: Ran) -> str:
    """The breaks that a repair has brought: on rows that it wrote, in the place of rows without a break. Those that an
    earlier break had hidden stand on rows that were there."""
    moved = Moved(text.encode(), new.encode())
    broken = {row for _, row in before.breaks}
    come = []
    for gb_id, row in after.breaks:
        first, last = moved.back(row)
        if not moved.untouched(row) and not broken & set(range(first, last + 1)):
            come.append(f"{gb_id} @ {row}")
    return ", ".join(come)
