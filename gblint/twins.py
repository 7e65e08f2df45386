"""Modules that repeat what stands in another: of two copies of a model, the one the project imports is the one that
runs."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gblint.index.model import ModuleInfo


def twins_of(infos: Iterable[ModuleInfo]) -> dict[str, frozenset[str]]:
    """The modules whose classes need not be taken for roots, as path → paths of the modules that stand for them.

    Such a module (an older version that was kept, the source that another file is generated from) lies in a package,
    is no program and compiles nothing. Every class of it that has a base stands under the same name in modules beside
    it which the project imports, while nobody imports the module itself but others of its kind.
    """
    infos = [info for info in infos if not info.error]
    beside: dict[str, dict[str, list[ModuleInfo]]] = defaultdict(lambda: defaultdict(list))
    for info in filter(_is_member, infos):
        for name in _derived(info):
            beside[info.package][name].append(info)
    candidates = {i.name: i for i in infos if _may_be_spare(i) and _all_repeated(i, beside[i.package])}
    if not candidates:
        return {}
    importers = _importers(infos, {info.package for info in candidates.values()})
    spare = _unused(candidates.keys(), importers)
    used = {name for name, by in importers.items() if by - spare} - spare
    found = ((candidates[name], _stand_ins(candidates[name], beside, used)) for name in sorted(spare))
    return {info.path: stand_ins for info, stand_ins in found if stand_ins}


def traits(info: ModuleInfo) -> object:
    """All of a module that `twins_of` goes by: while this stays equal, so does its answer."""
    return bool(info.error), _may_be_spare(info), _derived(info), sorted(_imports(info)), info.lazy


def _is_member(info: ModuleInfo) -> bool:
    return "." in info.name and not info.path.endswith("__init__.py")


def _may_be_spare(info: ModuleInfo) -> bool:
    return _is_member(info) and not info.is_script and not info.compile_sites and bool(_derived(info))


def _derived(info: ModuleInfo) -> list[str]:
    """The classes that may be modules of torch."""
    return [name for name in info.derived if "." not in name]


def _all_repeated(info: ModuleInfo, beside: dict[str, list[ModuleInfo]]) -> bool:
    return all(len(beside[name]) > 1 for name in _derived(info))


def _importers(infos: list[ModuleInfo], packages: set[str]) -> dict[str, set[str]]:
    """Who imports each module of some packages, anywhere in the file and under any condition; by name."""
    members = {info.name for info in infos if info.package in packages and _is_member(info)}
    found: dict[str, set[str]] = {name: set() for name in members}
    for info in infos:
        for name in members.intersection(_imports(info, packages)):
            if name != info.name:
                found[name].add(info.name)
    return found


def _imports(info: ModuleInfo, packages: set[str] | None = None) -> set[str]:
    """Dotted names that may be modules; packages: those whose modules are of interest, None for all."""
    names = {*info.stars, *info.nested_imports}
    for target, attribute, _ in info.imports:
        names.add(target)
        if packages is None or target in packages:
            names.add(f"{target}.{attribute}")
    if info.lazy:
        names.update(f"{info.name}.{below}" for below in info.lazy.values())
    return names


def _unused(candidates: Iterable[str], importers: dict[str, set[str]]) -> set[str]:
    """The candidates that only others of them import."""
    unused = set(candidates)
    while True:
        used = {name for name in unused if importers[name] - unused}
        if not used:
            return unused
        unused -= used


def _stand_ins(
    info: ModuleInfo, beside: dict[str, dict[str, list[ModuleInfo]]], used: set[str]
) -> frozenset[str] | None:
    """The modules in use that hold the classes of this one; None if one of them is nowhere in use."""
    found: set[str] = set()
    for name in _derived(info):
        there = [other.path for other in beside[info.package][name] if other.name in used]
        if not there:
            return None
        found.update(there)
    return frozenset(found)
