"""Records what torch says of program.py, for the tests of reading it:

    python tests/verify/recorded/record.py VENV/bin/python...

Each PYTHON has a release of torch (CPU is enough); what it says goes to the folder of that release beside this file:
log.txt is standard error with TORCH_LOGS, error.txt without, trace/ what TORCH_TRACE wrote, tlparse/ what tlparse makes
of that, less its copy of the trace. `tlparse` has to be on PATH.

Recordings are kept small and free of places: records and fields that gblint does not read are left out, most rows of
torch's own stacks too, and paths are /project, /venv and /usr/lib.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from gblint.verify.compilations import PAYLOADS, Metrics
from gblint.verify.environment import ASKED
from gblint.verify.tlparse import NUMBERED

HERE = Path(__file__).parent
PATHS = "[torch.__version__, sysconfig.get_path('stdlib'), torch.__path__[0]]"
ABOUT = f"import json, sysconfig, torch; print(json.dumps({PATHS}))"
LOOKS = re.compile(r"<(style|script)>.*?</\1>", re.DOTALL)
OWN = re.compile(r'( +)File "/venv/\S+/torch/_')
HEAD = re.compile(r"^(?:[VIWEC]\d{4} \S+ \d+ \S+\] (?:\[[\w/]+\] )?(?:\[__\w+\] )?|\t)")


def main(pythons: Iterable[str]) -> None:
    for python in pythons:
        version, stdlib, torch = json.loads(subprocess.check_output([python, "-c", ABOUT]))
        folder = HERE / ".".join(version.split(".")[:2])
        shutil.rmtree(folder, ignore_errors=True)
        with tempfile.TemporaryDirectory() as name:
            scratch = Path(name).resolve()
            shutil.copy(HERE / "program.py", scratch)
            places = {
                rf"[/\w]*{scratch.name}": "/project",  # in some messages torch cuts the beginning of a path off
                re.escape(stdlib): "/usr/lib/python3.11",
                re.escape(torch): "/venv/lib/python3.11/site-packages/torch",
            }
            record(python, scratch, folder, places)
        print(version, "->", folder)


def record(python: str, scratch: Path, folder: Path, places: dict[str, str]) -> None:
    """Run the program twice, tlparse once, and write what they leave. places: what to call paths, by pattern."""
    write(folder / "error.txt", shortened(run(python, scratch, {}), places))
    logged = run(python, scratch, {"TORCH_LOGS": ",".join(ASKED), "TORCH_TRACE": str(scratch / "trace")})
    write(folder / "log.txt", shortened(logged, places))
    (traced,) = (scratch / "trace").iterdir()
    subprocess.run(["tlparse", str(traced), "-o", str(scratch / "tlparse"), "--no-browser"], check=True, stdout=2)
    lines = read_in_part(traced.read_text().splitlines(keepends=True))
    write(folder / "trace" / "dedicated_log_torch_trace_rank_0_x.log", shortened("".join(lines), places))
    for page in (scratch / "tlparse").rglob("*"):
        if NUMBERED.match(page.name):
            write(
                folder / "tlparse" / page.relative_to(scratch / "tlparse"),
                LOOKS.sub("", shortened(page.read_text(), places)),
            )


def run(python: str, scratch: Path, settings: dict[str, str]) -> str:
    env = {name: value for name, value in os.environ.items() if not name.startswith("TORCH")}
    done = subprocess.run(
        [python, "program.py"],
        cwd=scratch,
        env={**env, **settings},
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    )
    return done.stderr


def read_in_part(lines: Iterable[str]) -> Iterator[str]:
    """The records of a trace that gblint reads, and of them the fields that it does."""
    wanted = False
    for line in lines:
        if not line.startswith("\t"):
            head, _, data = line.partition("] {")
            known = json.loads("{" + data)
            wanted = not known.keys().isdisjoint({"str", "dynamo_start", "compilation_metrics"}) or (
                known.get("artifact", {}).get("name") in PAYLOADS
            )
            if metrics := known.get("compilation_metrics"):
                fields = {field.name for field in msgspec.structs.fields(Metrics)}
                known["compilation_metrics"] = {name: value for name, value in metrics.items() if name in fields}
            line = f"{head}] {json.dumps(known)}\n"
        if wanted:
            yield line


def shortened(text: str, places: dict[str, str]) -> str:
    """A text without most rows of torch's stacks, and with other names for paths."""
    for path, name in places.items():
        text = re.sub(path, name, text)
    kept, inside, depth = [], 0, 0
    for line in text.splitlines(keepends=True):
        body = HEAD.sub("", line)
        if row := OWN.match(body):
            inside, depth = inside + 1, len(row[1])
        elif len(body) - len(body.lstrip(" ")) <= depth:
            inside = 0
        if inside <= 1:
            kept.append(line)
    return "".join(kept)


def write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


if __name__ == "__main__":
    main(sys.argv[1:])
