"""Abstract values: what Dynamo would hold for a variable, as far as the source tells.

A value is one of the classes below. `Tensor` carries a certainty that is recorded once, where the doubt arises
(an unannotated parameter, a return of unknown code), and never decays through joins: "a tensor or something else"
is a `Union` whose tensor member keeps its own certainty.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import libcst as cst

    from gblint.index.model import ClassInfo, FunctionInfo, ModuleInfo
    from gblint.interpreter.source import Chunk


class Origin:
    """Where a value came from, for the sentence that explains a finding.

    label: "parameter", "result of", "attribute", "element of", …; node and chunk locate the expression.
    """

    __slots__ = ("chunk", "label", "node")

    def __init__(self, label: str, node: cst.CSTNode | None = None, chunk: Chunk | None = None) -> None:
        self.label = label
        self.node = node
        self.chunk = chunk


class Value:
    """Base of all abstract values."""

    __slots__ = ()


class Unknown(Value):
    """Nothing is known; `reason` says why (an unresolved call, a budget that ran out, …)."""

    __slots__ = ("reason",)

    def __init__(self, reason: str = "") -> None:
        self.reason = reason


class Const(Value):
    """A Python constant whose value is known (None, bool, int, float, str, bytes, Ellipsis, complex)."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


class Plain(Value):
    """A Python value that is certainly no tensor, of a known builtin type, or "" when only that much is known.

    symbolic: it is a size Dynamo traces (x.shape[0], len(x)): branching on it is fine. off: it is likely
    false: what a parameter holds whose default is False, 0 or empty, and conditions that seldom hold.
    """

    __slots__ = ("off", "symbolic", "type")

    def __init__(self, type: str = "", symbolic: bool = False, off: bool = False) -> None:
        self.type = type
        self.symbolic = symbolic
        self.off = off


class DataScalar(Value):
    """A Python number read from a tensor that stays in the graph (`.item()` under capture_scalar_outputs)."""

    __slots__ = ("origin", "type")

    def __init__(self, type: str = "number", origin: Origin | None = None) -> None:
        self.type = type
        self.origin = origin


class Tensor(Value):
    """A tensor.

    c: certainty (0..1) that the value is a tensor at all, set where the doubt arises.
    dtype: "bool", "int", "float", "complex" or "" (unknown). rank: number of dimensions or None (unknown).
    role: "input", "parameter", "buffer", "result" (made in the region), "constant" (made there of a number) or ""
    (unknown).
    subclass: "" for a plain tensor, else "sparse", "nested", "ndarray" (a NumPy array Dynamo traces), or a class name.
    integers: for an integer 0-d tensor made from Python numbers (its value is a constant), unused otherwise.
    """

    __slots__ = ("c", "dtype", "origin", "rank", "role", "subclass")

    def __init__(
        self,
        c: float = 1.0,
        dtype: str = "",
        rank: int | None = None,
        role: str = "",
        subclass: str = "",
        origin: Origin | None = None,
    ) -> None:
        self.c = c
        self.dtype = dtype
        self.rank = rank
        self.role = role
        self.subclass = subclass
        self.origin = origin


class Sequence(Value):
    """A list, tuple, set, deque or torch.Size.

    kind: "list", "tuple", "set", "frozenset", "deque", "size".
    items: the elements in order when all are known, else None. elem: join of all elements (None: no element known).
    prefix: the first elements where only those are known (`out = (a, b)`, then `out += rest` on some paths).
    """

    __slots__ = ("elem", "items", "kind", "prefix")

    def __init__(self, kind: str, items: list[Value] | None = None, elem: Value | None = None) -> None:
        self.kind = kind
        self.items = items
        self.elem = elem
        self.prefix: list[Value] | None = None

    def element(self) -> Value:
        """The join of all elements; Unknown when nothing is known."""
        if self.items is not None:
            return join_all(self.items) if self.items else Unknown("element of an empty sequence")
        return self.elem if self.elem is not None else Unknown("element")


class Mapping(Value):
    """A dict (kind "dict", "defaultdict", "OrderedDict", …).

    items: values by constant key. elem: join of values under keys that are not constants (None: no such).
    exact: no other keys exist. factory: default factory of a defaultdict.
    outside: "yes" if it was there before the region, "alone" if it is the `**kwargs` of an inlined function, which is
    there before the region once that is compiled alone; else "".
    """

    __slots__ = ("elem", "exact", "factory", "items", "kind", "outside")

    def __init__(
        self,
        items: dict[Any, Value] | None = None,
        elem: Value | None = None,
        exact: bool = True,
        kind: str = "dict",
        factory: Value | None = None,
    ) -> None:
        self.items = items if items is not None else {}
        self.elem = elem
        self.exact = exact
        self.kind = kind
        self.factory = factory
        self.outside = ""

    def element(self) -> Value:
        """The join of all values."""
        parts = list(self.items.values())
        if self.elem is not None:
            parts.append(self.elem)
        return join_all(parts) if parts else Unknown("value of an empty dict")


class Slice(Value):
    """A slice object with its three parts (Const(None) where left out)."""

    __slots__ = ("lower", "step", "upper")

    def __init__(self, lower: Value, upper: Value, step: Value) -> None:
        self.lower = lower
        self.upper = upper
        self.step = step


class Stream(Value):
    """An iterator, generator or view: kind "generator", "zip", "map", "filter", "enumerate", "range", "iterator",
    "dict_keys", "dict_values", "dict_items", "reversed".

    elem: what iteration yields; items: the exact yields when few and known.
    passed_in: it was made outside the compiled region.
    """

    __slots__ = ("elem", "items", "kind", "passed_in")

    def __init__(
        self, kind: str, elem: Value | None = None, items: list[Value] | None = None, passed_in: bool = False
    ) -> None:
        self.kind = kind
        self.elem = elem
        self.items = items
        self.passed_in = passed_in

    def element(self) -> Value:
        """The join of all yields."""
        if self.items:
            return join_all(self.items)
        return self.elem if self.elem is not None else Unknown("element")


class Environment:
    """Variables of one activation with a link to the enclosing one (closures)."""

    __slots__ = ("names", "parent")

    def __init__(self, names: dict[str, Value], parent: Environment | None = None) -> None:
        self.names = names
        self.parent = parent

    def lookup(self, name: str) -> Value | None:
        """The value of a variable here or in an enclosing function; None if there is none."""
        env: Environment | None = self
        while env is not None:
            if name in env.names:
                return env.names[name]
            env = env.parent
        return None


class Function(Value):
    """A Python function whose source is at hand.

    info is None for a function nested in another or a lambda: then `node` is its tree and `chunk` holds its text.
    owner: the class it was found in (methods). wrapped: decorators already applied. compiled: wrapped by torch.compile.
    mark: "" or what Dynamo was told about it: "disable", "allow_in_graph", "nonstrict_trace", "custom_op", "jit", …
    """

    __slots__ = (
        "binding",
        "chunk",
        "closure",
        "defaults",
        "info",
        "mark",
        "module",
        "name",
        "node",
        "owner",
        "qualname",
    )

    def __init__(
        self,
        module: ModuleInfo,
        qualname: str,
        info: FunctionInfo | None = None,
        node: cst.FunctionDef | cst.Lambda | None = None,
        chunk: Chunk | None = None,
        closure: Environment | None = None,
        owner: Class | None = None,
        mark: str = "",
    ) -> None:
        self.module = module
        self.qualname = qualname
        self.name = qualname.rpartition(".")[2]
        self.info = info
        self.node = node
        self.chunk = chunk
        self.closure = closure
        self.owner = owner
        self.mark = mark
        self.binding = ""  # "static", "class" or "property" where a wrapper took the place of such a method
        self.defaults: dict[str, Value] | None = None


class Bound(Value):
    """A method bound to its receiver."""

    __slots__ = ("function", "receiver")

    def __init__(self, function: Value, receiver: Value) -> None:
        self.function = function
        self.receiver = receiver


class Partial(Value):
    """functools.partial, and wrappers of one callable with some arguments filled in."""

    __slots__ = ("args", "function", "kwargs")

    def __init__(self, function: Value, args: list[Value], kwargs: dict[str, Value]) -> None:
        self.function = function
        self.args = args
        self.kwargs = kwargs


class Compiled(Value):
    """What torch.compile returned: calling it enters a compiled region at `target`. node: the call that made it."""

    __slots__ = ("node", "options", "target")

    def __init__(self, target: Value, options: dict[str, Value] | None = None, node: object | None = None) -> None:
        self.target = target
        self.options = options or {}
        self.node = node

    @property
    def fullgraph(self) -> bool:
        """Whether it surely was compiled with `fullgraph=True`."""
        asked = self.options.get("fullgraph")
        return isinstance(asked, Const) and asked.value is True


class Class(Value):
    """A class whose source is at hand (at module level, in a class, or made inside a function)."""

    __slots__ = (
        "attrs",
        "chunk",
        "closure",
        "external",
        "info",
        "kind",
        "local_bases",
        "module",
        "mro",
        "names",
        "node",
        "own_names",
    )

    def __init__(self, module: ModuleInfo, info: ClassInfo, closure: Environment | None = None) -> None:
        self.module = module
        self.info = info
        self.closure = closure
        self.attrs: dict[str, Value] = {}  # class attributes evaluated or set so far
        self.mro: list[Class | External] | None = None
        self.node: cst.ClassDef | None = None
        self.chunk: Chunk | None = None
        self.local_bases: list[Value] | None = None
        # What follows from the ancestry, kept once that is settled: all names its classes define, the first external
        # ancestor, the kind of class.
        self.names: frozenset[str] | None = None
        self.own_names: frozenset[str] | None = None
        self.external = ""
        self.kind = ""

    @property
    def qualname(self) -> str:
        return f"{self.module.name}.{self.info.qualname}"


class External(Value):
    """A dotted name whose source is not read: torch, builtins, the stdlib, packages that are not installed."""

    __slots__ = ("dotted",)

    def __init__(self, dotted: str) -> None:
        self.dotted = dotted


class Instance(Value):
    """An object of a class: `cls` if its source is at hand, and `base`, the dotted name of the first external class in
    its ancestry ("torch.nn.Module", "torch.nn.Linear", "logging.Logger", "builtins.object", …).

    attrs: instance attributes known so far. open: attributes not listed may exist (its making was not fully seen).
    args: constructor arguments of an external class. born: "outside" or "region" (made while tracing).
    form: objects with the same number other than 0 were made alike and are as they were made.
    """

    __slots__ = ("args", "attrs", "base", "born", "cls", "flags", "form", "kwargs", "open")

    def __init__(
        self,
        cls: Class | None,
        base: str = "builtins.object",
        attrs: dict[str, Value] | None = None,
        open: bool = False,
        born: str = "outside",
        args: list[Value] | None = None,
        kwargs: dict[str, Value] | None = None,
    ) -> None:
        self.cls = cls
        self.base = base
        self.attrs = attrs if attrs is not None else {}
        self.open = open
        self.born = born
        self.args = args or []
        self.kwargs = kwargs or {}
        self.flags: set[str] = set()  # facts by name: "hooked", "frozen", …
        self.form = 0


class PyModule(Value):
    """A Python module whose source is at hand."""

    __slots__ = ("info",)

    def __init__(self, info: ModuleInfo) -> None:
        self.info = info


class Super(Value):
    """super(): attribute lookup starts after `after` in the receiver's MRO."""

    __slots__ = ("after", "receiver")

    def __init__(self, after: Class, receiver: Value) -> None:
        self.after = after
        self.receiver = receiver


class Union(Value):
    """One of several values (at most six, or sixteen that can be called: wider joins become Unknown, keeping the tensor
    member if there is one). all: a call of it is a call of each."""

    __slots__ = ("all", "members")

    def __init__(self, members: tuple[Value, ...], all: bool = False) -> None:
        self.members = members
        self.all = all


CALLABLE = (Instance, Function, Bound, Class, Partial, External, Compiled)
NONE = Const(None)
TRUE = Const(True)
COMPILING = Const(True)  # what `is_compiling()` answers in the region
FALSE = Const(False)
NUMERIC = {"bool": 0, "int": 1, "float": 2, "complex": 3}


def type_name(value: Value) -> str:
    """The builtin type name of a constant or plain value; "" when it has none."""
    if isinstance(value, Const):
        return "NoneType" if value.value is None else type(value.value).__name__
    if isinstance(value, Plain):
        return value.type
    return ""


def members(value: Value) -> tuple[Value, ...]:
    """The alternatives of a value: the members of a union, else the value alone."""
    return value.members if isinstance(value, Union) else (value,)


def as_tensor(value: Value | None) -> Tensor | None:
    """The tensor a value is or may be; None if it is none."""
    if value.__class__ is Tensor:
        return value
    if value.__class__ is Union:
        for member in value.members:
            if member.__class__ is Tensor:
                return member
    return None


def tensor_certainty(value: Value | None) -> float:
    """How sure it is (0..1) that a value is a tensor when the line runs.

    An optional tensor counts as nearly sure, since the line is judged in the run where the tensor is given; a tensor
    beside a flag, which holds until it is computed, a little less, and one beside another kind half.
    """
    if isinstance(value, Tensor):
        return value.c
    if not isinstance(value, Union):
        return 0.0
    best = 0.0
    share = 0.9
    for member in value.members:
        if isinstance(member, Tensor):
            best = max(best, member.c)
        elif not isinstance(member, Const):
            share = 0.6
        elif member.value is not None:
            share = min(share, 0.75 if isinstance(member.value, bool) else 0.6)
    return best * share


def is_none(value: Value) -> bool:
    return isinstance(value, Const) and value.value is None


def is_false(value: Value | None) -> bool:
    return isinstance(value, Const) and value.value is False


def is_true(value: Value | None) -> bool:
    return isinstance(value, Const) and value.value is True


def maybe_none(value: Value) -> bool:
    """True if None is among the alternatives, or nothing is known."""
    return any(is_none(m) or isinstance(m, Unknown) for m in members(value))


def join_dtype(a: str, b: str) -> str:
    return a if a == b else ""


_UNUSUAL = ("ndarray", "sparse")


def _join_subclass(a: str, b: str) -> str:
    """A tensor or an array, or one that may be sparse: the plain tensor is the usual case, and what holds for others
    alone is not claimed of it."""
    if a == b:
        return a
    return "" if a in _UNUSUAL or b in _UNUSUAL else a or b


def _join_tensors(a: Tensor, b: Tensor) -> Tensor:
    if a is b:
        return a
    # Two branches that both hold a tensor: the doubt is that of the surer one, or certainty would decay.
    return Tensor(
        max(a.c, b.c),
        join_dtype(a.dtype, b.dtype),
        a.rank if a.rank == b.rank else None,
        a.role if a.role == b.role else "",
        _join_subclass(a.subclass, b.subclass),
        a.origin or b.origin,
    )


def _join_sequences(a: Sequence, b: Sequence) -> Sequence:
    kind = a.kind if a.kind == b.kind else "list"
    if a.items is not None and b.items is not None and len(a.items) == len(b.items):
        return Sequence(kind, [join(x, y) for x, y in zip(a.items, b.items, strict=True)])
    parts = [s.element() for s in (a, b) if s.items or s.elem is not None]
    joined = Sequence(kind, None, join_all(parts) if parts else None)
    heads = [s.items if s.items is not None else s.prefix for s in (a, b)]
    if kind == "tuple" and heads[0] and heads[1]:
        joined.prefix = [join(x, y) for x, y in zip(heads[0], heads[1], strict=False)]
    return joined


def _join_pair(a: Value, b: Value) -> Value | None:
    """The join of two values of one family; None if they stay alternatives."""
    if isinstance(a, (Const, Plain)):
        return _join_plain(a, b) if isinstance(b, (Const, Plain)) else None
    if a.__class__ is not b.__class__:
        return None
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        return _join_tensors(a, b)
    if isinstance(a, Unknown) and isinstance(b, Unknown):
        return a
    if isinstance(a, Sequence) and isinstance(b, Sequence):
        return _join_sequences(a, b)
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        keys = {*a.items, *b.items}
        empty = Unknown("missing key")
        items = {
            k: join(a.items[k], b.items[k]) if k in a.items and k in b.items else a.items.get(k, b.items.get(k, empty))
            for k in keys
        }
        elems = [e for e in (a.elem, b.elem) if e is not None]
        return Mapping(items, join_all(elems) if elems else None, a.exact and b.exact, a.kind, a.factory or b.factory)
    if isinstance(a, External) and isinstance(b, External) and a.dotted == b.dotted:
        return a
    if (
        isinstance(a, Instance)
        and isinstance(b, Instance)
        and a.cls is b.cls
        and a.base == b.base
        and not a.attrs
        and not b.attrs
    ):
        return a
    return None


def _join_plain(a: Const | Plain, b: Const | Plain) -> Value | None:
    if isinstance(a, Const) and isinstance(b, Const) and type(a.value) is type(b.value) and a.value == b.value:
        return a
    if is_none(a) != is_none(b):
        return None
    ta, tb = type_name(a), type_name(b)
    symbolic = bool(getattr(a, "symbolic", False) or getattr(b, "symbolic", False))
    if ta == tb:
        return Plain(ta, symbolic)
    return Plain("number" if ta in NUMERIC and tb in NUMERIC else "", symbolic)


MAX_MEMBERS = 6
MAX_CALLABLES = 16  # a table of functions or classes is meant to be picked from


def join(a: Value, b: Value) -> Value:
    """The least value that covers both."""
    if a is b:
        return a
    parts: list[Value] = list(members(a))
    for new in members(b):
        for i, old in enumerate(parts):
            if old is new:
                break
            merged = _join_pair(old, new)
            if merged is not None:
                parts[i] = merged
                break
        else:
            parts.append(new)
    if len(parts) == 1:
        return parts[0]
    if len(parts) > MAX_MEMBERS and not (len(parts) <= MAX_CALLABLES and all(isinstance(p, CALLABLE) for p in parts)):
        keep = [p for p in parts if isinstance(p, Tensor) or is_none(p)]
        return Union((*keep, Unknown("too many alternatives"))) if keep else Unknown("too many alternatives")
    return Union(tuple(parts))


def join_all(values: Iterable[Value]) -> Value:
    """The join of one or more values."""
    iterator: Iterator[Value] = iter(values)
    result = next(iterator)
    for value in iterator:
        result = join(result, value)
    return result


def mixed(values: list[Value]) -> bool:
    """True if tensors and other things are among the values: which one a computed key picks cannot be told."""
    tensors = sum(as_tensor(v) is not None for v in values)
    return 0 < tensors < sum(not is_none(v) for v in values)


def union_of(values: Iterable[Value]) -> Value | None:
    """A value holding exactly these alternatives; None if there is none."""
    parts = tuple(values)
    if not parts:
        return None
    return parts[0] if len(parts) == 1 else Union(parts)
