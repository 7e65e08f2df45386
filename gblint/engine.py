"""From files to findings: index, plan the units, interpret each, merge. A unit is one file holding roots."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from gblint.analysis import Analysis, Diagnostic, Progress, Settings
from gblint.collector import collector_off
from gblint.index.cache import IndexCache
from gblint.index.project import Project
from gblint.stack import on_deep_stack
from gblint.timing import CLOCK
from gblint.twins import twins_of
from gblint.units import Plan, UnitResult, Worker

if TYPE_CHECKING:
    from gblint.index.model import ModuleInfo

T = TypeVar("T")

INDEXED = 50  # files, between two words on progress


def run(
    report_files: list[Path],
    project_files: list[Path],
    settings: Settings,
    cache_dir: Path | None = None,
    progress: Progress | None = None,
    overlay: Mapping[Path, bytes | None] | None = None,
) -> Analysis:
    """See `gblint.analysis.analyze`."""

    def analysis() -> Analysis:
        return Engine(project_files, settings, cache_dir, overlay, progress).analyze(report_files, progress)

    return undisturbed(analysis)


def undisturbed(action: Callable[[], T]) -> T:
    """What `action` gives, with what an engine needs round it: room for deep recursion, and no collector."""
    with collector_off():
        return on_deep_stack(action)


class Engine:
    """One analysis of one project."""

    def __init__(
        self,
        project_files: list[Path],
        settings: Settings,
        cache_dir: Path | None,
        overlay: Mapping[Path, bytes | None] | None,
        progress: Progress | None = None,
    ) -> None:
        self.settings = settings
        self.cache = IndexCache(cache_dir) if cache_dir is not None else None
        with CLOCK.stage("index the project"):
            self.project = Project(project_files, [Path(p) for p in settings.search_paths], self.cache, overlay)
            self.infos = list(_told(self.project.infos(self.project.files), len(self.project.files), progress))
        self.worker = Worker(self.project, settings)

    def analyze(self, report_files: list[Path], progress: Progress | None) -> Analysis:
        """Run every unit that can contribute and merge what they found."""
        wanted = {os.path.abspath(p) for p in report_files}
        spare = self._spare(wanted)
        try:
            results = self._results(progress, spare)
            with CLOCK.stage("put findings together"):
                analysis = self._merge(results, wanted)
            self._offer(analysis, results)
        finally:  # what an interrupted run has found out is of use to the next one
            if self.cache is not None:
                with CLOCK.stage("write the cache"):
                    self.cache.save()
        analysis.diagnostics += self._diagnostics(wanted)
        analysis.suppressions = {i.path: i.suppressions for i in self.infos if i.suppressions and i.path in wanted}
        if self.cache is not None and self.cache.distrusted:
            analysis.notes.append(f"the cache is not used: {self.cache.distrusted}")
        analysis.stats.files = len(wanted)
        analysis.twins = frozenset(spare & wanted)
        analysis.stats.twins = len(analysis.twins)
        analysis.stats.unfound = sorted(self._unfound(wanted))
        return analysis

    def _spare(self, wanted: set[str]) -> set[str]:
        """Modules left aside because another holds the same classes; not where that is not looked at itself."""
        if self.settings.roots_mode != "auto":
            return set()
        return {path for path, twins in self._twins().items() if path not in wanted or twins & wanted}

    def _twins(self) -> dict[str, frozenset[str]]:
        return twins_of(self.infos)

    def _merge(self, results: list[UnitResult], wanted: set[str]) -> Analysis:
        from gblint.merge import merge

        return merge(results, wanted, self.project)

    def _offer(self, analysis: Analysis, results: list[UnitResult]) -> None:
        """Have repairs worked out for the findings that no unit has asked the codemods about."""
        from gblint.offers import completed, plans_for

        likely = [f for f in analysis.findings if f.confidence >= self.settings.repaired_from]
        plans = plans_for(likely, results, self.project)
        if plans:
            offers = self._run(plans, None, 0, 0)
            analysis.findings = completed(analysis.findings, offers)
            analysis.stats.internal += [each for offer in offers for each in offer.internal]

    def _results(self, progress: Progress | None, spare: set[str]) -> list[UnitResult]:
        explicit = self._explicit_plans()
        results = self._run(explicit, progress, 0, len(self.infos))
        by_script = {_home(p.info) for p, r in zip(explicit, results, strict=True) if r.by_script}
        rest = [plan for plan in self._other_plans(by_script) if plan.info.path not in spare]
        return results + self._run(rest, progress, len(explicit), len(explicit) + len(rest))

    def _explicit_plans(self) -> list[Plan]:
        named = {name.partition(":")[0] for name in self.settings.roots}
        return [Plan(i, "explicit") for i in self.infos if not i.error and (i.compile_sites or i.name in named)]

    def _other_plans(self, by_script: set[str]) -> list[Plan]:
        mode = self.settings.roots_mode
        if mode == "explicit":
            return []
        plans: list[Plan] = []
        for info in self.infos:
            if info.error:
                continue
            if mode == "all":
                plans.append(Plan(info, "all"))
            elif (mode == "modules" or (_home(info) not in by_script and not self.settings.roots)) and info.derived:
                plans.append(Plan(info, "modules"))
        return plans

    def _run(self, plans: list[Plan], progress: Progress | None, done: int, total: int) -> list[UnitResult]:
        worker = self.worker
        with CLOCK.stage("look into the cache"):
            results = list(worker.from_cache(plans))
        missing = [n for n, r in enumerate(results) if r is None]
        CLOCK.kept += len(plans) - len(missing)
        with CLOCK.stage("follow calls from roots"):
            fresh = self._fresh([plans[n] for n in missing], self._jobs(plans))
            for count, (n, (result, seconds)) in enumerate(zip(missing, fresh, strict=True)):
                results[n] = result
                worker.remember(plans[n], result)
                CLOCK.files[result.path] += seconds
                if progress is not None:
                    progress(done + count + 1, total, result.path)
        return [r for r in results if r is not None]

    def _jobs(self, plans: list[Plan]) -> int:
        return min(self.settings.jobs, max(len(plans) // 4, 1))

    def _fresh(self, plans: list[Plan], jobs: int) -> Iterator[tuple[UnitResult, float]]:
        """The results of units, and the seconds that each took."""
        if jobs > 1 and len(plans) > 8:
            from gblint.parallel import run_units

            return run_units(self.worker, plans, jobs)
        return map(self.worker.timed, plans)

    def _unfound(self, wanted: set[str]) -> set[str]:
        """The top-level packages that wanted files import where they always do so, and that are not there."""
        reaches = self.project.layout.reaches
        missing: set[str] = set()
        for info in self.infos:
            if info.path not in wanted:
                continue
            folder = os.path.dirname(info.path)
            for target, attribute, always in info.imports:
                if not always or not target:
                    continue
                head = target.partition(".")[0]
                if head not in missing and not reaches(target, attribute, folder):
                    missing.add(head)  # to look for it from every other folder as well would cost most of all
        return missing

    def _diagnostics(self, wanted: set[str]) -> list[Diagnostic]:
        return [
            Diagnostic(i.path, max(i.error_row, 1), max(i.error_column, 1), i.error_kind or "invalid-syntax", i.error)
            for i in self.infos
            if i.error and i.path in wanted
        ]


def _told(infos: Iterator[ModuleInfo], total: int, progress: Progress | None) -> Iterator[ModuleInfo]:
    """The indexes, one after the other, with a word on how far it has got."""
    for count, info in enumerate(infos, 1):
        yield info
        if progress is not None and count % INDEXED == 0:
            progress(count, total, info.path)


def _home(info: ModuleInfo) -> str:
    """What a script's choice of roots speaks for: its top-level package, or the folder it lies in."""
    return _home_of(info.path, info.name)


@lru_cache(maxsize=20_000)
def _home_of(path: str, name: str) -> str:
    top = name.partition(".")[0]
    if "." not in name and not path.endswith("__init__.py"):
        return os.path.dirname(path)
    depth = name.count(".") + (1 if path.endswith("__init__.py") else 0)
    folder = path
    for _ in range(depth + 1):
        folder = os.path.dirname(folder)
    return os.path.join(folder, top)
