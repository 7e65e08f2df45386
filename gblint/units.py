"""One unit of analysis: a file and how its roots are chosen. Results are plain data, cached by all they rest on."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from gblint.findings.finding import Finding, Spot
from gblint.index.cache import batches, content_digest

if TYPE_CHECKING:
    from gblint.analysis import Settings
    from gblint.index.model import ModuleInfo
    from gblint.index.project import Dependencies, Project
    from gblint.interpreter.machine import Machine

SUMMARY_LEVELS = 2  # a model's constructor is worked out for the models derived from it, with its framework's known
_SETS = ("_logging_functions", "_logger_methods")  # settings of Dynamo that are sets


class Plan(NamedTuple):
    """What to run: the roots of a file, chosen by the mode ("explicit", "modules" or "all"). spots: the findings that
    codemods are to be asked about, None for the usual ones (see `Worker.run`)."""

    info: ModuleInfo
    mode: str
    spots: frozenset[Spot] | None = None


class UnitResult(msgspec.Struct, gc=False):
    """What interpreting one file's roots gave.

    calls: the packed `callgraph.Calls` of its roots, unpacked only by who asks for the graph. files: digests by path of
    all files that were read; asked: modules looked for, as (folder of the importer, name), found in `places`;
    signature: of the project at that time. parts: what of the other files was used, packed (see `_pack`).
    """

    path: str
    mode: str
    findings: list[Finding] = []
    calls: bytes = b""
    roots: dict[str, int] = {}
    functions: int = 0
    unresolved: list[str] = []
    unresolved_roots: int = 0
    cut: int = 0
    internal: list[str] = []
    by_script: bool = False
    files: list[tuple[str, str]] = []
    asked: list[tuple[str, str]] = []
    places: str = ""
    signature: str = ""
    parts: bytes = b""


_PARTS = msgspec.msgpack.Decoder(tuple[list[str], list[tuple[str, list[int], str]]])
_DECODER = msgspec.msgpack.Decoder(UnitResult)
_ENCODER = msgspec.msgpack.Encoder()


class Worker:
    """Runs units of one project; makes its machine on first use, since a warm run needs none."""

    def __init__(self, project: Project, settings: Settings) -> None:
        self.project = project
        self.settings = settings
        self._machine: Machine | None = None
        self._package_settings: dict[str, dict[str, str]] | None = None
        self._added: dict[tuple[str, str], frozenset[str] | None] = {}
        self._key = settings_key(settings) if project.cache is not None else ""

    # -- cache -----------------------------------------------------------------------------------------------------

    def from_cache(self, plans: list[Plan]) -> Iterator[UnitResult | None]:
        """What `cached` says of each."""
        for some in batches(plans):
            if self.project.cache is not None:
                self.project.cache.expect(results=map(self.unit_key, some))
            yield from map(self.cached, some)

    def cached(self, plan: Plan) -> UnitResult | None:
        """The result of an earlier run, if nothing it rests on has changed."""
        cache = self.project.cache
        if cache is None:
            return None
        blob = cache.get(self.unit_key(plan))
        if blob is None:
            return None
        try:
            result = _DECODER.decode(blob)
        except (msgspec.DecodeError, RecursionError):
            return None
        files, signature = result.files, result.signature
        if not self.holds(result):
            return None
        if result.files is not files or result.signature != signature:
            self.remember(plan, result)
        return result

    def holds(self, result: UnitResult) -> bool:
        """Whether a result is what its unit would give now. The digests in it are brought up to date then."""
        digest = self.project.digest
        changed = [(path, known) for path, known in result.files if digest(path) != known]
        if changed and not self._all_the_same(result, changed):
            return False
        moved = result.signature != self.project.signature
        if moved and self.project.places(result.asked) != result.places:
            return False
        if moved or changed:
            result.signature = self.project.signature
            result.files = [(path, digest(path)) for path, _ in result.files]
        return True

    def _all_the_same(self, result: UnitResult, changed: list[tuple[str, str]]) -> bool:
        """Whether files have changed only where the result did not look."""
        missing, parts = _PARTS.decode(result.parts) if result.parts else ([], [])
        spans = {path: (rows, known) for path, rows, known in parts}
        for path, known in changed:
            added = None if path == result.path else self._added_names(path, known)
            if added is None or not added.isdisjoint(missing) or (added and self._sees_all(result, added)):
                return False
            rows, text = spans.get(path, ([], ""))
            info = self.project.info(path)
            texts = (self.project.lines(info, start, end) for start, end in zip(rows[::2], rows[1::2], strict=True))
            if rows and _digest_of(map(_text_digest, texts)) != text:
                return False
        return True

    def _added_names(self, path: str, known: str) -> frozenset[str] | None:
        """The names that are new in a file since its content was `known`; None if other files may see more of it."""
        key = path, known
        if key not in self._added:
            from gblint.index.outline import added_names

            new = self.project.info(path)
            old = self._former(new, known) if not new.error else None
            self._added[key] = added_names(old, new) if old is not None else None
        return self._added[key]

    def _former(self, new: ModuleInfo, digest: str) -> ModuleInfo | None:
        """The index that a file had with an earlier content, if that is remembered."""
        cache = self.project.cache
        return cache.load(digest, new.name, new.package) if cache is not None else None

    def _sees_all(self, result: UnitResult, added: frozenset[str]) -> bool:
        """Whether a public name that is new may come in by a star import and stand before another."""
        if all(name.startswith("_") for name in added):
            return False
        infos = (self.project.info(path) for path, _ in result.files)
        return any(b.guard != "typing" for info in infos for b in info.bindings.get("*", ()))

    def remember(self, plan: Plan, result: UnitResult) -> None:
        """Keep a result for the next run."""
        if self.project.cache is not None and not result.internal:
            self.project.cache.put(self.unit_key(plan), _ENCODER.encode(result))

    def unit_key(self, plan: Plan) -> str:
        """The cache key of a unit: all that its result depends on besides files."""
        settings = sorted(self.torch_settings(plan.info).items())
        spots = "" if plan.spots is None else _digest_of(map(repr, sorted(plan.spots)))
        return f"unit:{self._key}:{plan.mode}:{settings or ''}:{spots}:{plan.info.path}"

    # -- running ---------------------------------------------------------------------------------------------------

    def timed(self, plan: Plan) -> tuple[UnitResult, float]:
        """Interpret the roots of a file, and say how many seconds that took."""
        begin = time.perf_counter()
        result = self.run(plan)
        return result, time.perf_counter() - begin

    def run(self, plan: Plan) -> UnitResult:
        """Interpret the roots of a file.

        Where the roots are not the user's own choice, codemods are asked only about breaks in the file itself: what
        hundreds of roots have in common would be worked out hundreds of times (see `gblint.offers`).
        """
        from gblint.callgraph import calls_of
        from gblint.findings.build import findings_of
        from gblint.interpreter.roots import RootRun

        info, mode = plan.info, plan.mode
        machine = self.machine()
        machine.reset()
        machine.context.settings = self.torch_settings(info)
        with self.project.track() as used:
            self.project.info(info.path)
            roots = RootRun(machine, info)
            if mode == "explicit":
                roots.explicit()
                for name in self.settings.roots:
                    module, _, qualname = name.partition(":")
                    if module == info.name:
                        roots.named(qualname)
            if mode in ("modules", "all"):
                roots.assumed()
            if mode == "all":
                roots.guessed()
            calls = calls_of(machine.entries, machine.sites.values(), machine.places)
            findings = findings_of(machine, calls, dict(self.settings.fixing), self._examines(plan))
        asked = sorted(used.asked)
        result = UnitResult(
            info.path, mode, findings, calls.pack(),
            roots.counts, len(machine.executed), sorted(machine.unresolved), roots.unresolved_roots, roots.cut,
            [*roots.internal, *sorted(machine.rule_errors)],
            roots.by_script, sorted((p, self.project.digest(p)) for p in used.files),
            asked, self.project.places(asked), self.project.signature, _pack(used, info.path),
        )  # fmt: skip
        machine.release()
        return result

    def _examines(self, plan: Plan) -> Callable[[Finding], bool]:
        """Whether codemods are to be asked about a finding: where the code is the project's own (a library is not
        edited), it is likely enough, and it is the plan's."""
        least = self.settings.repaired_from
        everywhere = plan.mode == "explicit" or self.settings.fix_option("depth") == "all"

        def examines(finding: Finding) -> bool:
            if plan.spots is not None:
                return finding.spot in plan.spots
            mine = everywhere or finding.filename == plan.info.path
            return mine and finding.confidence >= least and self.project.owns(finding.filename)

        return examines

    def machine(self) -> Machine:
        """The interpreter, with rules and knowledge for the target torch."""
        if self._machine is None:
            from gblint.findings.selection import OPTIONAL
            from gblint.interpreter.dispatch import RuleTable
            from gblint.interpreter.machine import Machine
            from gblint.interpreter.source import Forest
            from gblint.interpreter.summaries import Summaries
            from gblint.knowledge import load
            from gblint.knowledge.declared import Declarations
            from gblint.registry import load_rules
            from gblint.rule_api import Context

            knowledge = load(self.settings.target_torch)
            major, minor = (int(p) for p in self.settings.target_torch.split(".")[:2])
            wanted = (rule for rule in load_rules() if self.settings.optional or rule.meta.code not in OPTIONAL)
            rules = [rule() for rule in wanted if rule.meta.code_in((major, minor))]
            python = tuple(int(p) for p in self.settings.python.split(".")[:2])
            declared = Declarations(self.settings.functions)
            context = Context(knowledge, (major, minor), {}, declared, (python[0], python[1]))
            table, forest = RuleTable(rules, knowledge), Forest()
            summaries: Summaries | None = None
            for _ in range(SUMMARY_LEVELS):
                summaries = Summaries(Machine(self.project, knowledge, table, context, forest, summaries))
            self._machine = Machine(self.project, knowledge, table, context, forest, summaries)
            self._machine.debug = bool(os.environ.get("GBLINT_DEBUG"))
        return self._machine

    def torch_settings(self, info: ModuleInfo) -> dict[str, str]:
        """Torch config values in force for the roots of a file, by dotted name: set in the file itself or in its
        package.

        Scripts in one folder do not share settings: each is a program of its own.
        """
        package = info.name.partition(".")[0] if "." in info.name or info.path.endswith("__init__.py") else ""
        found = dict(self._settings_by_package().get(package, {})) if package else {}
        runs = info.is_script or bool(info.compile_sites)
        return found | settings_in(info, everywhere=runs)

    def _settings_by_package(self) -> dict[str, dict[str, str]]:
        if self._package_settings is None:
            self._package_settings = {}
            for path in self.project.files:
                other = self.project.info(path)
                if other.torch_settings:
                    known = self._package_settings.setdefault(other.name.partition(".")[0], {})
                    known.update(settings_in(other))
        return self._package_settings


def _pack(used: Dependencies, own: str) -> bytes:
    """Names looked for in vain, and for every other file the rows that were read (first and last of each stretch) with
    a digest of their text."""
    spans: dict[str, list[tuple[int, int, str]]] = {}
    for path, start, end, digest in used.spans:
        if path != own:
            spans.setdefault(path, []).append((start, end, digest))
    parts = []
    for path, found in sorted(spans.items()):
        found.sort()
        rows = [row for start, end, _ in found for row in (start, end)]
        parts.append((path, rows, _digest_of(digest for _, _, digest in found)))
    return _ENCODER.encode((sorted(used.missing), parts))


def _text_digest(text: str) -> str:
    return content_digest(text.encode("utf-8", "surrogatepass"))[:16]


def _digest_of(digests: Iterable[str]) -> str:
    return content_digest(" ".join(digests).encode())


def settings_in(info: ModuleInfo, everywhere: bool = False) -> dict[str, str]:
    """What a file sets by dotted name, in functions too if `everywhere`; the elements added to a set with commas
    between."""
    found: dict[str, str] = {}
    for name, value, row in info.torch_settings:
        if everywhere or not _in_function(info, row):
            known = found.get(name) if name.endswith(_SETS) else None
            found[name] = f"{known}, {value}" if known else value
    return found


def _in_function(info: ModuleInfo, row: int) -> bool:
    """Whether a row is code that runs only when somebody calls it."""
    return any(f.start <= row <= f.end for f in info.functions)


def settings_key(settings: Settings) -> str:
    """What of the settings changes a unit's result."""
    from hashlib import blake2b

    from gblint import plugins
    from gblint.index.cache import source_fingerprint

    package = Path(__file__).parent
    import gblint.codemods as codemods
    import gblint.rules as rules

    sources = source_fingerprint(package, *(Path(p) for p in (*rules.__path__, *codemods.__path__)))
    what = msgspec.structs.replace(settings, jobs=1)
    text = repr((what, sources, plugins.fingerprint()))
    return blake2b(text.encode(), digest_size=12).hexdigest()
