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
    importers = _importers(infos, candidates)
    spare = _unused(candidates, importers)
    used = {name for name, by in _importers(infos, _names(infos, candidates)).items() if by - spare}
    found = ((candidates[name], _stand_ins(candidates[name], beside, used - spare)) for name in sorted(spare))
    return {info.path: stand_ins for info, stand_ins in found if stand_ins}


def _is_member(info: ModuleInfo) -> bool:
    return "." in info.name and not info.path.endswith("__init__.py")


def _may_be_spare(info: ModuleInfo) -> bool:
    return _is_member(info) and not info.is_script and not info.compile_sites and bool(_derived(info))


def _derived(info: ModuleInfo) -> list[str]:
    """The classes that may be modules of torch."""
    return [name for name, cls in info.classes.items() if cls.bases and "." not in name]


def _all_repeated(info: ModuleInfo, beside: dict[str, list[ModuleInfo]]) -> bool:
    return all(len(beside[name]) > 1 for name in _derived(info))


def _names(infos: list[ModuleInfo], candidates: dict[str, ModuleInfo]) -> set[str]:
    """The modules in the packages of the candidates."""
    packages = {info.package for info in candidates.values()}
    return {info.name for info in infos if info.package in packages and _is_member(info)}


def _importers(infos: list[ModuleInfo], names: Iterable[str]) -> dict[str, set[str]]:
    """Who imports each of some modules, anywhere in the file and under any condition; by name."""
    wanted = frozenset(names)
    found: dict[str, set[str]] = {name: set() for name in wanted}
    for info in infos:
        for name in wanted.intersection(_imports(info)):
            if name != info.name:
                found[name].add(info.name)
    return found


def _imports(info: ModuleInfo) -> set[str]:
    """Dotted names that may be modules."""
    names = {*info.stars, *info.nested_imports}
    for bindings in info.bindings.values():
        for binding in bindings:
            if binding.kind == "import":
                names.update((binding.target, f"{binding.target}.{binding.attr}"))
    names.update(f"{info.name}.{below}" for below in info.lazy.values())
    return names


def _unused(candidates: dict[str, ModuleInfo], importers: dict[str, set[str]]) -> set[str]:
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
