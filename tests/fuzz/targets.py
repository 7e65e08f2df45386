"""What is fuzzed: where inputs start from, how they are changed, and what has to hold when gblint meets them."""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import shutil
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from gblint.checking import Options, check
from gblint.cli.main import run
from gblint.fixing.plan import Choice
from gblint.fixing.session import repair
from gblint.report import FORMATS
from gblint.report.style import Style
from tests.fuzz.mutate import BYTES, SOURCE, TEXT, Mutation

ROOT = Path(__file__).parents[2]
RECORDED = ROOT / "tests" / "verify" / "recorded" / "2.13"
SECONDS = 10  # of one processor, for one file
MEGABYTES = 1024
LARGEST_SEED = 12_000  # bytes: what takes long to analyse as it is leaves time for few changes

Problems = Iterator[tuple[int, str]]  # which input, and what is wrong


class Target(NamedTuple):
    """seeds: contents to start from, given folders of more source; run: hand inputs to gblint in an empty folder and
    say what is wrong; batch: how many inputs at a time; largest: bytes of one; share: of all inputs, in percent."""

    seeds: Callable[[tuple[Path, ...]], list[bytes]]
    mutations: Sequence[Mutation]
    run: Callable[[Path, list[bytes]], Problems]
    batch: int
    largest: int
    share: int


# ------------------------------------------------------------------------------------------------------------- seeds


@lru_cache
def programs(more: tuple[Path, ...]) -> list[bytes]:
    """The programs and models of the corpus, and the small files in other folders."""
    found = [path for name in ("programs", "models") for path in sorted((ROOT / "corpus" / name).rglob("*.py"))]
    for folder in more:
        found += sorted(folder.rglob("*.py"))[::7]
    return [data for path in found if 0 < len(data := path.read_bytes()) <= LARGEST_SEED]


def notebooks(more: tuple[Path, ...]) -> list[bytes]:
    return [_notebook(data.decode()) for data in programs(())[::9]]


def _notebook(text: str) -> bytes:
    cells = [
        {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": part.splitlines(True)}
        for part in ["%matplotlib inline\n!ls", *text.split("\n\n\n")]
    ]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1).encode()


def settings(more: tuple[Path, ...]) -> list[bytes]:
    return [
        b"""[project]
name = "shop"
dependencies = ["torch>=2.9,<2.12", "numpy"]
[project.optional-dependencies]
train = ["torch==2.11.*; python_version > '3.9'"]
[dependency-groups]
dev = ["pytest", {include-group = "train"}]
[tool.poetry.dependencies]
torch = {version = "^2.9", optional = true}
[tool.gblint]
select = ["ALL"]
""",
        b"""[tool.gblint]
roots = ["model:Net.forward", "modules"]
select = ["GB", "GBL"]
ignore = ["GB0291", "print-call"]
extend-select = ["GB00"]
per-file-ignores = { "scripts/**" = ["GB0059"], "model.py" = ["ALL"] }
exclude = ["build", "*.gen.py"]
extend-exclude = ["**/old/", "!keep.py"]
min-confidence = 0.3
fail-on = { hot = 0.8, cold = false }
target-torch = "2.11"
python = ".venv"
src = [".", "lib", "~/x"]
cache-dir = "cache/../cache"
baseline = "baseline.json"
strict = true
[tool.gblint.fix]
logging = "remove"
extend-safe-fixes = ["guard-logging"]
extend-unsafe-fixes = ["GB0170"]
[tool.gblint.functions]
"model.helper" = { returns = "tensor", pure = true }
"model.other" = { breaks = true }
""",
    ]


def findings_recorded(more: tuple[Path, ...]) -> list[bytes]:
    rows = [
        f'    {{"file":"model.py","function":"model.Net.forward","code":"{code}","name":"{name}","count":{count}}}'
        for code, name, count in (("GB0170", "branch-on-tensor", 1), ("GB0124", "tensor-item", 2), ("GB0059", "x", 1))
    ]
    return [('{\n  "version": 1,\n  "findings": [\n' + ",\n".join(rows) + "\n  ]\n}\n").encode()]


def verdicts(more: tuple[Path, ...]) -> list[bytes]:
    rows = [
        {"rule": rule, "file": "model.py", "function": "model.Net.forward", "text": "0" * 16, "confidence": 0.9}
        | {"verdict": verdict, "torch": "2.13"}
        for rule in ("GB0170 branch-on-tensor", "GB0124 tensor-item")
        for verdict in ("confirmed", "refuted", "missed")
    ]
    return ["".join(json.dumps(row) + "\n" for row in rows).encode()]


def logs(more: tuple[Path, ...]) -> list[bytes]:
    whole = [(RECORDED / name).read_bytes() for name in ("log.txt", "error.txt")]
    return [*whole, *(whole[0][n * 9000 : n * 9000 + 12_000] for n in range(8))]


def traces(more: tuple[Path, ...]) -> list[bytes]:
    return [path.read_bytes() for path in sorted((RECORDED / "trace").iterdir())]


def pages(more: tuple[Path, ...]) -> list[bytes]:
    return [path.read_bytes() for path in sorted((RECORDED / "tlparse").rglob("*_*.*"))]


# ----------------------------------------------------------------------------------------------------------- in bulk


def _written(folder: Path, inputs: list[bytes], suffix: str = ".py") -> list[Path]:
    (folder / "pyproject.toml").write_text("[project]\nname = 'fuzzed'\n")
    paths = [folder / f"m{number}{suffix}" for number in range(len(inputs))]
    for path, data in zip(paths, inputs, strict=True):
        path.write_bytes(data)
    return paths


def _options(folder: Path, mode: str, **more: object) -> Options:
    return Options(
        paths=(str(folder),),
        roots=(mode, ()),
        min_confidence=0.0,
        no_cache=True,
        target_torch="2.13",
        **more,  # type: ignore[arg-type]
    )


def _checked(folder: Path, inputs: list[bytes], suffix: str = ".py") -> Problems:
    _written(folder, inputs, suffix)
    choice = sum(map(len, inputs))
    outcome = check(_options(folder, ("all", "modules", "auto")[choice % 3]))
    yield from ((-1, f"internal error: {text}") for text in outcome.stats.internal)
    for problem in outcome.problems:
        if problem.name == "internal-error":
            yield -1, f"internal error in {problem.filename}: {problem.message}"
    for name, render in list(FORMATS.items())[choice % 4 :: 4]:
        if not isinstance(render(outcome, Style()), str):
            yield -1, f"the report {name} is no text"


def check_sources(folder: Path, inputs: list[bytes]) -> Problems:
    """No internal error, no exception, every report can be written, no file takes too long."""
    yield from _checked(folder, inputs)


def check_notebooks(folder: Path, inputs: list[bytes]) -> Problems:
    """The same for notebooks, and repaired ones are JSON with as many cells."""
    yield from _checked(folder, inputs, ".ipynb")
    repaired = repair(_options(folder, "modules"), Choice(unsafe=True))
    repaired.write()
    for path in repaired.new:
        number = int(Path(path).stem[1:])
        before, after = json.loads(inputs[number]), json.loads(Path(path).read_bytes())
        if len(before["cells"]) != len(after["cells"]):
            yield number, "repairs changed how many cells there are"


def fix_sources(folder: Path, inputs: list[bytes]) -> Problems:
    """What repairs make of files is Python, and differs from what was there."""
    paths = _written(folder, inputs)
    repaired = repair(_options(folder, ("all", "modules")[len(inputs[0]) % 2]), Choice(unsafe=True))
    for path, data in repaired.new.items():
        number = next((n for n, known in enumerate(paths) if str(known) == path), -1)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                ast.parse(data)
                compile(data, path, "exec", dont_inherit=True)
        except (SyntaxError, ValueError) as error:
            yield number, f"repaired into what is no Python: {error}"
        if data == inputs[number]:
            yield number, "said to be repaired, and the same"
    for outcome in (repaired.before, repaired.after):
        yield from ((-1, f"internal error: {text}") for text in outcome.stats.internal)


# ---------------------------------------------------------------------------------------------------------- commands

MODEL = b"""import torch
from torch import nn

class Net(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            print(x)
            return helper(x).item()
        return x[x > 0].item()

def helper(x):
    return x * 2

net = torch.compile(Net())
"""


def command(*words: str, cwd: Path) -> Problems:
    """A command line has to end with 0, 1 or 2; with 2 it has to say why."""
    out, err = io.StringIO(), io.StringIO()
    here = os.getcwd()
    os.chdir(cwd)
    os.environ["GBLINT_TRACEBACK"] = "1"  # what would be an "internal error" is raised
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = run(words)
    except BaseException as error:
        yield 0, f"gblint {' '.join(words)}: {type(error).__name__}: {error}"
        return
    finally:
        os.chdir(here)
    if code not in (0, 1, 2):
        yield 0, f"gblint {' '.join(words)} ended with {code}"
    if (code == 2) != ("gblint: error:" in err.getvalue()):
        yield 0, f"gblint {' '.join(words)} ended with {code} and said {err.getvalue()[-300:]!r}"


def _each(inputs: list[bytes], folder: Path, run_one: Callable[[Path, bytes], Problems]) -> Problems:
    for number, data in enumerate(inputs):
        place = folder / str(number)
        place.mkdir()
        (place / "model.py").write_bytes(MODEL)
        yield from ((number, text) for _, text in run_one(place, data))


def _settings(place: Path, data: bytes) -> Problems:
    bare = data.rpartition(b"[tool.gblint]\n")[2].replace(b"[tool.gblint.", b"[")
    (place / "pyproject.toml").write_bytes(data)
    if len(data) % 3 == 0:
        (place / "gblint.toml").write_bytes(bare)
    (place / "baseline.json").write_text('{"version": 1, "findings": []}')
    yield from command("check", "-n", "-j1", "-q", cwd=place)
    yield from command("config", "model.py", cwd=place)


def check_settings(folder: Path, inputs: list[bytes]) -> Problems:
    """Settings are taken or turned down with a reason."""
    yield from _each(inputs, folder, _settings)


def _environment(place: Path, data: bytes) -> Problems:
    packages = place / ".venv/lib/python3.11/site-packages"
    packages.mkdir(parents=True)
    (place / "requirements.txt").write_bytes(data)
    (place / ".gitignore").write_bytes(data)
    (place / ".venv/pyvenv.cfg").write_bytes(data)
    (packages / "x.pth").write_bytes(data)
    (place / "pyproject.toml").write_text("[tool.gblint]\npython = '.venv'\n")
    yield from command("check", "-n", "-j1", "-q", "-v", cwd=place)


def check_environments(folder: Path, inputs: list[bytes]) -> Problems:
    """Requirements, .gitignore, pyvenv.cfg and .pth files of any content are borne."""
    yield from _each(inputs, folder, _environment)


def requirements(more: tuple[Path, ...]) -> list[bytes]:
    return [
        b"""home = /usr/bin
version = 3.11.2
torch==2.11.0 ; python_version>'3'
-r base.txt
numpy>=2
../lib
*.gen.py
!keep.py
import x
/build/
torch @ https://example.org/torch-2.9.1.whl
[a-z]\\ \n"""
    ]


def _baseline(place: Path, data: bytes) -> Problems:
    (place / "pyproject.toml").write_text("[tool.gblint]\n")
    (place / "base.json").write_bytes(data)
    yield from command("check", "-n", "-j1", "-q", "--baseline", "base.json", cwd=place)
    yield from command("check", "-n", "-j1", "-q", "--baseline", "base.json", "--update-baseline", cwd=place)


def check_baselines(folder: Path, inputs: list[bytes]) -> Problems:
    """A baseline holds, or is turned down with a reason."""
    yield from _each(inputs, folder, _baseline)


def _verdicts(place: Path, data: bytes) -> Problems:
    (place / "pyproject.toml").write_text("[tool.gblint]\n")
    (place / ".gblint_verdicts.jsonl").write_bytes(data)
    yield from command("check", "-n", "-j1", "-q", cwd=place)
    yield from command("calibrate", cwd=place)


def check_verdicts(folder: Path, inputs: list[bytes]) -> Problems:
    """Verdicts of a project count or are left aside."""
    yield from _each(inputs, folder, _verdicts)


@lru_cache
def _kept(folder: Path) -> tuple[str, bytes, str]:
    """The name and the bytes of the cache of a small project, and what a check of that prints."""
    place = folder.parent / "kept"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    out = _with_cache(place)
    (file,) = (place / ".gblint_cache").glob("*.db")
    return file.name, file.read_bytes(), out


def _with_cache(place: Path) -> str:
    (place / "model.py").write_bytes(MODEL)
    (place / "other.py").write_bytes(MODEL.replace(b"print", b"breakpoint"))
    (place / "pyproject.toml").write_text("[tool.gblint]\n")
    for file in place.iterdir():
        os.utime(file, (1e9, 1e9))
    outcome = check(Options(paths=(str(place),)))
    return FORMATS["json"](outcome, Style()).replace(str(place), "PLACE")


def check_caches(folder: Path, inputs: list[bytes]) -> Problems:
    """With a cache of any content the report is that of a run without one. An input says where to change it."""
    for number, data in enumerate(inputs):
        place = folder.parent / "kept"
        name, kept, expected = _kept(folder)
        damaged = bytearray(kept)
        for at in range(0, len(data) - 5, 5):
            offset = int.from_bytes(data[at : at + 4], "little") % len(damaged)
            damaged[offset] ^= data[at + 4]
        cut = len(damaged) if len(data) % 4 else int.from_bytes(data[:4], "little") % len(damaged)
        (place / ".gblint_cache" / name).write_bytes(damaged[:cut])
        if _with_cache(place) != expected:
            yield number, "a damaged cache was believed"


def offsets(more: tuple[Path, ...]) -> list[bytes]:
    return [bytes(range(20 * n, 20 * n + 10)) * (n + 1) for n in range(8)]


def _log(place: Path, data: bytes) -> Problems:
    (place / "run.log").write_bytes(data)
    for form in ("full", "json"):
        yield from command("logs", "run.log", "--output-format", form, cwd=place)
    yield from command("report", "GB0170", "run.log", cwd=place)


def _trace(place: Path, data: bytes) -> Problems:
    (place / "trace").mkdir()
    (place / "trace" / "dedicated_log_torch_trace_rank_0_x.log").write_bytes(data)
    for form in ("full", "json"):
        yield from command("logs", "trace", "--output-format", form, cwd=place)


def _page(place: Path, data: bytes) -> Problems:
    for number, name in enumerate(
        ("dynamo_graph_break_reason_1.txt", "compilation_metrics_2.html", "recompile_reasons_3.json")
    ):
        page = place / "out" / f"-_{number % 2}_0_0" / name
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_bytes(data)
    yield from command("logs", "out", cwd=place)


def read_logs(folder: Path, inputs: list[bytes]) -> Problems:
    """A log is read as far as it goes."""
    yield from _each(inputs, folder, _log)


def read_traces(folder: Path, inputs: list[bytes]) -> Problems:
    """So is a trace."""
    yield from _each(inputs, folder, _trace)


def read_pages(folder: Path, inputs: list[bytes]) -> Problems:
    """And what tlparse makes of one."""
    yield from _each(inputs, folder, _page)


def _commands(place: Path, data: bytes) -> Problems:
    (place / "pyproject.toml").write_text("[tool.gblint]\n")
    (place / "model.py").write_bytes(data)
    form = ("text", "json", "dot", "mermaid")[len(data) % 4]
    yield from command("graph", "-n", "-j1", "--roots", "all", "--output-format", form, cwd=place)
    yield from command("check", "-n", "-j1", "--compare-torch", "2.9", "--roots", "all", cwd=place)


def run_commands(folder: Path, inputs: list[bytes]) -> Problems:
    """`graph` and `check --compare-torch` of changed sources."""
    yield from _each(inputs, folder, _commands)


TARGETS = {
    "sources": Target(programs, SOURCE, check_sources, 60, 60_000, 58),
    "fixes": Target(programs, SOURCE, fix_sources, 20, 60_000, 10),
    "commands": Target(programs, SOURCE, run_commands, 20, 20_000, 4),
    "notebooks": Target(notebooks, (*TEXT, *SOURCE[-3:]), check_notebooks, 20, 60_000, 4),
    "settings": Target(settings, TEXT, check_settings, 50, 20_000, 6),
    "environments": Target(requirements, TEXT, check_environments, 50, 20_000, 3),
    "baselines": Target(findings_recorded, TEXT, check_baselines, 50, 20_000, 3),
    "verdicts": Target(verdicts, TEXT, check_verdicts, 50, 20_000, 3),
    "caches": Target(offsets, BYTES, check_caches, 50, 200, 3),
    "logs": Target(logs, TEXT, read_logs, 50, 120_000, 2),
    "traces": Target(traces, TEXT, read_traces, 50, 120_000, 2),
    "pages": Target(pages, TEXT, read_pages, 50, 50_000, 2),
}
