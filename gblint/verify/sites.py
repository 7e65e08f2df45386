"""Breaks by the place in the user's code that they belong to."""

from __future__ import annotations

import os
import re
import sysconfig
from collections.abc import Callable, Iterable
from functools import cache, lru_cache
from pathlib import Path

import msgspec

from gblint.verify.said import RAISES, RESUMES, SKIPS, Break, Frame, Message, Said

Owner = Callable[[str], bool]

_LIBRARY = re.compile(r"[/\\](?:site-packages|dist-packages|lib[/\\]python\d[\w.]*|lib64[/\\]python\d[\w.]*)[/\\]")
_STDLIB = tuple(os.path.join(path, "") for path in {sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")})
_TORCH = re.compile(r"[/\\]torch[/\\](?:_dynamo|_inductor|_functorch|nn|_ops|utils|fx|autograd|distributed)[/\\]")
_WORST = (RAISES, SKIPS, RESUMES)
_EASIEST = ("user-error", "", "supportable", "fundamental", "dynamo-bug", "cascade")


class Site(msgspec.Struct):
    """A row of the user's code where the graph breaks.

    code: id, "" where torch gave none. wraps: ids reported around it. library: where in foreign code it happened, if it
    did. owner: "yours", or "library" when no row of the user's led there. effect: the worst that Dynamo did. stack: of
    the first one, outermost first.
    """

    code: str
    name: str
    filename: str
    row: int
    function: str
    wraps: tuple[str, ...] = ()
    library: Frame | None = None
    owner: str = "yours"
    category: str = ""
    reason: str = ""
    hints: tuple[str, ...] = ()
    effect: str = RESUMES
    stack: tuple[Frame, ...] = ()
    count: int = 0
    compile_ids: list[str] = []
    restarts: int = 0
    seconds: float = 0.0
    silent: bool = False

    @property
    def shown_code(self) -> str:
        return self.code or "GB????"


@lru_cache(maxsize=4096)
def is_yours(filename: str) -> bool:
    """Whether a file is the user's own, as far as its path tells: no library's, Python's or made-up one."""
    if not filename or filename.startswith("<"):
        return False
    return not (_LIBRARY.search(filename) or filename.startswith(_STDLIB) or _TORCH.search(filename))


def within(files: Iterable[str], folders: Iterable[Path]) -> Owner:
    """An owner of given files, and of all in folders but for the libraries installed below them."""
    known = {os.path.realpath(file) for file in files}
    tops = tuple(os.path.join(os.path.realpath(folder), "") for folder in folders)

    @cache
    def owner(filename: str) -> bool:
        if not filename or filename.startswith("<"):
            return False
        path = os.path.realpath(filename)
        if path in known:
            return True
        top = next((top for top in tops if path.startswith(top)), None)
        return top is not None and not _LIBRARY.search(path[len(top) - 1 :])

    return owner


def sites(said: Said, owner: Owner = is_yours) -> list[Site]:
    """All breaks by place and id, in order of file and row. One that no row of the user's led to is the library's."""
    found: dict[tuple[str, int, str, str], Site] = {}
    for event in said.breaks:
        place, library = _place(event.message.stack, owner)
        if event.silent and not owner(place.filename):
            continue  # Dynamo leaves many functions of libraries alone
        key = (place.filename, place.row, event.message.code or event.message.title, (event.silent and "silent") or "")
        site = found.get(key)
        if site is None:
            site = found[key] = _site(event.message, place, library)
            site.owner = "yours" if owner(place.filename) else "library"
            site.silent = event.silent
        _add(site, event)
    for key in [k for k in found if k[3] and (k[0], k[1], k[2], "") in found]:
        del found[key]
    return sorted(found.values(), key=lambda s: (s.filename, s.row, s.code))


def _place(stack: tuple[Frame, ...], owner: Owner) -> tuple[Frame, Frame | None]:
    """The innermost row of the user's, and the row in a library where it happened; else that alone."""
    if not stack:
        return Frame("", 0), None
    inner = stack[-1]
    for frame in reversed(stack):
        if owner(frame.filename):
            return frame, None if frame == inner else inner
    foreign = next((f for f in reversed(stack) if not _TORCH.search(f.filename)), inner)
    return foreign, None if foreign == inner else inner


def _site(message: Message, place: Frame, library: Frame | None) -> Site:
    return Site(
        code=message.code,
        name=slug(message.title),
        filename=place.filename,
        row=place.row,
        function=place.function,
        library=library,
        category=message.category,
        reason=reason(message),
        hints=message.hints,
        effect=message.effect,
        stack=message.stack,
        compile_ids=[],
    )


def _add(site: Site, event: Break) -> None:
    site.count += event.count
    site.restarts += event.restarts
    site.seconds += event.seconds
    site.wraps = tuple(dict.fromkeys((*site.wraps, *event.message.wraps)))
    site.compile_ids += [c for c in event.compile_ids if c not in site.compile_ids]
    site.effect = min(site.effect, event.message.effect, key=_WORST.index)


def reason(message: Message) -> str:
    """Dynamo's words for a break, on one line."""
    return f"{message.title}: {message.explanation}" if message.explanation else message.title


def slug(title: str) -> str:
    """A kind of break as a name: "graph-break-in-loop"."""
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:60] or "graph-break"


def by_worth(found: Iterable[Site]) -> list[Site]:
    """The order to fix in: what follows from another break last, costly before cheap, often before rare."""
    return sorted(
        found,
        key=lambda s: (
            s.owner != "yours",
            s.category == "cascade",
            _WORST.index(s.effect) if s.effect in _WORST else len(_WORST),
            -s.count,
            _EASIEST.index(s.category) if s.category in _EASIEST else 0,
            s.filename,
            s.row,
        ),
    )
