"""From files to findings: index, plan the units, interpret each, merge. A unit is one file holding roots."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from gblint.analysis import Analysis, Diagnostic, Progress, Settings
from gblint.collector import collector_off
from gblint.index.cache import IndexCache
from gblint.index.project import Project
from gblint.units import Plan, UnitResult, Worker

if TYPE_CHECKING:
    from gblint.index.model import ModuleInfo


def run(
    report_files: list[Path],
    project_files: list[Path],
    settings: Settings,
    cache_dir: Path | None = None,
    progress: Progress | None = None,
    overlay: Mapping[Path, bytes | None] | None = None,
) -> Analysis:
    """See `gblint.analysis.analyze`."""
    with running():
        engine = Engine(project_files, settings, cache_dir, overlay)
        return engine.analyze(report_files, progress)


@contextmanager
def running() -> Iterator[None]:
    """What an engine needs round it: room for deep recursion, and no collector."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, 12_000))
    try:
        with collector_off():
            yield
    finally:
        sys.setrecursionlimit(limit)


class Engine:
    """One analysis of one project."""

    def __init__(
        self,
        project_files: list[Path],
        settings: Settings,
        cache_dir: Path | None,
        overlay: Mapping[Path, bytes | None] | None,
    ) -> None:
        self.settings = settings
        self.cache = IndexCache(cache_dir) if cache_dir is not None else None
        self.project = Project(project_files, [Path(p) for p in settings.search_paths], self.cache, overlay)
        self.infos = [self.project.info(path) for path in self.project.files]
        self.worker = Worker(self.project, settings)

    def analyze(self, report_files: list[Path], progress: Progress | None) -> Analysis:
        """Run every unit that can contribute and merge what they found."""
        wanted = {os.path.abspath(p) for p in report_files}
        try:
            results = self._results(progress)
            analysis = self._merge(results, wanted)
            self._offer(analysis, results)
        finally:  # what an interrupted run has found out is of use to the next one
            if self.cache is not None:
                self.cache.save()
        analysis.diagnostics += self._diagnostics(wanted)
        analysis.suppressions = {i.path: i.suppressions for i in self.infos if i.suppressions and i.path in wanted}
        analysis.stats.files = len(wanted)
        return analysis

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

    def _results(self, progress: Progress | None) -> list[UnitResult]:
        explicit = self._explicit_plans()
        results = self._run(explicit, progress, 0, len(self.infos))
        by_script = {_home(p.info) for p, r in zip(explicit, results, strict=True) if r.by_script}
        rest = self._other_plans(by_script)
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
            elif (
                (mode == "modules" or (_home(info) not in by_script and not self.settings.roots))
                and info.classes
                and _may_hold_modules(info)
            ):
                plans.append(Plan(info, "modules"))
        return plans

    def _run(self, plans: list[Plan], progress: Progress | None, done: int, total: int) -> list[UnitResult]:
        jobs = min(self.settings.jobs, max(len(plans) // 4, 1))
        worker = self.worker
        results: list[UnitResult | None] = [worker.cached(plan) for plan in plans]
        missing = [n for n, r in enumerate(results) if r is None]
        for count, (n, result) in enumerate(zip(missing, self._fresh([plans[n] for n in missing], jobs), strict=True)):
            results[n] = result
            worker.remember(plans[n], result)
            if progress is not None:
                progress(done + count + 1, total, result.path)
        return [r for r in results if r is not None]

    def _fresh(self, plans: list[Plan], jobs: int) -> Iterator[UnitResult]:
        if jobs > 1 and len(plans) > 8:
            from gblint.parallel import run_units

            return run_units(self.worker, plans, jobs)
        return map(self.worker.run, plans)

    def _diagnostics(self, wanted: set[str]) -> list[Diagnostic]:
        return [
            Diagnostic(i.path, max(i.error_row, 1), max(i.error_column, 1), i.error_kind or "invalid-syntax", i.error)
            for i in self.infos
            if i.error and i.path in wanted
        ]


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


def _may_hold_modules(info: ModuleInfo) -> bool:
    """False if no class of the file can be an nn.Module: none has bases."""
    return any(c.bases for c in info.classes.values())
