"""What other files can see of a file without reading its bodies, to tell whether an edit concerns them."""

from __future__ import annotations

from collections.abc import Hashable

from gblint.index.model import Binding, ClassInfo, ModuleInfo

_MISC = ("", "module")


def added_names(old: ModuleInfo, new: ModuleInfo) -> frozenset[str] | None:
    """The top-level names that an edit has added to a file; None if it has changed anything else of its outline."""
    before, after = _outline(old), _outline(new)
    if any(after.get(key) != facts for key, facts in before.items()):
        return None
    names = frozenset(_head(key[1]) for key in after.keys() - before.keys())
    return names if names.isdisjoint(old.bindings) else None


def _head(qualname: str) -> str:
    return qualname.partition(".")[0]


def _outline(info: ModuleInfo) -> dict[tuple[str, str], Hashable]:
    """Facts by kind and name, without rows."""
    facts: dict[tuple[str, str], Hashable] = {_MISC: _misc(info)}
    for name, bindings in info.bindings.items():
        facts["name", name] = _bindings(bindings)
    for qualname, cls in info.classes.items():
        facts["class", qualname] = _class(cls)
    functions: dict[str, list[Hashable]] = {}
    for f in info.functions:
        functions.setdefault(f.qualname, []).append((f.owner, f.decorators, f.is_async, f.is_generator))
    facts.update({("function", qualname): tuple(found) for qualname, found in functions.items()})
    return facts


def _bindings(bindings: list[Binding]) -> Hashable:
    return tuple((b.kind, b.guard, b.target, b.attr, b.alias) for b in bindings)


def _class(cls: ClassInfo) -> Hashable:
    return (
        cls.bases, cls.keywords, cls.decorators, tuple(cls.methods),
        tuple((name, _bindings(found)) for name, found in cls.bindings.items()), tuple(cls.annotations.items()),
    )  # fmt: skip


def _misc(info: ModuleInfo) -> Hashable:
    exports = None if info.exports is None else tuple(info.exports)
    settings = tuple((name, text) for name, text, _ in info.torch_settings)
    sites = tuple((site.kind, site.function) for site in info.compile_sites)
    return (
        info.name, info.package, tuple(info.stars), settings, sites, info.is_script, info.imports_torch, info.error,
        exports, tuple(info.lazy.items()), info.globals_written, info.given, info.lazy_folder,
    )  # fmt: skip
