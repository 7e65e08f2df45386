"""What torch, the standard library and NumPy do under Dynamo, read from generated data; torch itself is never imported.

The data is one JSON file for a torch minor release in `data/`, written by `python -m gblint.knowledge.generate`, and
for other releases what they do otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cached_property, lru_cache
from pathlib import Path

import msgspec

from gblint.knowledge.model import Changes, Entry, Param, Return, Variant

__all__ = ["Entry", "Knowledge", "Param", "Return", "Variant", "available", "load", "measured"]

DATA = Path(__file__).parent / "data"
_FULL = re.compile(r"torch-(\d+)\.(\d+)\.json")
_CHANGES = re.compile(r"changes-(\d+)\.(\d+)\.json")


class _File(msgspec.Struct):
    torch: str
    python: str
    tensor_attributes: dict[str, str]
    tensor_names: tuple[str, ...]
    tensor_only_names: tuple[str, ...]
    dtypes: dict[str, str]
    context_managers: dict[str, str]
    gb_types: dict[str, str]
    aliases: dict[str, str]
    entries: dict[str, msgspec.Raw]


_file_decoder = msgspec.json.Decoder(_File)
_entry_decoder = msgspec.json.Decoder(Entry)
_changes_decoder = msgspec.json.Decoder(Changes)


class Knowledge:
    """Facts of one torch release. Names may be given in any spelling torch has for them (see `canonical`).

    data: the file of a release that was measured in full; changes: that of one which is told by what differs from it.
    """

    def __init__(self, data: bytes, changes: bytes | None = None) -> None:
        self._file = _file_decoder.decode(data)
        self._changes = _changes_decoder.decode(changes) if changes else Changes("", "", {}, {})
        self._changed: dict[str, dict[str, str]] = {}
        for full_name, verdict in self._changes.verdicts.items():
            name, _, form = full_name.partition("@")
            self._changed.setdefault(name, {})[form] = verdict
        self._entries: dict[str, Entry | None] = {}
        self._canonical: dict[str, str] = {}

    @property
    def torch_version(self) -> str:
        """The release that the data was measured under, such as "2.13.0"."""
        return self._changes.torch or self._file.torch

    @property
    def tensor_attributes(self) -> Mapping[str, str]:
        """Attribute of a tensor (no methods) → kind of its value, such as "shape" → "size"."""
        return self._file.tensor_attributes

    @cached_property
    def tensor_names(self) -> frozenset[str]:
        """Every public and dunder name of torch.Tensor."""
        return frozenset(self._file.tensor_names)

    @cached_property
    def tensor_only_names(self) -> frozenset[str]:
        """Methods that, among common objects, only a tensor has: a call of one proves a tensor."""
        return frozenset(self._file.tensor_only_names)

    @cached_property
    def context_managers(self) -> Mapping[str, str]:
        """Context manager (canonical name) → "ok", "crash", or the graph-break id measured on entering it in a region.

        "name@form" are other ways to get one: "torch.device@variable", "threading.Lock@new" (made inside the region).
        """
        return self._file.context_managers | self._changes.context_managers

    @property
    def gb_types(self) -> Mapping[str, str]:
        """Graph-break id → Dynamo's name for that kind of break, for the ids met while measuring."""
        return self._file.gb_types

    def canonical(self, dotted: str) -> str:
        """The one name under which an object of torch is filed: "torch.nn.modules.linear.Linear" → "torch.nn.Linear".

        The longest known prefix is replaced, what follows is kept; a name torch does not have comes back unchanged.
        """
        if dotted.startswith("builtins."):
            return dotted
        known = self._canonical.get(dotted)
        if known is None:
            known = self._canonical[dotted] = self._resolve_alias(dotted)
        return known

    def _resolve_alias(self, dotted: str) -> str:
        aliases, entries = self._file.aliases, self._file.entries
        if dotted in entries and dotted not in aliases:
            return dotted
        end = len(dotted)
        while end > 0:
            prefix, rest = dotted[:end], dotted[end:]
            target = aliases.get(prefix + ".*") if rest else None
            target = target or aliases.get(prefix)
            if target is not None:
                return self.canonical(target + rest)
            end = dotted.rfind(".", 0, end)
        return dotted

    def entry(self, qualified: str) -> Entry | None:
        """All that is known of a name, or None."""
        name = self.canonical(qualified)
        if name not in self._entries:
            raw = self._file.entries.get(name.removeprefix("builtins."))
            self._entries[name] = None if raw is None else self._with_changes(name, _entry_decoder.decode(raw))
        return self._entries[name]

    def _with_changes(self, name: str, entry: Entry) -> Entry:
        changed = self._changed.get(name.removeprefix("builtins."))
        if changed is None:
            return entry
        forms = {form: verdict for form, verdict in changed.items() if form}
        return msgspec.structs.replace(entry, verdict=changed.get("", entry.verdict), forms=entry.forms | forms)

    def names(self) -> Iterable[str]:
        """Every name there is an entry for, in canonical spelling."""
        return self._file.entries.keys()

    def what(self, qualified: str) -> str | None:
        """ "function", "method", "property", "class", "module-class", "constant", "external"; None: unknown."""
        entry = self.entry(qualified)
        return entry.what if entry else None

    def returns(self, qualified: str) -> Return | None:
        """What calling a function or method returns in its plain form."""
        entry = self.entry(qualified)
        return entry.returns if entry else None

    def variants(self, qualified: str) -> tuple[Variant, ...]:
        """Other results the function has when certain parameters are given (`max(dim=…)`)."""
        entry = self.entry(qualified)
        return entry.variants if entry else ()

    def module_returns(self, qualified: str) -> Return | None:
        """What calling an instance of a torch.nn module class returns."""
        entry = self.entry(qualified)
        return entry.calls if entry else None

    def parameters(self, qualified: str) -> tuple[Param, ...]:
        """Parameters of a function, method (without receiver) or constructor; empty where not known."""
        entry = self.entry(qualified)
        return entry.parameters if entry else ()

    def value(self, qualified: str) -> str | None:
        """Kind of a constant (`torch.pi` → "float", `torch.int8` → "dtype") or property."""
        entry = self.entry(qualified)
        return entry.value if entry else None

    def dtype_kind(self, qualified: str) -> str | None:
        """Element kind of a dtype: "torch.int8" → "int"."""
        return self._file.dtypes.get(self.canonical(qualified))

    def dynamic_condition(self, qualified: str) -> str | None:
        """When the shape of the result depends on contents: "always", "one-argument" (only the condition given),
        "no-output-size", "no-num-classes", …; None: never."""
        entry = self.entry(qualified)
        return entry.dynamic if entry else None

    def dynamic_shape(self, qualified: str) -> bool:
        """Whether the result's shape can depend on contents (under `dynamic_condition`)."""
        return self.dynamic_condition(qualified) is not None

    def verdict(self, qualified: str, form: str = "") -> str | None:
        """What Dynamo said to a plain call: "ok", a graph-break id, or "crash" (it failed itself); None: not measured.

        form: another way to use it, with the plain verdict where that one was not measured: "call" (an instance is
        called: `torch.nn.LSTM`), "tensor" (a tensor takes the place of the plain argument: `math.sqrt`, `int`),
        "python" (NumPy with numbers and lists for arrays), "as-number" (the resulting number is used as a size),
        "set" (the attribute is assigned) and others, listed by `forms`.
        """
        entry = self.entry(qualified)
        if entry is None:
            return None
        return entry.forms.get(form, entry.verdict)

    def forms(self, qualified: str) -> Mapping[str, str]:
        """All other forms measured, with their verdicts."""
        entry = self.entry(qualified)
        return entry.forms if entry else {}

    def return_type_external(self, qualified: str) -> str | None:
        """Type of a callable's result where all calls made agree: "int", "numpy.ndarray", "datetime.datetime" …

        "None" for nothing. Not told: that it may be None as well (`re.match`). None here: not known, or polymorphic.
        """
        entry = self.entry(qualified)
        return entry.type if entry else None

    def sources(self, qualified: str) -> Mapping[str, str]:
        """Where each fact on a name comes from.

        Facts: "signature" (returns, parameters and variants), "returns" (where it outranks the signature), "dtype" (and
        rank), "calls", "dynamic", "verdict", "type", "value". Sources: "stubs", "source" (torch's Python source),
        "schema", "docstring", "name" (the trailing underscore), "inspection", "op_db" and "module_db" (torch's sample
        inputs), "twin" (the function of the same name elsewhere in torch), "probe" (a micro-program), "curated".
        """
        entry = self.entry(qualified)
        return entry.sources if entry else {}


def available() -> tuple[str, ...]:
    """Minor releases that were measured in full, oldest first."""
    return _text(_minors(_FULL))


def measured() -> tuple[str, ...]:
    """Minor releases that there is data for, in full or as what differs, oldest first."""
    return _text(sorted({*_minors(_FULL), *_minors(_CHANGES)}))


def _minors(pattern: re.Pattern[str]) -> list[tuple[int, int]]:
    return sorted((int(m[1]), int(m[2])) for p in DATA.iterdir() if (m := pattern.fullmatch(p.name)))


def _text(minors: Iterable[tuple[int, int]]) -> tuple[str, ...]:
    return tuple(f"{major}.{minor}" for major, minor in minors)


@lru_cache(maxsize=4)
def load(target: str = "2.13") -> Knowledge:
    """The facts for a torch release: its own, else those of the nearest older one, else the oldest there is.

    Raises ValueError when target is not a release number, FileNotFoundError when the installation has no data.
    """
    match = re.match(r"(\d+)\.(\d+)", target)
    if not match:
        raise ValueError(f"not a torch release: {target!r}; expected something like '2.13'")
    wanted = (int(match[1]), int(match[2]))
    full = _minors(_FULL)
    if not full:
        raise FileNotFoundError(f"no torch data in {DATA}; run `python -m gblint.knowledge.generate` under torch")
    known = sorted({*full, *_minors(_CHANGES)})
    major, minor = max((k for k in known if k <= wanted), default=known[0])
    if (major, minor) in full:
        return Knowledge((DATA / f"torch-{major}.{minor}.json").read_bytes())
    changes = (DATA / f"changes-{major}.{minor}.json").read_bytes()
    return Knowledge((DATA / f"torch-{_changes_decoder.decode(changes).base}.json").read_bytes(), changes)
