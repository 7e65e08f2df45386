"""Other places of the project seen from a site: the class around it, its constructor, the calls of its function."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from gblint.fixing.site import Refusal, Site
from gblint.interpreter.functions import chunk_of
from gblint.interpreter.values import Instance, members
from gblint.interpreter.walk import only, walk

if TYPE_CHECKING:
    from gblint.index.model import ClassInfo, FunctionInfo, ModuleInfo
    from gblint.interpreter.source import Chunk

MOST_FILES = 600  # that are searched for a name


def at(site: Site, module: ModuleInfo, start: int, end: int) -> Site:
    """A site over other rows of the project; its node is the first statement there. Raises Refusal."""
    found = chunk_of(site.machine, module, start, end)
    chunk = found.written if found is not None else None
    if chunk is None or not chunk.body:
        raise Refusal(f"{os.path.basename(module.path)} could not be read")
    return Site(site.machine, chunk, chunk.body[0], site.finding, site.options)


def class_site(site: Site, info: ClassInfo) -> tuple[Site, cst.ClassDef]:
    """A class of the site's file as a site of its own. Raises Refusal where it cannot be read."""
    found = at(site, site.module, info.start, info.end)
    if not isinstance(found.node, cst.ClassDef):
        raise Refusal(f"`{info.qualname}` could not be read")
    return found, found.node


def own_class(site: Site) -> tuple[Site, cst.ClassDef, ClassInfo]:
    """The class whose method the site is in. Raises Refusal outside of methods."""
    info = function_info(site)
    if info is None or not info.owner:
        raise Refusal("the code is not in a method")
    known = site.module.classes[info.owner]
    return (*class_site(site, known), known)


def method(tree: cst.ClassDef, name: str) -> cst.FunctionDef | None:
    """A method that a class defines itself."""
    found = [s for s in tree.body.body if isinstance(s, cst.FunctionDef) and s.name.value == name]
    return found[-1] if found else None


def is_decorated(site: Site, node: cst.BaseExpression, *names: str) -> bool:
    """Whether the class of an object is known to define one of some methods under a decorator."""
    value = site.value(node)
    for one in members(value) if value is not None else ():
        known = one.cls if isinstance(one, Instance) else None
        found = [known.info.methods[n] for n in names if n in known.info.methods] if known is not None else []
        if known is not None and any(known.module.functions[index].decorators for index in found):
            return True
    return False


def swallows(site: Site, node: cst.BaseExpression) -> bool:
    """Whether a context manager may swallow errors: `contextlib.suppress`, and what gives anything but False or None
    where it is left."""
    if site.callee(node) == "contextlib.suppress":
        return True
    value = site.value(node)
    for one in members(value) if value is not None else ():
        known = one.cls if isinstance(one, Instance) else None
        if known is None or "__exit__" not in known.info.methods:
            continue
        left = known.module.functions[known.info.methods["__exit__"]]
        tree = at(site, known.module, left.start, left.end).node
        if any(not _is_falsy(found.value) for found in only(walk(tree), cst.Return)):
            return True
    return False


def _is_falsy(value: cst.CSTNode | None) -> bool:
    return value is None or (isinstance(value, cst.Name) and value.value in ("None", "False"))


def function_info(site: Site) -> FunctionInfo | None:
    """The index entry of the listed function that the site is in (a nested function has none: that around it)."""
    row = site.span(site.node)[0]
    inside = [f for f in site.module.functions if f.start <= row <= f.end]
    return max(inside, key=lambda f: f.start) if inside else None


def callers(site: Site) -> list[Site]:
    """Every call of the function the site is in, each as a site whose node is the call.

    Raises Refusal unless all can be seen: the function is listed, nobody else mentions its name, and it is called.
    """
    info = function_info(site)
    if info is None or site.function.name.value != info.qualname.rpartition(".")[2]:
        raise Refusal("the function is defined inside another, where its calls are not in view")
    if any(
        d.rpartition(".")[2] in ("property", "setter", "cached_property", "cache", "lru_cache") for d in info.decorators
    ):
        raise Refusal("the function is decorated with what calls it")
    calls = _recorded(site, info)
    if not calls or not all(isinstance(node, cst.Call) for _, _, node in calls):
        raise Refusal(f"`{info.qualname}` is called from code that is not in view")
    name = info.owner or info.qualname
    mentioned = _check_mentions(site, info, name)
    others = (places for key, places in site.machine.callers.items() if key != (site.module.path, info.start))
    if any(not calls.keys().isdisjoint(places) for places in others):
        raise Refusal(f"a call of `{info.qualname}` runs other functions as well")
    found = _seen_calls(site, info)
    accounted = sum(_mentions(name, s.text(n.func)) for s in found for n in [s.node] if isinstance(n, cst.Call))
    if mentioned - 1 > accounted:
        raise Refusal(f"not all calls of `{name}` are in view")
    return found


def seen_callers(site: Site) -> list[Site]:
    """As `callers`, for those calls that the analysis came by. Raises Refusal where the function is handed on by its
    name, so that it may be called by another."""
    info = function_info(site)
    if info is None:
        return []
    _check_mentions(site, info, info.owner or info.qualname)
    return _seen_calls(site, info)


def calling(site: Site) -> list[cst.CSTNode]:
    """What calls the function the site is in, so far as the analysis came by it, without a look at the text around it.
    `Site.value` knows what a call gave."""
    info = function_info(site)
    return [node for _, _, node in _recorded(site, info)] if info is not None else []


def _seen_calls(site: Site, info: FunctionInfo) -> list[Site]:
    calls = _recorded(site, info).items()
    return [Site(site.machine, chunk, node, site.finding, site.options) for (_, _, node), chunk in calls]


def _recorded(site: Site, info: FunctionInfo) -> dict[tuple[str, int, cst.CSTNode], Chunk]:
    return site.machine.callers.get((site.module.path, info.start), {})


def _mentions(name: str, text: str) -> int:
    return len(re.findall(rf"\b{re.escape(name)}\b", text))


def _check_mentions(site: Site, info: FunctionInfo, name: str) -> int:
    """How often a function is called or defined by name; 0 for a method. Refuses where the name (that of the class, for
    a method) stands in code that can be no call."""
    last = name.rpartition(".")[2]
    key = ("mentions", site.module.path, last, bool(info.owner), site.options.get("depth"))
    found = site.machine.project.remembered(key, lambda: _count_mentions(site, bool(info.owner), last))
    if isinstance(found, str):
        raise Refusal(found)
    return found


def _count_mentions(site: Site, is_method: bool, last: str) -> int | str:
    """The count, or the reason to refuse."""
    lines = [(path, line.partition("#")[0]) for path, line in _lines_with(site, last)]
    for path, text in lines:
        if path == site.module.path and re.match(rf"\s*(async\s+)?(def|class)\s+{last}\b", text):
            continue
        if re.match(rf"\s*class\s+\w+\(.*\b{last}\b", text) and is_method:
            return f"`{last}` has subclasses"
        if not is_method and not re.search(rf"\b{last}\s*\(|(compile|jit)\(\s*([\w.]+\.)?{last}\b|import\b", text):
            return f"`{last}` is handed on: not all its calls are in view"
    return 0 if is_method else sum(len(re.findall(rf"\b{last}\s*\(", text)) for _, text in lines)


def _lines_with(site: Site, name: str) -> Iterator[tuple[str, str]]:
    """The lines of the project that hold a name. A check, whose answers are kept for as long as the files they rest on
    stay the same, looks into the site's own file alone; a fix asks again and looks into all."""
    machine = site.machine
    files = machine.project.files
    if len(files) > MOST_FILES or site.options.get("depth") != "all":
        files = [site.module.path]
    for path in files:
        if path != site.module.path and not _close(site, path):
            continue
        found = machine.project.lines_with(machine.project.info(path), name)
        yield from ((path, line) for line in found)


def _close(site: Site, path: str) -> bool:
    """Whether a file can have to do with that of the site: it names its module."""
    machine = site.machine
    module = machine.project.info(path)
    wanted = site.module.name
    last = wanted.rpartition(".")[2]
    if any(
        target.rpartition(".")[2] == last or attr == last or wanted.startswith(target)
        for target, attr, _ in module.imports
    ):
        return True
    return any(star.rpartition(".")[2] == last for star in module.stars)
