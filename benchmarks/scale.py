"""How time and memory of `gblint check` grow with the project: synthetic projects up to 20,000 files and 5 M lines.

    python benchmarks/scale.py [--lines N ...] [--jobs N] [--json FILE] [--svg FILE]

The files are made by a generator with a seed: packages of models that import layers and helpers of each other, a few
breaks in each, and much code that nothing compiled calls. Every size is checked without a cache, in a process of its
own; memory is the most that it and its workers held at once. After the largest, the same check is interrupted half-way,
and it is measured how long it takes to end.
"""

from __future__ import annotations

import argparse
import json
import os
import pty
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).parent))
from speed import measure

SIZES = (50_000, 500_000, 1_500_000, 3_000_000, 5_000_000)
LINES = 250  # of a file
MODULES = 20  # of a package: a model, its layers, helpers and plain code
DONE = (0, 1)


@dataclass(frozen=True)
class Size:
    """One measured project."""

    files: int
    lines: int
    wall_s: float
    cpu_s: float
    peak_mb: float
    findings: int


# --------------------------------------------------------------------------------------------------------- generator

MODEL = '''
class Block{n}(nn.Module):
    """Block {n} of {package}."""

    def __init__(self, width: int = {width}, heads: int = {heads}) -> None:
        super().__init__()
        self.width, self.heads = width, heads
        self.norm = nn.LayerNorm(width)
        self.first = nn.Linear(width, {factor} * width)
        self.second = nn.Linear({factor} * width, width)
        self.drop = nn.Dropout(0.{heads})

    def forward(self, x, mask=None):
        residual = x
        x = self.norm(x)
        if mask is not None:
            x = x.masked_fill(mask.unsqueeze(-1), 0.0)
        x = {helper}(self.first(x), self.heads)
        {extra}
        return residual + self.drop(self.second(x))
'''
HELPER = '''
def {name}(x, scale: float = {width}.0):
    """Scales and bends."""
    shape = x.shape
    x = x.reshape(-1, shape[-1]) / scale
    x = torch.nn.functional.{function}(x)
    {extra}
    return x.reshape(shape)
'''
PLAIN = '''
def read_{n}(path, limit={width}):
    """Reads rows of table {n}."""
    rows = []
    with open(path, encoding="utf8") as file:
        for number, line in enumerate(file):
            if number > limit:
                break
            name, _, value = line.strip().partition("=")
            rows.append((name, float(value or {heads})))
    total = sum(value for _, value in rows)
    return {{"rows": rows, "total": total, "mean": total / max(len(rows), 1)}}
'''
BREAKS = (
    "if x.sum() > {width}: x = -x",
    "print(x.shape)",
    "x = x * x.max().item()",
    "x = x[x > {heads}].sum() + x",
)
FUNCTIONS = ("gelu", "relu", "silu", "softplus", "tanh", "sigmoid")


def generate(folder: Path, lines: int, seed: int = 1) -> tuple[int, int]:
    """Write a project of about so many lines; how many files and lines there are."""
    (folder / "pyproject.toml").write_text("[project]\nname = 'scale'\n")
    files = written = 0
    while written < lines:
        package = f"pack{files // MODULES:04}"
        random = Random(f"{seed} {files}")
        place = folder / package
        place.mkdir(exist_ok=True)
        name = "__init__" if files % MODULES == 0 else f"part{files % MODULES:02}"
        text = "" if name == "__init__" else _module(random, package, files % MODULES)
        (place / f"{name}.py").write_text(text)
        files += 1
        written += text.count("\n")
    return files, written


def _module(random: Random, package: str, number: int) -> str:
    """A module: one in four holds models, which use the helpers of the module before."""
    kind = "models" if number % 4 == 0 else "helpers" if number % 4 == 3 else "plain"
    parts = ["import torch\nfrom torch import nn\n" if kind != "plain" else "import math\n"]
    if kind == "models":
        parts[0] += f"\nfrom {package}.part{number - 1:02} import help_0, help_1, help_2\n"
    count = 0
    while sum(part.count("\n") for part in parts) < LINES:
        width, heads = random.randrange(8, 900), random.randrange(1, 9)
        rare = random.random() < 0.05
        extra = random.choice(BREAKS).format(width=width, heads=heads) if rare else "x = x + 1"
        values = {"n": count, "package": package, "width": width, "heads": heads, "extra": extra}
        values |= {"factor": random.randrange(2, 5), "helper": f"help_{random.randrange(3)}", "name": f"help_{count}"}
        template = {"models": MODEL, "helpers": HELPER, "plain": PLAIN}[kind]
        parts.append("\n" + template.format(**values, function=random.choice(FUNCTIONS)))
        count += 1
    return "".join(parts)


# --------------------------------------------------------------------------------------------------------- measuring


def command(folder: Path, jobs: int) -> list[str]:
    return [sys.executable, "-m", "gblint", "check", str(folder), "-n", "-j", str(jobs), "--output-format", "json"]


def check(folder: Path, files: int, lines: int, jobs: int) -> Size:
    run = measure(command(folder, jobs), accept=DONE)
    found = len(json.loads(run.stdout))
    return Size(files, lines, round(run.wall_s, 1), round(run.cpu_s, 1), round(run.peak_mb), found)


def interrupted(folder: Path, jobs: int, after: float) -> tuple[float, int, bool]:
    """Seconds from Ctrl-C to the end, the exit code, and whether progress had been shown on the terminal."""
    master, terminal = pty.openpty()
    process = subprocess.Popen(
        command(folder, jobs),
        stdout=subprocess.DEVNULL,
        stderr=terminal,
        env={**os.environ, "TERM": "xterm"},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        start_new_session=True,
    )
    os.close(terminal)
    shown = b""
    os.set_blocking(master, False)
    end = time.monotonic() + after
    while time.monotonic() < end and process.poll() is None:
        time.sleep(0.1)
        shown += _read(master)
    begin = time.monotonic()
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: all of its processes hear of it
    while process.poll() is None:
        time.sleep(0.01)
        _read(master)
    return time.monotonic() - begin, process.returncode, b"/" in shown


def _read(master: int) -> bytes:
    try:
        return os.read(master, 1 << 16)
    except OSError:
        return b""


# ----------------------------------------------------------------------------------------------------------- plotting

WIDTH, HEIGHT, MARGIN = 720, 360, 56


def plot(sizes: list[Size]) -> str:
    """An SVG: seconds of all processors and peak memory against lines, with a straight line through the largest."""
    most, top = max(s.lines for s in sizes), max(s.cpu_s for s in sizes) * 1.1
    memory = max(s.peak_mb for s in sizes) * 1.6

    def at(lines: float, share: float) -> str:
        across, up = (WIDTH - 2 * MARGIN) * lines / most, (HEIGHT - 2 * MARGIN) * share
        return f"{MARGIN + across:.0f},{HEIGHT - MARGIN - up:.0f}"

    def curve(points: list[str], colour: str) -> str:
        dots = "".join('<circle cx="{}" cy="{}" r="4" fill="{}"/>'.format(*p.split(","), colour) for p in points)
        return f'<polyline points="{" ".join(points)}" fill="none" stroke="{colour}" stroke-width="2"/>{dots}'

    def label(where: str, text: str, anchor: str = "middle") -> str:
        x, y = where.split(",")
        return f'<text x="{x}" y="{y}" text-anchor="{anchor}">{text}</text>'

    largest = max(sizes, key=lambda s: s.lines)
    straight = (at(0, 0), at(most, largest.cpu_s / top))
    times = [at(s.lines, s.cpu_s / top) for s in sizes]
    peaks = [at(s.lines, s.peak_mb / memory) for s in sizes]
    bottom = HEIGHT - MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}"',
        ' font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        f'<path d="M{MARGIN},{MARGIN}V{bottom}H{WIDTH - MARGIN}V{MARGIN}" fill="none" stroke="#888"/>',
        f'<path d="M{straight[0]}L{straight[1]}" stroke="#bbb" stroke-dasharray="6 4"/>',
        curve(times, "#d84315"),
        curve(peaks, "#1565c0"),
        label(f"{MARGIN},{MARGIN - 12}", f"processor seconds (top: {top:,.0f})", "start"),
        label(f"{WIDTH - MARGIN},{MARGIN - 12}", f"peak MB (top: {memory:,.0f})", "end"),
        *(label(f"{at(s.lines, 0).split(',')[0]},{bottom + 18}", f"{s.lines / 1e6:.2g} M") for s in sizes),
        label(f"{WIDTH // 2},{HEIGHT - 12}", "lines; red: time, blue: memory, dashed: proportional to the largest"),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--jobs", "-j", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there as well")
    parser.add_argument("--svg", type=Path, metavar="FILE", help="draw them there")
    arguments = parser.parse_args()
    sizes = []
    print(f"{'files':>8}{'lines':>12}{'wall s':>9}{'CPU s':>9}{'peak MB':>9}{'findings':>10}{'CPU s / M lines':>17}")
    for lines in sorted(arguments.lines):
        with tempfile.TemporaryDirectory(prefix="gblint-scale-") as scratch:
            folder = Path(scratch).resolve()
            files, written = generate(folder, lines)
            size = check(folder, files, written, arguments.jobs)
            sizes.append(size)
            row = f"{size.files:>8,}{size.lines:>12,}{size.wall_s:>9.1f}{size.cpu_s:>9.1f}{size.peak_mb:>9,.0f}"
            print(f"{row}{size.findings:>10,}{size.cpu_s / size.lines * 1e6:>17.1f}", flush=True)
            if lines == max(arguments.lines):
                seconds, code, shown = interrupted(folder, arguments.jobs, size.wall_s / 2)
                seen = "shown" if shown else "not shown"
                print(f"Ctrl-C half-way: ended after {seconds:.2f} s with {code}, progress was {seen}", flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps([asdict(size) for size in sizes], indent=1) + "\n", "utf8")
    if arguments.svg:
        arguments.svg.write_text(plot(sizes), "utf8")


if __name__ == "__main__":
    main()
