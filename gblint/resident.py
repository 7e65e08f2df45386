"""What one process keeps of projects between checks, so that an edit costs what the edit concerns.

An editor asks for one file again and again while others stay as they are. Kept are: which files a project has, their
indexes, the machine with its parsed functions, and the results of all units. What rests on something that has changed
is worked out anew, by the rules that the cache on disk goes by: the findings are those of a fresh check.
"""

from __future__ import annotations

import os
import sys
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from gblint.analysis import Analysis, Interrupted, Progress, Settings
from gblint.discovery import Extent, Project, load_project, looked_at
from gblint.engine import Engine, undisturbed
from gblint.index.cache import IndexCache, MemoryCache
from gblint.index.live import Change, LiveProject, Stamp, stamp
from gblint.twins import traits
from gblint.units import Plan, UnitResult, Worker, settings_in

if TYPE_CHECKING:
    from gblint.findings.finding import Finding, Spot
    from gblint.index.model import ModuleInfo

T = TypeVar("T")
_Key = tuple[str, str, "frozenset[Spot] | None"]

PROJECTS = 4  # kept at a time

# How far a check goes: the units of the files alone, all units, or all with the repairs of what they find.
NEAR, WHOLE, REPAIRS = range(3)


class Resident:
    """A `gblint.checking.Memory`. One thread at a time may use it; any may call `interrupt`.

    effort: how far the next check goes. With NEAR and WHOLE findings lack their repairs, with NEAR those are missing
    that only roots in other files lead to.
    focus: files whose roots alone matter; without any, all roots do.
    projects: how many are kept at a time.
    """

    def __init__(self, projects: int = PROJECTS) -> None:
        self._room = projects
        self.effort = REPAIRS
        self.focus: frozenset[str] = frozenset()
        self._engines: OrderedDict[object, LiveEngine] = OrderedDict()
        self._projects: OrderedDict[object, _Listing] = OrderedDict()
        self._current: LiveEngine | None = None
        self._interrupted = False

    def load_project(self, root: Path, extents: Iterable[Extent], report_files: Iterable[Path]) -> Project:
        """See `gblint.discovery.load_project`: as long as no folder changes, the files are those of last time."""
        files, key = list(report_files), (root, tuple(extents))
        known = self._projects.get(key)
        if known is None or not known.holds() or not known.own.issuperset(files):
            project = load_project(root, key[1], files)
            known = _Listing(project, frozenset(project.files), {path: stamp(path) for path in looked_at()})
            _keep(self._projects, key, known, self._room)
        return known.project

    def analyze(
        self,
        report_files: list[Path],
        project_files: list[Path],
        settings: Settings,
        cache_dir: Path | None,
        progress: Progress | None,
        overlay: Mapping[Path, bytes | None],
    ) -> Analysis:
        """See `gblint.analysis.analyze`. Raises Interrupted after `interrupt`."""
        given = {path: data for path, data in overlay.items() if data is not None}

        def run() -> Analysis:
            key = (tuple(project_files), settings, cache_dir)
            engine = self._engines.get(key)
            if engine is None:
                engine = LiveEngine(project_files, settings, cache_dir, given)
            else:
                engine.refresh(given)
            _keep(self._engines, key, engine, self._room)
            self._current = engine
            engine.effort, engine.focus = self.effort, self.focus
            engine.worker.interrupt(False)
            try:
                if self._interrupted:  # while the files were looked for
                    raise Interrupted
                return engine.analyze(report_files, progress)
            finally:
                self._interrupted = False

        return undisturbed(run)

    def digest(self, path: str) -> str:
        """The digest of the content that a file of a project had at the last analysis; "" if it is in none."""
        return next((e.project.digest(path) for e in self._engines.values() if e.project.owns(path)), "")

    def ready(self, path: Path) -> bool:
        """Whether a project that a file belongs to has been looked at as a whole."""
        return any(engine.complete and engine.project.owns(str(path)) for engine in self._engines.values())

    def beside(self, path: Path, files: Iterable[str]) -> list[str]:
        """Those of some files that are in the project of a file."""
        owns = next((e.project.owns for e in self._engines.values() if e.project.owns(str(path))), None)
        return [file for file in files if owns is not None and owns(file)]

    @property
    def partial(self) -> bool:
        """Whether the last analysis has left repairs out that there may be."""
        return self._current is not None and self._current.partial

    def resume(self) -> None:
        """Forget an interrupt: it was about what is over."""
        self._interrupted = False

    def interrupt(self) -> None:
        """Have the check that runs now, in another thread, end with Interrupted."""
        self._interrupted = True
        if self._current is not None:
            self._current.worker.interrupt(True)


class _Listing(NamedTuple):
    """The files of a project, with what tells that there are no others by now."""

    project: Project
    own: frozenset[Path]
    stamps: dict[str, Stamp | None]

    def holds(self) -> bool:
        return all(known is not None and stamp(path) == known for path, known in self.stamps.items())


def _keep(store: OrderedDict[object, T], key: object, value: T, room: int) -> None:
    store[key] = value
    store.move_to_end(key)
    if len(store) > room:
        store.popitem(last=False)


class LiveWorker(Worker):
    """A worker that outlives changes of its project.

    repairs: whether codemods are asked.
    stopped: another thread wants the analysis to end.
    """

    project: LiveProject

    def __init__(self, project: LiveProject, settings: Settings) -> None:
        super().__init__(project, settings)
        self.repairs = True
        self.stopped = False

    def forget(self, change: Change) -> bool:
        """Drop what rests on what has changed. Whether settings of torch that hold for other files may have, too."""
        self._added = {key: names for key, names in self._added.items() if key[0] not in change.digests}
        if self._machine is not None:
            self._machine.forget(change.touches)
        index, owns = self.project.index, self.project.owns
        others = any(
            old is None or settings_in(old) != settings_in(index(path))
            for path, old in change.before.items()
            if owns(path)
        )
        if others:
            self._package_settings = None
        return others

    def interrupt(self, wanted: bool) -> None:
        """Have what runs end, from another thread, or take that back."""
        self.stopped = wanted
        if self._machine is not None:
            self._machine.interrupted = wanted

    def remember(self, plan: Plan, result: UnitResult) -> None:
        """Keep a result on disk, unless it is of what only an editor has."""
        if not self.project.overlaid(path for path, _ in result.files):
            super().remember(plan, result)

    def _former(self, new: ModuleInfo, digest: str) -> ModuleInfo | None:
        return self.project.former.get(digest) or super()._former(new, digest)

    def whole(self, plan: Plan, result: UnitResult) -> bool:
        """Whether codemods have been asked about every finding of a result that they are to be asked about."""
        examines = super()._examines(plan)
        return not any(examines(finding) and not finding.examined for finding in result.findings)

    def _examines(self, plan: Plan) -> Callable[[Finding], bool]:
        return super()._examines(plan) if self.repairs else _nothing


def _nothing(finding: Finding) -> bool:
    return False


class _Kept:
    """A result in memory. files: those it rests on; whole: no repairs were left out; doubtful: something it rests on
    has changed since."""

    __slots__ = ("doubtful", "files", "result", "whole")

    def __init__(self, result: UnitResult, whole: bool) -> None:
        self.result = result
        self.files = frozenset(sys.intern(path) for path, _ in result.files)
        self.whole = whole
        self.doubtful = False


class LiveEngine(Engine):
    """The analysis of one project, again and again.

    effort, focus: see `Resident`. complete: every unit has been run, or taken from the cache. partial: repairs that
    there may be were left out of the last analysis.
    """

    project: LiveProject
    worker: LiveWorker

    def __init__(
        self, project_files: list[Path], settings: Settings, cache_dir: Path | None, overlay: Mapping[Path, bytes]
    ) -> None:
        self.settings = settings
        self.cache = IndexCache(cache_dir) if cache_dir is not None else MemoryCache() if settings.jobs > 1 else None
        self.project = LiveProject(project_files, [Path(p) for p in settings.search_paths], self.cache, overlay)
        self.worker = LiveWorker(self.project, settings)
        self.effort = REPAIRS
        self.focus: frozenset[str] = frozenset()
        self.complete = False
        self.partial = False
        self._known_twins: dict[str, frozenset[str]] | None = None
        self._kept: dict[_Key, _Kept] = {}
        self._used: set[_Key] = set()
        self._wanted: set[str] = set()

    def refresh(self, overlay: Mapping[Path, bytes]) -> None:
        """Notice what has changed on disk, or in what stands in for files on it."""
        change = self.project.refresh(overlay)
        if not change.digests and not change.moved:
            return
        if self.worker.forget(change):
            self._kept.clear()
        if change.moved or any(
            old is None or traits(old) != traits(self.project.index(path)) for path, old in change.before.items()
        ):
            self._known_twins = None
        for kept in self._kept.values():
            if change.moved or any(path in kept.files for path in change.digests):
                kept.doubtful = True

    def analyze(self, report_files: list[Path], progress: Progress | None) -> Analysis:
        """See `Engine.analyze`: the same findings. Of the statistics only the count of roots is that of the project."""
        self._wanted = {os.path.abspath(p) for p in report_files}
        self._used = set()
        paths = sorted(self._wanted) if self.effort == NEAR else self.project.files
        self.infos = [self._info(path) for path in paths]
        analysis = super().analyze(report_files, progress)
        if self.effort != NEAR:
            self.complete = True
            self._kept = {key: kept for key, kept in self._kept.items() if key in self._used}
        self.partial = any(not kept.whole and self._concerns(kept) for kept in self._kept.values())
        analysis.stats.roots = sum(sum(kept.result.roots.values()) for kept in self._kept.values())
        return analysis

    def _twins(self) -> dict[str, frozenset[str]]:
        if self.effort == NEAR:
            return {}
        if self._known_twins is None:
            self._known_twins = super()._twins()
        return self._known_twins

    def _info(self, path: str) -> ModuleInfo:
        if self.worker.stopped:
            raise Interrupted
        return self.project.index(path)

    def _merge(self, results: list[UnitResult], wanted: set[str]) -> Analysis:
        return super()._merge(self._concerned(results), wanted)

    def _offer(self, analysis: Analysis, results: list[UnitResult]) -> None:
        if self.effort == REPAIRS:
            super()._offer(analysis, self._concerned(results))

    def _concerned(self, results: list[UnitResult]) -> list[UnitResult]:
        found = [(result, self._kept[result.path, result.mode, None]) for result in results]
        return [result for result, kept in found if self._concerns(kept) and self._in_focus(result, kept)]

    def _in_focus(self, result: UnitResult, kept: _Kept) -> bool:
        """Whether a unit may hold roots that matter: what is compiled by name may lie in another file."""
        if not self.focus or result.path in self.focus:
            return True
        return result.mode == "explicit" and not kept.files.isdisjoint(self.focus)

    def _run(self, plans: list[Plan], progress: Progress | None, done: int, total: int) -> list[UnitResult]:
        results: list[UnitResult | None] = [self._use(plan, self._known(plan)) for plan in plans]
        missing = [number for number, result in enumerate(results) if result is None]
        # Repairs take time: in a hurry they are left out, to be worked out when somebody wants them.
        self.worker.repairs = self.effort == REPAIRS or (self.effort == WHOLE and not self.complete)
        fresh = self._fresh([plans[number] for number in missing], self._jobs(plans))
        for number, (result, _) in zip(missing, fresh, strict=True):
            results[number] = self._use(plans[number], self._fresh_result(plans[number], result))
            if progress is not None:
                progress(done + number + 1, total, result.path)
        return [result for result in results if result is not None]

    def _use(self, plan: Plan, kept: _Kept | None) -> UnitResult | None:
        if self.worker.stopped:
            raise Interrupted
        if kept is None:
            return None
        self._kept[_key(plan)] = kept
        self._used.add(_key(plan))
        return kept.result

    def _known(self, plan: Plan) -> _Kept | None:
        """What memory or the cache has of a unit, if that is enough."""
        kept = self._kept.get(_key(plan))
        if kept is not None and not kept.whole and self.effort == REPAIRS and self._concerns(kept):
            return None
        if kept is not None and kept.doubtful:
            kept = _Kept(kept.result, kept.whole) if self.worker.holds(kept.result) else None
        if kept is None and (found := self.worker.cached(plan)) is not None:
            kept = _Kept(found, whole=True)
        return kept

    def _fresh_result(self, plan: Plan, result: UnitResult) -> _Kept:
        kept = _Kept(result, self.worker.whole(plan, result))
        if kept.whole:
            self.worker.remember(plan, kept.result)
        return kept

    def _concerns(self, kept: _Kept) -> bool:
        """Whether a result may say something of the wanted files: only what it has read can it have found breaks in."""
        return not kept.files.isdisjoint(self._wanted)


def _key(plan: Plan) -> _Key:
    return plan.info.path, plan.mode, plan.spots
