"""How good findings are, judged by labelled programs and by recorded truth.

In a program every line is known, so every finding is judged. In a library only what was measured is: a finding counts
when its span holds a row that Dynamo traced, others say nothing either way. A finding *hits* a break when its span
covers the break's row, and hits it *with the id* when its code is the break's id (in a library also: that of a break
reported around it). Findings that say they are masked by another are left out in programs, where Dynamo cannot have
seen them.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from gblint.devtools.labels import Labels, Place
from gblint.devtools.observed import UNNUMBERED
from gblint.devtools.programs import files_of, labels_of, main_file
from gblint.devtools.truth import Key, Truth, library_of
from gblint.findings.finding import Finding

MAX_SPAN = 30  # rows of a finding that count, so that flagging whole functions does not pay


class Predicted(msgspec.Struct, frozen=True):
    """What scoring and fitting need of a finding; `end` is its last row, the rest as in `Finding`."""

    file: str
    row: int
    end: int
    code: str
    confidence: float = 1.0
    masked: bool = False
    name: str = ""
    certainty: float = 1.0
    guards: int = 0
    root_kind: str = "explicit"
    inline: int = 0

    def covers(self, row: int) -> bool:
        return self.row <= row <= self.end

    def __str__(self) -> str:
        return f"{self.code} at {self.file}:{self.row} ({self.confidence:.2f})"


def from_finding(finding: Finding) -> Predicted:
    end = max(finding.row, finding.end_row)
    masked = finding.consequence == "masked"
    return Predicted(
        finding.filename, finding.row, end, finding.code, finding.confidence, masked,
        finding.name, finding.certainty, finding.guards, finding.root_kind,
        finding.inline,
    )  # fmt: skip


def from_json(finding: Mapping[str, Any]) -> Predicted:
    """A finding in ruff's JSON shape; only its code, filename and location have to be there. Raises KeyError."""
    row = finding["location"]["row"]
    end = (finding.get("end_location") or {}).get("row") or row
    masked = str(finding.get("consequence", "")).startswith("masked")
    confidence = float(finding.get("confidence", 1.0))
    return Predicted(
        finding["filename"], row, max(row, end), finding["code"], confidence, masked,
        finding.get("name", ""), float(finding.get("certainty", 1.0)), int(finding.get("guards", 0)),
        finding.get("root_kind", "explicit"), int(finding.get("inline", 0)),
    )  # fmt: skip


class Tally(msgspec.Struct):
    """Counts of one rule, library or collection. found, hits: with any id; found_id, hits_id: with the right one."""

    breaks: int = 0
    found: int = 0
    found_id: int = 0
    findings: int = 0
    hits: int = 0
    hits_id: int = 0

    def figures(self) -> dict[str, float | None]:
        return {
            "recall": _ratio(self.found, self.breaks),
            "precision": _ratio(self.hits, self.findings),
            "recall_id": _ratio(self.found_id, self.breaks),
            "precision_id": _ratio(self.hits_id, self.findings),
        }


class Score(msgspec.Struct):
    """Figures by name (None where there is nothing to divide by), tallies by rule and by group, errors in words."""

    figures: dict[str, float | None]
    rules: dict[str, Tally]
    groups: dict[str, Tally]
    missed: list[str]
    noisy: list[str]


def _ratio(part: float, whole: float) -> float | None:
    return round(part / whole, 4) if whole else None


# ------------------------------------------------------------------------------------------------------- programs


class _ProgramFiles(msgspec.Struct):
    """A program with the predictions for its files and its labels as (file, row, id)."""

    name: str
    predicted: list[Predicted]
    expect: set[Place]
    spare: set[Place]


def score_programs(
    predicted: Iterable[Predicted], programs: Sequence[Path], truth: Mapping[Path, Labels] | None = None
) -> Score:
    """Judge findings in programs by their labels; file names must be those of the programs, absolute.

    truth: the labels of each program, where they are not those of its header.
    """
    by_file = _by_file(predicted)
    score = Score({}, {}, {}, [], [])
    total = Tally()
    exact = 0
    for program in programs:
        labels = labels_of(program) if truth is None else truth[program]
        exact += _judge_program(_with_predictions(program, labels, by_file), total, score)
    score.figures = {**total.figures(), "exact": _ratio(exact, len(programs))}
    score.groups = {"all": total}
    return score


def program_verdicts(predicted: Iterable[Predicted], programs: Sequence[Path]) -> Iterator[tuple[Predicted, bool]]:
    """The findings that programs judge, with whether they hit a break; file names as for `score_programs`."""
    by_file = _by_file(predicted)
    for program in programs:
        labelled = _with_predictions(program, labels_of(program), by_file)
        for finding in labelled.predicted:
            hit = any(_hits(finding, place) for place in labelled.expect)
            if hit or not any(_hits(finding, place) for place in labelled.spare):
                yield finding, hit


def _by_file(predicted: Iterable[Predicted]) -> dict[str, list[Predicted]]:
    by_file: dict[str, list[Predicted]] = {}
    for finding in predicted:
        if not finding.masked:
            by_file.setdefault(finding.file, []).append(finding)
    return by_file


def _with_predictions(program: Path, labels: Labels, by_file: Mapping[str, list[Predicted]]) -> _ProgramFiles:
    main = main_file(program).resolve()

    def absolute(places: Iterable[Place]) -> set[Place]:
        return {Place(str(main.parent / p.file if p.file else main), p.row, p.code) for p in places}

    mine = [finding for file in files_of(program) for finding in by_file.get(str(file.resolve()), [])]
    spare = absolute(labels.also | labels.silent)
    return _ProgramFiles(program.name, mine, absolute(labels.expect), spare)


def _judge_program(program: _ProgramFiles, total: Tally, score: Score) -> bool:
    """Count one program in; whether its breaks were found with their ids and nothing else was said."""
    found = {place for place in program.expect if any(_hits(f, place) for f in program.predicted)}
    found_id = {place for place in found if any(_hits_id(f, place) for f in program.predicted)}
    for place in program.expect:
        for tally in (total, score.rules.setdefault(place.code, Tally())):
            tally.breaks += 1
            tally.found += place in found
            tally.found_id += place in found_id
    for place in sorted(program.expect - found_id):
        other = " (under another id)" if place in found else ""
        score.missed.append(f"{program.name}: {place.code} at {Path(place.file).name}:{place.row}{other}")
    right = found_id == program.expect
    for finding in program.predicted:
        right &= _judge_finding(finding, program, total, score)
    return right


def _judge_finding(finding: Predicted, program: _ProgramFiles, total: Tally, score: Score) -> bool:
    """Count one finding in; whether it has the right id. One on a line with only `also` or `silent` ids is not held
    against the analyzer unless it has yet another id."""
    wanted = any(_hits(finding, place) for place in program.expect)
    spared = any(_hits(finding, place) for place in program.spare)
    right = any(_hits_id(finding, place) for place in program.expect | program.spare)
    if not wanted and not spared:
        score.noisy.append(f"{program.name}: {finding.code} at {Path(finding.file).name}:{finding.row}")
    counted = wanted or not spared
    for tally in (total, score.rules.setdefault(finding.code, Tally())):
        tally.findings += counted
        tally.hits += wanted
        tally.hits_id += right if counted else right - 1
    return right


def _hits(finding: Predicted, place: Place) -> bool:
    return finding.file == place.file and finding.covers(place.row)


def _hits_id(finding: Predicted, place: Place) -> bool:
    """A break that Dynamo gave no id is answered by any: there is no right one to say."""
    return place.code in (finding.code, UNNUMBERED) and _hits(finding, place)


# ------------------------------------------------------------------------------------------------------ libraries


class _Judged(msgspec.Struct, frozen=True):
    """A finding that stands on measured rows. near: its span holds a row of some break's user stack."""

    finding: Predicted
    file: str
    traced: bool
    sites: tuple[Key, ...]
    id_sites: tuple[Key, ...]
    near: bool


def score_truth(predicted: Iterable[Predicted], truth: Truth, min_confidence: float = 0.0) -> Score:
    """Judge findings in libraries by recorded truth.

    Recall and precision are of findings at or above `min_confidence`; the average precision is of all, in order of
    confidence.
    """
    everything = [judged for finding in predicted if (judged := _judge(finding, truth))]
    sure = [judged for judged in everything if judged.finding.confidence >= min_confidence]
    traced = [judged for judged in sure if judged.traced]
    hit = {key for judged in traced for key in judged.sites}
    figures = {
        **_figures(traced, truth),
        "average_precision": _average_precision(everything, truth, lambda judged: judged.sites),
        "average_precision_id": _average_precision(everything, truth, lambda judged: judged.id_sites),
    }
    figures |= {f"executed_{name}": figure for name, figure in _figures(sure, truth).items()}
    return Score(
        figures,
        _tallies(traced, truth, lambda key: truth.sites[key].ids, lambda judged: judged.finding.code),
        _tallies(traced, truth, lambda key: (library_of(key[0]),), lambda judged: library_of(judged.file)),
        [_site_text(key, truth) for key in sorted(truth.sites) if key not in hit],
        [str(msgspec.structs.replace(j.finding, file=j.file)) for j in traced if not j.sites],
    )


def truth_verdicts(predicted: Iterable[Predicted], truth: Truth) -> Iterator[tuple[Predicted, bool]]:
    """The findings on traced rows, with whether they hit a break."""
    for finding in predicted:
        judged = _judge(finding, truth)
        if judged is not None and judged.traced:
            yield finding, bool(judged.sites)


def _site_text(key: Key, truth: Truth) -> str:
    site = truth.sites[key]
    return f"{'/'.join(site.ids)} at {key[0]}:{key[1]} in {site.function} ({', '.join(site.models)})"


def _judge(finding: Predicted, truth: Truth) -> _Judged | None:
    """The finding with what it hits, or None where nothing was measured."""
    file = truth.place(finding.file)
    last = min(finding.end, finding.row + MAX_SPAN - 1)
    sites = tuple((file, row) for row in truth.rows.get(file, ()) if finding.row <= row <= last)
    traced = bool(sites) or _any_between(truth.traced.get(file, []), finding.row, last)
    if not traced and not _any_between(truth.executed.get(file, []), finding.row, last):
        return None
    id_sites = tuple(key for key in sites if truth.sites[key].answers_to(finding.code))
    near = bool(sites) or _any_between(truth.frames.get(file, []), finding.row, last)
    return _Judged(finding, file, traced, sites, id_sites, near)


def _any_between(rows: list[int], first: int, last: int) -> bool:
    index = bisect.bisect_left(rows, first)
    return index < len(rows) and rows[index] <= last


def _figures(judged: list[_Judged], truth: Truth) -> dict[str, float | None]:
    hit = {key for one in judged for key in one.sites}
    hit_id = {key for one in judged for key in one.id_sites}
    return {
        "judged": len(judged),
        "recall": _ratio(len(hit), len(truth.sites)),
        "recall_lines": _by_pattern(hit, truth),
        "precision": _ratio(sum(bool(one.sites) for one in judged), len(judged)),
        "precision_near": _ratio(sum(one.near for one in judged), len(judged)),
        "recall_id": _ratio(len(hit_id), len(truth.sites)),
        "recall_lines_id": _by_pattern(hit_id, truth),
        "precision_id": _ratio(sum(bool(one.id_sites) for one in judged), len(judged)),
    }


def _by_pattern(hit: set[Key], truth: Truth) -> float | None:
    """Recall in which the copies of one line count once together."""
    shares = (sum(key in hit for key in keys) / len(keys) for keys in truth.patterns)
    return _ratio(sum(shares), len(truth.patterns))


def _average_precision(judged: list[_Judged], truth: Truth, hits: Callable[[_Judged], tuple[Key, ...]]) -> float | None:
    """Precision averaged over the steps of recall; findings of equal confidence are one step."""
    by_confidence: dict[float, list[_Judged]] = {}
    for one in judged:
        if one.traced:
            by_confidence.setdefault(one.finding.confidence, []).append(one)
    seen: set[Key] = set()
    count = right = 0
    area = 0.0
    for confidence in sorted(by_confidence, reverse=True):
        step = by_confidence[confidence]
        before = len(seen)
        count += len(step)
        right += sum(bool(hits(one)) for one in step)
        seen.update(key for one in step for key in hits(one))
        area += (len(seen) - before) * right / count
    return _ratio(area, len(truth.sites))


def _tallies(
    judged: list[_Judged],
    truth: Truth,
    names_of_site: Callable[[Key], Iterable[str]],
    name_of_finding: Callable[[_Judged], str],
) -> dict[str, Tally]:
    tallies: dict[str, Tally] = {}
    hit = {key for one in judged for key in one.sites}
    hit_id = {key for one in judged for key in one.id_sites}
    for key in truth.sites:
        for name in names_of_site(key):
            tally = tallies.setdefault(name, Tally())
            tally.breaks += 1
            tally.found += key in hit
            tally.found_id += key in hit_id
    for one in judged:
        tally = tallies.setdefault(name_of_finding(one), Tally())
        tally.findings += 1
        tally.hits += bool(one.sites)
        tally.hits_id += bool(one.id_sites)
    return tallies
