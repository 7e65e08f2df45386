"""Are the tests of rules and codemods sharp? Change the code a little, and see whether what gblint says changes.

    python benchmarks/mutation.py [FILE ...] [--share 1.0] [--seed 0] [--json FILE] [--survivors]

Needs `pip install mutmut`. Without files, all of rules/ and codemods/. The changes (mutants) are those of mutmut: other
operators, constants and strings, arguments left out, conditions forced. One is *killed* when what gblint says of any
example of that rule or codemod, or of a program of the corpus in which it takes part, is not what tests/said keeps
(tests/test_said.py fails then), when a name in a table or in code is none that there is (tests/test_names.py), when the
module cannot be imported any more, or when the time runs out. Facts for readers (`meta`) and the examples themselves
are not changed: other tests hold these.

Only what can notice a mutant is asked again: examples and programs for which the function is called that the change is
in, and of the codemods the one that is changed (what the others say does not depend on it).
"""

from __future__ import annotations

import argparse
import functools
import importlib
import importlib.util
import itertools
import linecache
import os
import random
import re
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from types import FrameType, ModuleType
from typing import NamedTuple

import libcst as cst
import msgspec
from mutmut.mutation.mutators import mutation_operators

from gblint import registry
from gblint.cli.analysis_options import cpus
from gblint.codemod_api import Codemod
from gblint.devtools import said
from gblint.devtools.names import is_known, is_there, names, words
from gblint.devtools.programs import collections_in, programs_in
from gblint.fixing import propose

FOLDERS = ("rules", "codemods")
FACTS = {"meta", "BREAKS", "CLEAN", "EXAMPLES", "DECLINES", "__all__"}
HEAD = re.compile("^== ", re.MULTILINE)  # before the name of each program in tests/said
CODEMODS_FOR = propose.codemods_for
Home = cst.FunctionDef | None
NAMES = "names"  # the check that reads the code, whether it is called or not
TIMES = 10  # a mutant may take this many times as long as the code it comes from


class Mutant(NamedTuple):
    """A change to a file. within: the row of the function that has to be called for it to matter, 0 if none has."""

    row: int
    within: int
    before: str
    after: str
    text: str

    def change(self) -> str:
        before, after = (" ".join(code.split())[:100] for code in (self.before, self.after))
        return f"{before}  ->  {after}"


class Check(NamedTuple):
    """Something that is said. reached: the rows of the functions of the file that are called for it."""

    name: str
    now: Callable[[], str]
    kept: str
    reached: frozenset[int]
    seconds: float

    def may_notice(self, mutant: Mutant) -> bool:
        return not mutant.within or mutant.within in self.reached or self.name == NAMES


class Fate(msgspec.Struct):
    """What became of one mutant: "killed", "survived" or "slow", and by which example."""

    file: str
    row: int
    change: str
    fate: str
    by: str = ""


def mutants(path: Path) -> Iterator[Mutant]:
    """Every mutant of a file."""
    text = path.read_text(encoding="utf8")
    module = cst.parse_module(text)
    wrapper = cst.MetadataWrapper(module, unsafe_skip_copy=True)
    spans = wrapper.resolve(cst.metadata.WhitespaceInclusivePositionProvider)
    rows = wrapper.resolve(cst.metadata.PositionProvider)
    starts = [0, *itertools.accumulate(len(line) for line in text.splitlines(keepends=True))]
    for node, home in _changeable(module, None):
        begin, end = (starts[place.line - 1] + place.column for place in (spans[node].start, spans[node].end))
        within = rows[home.name].start.line if home else 0
        for kind, operator in mutation_operators:
            for mutated in operator(node) if isinstance(node, kind) else ():
                new = module.code_for_node(mutated)
                yield Mutant(rows[node].start.line, within, text[begin:end], new, text[:begin] + new + text[end:])


def _changeable(node: cst.CSTNode, home: Home) -> Iterator[tuple[cst.CSTNode, Home]]:
    """The nodes that have a meaning when the code runs, facts and examples left out, each with the function that has
    to be called for it to have one."""
    if isinstance(node, cst.Annotation | cst.Decorator | cst.ImportFrom):
        return
    if isinstance(node, cst.Assign) and isinstance(name := node.targets[0].target, cst.Name) and name.value in FACTS:
        return
    yield node, home
    for child in node.children:
        if home is None and isinstance(node, cst.FunctionDef) and child is node.body and not node.decorators:
            yield from _changeable(child, node)  # a decorator may keep results: then there is not a call each time
        else:
            yield from _changeable(child, home)


def replaced(name: str, path: Path, text: str) -> None:
    """Put another text in the place of an imported module. Raises what importing it raises."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    module = ModuleType(name)
    module.__spec__, module.__file__ = spec, str(path)
    sys.modules[name] = module
    linecache.cache[str(path)] = (len(text), None, text.splitlines(keepends=True), str(path))  # the source, if asked
    exec(compile(text, str(path), "exec"), module.__dict__)
    loaded = registry.load_rules if path.parent.name == "rules" else registry.load_codemods
    loaded.cache_clear()
    CODEMODS_FOR.cache_clear()


def ask(only: str = "") -> None:
    """From now on ask all codemods for repairs, or only one: what the others say takes time, and stays as it is."""

    def one(code: str, slug: str) -> tuple[Codemod, ...]:
        return tuple(codemod for codemod in CODEMODS_FOR(code, slug) if codemod.meta.name == only)

    propose.codemods_for = one if only else CODEMODS_FOR  # type: ignore[assignment]


def checks_of(path: Path) -> list[Check]:
    """What is kept of the examples of a file and of the programs in which it takes part, cheapest first."""
    check = functools.partial(_check, str(_module(path).__file__))
    kind, name = path.parent.name, path.stem
    registry.load_rules()
    registry.load_codemods()
    ask()
    checks = [check(NAMES, lambda: _misspelt(_module(path)))]
    if kind == "rules":
        subjects = [rule for rule in said.own_rules() if said.stem(rule) == name]
        for rule in subjects:
            for example, text in said.examples_of(rule).items():
                checks.append(check(example, lambda t=text, r=rule: said.in_releases(t, r)))
        words = [f" {rule.meta.code} {rule.meta.slug} " for rule in subjects]
        words += [f" {code} {rule.meta.slug} " for rule in subjects for code in rule.meta.codes]
    else:
        (codemod,) = [c for c in registry.load_codemods() if said.stem(c) == name]
        ask(codemod.meta.name)
        logging = next(iter(codemod.meta.logging), "")
        texts = [e.before for e in codemod.EXAMPLES] + [d.program for d in codemod.DECLINES]
        checks += [check(f"example {n}", lambda t=t: said.said_of_text(t, logging)) for n, t in enumerate(texts)]
        words = [f"    {codemod.meta.name} "]
    for collection, folder in collections_in(said.CORPUS).items():
        text = (said.SAID / "programs" / f"{collection}.txt").read_text(encoding="utf8")
        kept = {head: body for head, _, body in (part.partition("\n") for part in HEAD.split(text)[1:])}
        for program in programs_in(folder):
            if any(word in kept[program.name] for word in words):
                checks.append(check(program.name, lambda p=program: said.said_of_program(p)))
    return sorted(checks, key=lambda check: check.seconds)


def _misspelt(module: ModuleType) -> str:
    """What tests/test_names.py objects to, and what it excepts."""
    tables = [name for name in names(module) if not is_there(name)]
    return "\n".join(tables + [word for word in words(module) if not is_known(word)])


def _module(path: Path) -> ModuleType:
    return importlib.import_module(f"gblint.{path.parent.name}.{path.stem}")


def _check(file: str, name: str, now: Callable[[], str]) -> Check:
    """What is said now, which functions are called for it and how long it takes, that of watching included."""
    reached: set[int] = set()

    def watch(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_filename == file:
            reached.add(frame.f_code.co_firstlineno)

    start = time.monotonic()
    sys.setprofile(watch)
    kept = now()
    sys.setprofile(None)
    return Check(name, now, kept, frozenset(reached), time.monotonic() - start)


def fates(path: Path, share: float, seed: int) -> list[Fate]:
    """What became of the mutants of one file; each is tried in a process of its own."""
    checks = checks_of(path)
    limit = 2 + TIMES * sum(check.seconds for check in checks)
    name = _module(path).__name__
    dice = random.Random(f"{seed} {path.name}")
    found: list[Fate] = []
    for mutant in mutants(path):
        if dice.random() < share:
            able = [check for check in checks if check.may_notice(mutant)]
            fate, by = _tried(name, path, mutant.text, able, limit)
            found.append(Fate(f"{path.parent.name}/{path.name}", mutant.row, mutant.change(), fate, by))
    return found


def _tried(name: str, path: Path, text: str, checks: list[Check], limit: float) -> tuple[str, str]:
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        signal.setitimer(signal.ITIMER_REAL, limit)  # the default is to end the process
        os.write(writing, _killer(name, path, text, checks).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        by = pipe.read().decode()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return "slow", ""
    return ("killed", by) if by else ("survived", "")


def _killer(name: str, path: Path, text: str, checks: list[Check]) -> str:
    """The example that tells the mutant from the code, "" if none does."""
    sys.stderr = open(os.devnull, "w", encoding="utf8")  # noqa: SIM115 - the process ends soon
    try:
        replaced(name, path, text)
        for check in checks:
            if check.now() != check.kept:
                return check.name
    except Exception as error:
        return f"{type(error).__name__}"
    return ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--share", type=float, default=1.0, help="the share of mutants that is tried")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--survivors", action="store_true", help="print those that nobody noticed")
    arguments = parser.parse_args()
    every = [file for folder in FOLDERS for file in sorted((said.REPOSITORY / folder).glob("[a-z]*.py"))]
    files = [file.resolve() for file in arguments.files] or every
    found: list[Fate] = []
    with ProcessPoolExecutor(cpus()) as pool:
        for part in pool.map(fates, files, [arguments.share] * len(files), [arguments.seed] * len(files)):
            found += part
            if part:
                print(_line(part[0].file, part), flush=True)
                for fate in part if arguments.survivors else ():
                    if fate.fate == "survived":
                        print(f"    {fate.row}: {fate.change}")
    for folder in FOLDERS:
        print(_line(folder, [fate for fate in found if fate.file.startswith(folder)]))
    if arguments.json:
        arguments.json.write_bytes(msgspec.json.format(msgspec.json.encode(found), indent=1))
    return 0


def _line(name: str, found: list[Fate]) -> str:
    counts = Counter(fate.fate for fate in found)
    dead = counts["killed"] + counts["slow"]
    return f"{dead / max(1, len(found)):6.1%}  {dead:5} of {len(found):5} killed  {name}"


if __name__ == "__main__":
    sys.exit(main())
