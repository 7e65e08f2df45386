"""What Dynamo wrote is read alike from a log, a trace and tlparse's output, whatever state it is in."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from gblint.errors import GblintError
from gblint.verify.lines import LONGEST, bounded
from gblint.verify.message import function_name, parse
from gblint.verify.reading import read
from gblint.verify.said import RAISES, RESUMES, SKIPS, Frame
from gblint.verify.sites import Site, sites

RECORDED = Path(__file__).parent / "recorded"
RELEASES = ("2.9", "2.11", "2.13", "2.14")
LOG, TRACE, TLPARSE = (RECORDED / "2.13" / name for name in ("log.txt", "trace", "tlparse"))
PROGRAM = "/project/program.py"

# Row, id, what wraps it, how often, effect.
LOOP = (27, "GB0059", ("GB7000",), 1, SKIPS)
LOOP_2_9 = (27, "GB0059", (), 1, SKIPS)  # torch 2.9 does the same, but says nothing of it
SILENT = (39, "GB0003", (), 1, SKIPS)
LIMIT = (51, "GB0039", (), 1, SKIPS)
RAISED = (63, "GB0059", (), 1, RAISES)
LOGGED = [
    (13, "GB0007", (), 8, RESUMES),
    (24, "GB0124", (), 1, RESUMES),
    LOOP,
    (35, "GB0007", (), 1, RESUMES),
    (47, "GB0025", (), 2, RESUMES),
]
TRACED = [*LOGGED, LIMIT, RAISED]


def short(found: list[Site]) -> list[tuple[object, ...]]:
    assert {site.filename for site in found} <= {PROGRAM}
    return [(s.row, s.code, s.wraps, s.count, s.effect) for s in found]


def recording(file: Path) -> str:
    return "-".join(file.relative_to(RECORDED).parts[:2])


def in_release(release: str, expected: list[tuple[object, ...]]) -> list[tuple[object, ...]]:
    return sorted(LOOP_2_9 if release == "2.9" and item == LOOP else item for item in expected)


def comparable(site: Site) -> Site:
    """A site without what a log does not hold: what a compilation cost, and the rank if there is one process."""
    ids = [c.removeprefix("rank 0: ") for c in site.compile_ids]
    return msgspec.structs.replace(site, seconds=0.0, compile_ids=ids)


@pytest.mark.parametrize("release", RELEASES)
def test_log_trace_and_tlparse_say_the_same(release: str) -> None:
    folder = RECORDED / release
    log, trace, pages = (read(folder / name) for name in ("log.txt", "trace", "tlparse"))
    assert short(sites(trace)) == in_release(release, TRACED)
    assert [comparable(s) for s in sites(pages)] == [comparable(s) for s in sites(trace)]
    assert (pages.recompiles, pages.failures) == (trace.recompiles, trace.failures)
    assert (pages.torch, pages.compiled, pages.graphs, pages.processes) == (trace.torch, 22, 9, 1)
    assert pages.seconds == pytest.approx(trace.seconds, abs=1e-3)
    by_row = {s.row: comparable(s) for s in sites(trace)}
    for site in map(comparable, sites(log)):
        if site.row == SILENT[0]:  # refused before there was anything to trace
            assert short([site]) == [SILENT]
        elif site.row == RAISED[0]:  # a traceback tells no compile id
            assert site == msgspec.structs.replace(by_row.pop(site.row), compile_ids=[])
        elif site.row == LOOP[0] and release == "2.9":  # only the trace tells that no graph came of it
            assert short([site]) == [(27, "GB0059", (), 1, RESUMES)]
            assert site.reason == by_row.pop(site.row).reason
        else:
            assert site == by_row.pop(site.row)
    assert by_row == {}
    assert log.recompiles == trace.recompiles
    assert sum(log.recompiles.values()) == 7


@pytest.mark.parametrize("release", RELEASES)
def test_the_copy_of_a_trace_that_tlparse_keeps_is_read(release: str, tmp_path: Path) -> None:
    (trace,) = (RECORDED / release / "trace").iterdir()
    shutil.copytree(RECORDED / release / "tlparse", tmp_path / "one")
    for name in ("one/raw.log", "ranks/rank_0/raw.log", "ranks/rank_1/raw.log"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(trace, tmp_path / name)
    assert short(sites(read(tmp_path / "one"))) == in_release(release, TRACED)
    ranks = read(tmp_path / "ranks")
    assert ranks.processes == 2
    assert {c for s in sites(ranks) if s.row == 24 for c in s.compile_ids} == {"rank 0: 0/0", "rank 1: 0/0"}


def test_pages_of_several_ranks(tmp_path: Path) -> None:
    for rank in (0, 1):
        shutil.copytree(TLPARSE, tmp_path / f"rank_{rank}")
    said = read(tmp_path)
    assert said.processes == 2
    assert short(sites(said)) == sorted((row, code, wraps, 2 * n, effect) for row, code, wraps, n, effect in TRACED)
    assert {c for s in sites(said) if s.row == 24 for c in s.compile_ids} == {"rank 0: 0/0", "rank 1: 0/0"}


@pytest.mark.parametrize("release", RELEASES)
def test_a_traceback_alone_is_read(release: str, tmp_path: Path) -> None:
    """Of standard error without TORCH_LOGS; what stands before it is the warning that a limit was hit."""
    error = RECORDED / release / "error.txt"
    assert short(sites(read(error))) == [LIMIT, RAISED]
    lines = error.read_text().splitlines(keepends=True)
    start = max(n for n, line in enumerate(lines) if line.startswith("Traceback"))
    whole = next(s for s in sites(read(RECORDED / release / "trace")) if s.row == RAISED[0])
    for prefix in ("", "[rank1]: "):
        file = tmp_path / "error.txt"
        file.write_text("".join(prefix + line for line in lines[start:]))
        (site,) = sites(read(file))
        assert comparable(site) == msgspec.structs.replace(comparable(whole), compile_ids=[])


def test_a_break_in_a_library_belongs_to_the_row_of_yours_that_led_there() -> None:
    site = sites(read(TRACE))[0]
    assert site.library == Frame("/usr/lib/python3.11/copy.py", 76, "copy")
    assert (site.function, site.owner) == ("helper", "yours")
    assert [(f.row, f.function) for f in site.stack] == [(68, "<module>"), (33, "calls"), (13, "helper"), (76, "copy")]


def test_what_else_a_trace_tells() -> None:
    said = read(TRACE)
    item = next(site for site in sites(said) if site.code == "GB0124")
    assert (said.torch, said.compiled, said.graphs, said.processes) == ("2.13.0+cpu", 22, 9, 1)
    assert item.compile_ids == ["rank 0: 0/0"]
    assert item.restarts == 1
    assert 0 < item.seconds < said.seconds
    recompiled = {(r.function, r.row): r.reason for r in said.recompiles}
    assert recompiled["helper", 12] == "tensor 'x' size mismatch at index 0. expected 2, actual 3"
    assert recompiled.keys() == {(r.function, r.row) for r in read(LOG).recompiles}


def test_what_else_a_log_tells() -> None:
    said = read(LOG)
    assert {22, 23, 24, 26, 27, 34} <= said.traced[PROGRAM]
    assert 28 not in said.traced[PROGRAM]
    assert said.texts[PROGRAM, 27] == 'print("hi")'


def test_categories_and_hints() -> None:
    by_code = {(s.row, s.code): s for s in sites(read(LOG))}
    assert by_code[39, "GB0003"].category == "fundamental"
    assert by_code[27, "GB0059"].category == "supportable"
    assert by_code[27, "GB0059"].hints[0].startswith("Avoid calling builtin `print`")
    hint = "  Hint: This graph break may have been caused by an earlier graph break. Resolving"
    assert parse(f"Graph break in user code at a.py:1\nGraph Break Reason: Odd\n{hint}").category == "cascade"
    assert parse("Graph Break Reason: Odd\n  Hint: This is likely to be a Dynamo bug.").category == "dynamo-bug"


def test_names_of_resumed_functions() -> None:
    assert function_name("torch_dynamo_resume_in_forward_at_12") == "forward"
    assert function_name("torch_dynamo_resume_in_torch_dynamo_resume_in_f_at_3_at_4") == "f"
    assert function_name("resume") == "resume"


def test_colours_prefixes_and_line_ends_do_not_matter(tmp_path: Path) -> None:
    file = tmp_path / "log"
    text = LOG.read_text()
    for change in (
        lambda line: f"\x1b[31m{line}\x1b[0m",
        lambda line: f"2026-01-01T00:00:00Z {line}",
        lambda line: f"[default0]:{line}",
        lambda line: f"{line}\r",
    ):
        file.write_text("\n".join(map(change, text.split("\n"))), newline="")
        assert [s for s in short(sites(read(file))) if s != RAISED] == sorted([*LOGGED, LIMIT, SILENT])


def test_what_else_is_logged_does_not_hide_what_was_refused(tmp_path: Path) -> None:
    """With TORCH_LOGS=+dynamo the same file of torch's goes on logging."""
    lines = LOG.read_text().splitlines(keepends=True)
    last = max(n for n, line in enumerate(lines) if "gb0003.html" in line)
    other = re.sub(r"^I(.*?\.py):\d+\].*", r"V\1:77] torchdynamo start compiling f", lines[last], flags=re.DOTALL)
    file = tmp_path / "log"
    file.write_text("".join([*lines[: last + 1], f"{other}\n", *lines[last + 1 :]]))
    assert SILENT in short(sites(read(file)))


@pytest.mark.parametrize("release", RELEASES)
def test_processes_that_write_at_once_are_told_apart(release: str, tmp_path: Path) -> None:
    lines = [line for line in (RECORDED / release / "log.txt").read_text().splitlines() if "] [__" in line]
    first, second = (iter([line.replace("V", f"[rank{n}]:V", 1) for line in lines]) for n in (0, 1))
    chooser, mixed = random.Random(1), []
    for _ in lines:
        mixed += [next(first), next(second)] if chooser.random() < 0.5 else []
        if len(mixed) == 0:
            mixed.append(next(first))
    mixed += [*first, *second]
    file = tmp_path / "log"
    file.write_text("\n".join(mixed))
    said = read(file)
    assert said.processes == 2
    alone = {s[:2]: s for s in short(sites(read(RECORDED / release / "log.txt")))}
    expected = [alone[row, code] for row, code, *_ in LOGGED]
    assert short(sites(said)) == [(row, code, wraps, 2 * n, effect) for row, code, wraps, n, effect in expected]


def test_formatted_as_short(tmp_path: Path) -> None:
    reason = "Failed to trace builtin operator\n  Explanation: none\n\n see https://x/gb/gb0059.html"
    text = f"Graph break in user code at /p/a.py:3\nGraph Break Reason: {reason}\n\nUser code traceback:\n"
    text += '  File "/p/a.py", line 3, in f\n    print(x)\n\n'
    log = f"DEBUG:torch._dynamo.symbolic_convert.__graph_breaks:{text}"
    log += "DEBUG:torch._dynamo.symbolic_convert.__trace_source:TRACE starts_line /p/a.py:4 in f (f)\n    y = 1\n"
    (tmp_path / "log").write_text(log)
    said = read(tmp_path / "log")
    assert [(s.filename, s.row, s.code) for s in sites(said)] == [("/p/a.py", 3, "GB0059")]
    assert said.traced == {"/p/a.py": {4}}


# -------------------------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize("source", [*RECORDED.glob("*/log.txt"), *RECORDED.glob("*/trace/*.log")], ids=recording)
def test_cut_anywhere_gives_what_stands_before(source: Path, tmp_path: Path) -> None:
    data = source.read_bytes()
    whole = {site[:2] for site in short(sites(read(source)))}
    last = 0
    for share in range(1, 40):
        file = tmp_path / "cut.log"
        file.write_bytes(data[: len(data) * share // 40])
        found = {(s.row, s.code) for s in sites(read(file)) if s.code and s.owner == "yours"}
        assert found <= whole
        assert len(found) >= last
        last = len(found)
    assert last >= 4


@pytest.mark.parametrize("source", [*RECORDED.glob("*/log.txt"), *RECORDED.glob("*/trace/*.log")], ids=recording)
def test_damage_never_crashes(source: Path, tmp_path: Path) -> None:
    chooser = random.Random(0)
    data = source.read_bytes()
    for _ in range(30):
        damaged = bytearray(data)
        for _ in range(200):
            damaged[chooser.randrange(len(damaged))] = chooser.randrange(256)
        file = tmp_path / "damaged.log"
        file.write_bytes(damaged)
        sites(read(file))


def test_damaged_pages_never_crash(tmp_path: Path) -> None:
    chooser = random.Random(0)
    shutil.copytree(TLPARSE, tmp_path / "tl")
    for page in sorted(path for path in (tmp_path / "tl").rglob("*") if path.is_file()):
        damaged = bytearray(page.read_bytes())
        for _ in range(len(damaged) // 50):
            damaged[chooser.randrange(len(damaged))] = chooser.randrange(256)
        page.write_bytes(damaged)
    sites(read(tmp_path / "tl"))


def test_numbers_in_pages_that_are_none_are_left_out(tmp_path: Path) -> None:
    shutil.copytree(TLPARSE, tmp_path / "tl")
    for page in sorted((tmp_path / "tl").rglob("compilation_metrics_*.html")):
        text = page.read_text("utf-8")
        text = re.sub(r"(</abbr>: )[\d.]+", r"\g<1>0..04", text)
        page.write_text(re.sub(r"(Graph Ops: )\d+", rf"\g<1>{'9' * 5000}", text), "utf-8")
    assert sites(read(tmp_path / "tl"))


def test_huge_lines_are_cut(tmp_path: Path) -> None:
    file = tmp_path / "huge"
    file.write_bytes(b"x" * (3 * LONGEST + 5) + b"\nsecond\n" + b"y" * LONGEST)
    with file.open("rb") as stream:
        assert [len(line) for line in bounded(stream)] == [LONGEST, 6, LONGEST]
    line = LOG.read_bytes().splitlines()[0]
    file.write_bytes(line + b"z" * (2 * LONGEST) + b"\n" + LOG.read_bytes())
    assert len(sites(read(file))) == 8


@pytest.mark.parametrize(
    "unit", ["[1", "[11111111", "V1129 00:00:00.0 1 a:1", "] [__", "[rank0]:", 'File "', ": in ", "GB "]
)
def test_no_line_takes_long(unit: str, tmp_path: Path) -> None:
    """Patterns that try every way to read a long line would take hours for these."""
    file = tmp_path / "log"
    marks = "torch._dynamo raph break ] [__graph_breaks] TRACE starts_line "
    prefix = "V1129 19:54:28.1 15879 torch/a.py:1] [0/0] [__graph_breaks] Graph break in user code at "
    lines = [head + unit[:1] + unit[1:] * (300_000 // max(1, len(unit) - 1)) for head in ("", marks, prefix)]
    file.write_text("\n".join([*lines, marks + unit * (300_000 // len(unit))]))
    start = time.monotonic()
    sites(read(file))
    assert time.monotonic() - start < 10


def test_memory_does_not_grow_with_the_log(tmp_path: Path) -> None:
    """300 MB, more would only take longer: the peak stays where a small log puts it."""
    file = tmp_path / "large.log"
    data = LOG.read_bytes()
    with file.open("wb") as stream:
        for _ in range(300_000_000 // len(data)):
            stream.write(data)
    program = (
        "import resource, sys; from pathlib import Path; from gblint.verify.reading import read\n"
        "said = read(Path(sys.argv[1])); print(len(said.breaks), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    peaks = []
    for path in (LOG, file):
        done = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True)
        count, peak = map(int, done.stdout.split())
        assert count == 8
        peaks.append(peak)
    assert peaks[1] < peaks[0] + 20_000


def test_hostile_text_is_escaped(tmp_path: Path, gblint: Callable) -> None:
    nasty = "\x1b]0;owned\x07\x1b[2J<script>alert(1)</script>\u202e\x9b31m"
    text = LOG.read_text().replace("Attempt to trace generator", f"Attempt {nasty}").replace("`print`", nasty)
    file = tmp_path / "log"
    file.write_text(text)
    for form in ("full", "concise", "json"):
        out = gblint("logs", file, "--output-format", form).out
        assert [c for c in out if (ord(c) < 32 and c != "\n") or (c in "\x7f\x9b\u202e" and form != "json")] == []
    assert "<script>" in gblint("logs", file, "--output-format", "concise").out  # as text: no format is HTML


def test_path_tricks_stay_outside(tmp_path: Path, gblint: Callable) -> None:
    folder = tmp_path / "tl" / "-_0_0_0"
    shutil.copytree(TLPARSE, tmp_path / "tl")
    before = sorted(tmp_path.rglob("*"))
    reason = next(folder.iterdir())
    reason.write_text(reason.read_text().replace(PROGRAM, "/project/../../etc/passwd\x00"))
    (tmp_path / "tl" / "loop").symlink_to(tmp_path / "tl", target_is_directory=True)
    assert gblint("logs", tmp_path / "tl").code == 1
    assert any(site.filename.startswith("/project/../..") for site in sites(read(tmp_path / "tl")))
    assert sorted(p for p in tmp_path.rglob("*") if p.name != "loop" and "loop" not in p.parts) == before


def test_files_that_a_log_names_may_be_anything(tmp_path: Path, gblint: Callable) -> None:
    pipe = tmp_path / "pipe.py"
    os.mkfifo(pipe)
    for name in (str(pipe), "/dev/zero", str(tmp_path), "x" * 5000):
        file = tmp_path / "log"
        file.write_text(LOG.read_text().replace(PROGRAM, name))
        result = gblint("logs", file)
        assert result.code in (0, 1)


def test_what_holds_nothing_is_said(tmp_path: Path, gblint: Callable) -> None:
    with pytest.raises(GblintError, match="no such file"):
        read(tmp_path / "absent")
    with pytest.raises(GblintError, match="neither a trace nor"):
        read(tmp_path)
    empty = tmp_path / "empty.txt"
    empty.write_bytes(os.urandom(5000))
    result = gblint("logs", empty)
    assert result.code == 0
    assert "says nothing of Dynamo" in result.err
    assert gblint("logs", tmp_path / "absent").code == 2


# ---------------------------------------------------------------------------------------------------------- command


def test_the_command(gblint: Callable) -> None:
    result = gblint("logs", TRACE)
    assert result.code == 1
    assert result.out.index(f"{PROGRAM}:63 GB0059") < result.out.index(f"{PROGRAM}:13 GB0007 ")
    assert "it happens in copy (/usr/lib/python3.11/copy.py:76)" in result.out
    assert "Read 7 places in 1 file where the graph breaks." in result.out
    assert gblint("logs", TRACE, "--exit-zero", "-q").code == 0


def test_json(gblint: Callable) -> None:
    data = json.loads(gblint("logs", TRACE, "--output-format", "json").out)
    assert [(b["row"], b["code"], b["count"]) for b in data["breaks"]] == [
        (row, code, n) for row, code, _, n, _ in sorted(TRACED)
    ]
    assert data["breaks"][0]["library"]["row"] == 76
    assert (data["torch"], data["graphs"]) == ("2.13.0+cpu", 9)
    assert len(data["recompiles"]) == 7
