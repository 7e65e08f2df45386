"""All that `check` says of the examples of rules and codemods and of the corpus, kept as text beside the tests.

    python -m gblint.devtools.said [--check]

Writes a file for each rule, codemod and collection of programs under tests/said (`--check`: tells which differ).
A change of words, certainties, repairs or reasons then shows in the diff, at every example it reaches, and a change
that nobody meant is met. Confidences are left out: they are fitted, and change together.
"""

from __future__ import annotations

import inspect
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import click

from gblint.analysis import Settings, analyze
from gblint.codemod_api import Codemod
from gblint.devtools.programs import LABELLED, collections_in, files_of, programs_in
from gblint.findings.finding import Finding, Fix
from gblint.knowledge import measured
from gblint.registry import load_codemods, load_rules
from gblint.rule_api import Rule

REPOSITORY = Path(__file__).parents[2]
CORPUS = REPOSITORY / "corpus"
SAID = REPOSITORY / "tests" / "said"


def stem(subject: type[Rule] | type[Codemod]) -> str:
    """Name of the file that a rule or codemod stands in, without `.py`."""
    return Path(inspect.getfile(subject)).stem


def own_rules() -> list[type[Rule]]:
    return [rule for rule in load_rules() if rule.__module__.startswith("gblint.rules.")]


def said_of_program(program: Path) -> str:
    """What `check` says of a file or folder that is a program, with every repair and every refusal."""
    texts = {str(file.relative_to(program.parent)): file.read_text(encoding="utf8") for file in files_of(program)}
    return _said({name.partition("/")[2] or name: text for name, text in texts.items()}, "", LABELLED)


def said_of_text(text: str, logging: str = "", target: str = LABELLED) -> str:
    """What `check` says of a program that is one file. logging: how messages are to be repaired."""
    return _said({"example.py": text}, logging, target)


def _said(texts: dict[str, str], logging: str, target: str) -> str:
    with tempfile.TemporaryDirectory() as folder:  # nothing else belongs to the project there
        top = Path(folder).resolve()
        for name, text in texts.items():
            (top / name).parent.mkdir(parents=True, exist_ok=True)
            (top / name).write_text(text, encoding="utf8")
        files = sorted(top.rglob("*.py"))
        fixing = (("logging", logging or "guard"), ("depth", "all"), ("from", "0"))
        found = analyze(files, files, Settings(target_torch=target, search_paths=(str(top),), fixing=fixing))
        lines = [f"{d.filename}:{d.row}: {d.message}" for d in found.diagnostics]
        lines += [line for finding in found.findings for line in _finding(finding)]
        return "\n".join(lines).replace(f"{top}/", "")


def _finding(finding: Finding) -> Iterator[str]:
    where = f"{finding.filename}:{finding.row}:{finding.column}-{finding.end_row}:{finding.end_column}"
    marks = [f"certainty {finding.certainty:.2f}", finding.consequence, finding.category]
    marks += [f"guards {finding.guards}"] * bool(finding.guards)
    yield f"{where} {finding.code} {finding.name} ({', '.join(marks)}): {finding.message}"
    if finding.library:
        yield f"    in {finding.library.function} {finding.library.filename}:{finding.library.row}"
    for reason in finding.why:
        yield f"    why {reason.row}: {reason.text}"
    for fix in finding.fixes:
        yield from _fix(fix)
    for codemod, precondition in finding.refusals:
        yield f"    {codemod} declines: {precondition}"


def _fix(fix: Fix) -> Iterator[str]:
    yield f"    {fix.codemod} [{fix.applicability}]: {fix.message}"
    for edit in fix.edits:
        yield f"      {edit.filename}:{edit.row}:{edit.column}-{edit.end_row}:{edit.end_column} {edit.content!r}"


def release_of(rule: type[Rule]) -> str:
    """The torch release that a rule's examples are for: that of the labels, or the first that the rule is about."""
    first = rule.meta.torch.partition(",")[0].removeprefix(">=")
    return first if first.startswith("2.") and int(first[2:]) > int(LABELLED[2:]) else LABELLED


def of_rule(rule: type[Rule]) -> dict[str, str]:
    """What is said of each example of a rule, by the example's name."""
    return {name: in_releases(text, rule) for name, text in examples_of(rule).items()}


def examples_of(rule: type[Rule]) -> dict[str, str]:
    """The examples of a rule, by name."""
    return {f"{kind.lower()} {n}": text for kind in ("BREAKS", "CLEAN") for n, text in enumerate(getattr(rule, kind))}


def in_releases(text: str, rule: type[Rule]) -> str:
    """What is said of an example of a rule; where the rule knows releases, also which breaks the others have."""
    said = said_of_text(text, target=release_of(rule))
    if "context.torch" not in Path(inspect.getfile(rule)).read_text(encoding="utf8"):
        return said
    codes = {release: ", ".join(_breaks(said_of_text(text, target=release))) for release in measured()}
    return "\n".join([said, *(f"torch {release}: {found or 'nothing'}" for release, found in codes.items())])


def _breaks(said: str) -> list[str]:
    return [f"{row} {code}" for row, code in re.findall(r"^\S+?:(\d+):\S+ (\S+) \S+ \(", said, re.MULTILINE)]


def of_codemod(codemod: type[Codemod]) -> dict[str, str]:
    """What is said of each example of a codemod, by the example's name."""
    logging = next(iter(codemod.meta.logging), "")
    examples = {f"example {n}": example.before for n, example in enumerate(codemod.EXAMPLES)}
    examples |= {f"declined {n}": declined.program for n, declined in enumerate(codemod.DECLINES)}
    return {name: said_of_text(text, logging) for name, text in examples.items()}


def of_collection(folder: Path) -> dict[str, str]:
    """What is said of each program of a collection, by its name."""
    return {program.name: said_of_program(program) for program in programs_in(folder)}


def page(said: dict[str, str]) -> str:
    """The text kept for one rule, codemod or collection."""
    return "\n\n".join(f"== {name}\n{text or 'nothing'}" for name, text in said.items()) + "\n"


def pages() -> Iterator[tuple[Path, str]]:
    """Every file under tests/said with what it should hold."""
    for rule in own_rules():
        yield SAID / "rules" / f"{stem(rule)}.txt", page(of_rule(rule))
    for codemod in load_codemods():
        yield SAID / "codemods" / f"{stem(codemod)}.txt", page(of_codemod(codemod))
    for name, folder in collections_in(CORPUS).items():
        yield SAID / "programs" / f"{name}.txt", page(of_collection(folder))


@click.command(help=__doc__)
@click.option("--check", "only_check", is_flag=True, help="Write nothing; exit 1 if a file differs.")
def main(only_check: bool) -> None:
    differing = 0
    for file, text in pages():
        if file.is_file() and file.read_text(encoding="utf8") == text:
            continue
        differing += 1
        print(f"{'differs' if only_check else 'written'}: {file.relative_to(REPOSITORY)}")
        if not only_check:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf8")
    sys.exit(only_check and differing > 0)


if __name__ == "__main__":
    main()
