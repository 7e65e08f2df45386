"""One run of `check`: paths and options in, what is to be reported out. The commands and reports build on it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Protocol

import msgspec

from gblint.analysis import Analysis, Diagnostic, Progress, Settings, Stats, analyze
from gblint.config import DEFAULT_EXCLUDE, Config, ConfigFinder
from gblint.discovery import (
    Extent,
    Found,
    Patterns,
    Project,
    absolute,
    discover,
    exclusions,
    extent,
    forget,
    is_text,
    load_project,
)
from gblint.environment import Environment, find_environment, pinned_torch
from gblint.errors import GblintError, suggest
from gblint.findings.finding import Finding
from gblint.findings.local import localized
from gblint.findings.selection import Layer, Selection, strength
from gblint.findings.suppression import Unused, apply
from gblint.plugins import declared
from gblint.reach import Key, Reach, Root, key_of
from gblint.timing import CLOCK

BROKEN_FILE = "GBL000"
UNUSED_SUPPRESSION = "GBL001"
GAP = "GBL002"  # see gblint.gaps
OWN_RULES = {BROKEN_FILE: "broken-file", UNUSED_SUPPRESSION: "unused-suppression"}


class Options(msgspec.Struct, kw_only=True):
    """What the command line says; None where it says nothing and the settings file of each project counts.

    stdin: content that stands in for the file `stdin_path`, instead of paths. overlay: contents that stand in for files
    on disk, or for files that are not there; absent: files on disk that are taken as not there. owner: "yours",
    "library" or "all". ignore_noqa: comments silence nothing. local: let the project's verdicts move confidences (see
    `gblint.findings.local`); without settings (`isolated`) they never do. strict: what could not be seen fails.
    """

    paths: tuple[str, ...] = (".",)
    stdin: bytes | None = None
    stdin_path: Path | None = None
    overlay: dict[Path, bytes] = {}
    absent: frozenset[Path] = frozenset()
    config: Config | None = None
    isolated: bool = False
    layer: Layer = Layer()
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] | None = None
    exclude: tuple[str, ...] | None = None
    extend_exclude: tuple[str, ...] = ()
    roots: tuple[str, tuple[str, ...]] | None = None
    target_torch: str | None = None
    min_confidence: float | None = None
    fail_on: tuple[tuple[str, float], ...] | None = None
    hot_only: bool = False
    owner: str = "all"
    ignore_noqa: bool = False
    all_fixes: bool = False
    strict: bool = False
    cache_dir: Path | None = None
    no_cache: bool = False
    jobs: int = 1
    local: bool = True


class Problem(msgspec.Struct, frozen=True):
    """What gblint reports besides graph breaks: a file it could not analyse, a comment that silences nothing."""

    code: str
    name: str
    message: str
    filename: str
    row: int
    column: int = 1
    severity: str = "error"


class Scope(msgspec.Struct):
    """How one project was looked at: for notes and `--verbose`. files: of the whole project; checked: reported on;
    source: the file with its settings, if there is one."""

    root: Path
    files: int
    checked: int
    settings: Settings
    environment: Environment
    cache_dir: Path | None
    roots: int = 0
    source: Path | None = None


class Outcome(msgspec.Struct):
    """What a run has to report.

    findings: those wanted, by file and row. doubtful: those below the minimum confidence (`min_confidence` is the
    highest that was asked for); cold: how many `--hot-only` left out; foreign: how many `--owner` left out; aside: the
    findings that these two left out; silenced: how many a comment left out; recorded: how many a baseline left out;
    stale: how many findings a baseline records that are gone; older: how many were there at the revision `since`;
    tolerated: how many of `findings` do not make the exit code 1.
    broken: the compiled roots that each root cause breaks, as the unit (its place in `calls`) and the root in it.
    checked: the files reported on. overlay: contents that stood in for files. calls: the call graph in packed parts
    (see `gblint.callgraph`). notes: one line each for what a reader has to know to trust the report; doubts: those of
    them that `strict` makes a failure, as kind and text.
    """

    findings: list[Finding] = []
    problems: list[Problem] = []
    stats: Stats = msgspec.field(default_factory=Stats)
    scopes: list[Scope] = []
    checked: list[str] = []
    overlay: dict[str, bytes] = {}
    calls: list[bytes] = []
    notes: list[str] = []
    doubts: list[tuple[str, str]] = []
    strict: bool = False
    doubtful: list[Finding] = []
    cold: int = 0
    foreign: int = 0
    aside: list[Finding] = []
    broken: dict[Key, set[Root]] = {}
    silenced: int = 0
    recorded: int = 0
    stale: int = 0
    older: int = 0
    tolerated: int = 0
    since: str = ""
    min_confidence: float = 0.0

    @property
    def low(self) -> int:
        """How many findings are below the minimum confidence."""
        return len(self.doubtful)

    @property
    def believed(self) -> list[Finding]:
        """All findings of rules that are on and that no comment silences, shown or not."""
        return [*self.findings, *self.doubtful, *self.aside]


class Memory(Protocol):
    """What takes the place of `load_project` and `analyze` where one process checks again and again; it gives what they
    would give."""

    def load_project(self, root: Path, extents: Iterable[Extent], report_files: Iterable[Path]) -> Project: ...

    def analyze(
        self,
        report_files: list[Path],
        project_files: list[Path],
        settings: Settings,
        cache_dir: Path | None,
        progress: Progress | None,
        overlay: Mapping[Path, bytes | None],
    ) -> Analysis: ...


class _Group(msgspec.Struct):
    root: Path | None
    config: Config
    files: list[Path]
    extents: list[Extent]

    @property
    def place(self) -> Path:
        """The project's folder, or the first one that was named."""
        if self.root:
            return self.root
        top = self.extents[0].tops[0]
        return top if top.is_dir() else top.parent


def check(options: Options, progress: Progress | None = None, memory: Memory | None = None) -> Outcome:
    """Analyse what the options name.

    memory: what this process knows from checks before; without it everything is looked at anew.
    Raises GblintError when that is impossible: a path that does not exist, settings that are wrong.
    """
    forget()
    settings = Settled(options)
    with CLOCK.stage("find files and settings"):
        found = _found(options, settings)
    outcome = Outcome(doubts=[("unreadable-path", warning) for warning in found.warnings], strict=options.strict)
    if not found.files:
        outcome.doubts.append(
            ("no-files", f"no Python files found under {', '.join(options.paths)}: nothing was checked")
        )
    check_selectors(options.layer, options.per_file_ignores or (), "")
    for config in {settings.of(folder) for folder in {file.parent for file in found.files}}:
        check_selectors(config, () if options.per_file_ignores else config.per_file_ignores, f"{config.source}: ")
        outcome.min_confidence = max(outcome.min_confidence, config.min_confidence)
        outcome.strict |= config.strict
    for file in [f for f in found.files if not is_text(str(f))]:
        outcome.problems.append(Problem(BROKEN_FILE, "unreadable", "its name is not valid text", str(file), 1))
        del found.files[file]
    outcome.overlay = {str(path): data for path, data in options.overlay.items()}
    if options.stdin is not None:
        outcome.overlay |= {str(path): options.stdin for path in found.files}
    outcome.checked = [str(file) for file in found.files]
    notes: list[str] = []
    for group in _groups(found, settings):
        scope, analysis = _analyse(group, options, progress, memory)
        scope.roots = analysis.stats.roots
        if options.local and not options.isolated:
            analysis.findings = localized(analysis.findings, scope.root)
        outcome.scopes.append(scope)
        notes += analysis.notes
        _add_stats(outcome.stats, analysis.stats)
        _Filter(settings, options, outcome).take(analysis)
    outcome.findings.sort(key=lambda f: (f.filename, f.row, f.column, f.code))
    outcome.problems.sort(key=lambda p: (p.filename, p.row, p.column, p.code))
    outcome.doubts += _doubts(outcome.scopes)
    outcome.notes = [*(text for _, text in outcome.doubts), *dict.fromkeys(notes)]
    return outcome


@lru_cache(maxsize=256)
def _patterns(root: Path, pattern: str) -> Patterns:
    return Patterns(root, [pattern])


def check_selectors(choice: Layer | Config, per_file: Iterable[tuple[str, tuple[str, ...]]], where: str) -> None:
    """Raises GblintError for a selector that no rule answers to; `where` starts the message."""
    names = {*(choice.select or ()), *choice.ignore, *choice.extend_select}
    names.update(code for _, codes in per_file for code in codes)
    if names <= {"ALL", "GB", "GBL", *OWN_RULES}:
        return  # the rules need not be loaded to know these
    from gblint.registry import load_rules

    rules = {(code, r.meta.slug) for r in load_rules() for code in r.meta.codes} | set(OWN_RULES.items())
    for name in sorted(names):
        if not any(strength((name,), code, slug) for code, slug in rules):
            slugs = sorted(slug for _, slug in rules)
            hint = suggest(name, slugs) if name.islower() else "`gblint explain` lists the rules there are"
            raise GblintError(f"{where}no rule answers to `{name}`", hint)


class Settled:
    """Settings of a folder or file with what the command line says laid over them."""

    def __init__(self, options: Options) -> None:
        self._finder = ConfigFinder(options.config, options.isolated)
        self._options = options
        self._known: dict[Path, Config] = {}
        self._of_folders: dict[str, Config] = {}

    def of(self, folder: Path) -> Config:
        if folder not in self._known:
            self._known[folder] = with_options(self._finder.for_folder(folder), self._options)
        return self._known[folder]

    def of_file(self, path: str) -> Config:
        """The settings that hold for an absolute path. (It is asked of each finding: a Path each time would cost.)"""
        folder = os.path.dirname(path)
        if folder not in self._of_folders:
            self._of_folders[folder] = self.of(Path(folder))
        return self._of_folders[folder]


@lru_cache(maxsize=256)
def _replaced(config: Config, changes: tuple[tuple[str, object], ...]) -> Config:
    # Equal settings have to be the same object for the caches keyed on them to be quick.
    return msgspec.structs.replace(config, **dict(changes))


def with_options(config: Config, options: Options) -> Config:
    """Settings with what the command line says laid over them, save for the choice of rules."""
    changes: dict[str, object] = {}
    if options.exclude is not None:
        changes["exclude"] = anchored(options.exclude)
    if options.extend_exclude:
        changes["extend_exclude"] = (*config.extend_exclude, *anchored(options.extend_exclude))
    if options.per_file_ignores is not None:
        changes["per_file_ignores"] = tuple((anchored([p])[0], codes) for p, codes in options.per_file_ignores)
    if options.roots is not None:
        changes["roots_mode"], changes["roots"] = options.roots
    if options.target_torch is not None:
        changes["target_torch"] = options.target_torch
    if options.min_confidence is not None:
        changes["min_confidence"] = options.min_confidence
    if options.fail_on is not None:
        changes["fail_on"] = options.fail_on
    return _replaced(config, tuple(changes.items())) if changes else config


def anchored(patterns: Iterable[str]) -> tuple[str, ...]:
    """Patterns of the command line: one with a slash in it is relative to the current folder."""
    return tuple(str(Path.cwd() / p) if "/" in p.strip("/") else p for p in patterns)


def files_of(options: Options) -> list[Path]:
    """The files that a check would report on; raises GblintError as `check` does."""
    forget()
    return list(_found(options, Settled(options)).files)


def _found(options: Options, settings: Settled) -> Found:
    if options.stdin is not None:
        path = options.stdin_path or Path.cwd() / "stdin.py"
        return Found({path: path}, [])
    given = [absolute(path) for path in options.paths]
    added = _not_on_disk(options)
    found = discover([text for text, path in zip(options.paths, given, strict=True) if path not in added], settings.of)
    there = {file: origin for file, origin in found.files.items() if file not in options.absent}
    for file in added:
        origin = next((path for path in given if file.is_relative_to(path)), None)
        if origin == file or (origin and not exclusions(settings.of(file.parent)).match_path(str(file))):
            there[file] = origin
    return Found({file: there[file] for file in sorted(there)} if added else there, found.warnings)


def _not_on_disk(options: Options) -> list[Path]:
    """Files that there are only in the overlay."""
    return sorted(file for file in options.overlay if not os.path.lexists(file))


# --------------------------------------------------------------------------------------------------------- analysis


def _groups(found: Found, settings: Settled) -> list[_Group]:
    """The files by project. Files that belong to no project make up one, if the same settings hold for them."""
    groups: dict[tuple[Path | None, Path | None], _Group] = {}
    for file, given in found.files.items():
        folder = file.parent
        reach = extent(folder, given)
        config = settings.of(reach.root or folder)
        key = (reach.root, None if reach.root else config.source)
        group = groups.setdefault(key, _Group(reach.root, config, [], []))
        group.files.append(file)
        if reach not in group.extents:
            group.extents.append(reach)
    return list(groups.values())


def _analyse(
    group: _Group, options: Options, progress: Progress | None, memory: Memory | None
) -> tuple[Scope, Analysis]:
    config, place = group.config, group.place
    load, run = (load_project, analyze) if memory is None else (memory.load_project, memory.analyze)
    with CLOCK.stage("find files and settings"):
        project = load(place, group.extents, group.files)
        environment = find_environment(config, place)
    base = config.root if config.source else place
    # A package is no place that imports start from, even where its own folder was named on the command line.
    sources = [folder for text in config.src if not ((folder := base / text) / "__init__.py").is_file()]
    search = [*project.search, *sources, *environment.site_packages]
    settings = Settings(
        roots=config.roots,
        roots_mode=config.roots_mode,
        target_torch=target_release(config, place),
        search_paths=tuple(dict.fromkeys(str(absolute(p)) for p in search if p.is_dir())),
        python=environment.python,
        functions=tuple({**declared(), **dict(config.functions)}.items()),
        fixing=_fixing(config, options),
        jobs=options.jobs,
    )
    cache_dir = None if options.no_cache else options.cache_dir or cache_folder(config, group.root)
    scope = Scope(place, len(project.files), len(group.files), settings, environment, cache_dir, source=config.source)
    overlay: dict[Path, bytes | None] = {**options.overlay, **dict.fromkeys(options.absent)}
    if options.stdin is not None:
        overlay[group.files[0]] = options.stdin
    return scope, run(group.files, _of_project(project, group, options), settings, cache_dir, progress, overlay)


def _of_project(project: Project, group: _Group, options: Options) -> list[Path]:
    """The files of a project as the options have it: some of the overlay are not on disk, some on disk are absent."""
    files = dict.fromkeys(file for file in project.files if file not in options.absent)
    usual = Patterns(project.root, DEFAULT_EXCLUDE)
    for file in _not_on_disk(options):
        for part in group.extents:
            near = any(file.parent == top if part.shallow else file.is_relative_to(top) for top in part.tops)
            if near and not usual.match_path(str(file)):
                files[file] = None
    return list(files)


def _selection(config: Config, options: Options) -> Selection:
    return Selection(Layer(config.select, config.ignore, config.extend_select), options.layer)


def _fixing(config: Config, options: Options) -> tuple[tuple[str, str], ...]:
    """How repairs are wanted. Findings that are not going to be shown get none: working them out takes time. (The
    threshold is rounded, or each other one would make the cache useless.)"""
    least = "0.5" if config.min_confidence >= 0.5 else "0"
    return (("logging", config.fix_logging), ("depth", "all" if options.all_fixes else "best"), ("from", least))


def target_release(config: Config, project_root: Path) -> str:
    """The torch release to predict for: the setting, else the project's own pin, else the newest known."""
    from gblint.knowledge import available

    return config.target_torch or pinned_torch(project_root) or available()[-1]


def cache_folder(config: Config, project_root: Path | None) -> Path:
    """Where results are kept: in the folder of the settings, of the project, or the current one."""
    if config.source:
        return config.path(config.cache_dir)
    return (project_root or Path.cwd()) / config.cache_dir


def _add_stats(total: Stats, part: Stats) -> None:
    for field in msgspec.structs.fields(Stats):
        setattr(total, field.name, getattr(total, field.name) + getattr(part, field.name))


# -------------------------------------------------------------------------------------------------------- filtering


class _Filter:
    """Sorts what the analyzer believes into what is wanted and what is only counted."""

    def __init__(self, settings: Settled, options: Options, outcome: Outcome) -> None:
        self._settings = settings
        self._options = options
        self._outcome = outcome
        self._selections: dict[Config, Selection] = {}
        self._broken: set[str] = set()

    def take(self, analysis: Analysis) -> None:
        before = len(self._outcome.calls)  # units of other scopes
        self._outcome.calls += analysis.calls
        self._problems(analysis.diagnostics)
        wanted = [f for f in analysis.findings if self.wants(f.filename, f.code, f.name, f.optional)]
        comments = {} if self._options.ignore_noqa else analysis.suppressions
        judged = apply(wanted, comments, self._reportable)
        self._outcome.silenced += len(judged.silenced)
        reach = self._reach(analysis, judged.kept)
        for finding in judged.kept:
            self._outcome.broken.setdefault(key_of(finding), set()).update(
                (before + unit, root) for unit, root in reach.roots(finding)
            )
            self._keep(reach.counted(finding))
        if analysis.stats.roots:  # where nothing is compiled, a comment has had no chance to silence anything
            self._unused(u for u in judged.unused if u.filename not in analysis.twins)

    def _reach(self, analysis: Analysis, kept: list[Finding]) -> Reach:
        """What counts roots: a cause is believed that is sure enough and not silenced. (Comments are known of the files
        that are reported on alone.)"""
        checked = set(self._outcome.checked)
        elsewhere = (
            key
            for key, cause in analysis.causes.items()
            if cause.filename not in checked
            and cause.confidence >= self._config(cause.filename).min_confidence
            and self.wants(cause.filename, cause.code, cause.name, cause.optional)
        )
        return Reach(analysis.causes, [*(key_of(f) for f in kept if not self._doubtful(f)), *elsewhere])

    def _doubtful(self, finding: Finding) -> bool:
        return finding.confidence < self._config(finding.filename).min_confidence

    def _keep(self, finding: Finding) -> None:
        if self._doubtful(finding):
            self._outcome.doubtful.append(finding)
        elif self._options.owner != "all" and (self._options.owner == "yours") != (finding.owner == "yours"):
            self._outcome.foreign += 1
            self._outcome.aside.append(finding)
        elif self._options.hot_only and not finding.hot:
            self._outcome.cold += 1
            self._outcome.aside.append(finding)
        else:
            self._outcome.findings.append(finding)

    def _problems(self, diagnostics: Iterable[Diagnostic]) -> None:
        for d in diagnostics:
            severity = "warning" if d.kind == "internal-error" else "error"
            problem = Problem(BROKEN_FILE, d.kind, d.message, d.filename, d.row, d.column, severity)
            self._outcome.problems.append(problem)
            self._broken.add(d.filename)

    def _unused(self, unused: Iterable[Unused]) -> None:
        for u in unused:
            wanted = self.wants(u.filename, UNUSED_SUPPRESSION, "unused-suppression", optional=False)
            if u.filename in self._broken or not wanted:
                continue
            what = f"`{u.code}` in this comment" if u.code else "this comment"
            problem = Problem(
                UNUSED_SUPPRESSION, "unused-suppression", f"{what} silences nothing", u.filename, u.row,
                severity="warning",
            )  # fmt: skip
            self._outcome.problems.append(problem)

    def _reportable(self, filename: str, code: str) -> bool:
        """Whether the rules that a comment names are on in a file; comments cannot name gblint's own."""
        if not code:
            return True
        upper = code.upper()
        if upper == "GBL" or upper.startswith("GBL0"):
            return False
        as_rule = (upper, "") if upper[-1:].isdigit() and upper.isalnum() else ("", code.lower())
        return self.wants(filename, *as_rule)

    def wants(self, filename: str, code: str, name: str, optional: bool | None = None) -> bool:
        """Whether what a rule finds in a file is to be reported. optional: the rule is off by default; None if that is
        to be looked up, which takes a while."""
        if optional is None:
            optional = self._is_optional(code, name)
        config = self._config(filename)
        selection = self._selections.get(config)
        if selection is None:
            selection = self._selections[config] = _selection(config, self._options)
        if not selection.enabled(code, name, optional):
            return False
        return not any(
            strength(codes, code, name) and _patterns(config.root, pattern).match_path(filename)
            for pattern, codes in config.per_file_ignores
        )

    @staticmethod
    def _is_optional(code: str, name: str) -> bool:
        from gblint.registry import optional_rules

        return any(code == known or name == slug for known, slug in optional_rules())

    def _config(self, filename: str) -> Config:
        return self._settings.of_file(filename)


class Wants(Protocol):
    """Whether settings and options want what a rule finds in a file reported; see `_Filter.wants`."""

    def __call__(self, filename: str, code: str, name: str, optional: bool | None = None) -> bool: ...


def wanted(options: Options) -> Wants:
    """What settings and options say of rules."""
    return _Filter(Settled(options), options, Outcome()).wants


def failures(outcome: Outcome, options: Options) -> list[Finding]:
    """The findings that make the exit code 1, by `fail-on`."""
    settled = Settled(options)

    def fails(finding: Finding) -> bool:
        least = dict(settled.of_file(finding.filename).fail_on).get("hot" if finding.hot else "cold")
        return least is not None and finding.confidence >= least

    return [finding for finding in outcome.findings if fails(finding)]


def _doubts(scopes: Iterable[Scope]) -> Iterator[tuple[str, str]]:
    """What makes the answer worth less than it looks: silence must not look like success."""
    from gblint.knowledge import measured

    known = measured()
    for scope in scopes:
        if not scope.roots:
            yield "no-root", _no_roots(scope)
    for release in sorted({scope.settings.target_torch for scope in scopes} - set(known)):
        yield (
            "unknown-torch",
            f"nothing is known of torch {release}, only of {', '.join(known)}: the nearest of these is taken",
        )


def _no_roots(scope: Scope) -> str:
    looked = f"in the {scope.files:,} files of {scope.root}" if scope.files > 1 else f"in {scope.root}"
    if scope.settings.roots_mode == "explicit":
        return f"nothing is compiled {looked}: no torch.compile; try --roots auto, or name what is compiled in `roots`"
    return (
        f"nothing is compiled {looked}: no torch.compile and no nn.Module.forward; "
        "name what is compiled in `roots`, or try --roots all"
    )
