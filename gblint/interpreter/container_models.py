"""Methods of lists, tuples, dicts, strings and streams."""

from __future__ import annotations

from gblint.interpreter import proxies
from gblint.interpreter.externals import Site, model
from gblint.interpreter.values import (
    NONE,
    Const,
    Instance,
    Mapping,
    Plain,
    Sequence,
    Stream,
    Unknown,
    Value,
    as_tensor,
    is_none,
    join,
    join_all,
    mixed,
)

LISTS = ("list", "deque", "set", "tuple", "size")


def _methods(kinds: tuple[str, ...], *names: str) -> list[str]:
    return [f"{kind}.{name}" for kind in kinds for name in names]


@model(*_methods(LISTS, "append", "add", "appendleft"))
def _append(site: Site) -> Value:
    value = site.args[0] if site.args else Unknown("")
    target = site.receiver
    if isinstance(target, Sequence):
        # Under a condition the element is still taken as added: a list is read for what it may hold.
        if target.items is not None and len(target.items) < 8 and not site.frame.loops and not site.frame.guards:
            target.items.append(value)
        else:
            known = list(target.items or []) + ([target.elem] if target.elem is not None else [])
            target.elem = join_all([*known, value])
            target.items = None
    return NONE


@model(*_methods(LISTS, "extend", "update", "insert"))
def _extend(site: Site) -> Value:
    target = site.receiver
    if not isinstance(target, Sequence) or not site.args:
        return NONE
    value = site.args[-1] if site.name.endswith("insert") else site.element(site.args[0])
    known = list(target.items or []) + ([target.elem] if target.elem is not None else [])
    target.elem = join_all([*known, value])
    target.items = None
    return NONE


@model(*_methods(LISTS, "pop", "popleft"))
def _pop(site: Site) -> Value:
    target = site.receiver
    if not isinstance(target, Sequence):
        return Unknown("pop")
    if target.items and not site.frame.loops and not site.frame.guards:
        index = site.args[0] if site.args else Const(0 if site.name.endswith("left") else -1)
        if (
            isinstance(index, Const)
            and isinstance(index.value, int)
            and -len(target.items) <= index.value < len(target.items)
        ):
            return target.items.pop(index.value)
    return target.element()


@model(*_methods(LISTS, "copy"))
def _copy(site: Site) -> Value:
    target = site.receiver
    if isinstance(target, Sequence):
        return Sequence(target.kind, list(target.items) if target.items is not None else None, target.elem)
    return Unknown("copy")


@model(*_methods(LISTS, "index", "count"), "torch.Size.numel", "size.numel")
def _count(site: Site) -> Value:
    return Plain("int", symbolic="numel" in site.name)


@model(*_methods(LISTS, "clear"))
def _clear(site: Site) -> Value:
    if isinstance(site.receiver, Sequence):
        site.receiver.items = []
        site.receiver.elem = None
    return NONE


@model(*_methods(LISTS, "reverse", "sort", "remove", "discard"))
def _in_place(site: Site) -> Value:
    target = site.receiver
    if isinstance(target, Sequence) and target.items is not None and not site.name.endswith("reverse"):
        target.elem = join_all(target.items) if target.items else None
        target.items = None
    elif isinstance(target, Sequence) and target.items is not None:
        target.items.reverse()
    return NONE


@model(*_methods(("set",), "union", "intersection", "difference", "symmetric_difference"))
def _set_operation(site: Site) -> Value:
    return (
        Sequence("set", None, site.receiver.element())
        if isinstance(site.receiver, Sequence) and (site.receiver.items or site.receiver.elem)
        else Sequence("set", None, None)
    )


# -- dicts --------------------------------------------------------------------------------------------------------


@model("dict.get", "dict.pop", "dict.setdefault")
def _get(site: Site) -> Value:
    mapping, key = site.receiver, site.args[0] if site.args else Unknown("")
    default = site.arg(1, "default")
    if not isinstance(mapping, Mapping):
        return Unknown("dict.get")
    if isinstance(key, Const) and isinstance(key.value, str | int | bool | float | type(None)):
        return _get_constant(site, mapping, key, default)
    parts = [*mapping.items.values(), *([mapping.elem] if mapping.elem is not None else [])]
    fallback = default if default is not None else NONE
    given = default is not None and not is_none(default) and as_tensor(default) is None
    if mixed(parts) or (given and any(as_tensor(p) is not None for p in parts)):
        return Unknown("value under a computed key")
    return join_all([*parts, fallback]) if parts else (Unknown("value") if not mapping.exact else fallback)


def _get_constant(site: Site, mapping: Mapping, key: Const, default: Value | None) -> Value:
    if key.value in mapping.items:
        if site.name == "dict.pop":
            proxies.note_change(site.frame, mapping)
            if not site.frame.guards:
                return mapping.items.pop(key.value)
        return mapping.items[key.value]
    fallback = default if default is not None else NONE
    if mapping.exact and mapping.elem is None:
        if site.name == "dict.setdefault":
            mapping.items[key.value] = fallback
        return fallback
    if mapping.elem is not None:
        return join(mapping.elem, fallback)
    return (
        fallback
        if default is not None and not isinstance(default, Const)
        else join(Unknown(f"key {key.value!r}"), fallback)
    )


@model("dict.items")
def _items(site: Site) -> Value:
    mapping = site.receiver
    if not isinstance(mapping, Mapping):
        return Stream("dict_items", Unknown("item"))
    if mapping.exact and mapping.elem is None:
        return Stream("dict_items", None, [Sequence("tuple", [Const(k), v]) for k, v in mapping.items.items()])
    return Stream("dict_items", Sequence("tuple", [Plain("str"), mapping.element()]))


@model("dict.values")
def _values(site: Site) -> Value:
    mapping = site.receiver
    if not isinstance(mapping, Mapping):
        return Stream("dict_values", Unknown("value"))
    if mapping.exact and mapping.elem is None:
        return Stream("dict_values", None, list(mapping.items.values()))
    return Stream("dict_values", mapping.element())


@model("dict.keys")
def _keys(site: Site) -> Value:
    mapping = site.receiver
    if isinstance(mapping, Mapping) and mapping.exact and mapping.elem is None:
        return Stream("dict_keys", None, [Const(k) for k in mapping.items])
    return Stream("dict_keys", Plain("str"))


@model("dict.update")
def _update(site: Site) -> Value:
    mapping = site.receiver
    if not isinstance(mapping, Mapping):
        return NONE
    proxies.note_change(site.frame, mapping)
    source = site.args[0] if site.args else None
    if isinstance(source, Mapping):
        mapping.items.update(source.items)
        mapping.exact = mapping.exact and source.exact
        mapping.elem = mapping.elem or source.elem
    elif source is not None:
        mapping.exact = False
    mapping.items.update(site.kwargs)
    return NONE


@model("dict.copy")
def _copy_dict(site: Site) -> Value:
    mapping = site.receiver
    if isinstance(mapping, Mapping):
        return Mapping(dict(mapping.items), mapping.elem, mapping.exact, mapping.kind, mapping.factory)
    return Mapping({}, None, exact=False)


@model("dict.clear")
def _clear_dict(site: Site) -> Value:
    if isinstance(site.receiver, Mapping):
        proxies.note_change(site.frame, site.receiver)
        site.receiver.items.clear()
        site.receiver.elem = None
    return NONE


@model("dict_view.mapping", "dict.__len__")
def _length(site: Site) -> Value:
    return Plain("int")


# -- strings, streams and named tuples ----------------------------------------------------------------------------

MOST_PARTS = 16  # of a string taken apart
_LISTS_OF_TEXT = ("split", "rsplit", "splitlines", "partition", "rpartition")
_TESTS = ("startswith", "endswith", "isdigit", "isalpha", "isupper", "islower", "isidentifier", "isspace")
_NUMBERS = ("find", "rfind", "index", "count")
_TEXTS = (
    "lower", "upper", "strip", "lstrip", "rstrip", "replace", "join", "title", "capitalize", "zfill", "ljust",
    "rjust", "removeprefix",
    "removesuffix", "encode", "format_map", "expandtabs", "center",
)  # fmt: skip


def _computed(site: Site) -> object:
    """What a method of a known string gives for known arguments; None if that cannot be told."""
    receiver = site.receiver
    if not isinstance(receiver, Const) or not isinstance(receiver.value, str) or site.kwargs:
        return None
    given = [a.value for a in site.args if isinstance(a, Const)]
    if len(given) < len(site.args):
        return None
    try:
        return getattr(receiver.value, site.name.rpartition(".")[2])(*given)
    except Exception:  # the program would raise it too
        return None


@model(*_methods(("str",), *_TEXTS))
def _text(site: Site) -> Value:
    found = _computed(site)
    if found is None:
        return Plain("str")
    return Const(found) if isinstance(found, str) else Plain("bytes")


@model("str.format")
def _format(site: Site) -> Value:
    from gblint.interpreter.events import Format

    if site.machine.listens(site.frame, "format"):
        for value in (*site.args, *site.kwargs.values()):
            site.machine.emit(site.frame, "format", Format(site.node, "format", value))
    return Plain("str")


@model(*_methods(("str",), *_LISTS_OF_TEXT))
def _split(site: Site) -> Value:
    found = _computed(site)
    if isinstance(found, list | tuple) and len(found) <= MOST_PARTS:
        return Sequence(type(found).__name__, [Const(part) for part in found])
    return Sequence("list", None, Plain("str"))


@model(*_methods(("str",), *_TESTS))
def _tests(site: Site) -> Value:
    found = _computed(site)
    return Plain("bool") if found is None else Const(bool(found))


@model(*_methods(("str",), *_NUMBERS))
def _number(site: Site) -> Value:
    return Plain("int")


@model("generator.send", "generator.__next__", "iterator.__next__")
def _send(site: Site) -> Value:
    return site.receiver.element() if isinstance(site.receiver, Stream) else Unknown("sent")


@model("namedtuple._replace")
def _replace(site: Site) -> Value:
    if isinstance(site.receiver, Instance):
        copy = Instance(site.receiver.cls, site.receiver.base, {**site.receiver.attrs, **site.kwargs})
        copy.flags = site.receiver.flags
        return copy
    return Unknown("_replace")


@model("namedtuple._asdict")
def _asdict(site: Site) -> Value:
    return Mapping(dict(site.receiver.attrs)) if isinstance(site.receiver, Instance) else Mapping({}, None, exact=False)


@model("builtins.object.__setattr__", "torch.nn.Module.__setattr__")
def _set_attribute(site: Site) -> Value:
    from gblint.interpreter.attributes import set_plainly

    args = site.args if site.receiver is None else [site.receiver, *site.args]
    if len(args) == 3 and isinstance(args[0], Instance) and isinstance(args[1], Const):
        set_plainly(site.frame, args[0], str(args[1].value), args[2])
    return NONE
