"""docs/accuracy.md: how often predictions are right, made from corpus/scores.json, the corpus and the rules."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import msgspec
import tomli

import gblint.knowledge
from gblint.config import MIN_CONFIDENCE
from gblint.devtools.programs import LABELLED, collections_in, programs_in
from gblint.devtools.releases import load_releases
from gblint.devtools.score import scored_releases
from gblint.devtools.scores import ENOUGH, Figures, Held, Measured, Row, load_scores
from gblint.devtools.sources import SETS
from gblint.devtools.truth import load_truth
from gblint.ranges import applies
from gblint.registry import load_rules
from gblint.rule_api import url_of

UNPREDICTED = "unpredicted.toml"
_IDS = Path(gblint.knowledge.__file__).parent / "data" / "graph_break_ids.json"
_CODE = re.compile(r'"(GB\d{4})"')
_WHOLE = {"modeling": "models of transformers, diffusers and timm", "libraries": "the other libraries"}
_COLLECTIONS = {
    "catalogue": "one id each, with near misses",
    "field": "patterns that users have reported",
    "more": "the same kinds, written without looking at what gblint says",
    "models": "model and training code of a realistic size",
}
_FIGURES = ("recall_lines", "recall_lines_id", "precision", "precision_id", "average_precision")


class Reason(msgspec.Struct, frozen=True):
    """Why there is no rule for some ids."""

    reason: str
    ids: tuple[str, ...]


def unpredicted(corpus: Path) -> dict[str, Reason]:
    """The ids that have no rule on purpose. Raises OSError, tomli.TOMLDecodeError, msgspec.ValidationError."""
    return msgspec.convert(tomli.loads((corpus / UNPREDICTED).read_text("utf8")), dict[str, Reason])


def live_ids(release: str) -> dict[str, str]:
    """What a release can report, by id. Ids of which the registry does not say when they came or went are left out."""
    listed = json.loads(_IDS.read_text("utf8"))["ids"]
    return {
        code: text
        for code, (text, first, last) in listed.items()
        if first and last and applies(f">={first},<={last}", _version(release))
    }


def predicted_ids(rules: Path) -> set[str]:
    """The ids that some rule gives, in some release: its own, those it is renamed to, and those its file names."""
    own = {code for rule in load_rules() for code in rule.meta.codes}
    return own | {code for file in rules.glob("gb*.py") for code in _CODE.findall(file.read_text("utf8"))}


def _version(release: str) -> tuple[int, int]:
    major, minor = release.split(".")[:2]
    return int(major), int(minor)


def page(root: Path) -> str:
    """The page, from the root of the repository."""
    corpus = root / "corpus"
    scores = load_scores(corpus)
    measured = {name: scores.truth[name] for name in SETS if name in scores.truth}
    parts = [
        _START,
        _HOW.format(confidence=f"{MIN_CONFIDENCE:.0%}", version=LABELLED),
        *_libraries(measured),
        *_calibration(scores.calibration, measured),
        *_programs(scores.programs, corpus),
        *_rules(measured),
        *_not_predicted(corpus, root / "rules"),
    ]
    return "\n".join(parts)


_START = """# Accuracy

How often gblint is right, measured against what `torch.compile` really did. This page is written by `python -m
gblint.devtools.docs` from `corpus/scores.json`, which `python -m gblint.devtools.measure` records; the tests hold the
page to the file, and the file to what is measured anew.
"""
_HOW = """## How it is measured

- **Recorded truth.** Published models and libraries were compiled and run once under torch {version}, and each place
  where Dynamo broke the graph was written down, with its id, and which lines Dynamo traced
  ([more](../corpus/truth/README.md)). gblint then reads the sources of the same releases, and is held against that.
- **In-sample.** The rules were written with these breaks in view, so the figures say how well gblint knows what it
  has seen; code that nobody has looked at is harder. Confidence alone is also measured on libraries that the fit had
  not seen: [calibration](#calibration).
- *Recall* is the share of breaks that a finding stands on; a line that is copied between files counts once. *With
  id*: the finding also has the break's id. *Precision* is the share of findings on traced lines that stand on a
  break. Both are of findings from {confidence} confidence on, which is what `gblint check` shows. *Average precision*
  is over findings of any confidence, surest first.
- A break that another one hides was not recorded, and a line that no run has reached says nothing: findings there are
  not counted, neither for nor against.

Regenerated in CI: the figures of labelled programs with every change, those of the smaller libraries where their
sources can be fetched; both fail when one drops below what stands here. `python -m gblint.devtools.score --check`
holds all of it to `corpus/floors.toml`.
"""


def _libraries(measured: Mapping[str, Measured]) -> Iterator[str]:
    yield "## Libraries\n"
    yield "| | breaks | recall | with id | findings | precision | with id | average precision |"
    yield "|---|---|---|---|---|---|---|---|"
    for name, one in measured.items():
        breaks = sum(row.tally.breaks for row in one.libraries.values())
        findings = sum(row.tally.findings for row in one.libraries.values())
        yield _line(f"**{_WHOLE[name]}**", breaks, findings, one.figures)
        for library, row in sorted(one.libraries.items(), key=lambda item: (-item[1].tally.breaks, item[0])):
            yield _line(library, row.tally.breaks, row.tally.findings, row.figures)
    yield ""
    for name, one in measured.items():
        yield f"Of {_WHOLE[name]}, measured on {one.date}: {', '.join(one.versions)}.\n"


def _line(name: str, breaks: int, findings: int, figures: Figures) -> str:
    recall, recall_id, precision, precision_id, average = (_figure(figures.get(name)) for name in _FIGURES)
    return f"| {name} | {breaks} | {recall} | {recall_id} | {findings} | {precision} | {precision_id} | {average} |"


def _figure(figure: float | None) -> str:
    return "–" if figure is None else f"{figure:.3f}"


def _calibration(errors: Mapping[str, float], measured: Mapping[str, Measured]) -> Iterator[str]:
    yield _CALIBRATION
    yield "| of | no finding is judged by a fit that saw | calibration error |"
    yield "|---|---|---|"
    for kind, what in (("fitted", "its folder"), ("library out", "anything of its library")):
        if kind in errors:
            yield f"| both sets | {what} | {errors[kind]:.3f} |"
    for name, one in measured.items():
        if one.held is not None:
            yield f"| {_WHOLE[name]} | anything of its library | {_figure(one.held.error)} |"
    yield ""
    yield "| library | findings | mean confidence | broke | calibration error |"
    yield "|---|---|---|---|---|"
    held = {library: row.held for one in measured.values() for library, row in one.libraries.items()}
    for library, how in sorted(held.items(), key=lambda item: (-_count(item[1]), item[0])):
        if how is not None:
            yield f"| {library} | {how.findings} | {how.mean:.3f} | {how.hits:.3f} | {_figure(how.error)} |"
    yield ""


_CALIBRATION = f"""## Calibration

How far confidence and the share of findings that broke lie apart, on average over ten bins of confidence, for
findings of any confidence on traced lines. By library and by id, the tables give the confidence that a fit which saw
nothing of the library gave on average, and the share that broke. Below {ENOUGH} findings an error would say little
and is left out.
"""


def _programs(programs: Mapping[str, Figures], corpus: Path) -> Iterator[str]:
    yield "## Programs\n"
    yield "[Small programs](../corpus/README.md), labelled with what Dynamo does with them. *Exactly right*: every"
    yield "break was found with its id, and nothing else was said.\n"
    yield "| | programs | recall | with id | precision | with id | exactly right |"
    yield "|---|---|---|---|---|---|---|"
    for name, folder in collections_in(corpus).items():
        about = f"`{name}`: {_COLLECTIONS[name]}" if name in _COLLECTIONS else f"`{name}`"
        count = len(list(programs_in(folder)))
        yield _program_line(about, count, programs.get(name, {}), whole=name != "models")
    yield "\nAll of them, with `--target-torch`, by what they did under that release:\n"
    yield "| torch | programs | recall | with id | precision | with id | exactly right |"
    yield "|---|---|---|---|---|---|---|"
    for part, minor in scored_releases(corpus).items():
        yield _program_line(minor, _judged(corpus, minor), programs.get(part, {}))
    yield ""


def _judged(corpus: Path, minor: str) -> int:
    """How many programs are judged under a release: those that have not changed since they ran, and did not fail."""
    release = load_releases(corpus).get(minor)
    collections = {name: list(programs_in(folder)) for name, folder in collections_in(corpus).items()}
    if release is None:
        return sum(map(len, collections.values()))
    return sum(len(release.labels(name, programs)) for name, programs in collections.items())


def _program_line(name: str, count: int, figures: Figures, whole: bool = True) -> str:
    names = ("recall", "recall_id", "precision", "precision_id", "exact")
    cells = [_figure(figures.get(each)) if whole or each != "exact" else "–" for each in names]
    return f"| {name} | {count} | {' | '.join(cells)} |"


def _rules(measured: Mapping[str, Measured]) -> Iterator[str]:
    yield "## By id\n"
    yield "Breaks and findings on recorded truth, both sets together; the page of a rule has its share in the whole"
    yield "corpus. An average precision is the one of the set in which the id broke most.\n"
    yield "| id | breaks | found | with id | findings | on a break | with id | average precision | confidence | broke |"
    yield "|---|---|---|---|---|---|---|---|---|---|"
    rows = [(code, row) for one in measured.values() for code, row in one.rules.items()]
    for code in sorted({code for code, _ in rows}):
        yield _rule_line(code, [row for other, row in rows if other == code])
    yield ""


def _count(held: Held | None) -> int:
    return held.findings if held is not None else 0


def _rule_line(code: str, rows: list[Row]) -> str:
    counts = [
        sum(getattr(row.tally, name) for row in rows)
        for name in ("breaks", "found", "found_id", "findings", "hits", "hits_id")
    ]
    most = max(rows, key=lambda row: row.tally.breaks)
    held = [row.held for row in rows if row.held is not None]
    total = sum(how.findings for how in held)
    mean = sum(how.mean * how.findings for how in held) / total if total else None
    broke = sum(how.hits * how.findings for how in held) / total if total else None
    cells = [*map(str, counts), *map(_figure, (most.figures["average_precision"], mean, broke))]
    return f"| {code} | {' | '.join(cells)} |"


def _not_predicted(corpus: Path, rules: Path) -> Iterator[str]:
    live, known = live_ids(LABELLED), predicted_ids(rules)
    silent = {code: text for code, text in live.items() if code not in known}
    met = _met(corpus, silent)
    reasons = unpredicted(corpus)
    on_purpose = {code for reason in reasons.values() for code in reason.ids}
    yield "## What is not predicted\n"
    yield f"torch {LABELLED} has {len(live)} ids for graph breaks. {len(live) - len(silent)} of them have a rule; of"
    yield f"the others, recorded truth has met {len(met)}.\n"
    for reason in reasons.values():
        mine = [code for code in reason.ids if code in silent]
        yield f"**{len(mine)} ids.** {reason.reason} {_links(mine)}\n"
    rest = [code for code in silent if code not in on_purpose]
    yield f"**{len(rest)} ids.** The source would tell, and there is no rule yet. {_links(rest)}\n"
    yield "Met in recorded truth, without a rule:\n"
    yield "| id | what | lines |"
    yield "|---|---|---|"
    for code, count in sorted(met.items(), key=lambda item: (-item[1], item[0])):
        yield f"| {_link(code)} | {silent[code].replace('|', ' ')} | {count} |"
    yield ""


def _met(corpus: Path, ids: Iterable[str]) -> Counter[str]:
    sites = [site for name in SETS for site in load_truth(corpus / "truth" / f"{name}.jsonl").sites.values()]
    return Counter(code for site in sites for code in site.ids if code in set(ids))


def _links(codes: Iterable[str]) -> str:
    return ", ".join(map(_link, sorted(codes)))


def _link(code: str) -> str:
    return f"[{code}]({url_of(code)})"
