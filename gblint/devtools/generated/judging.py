"""What gblint says of generated programs, held against what Dynamo does with them."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from gblint.checking import Options, check
from gblint.devtools.accuracy import Predicted, from_finding
from gblint.devtools.dynamo import DynamoRunner
from gblint.devtools.observed import Observed

LIMIT = 8.0  # seconds that a program may run; some loop for ever


class Verdict(msgspec.Struct):
    """How a program was judged.

    breaks, findings: those that count, as "GB0124 @ 12". missed: breaks that no finding with their id covers. false:
    findings on rows that ran, and where Dynamo reported nothing of the kind. aside: how many findings stand on rows
    that never ran, of which nothing is known. invalid: why the program does not count, "" if it does.
    """

    seed: int
    breaks: list[str] = []
    findings: list[str] = []
    missed: list[str] = []
    false: list[str] = []
    aside: int = 0
    invalid: str = ""

    @property
    def kinds(self) -> set[str]:
        """The kinds of disagreement, such as "missed GB0124"."""
        missed = {f"missed {text.partition(' ')[0]}" for text in self.missed}
        return missed | {f"false {text.partition(' ')[0]}" for text in self.false}


def observations(programs: Mapping[int, str], runner: DynamoRunner) -> Iterator[tuple[int, Observed]]:
    """What the programs did, by seed and in order; of their output what is needed to compare runs."""
    seen = runner.observe_all(list(programs.values()), jobs=1, rows=True)
    for seed, one in zip(programs, seen, strict=True):
        lines = [line for line in one.output.splitlines() if line.startswith("checksum")]
        yield seed, msgspec.structs.replace(one, output="\n".join(lines))


def verdicts(programs: Mapping[int, str], observed: Mapping[int, Observed]) -> Iterator[Verdict]:
    """Judge what gblint says of programs, by seed; all are checked in one go."""
    with tempfile.TemporaryDirectory(prefix="gblint-generated-") as folder:
        files = {seed: Path(folder).resolve() / f"program_{seed}.py" for seed in programs}
        for seed, text in programs.items():
            files[seed].write_text(text, encoding="utf8")
        found = predictions(Path(folder))
    for seed, file in files.items():
        yield verdict(seed, observed[seed], found.get(str(file), []))


def predictions(folder: Path) -> dict[str, list[Predicted]]:
    """What `gblint check` reports of the files in a folder, by file; what an earlier break hides is left out."""
    outcome = check(Options(paths=(str(folder),), isolated=True, no_cache=True))
    by_file: dict[str, list[Predicted]] = {}
    for finding in outcome.findings:
        predicted = from_finding(finding)
        if not predicted.masked:
            by_file.setdefault(predicted.file, []).append(predicted)
    return by_file


def verdict(seed: int, seen: Observed, predicted: list[Predicted]) -> Verdict:
    """Judge the findings in one program by what it did."""
    if seen.error:
        return Verdict(seed, invalid=seen.error)
    breaks = {(b.row, b.gb_id) for b in seen.breaks}
    spare = {(b.row, b.gb_id) for b in seen.silent} | {(b.row, code) for b in seen.breaks for code in b.wrapped_by}
    ran = {*seen.ran.get("", ()), *seen.traced.get("", ())}
    judged = [p for p in predicted if any(p.covers(row) for row in ran)]
    right = [p for p in judged if any(p.code == code and p.covers(row) for row, code in breaks | spare)]
    counted = [p for p in judged if p not in right or any(p.code == code and p.covers(row) for row, code in breaks)]
    missed = {(row, code) for row, code in breaks if not any(p.code == code and p.covers(row) for p in judged)}
    return Verdict(
        seed,
        places(breaks),
        places({(p.row, p.code) for p in counted}),
        places(missed),
        places({(p.row, p.code) for p in counted if p not in right}),
        len(predicted) - len(judged),
    )


def places(pairs: set[tuple[int, str]]) -> list[str]:
    return [f"{code} @ {row}" for row, code in sorted(pairs)]
