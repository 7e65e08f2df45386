"""What functions of the standard library (and a few of NumPy) give back where the knowledge has no type for them."""

from __future__ import annotations

import math

from gblint.interpreter import conditions, proxies
from gblint.interpreter.externals import Site, construct_external, model
from gblint.interpreter.values import (
    FALSE,
    NONE,
    Bound,
    Class,
    Const,
    External,
    Function,
    Instance,
    Mapping,
    Partial,
    Plain,
    Sequence,
    Stream,
    Tensor,
    Unknown,
    Value,
    as_tensor,
    join,
    join_all,
    members,
)
from gblint.interpreter.versions import NUMBERS, Release


@model("functools.partial")
def _partial(site: Site) -> Value:
    return Partial(site.args[0], site.args[1:], dict(site.kwargs)) if site.args else Unknown("partial")


@model("functools.wraps")
def _wraps(site: Site) -> Value:
    return External("gblint.identity")


@model("functools.update_wrapper", "typing.cast", "torch.jit.annotate")
def _second_or_first(site: Site) -> Value:
    position = 0 if site.name == "functools.update_wrapper" else 1
    value = site.arg(position)
    return value if value is not None else Unknown("cast")


@model("functools.lru_cache", "functools.cache")
def _cache(site: Site) -> Value:
    first = site.args[0] if site.args else None
    return first if isinstance(first, Function | Bound) else External("gblint.identity")


@model("functools.reduce")
def _reduce(site: Site) -> Value:
    if len(site.args) < 2:
        return Unknown("reduce")
    element = site.element(site.args[1])
    start = site.args[2] if len(site.args) > 2 else element
    return join(start, site.call(site.args[0], [start, element]))


@model("copy.copy", "copy.deepcopy")
def _copy(site: Site) -> Value:
    value = site.args[0] if site.args else Unknown("copy")
    if isinstance(value, Sequence):
        return Sequence(value.kind, list(value.items) if value.items is not None else None, value.elem)
    if isinstance(value, Mapping):
        return Mapping(dict(value.items), value.elem, value.exact, value.kind, value.factory)
    if isinstance(value, Instance):
        made = Instance(value.cls, value.base, dict(value.attrs), value.open, value.born, value.args, value.kwargs)
        made.flags = set(value.flags)
        return made
    return value


@model("dataclasses.replace", "copy.replace")
def _dataclass_replace(site: Site) -> Value:
    value = site.args[0] if site.args else Unknown("replace")
    if isinstance(value, Instance):
        return Instance(value.cls, value.base, {**value.attrs, **site.kwargs}, value.open)
    return value


@model("dataclasses.fields")
def _fields(site: Site) -> Value:
    return Sequence("tuple", None, Plain(""))


@model("dataclasses.field")
def _field(site: Site) -> Value:
    if "default" in site.kwargs:
        return site.kwargs["default"]
    factory = site.kwargs.get("default_factory")
    return site.call(factory, []) if factory is not None else Unknown("field")


@model("collections.defaultdict")
def _defaultdict(site: Site) -> Value:
    return Mapping({}, None, True, "defaultdict", site.args[0] if site.args else None)


@model("collections.deque")
def _deque(site: Site) -> Value:
    return Sequence("deque", [] if not site.args else None, site.element(site.args[0]) if site.args else None)


@model("collections.namedtuple")
def _namedtuple(site: Site) -> Value:
    names = site.arg(1, "field_names")
    if isinstance(names, Const) and isinstance(names.value, str):
        fields = names.value.replace(",", " ").split()
    elif isinstance(names, Sequence) and names.items is not None:
        fields = [str(i.value) for i in names.items if isinstance(i, Const)]
    else:
        return Unknown("namedtuple")
    return Partial(External("gblint.make_namedtuple"), [Sequence("tuple", [Const(f) for f in fields])], {})


@model("gblint.make_namedtuple", quiet=True)
def _make_namedtuple(site: Site) -> Value:
    names = site.args[0]
    instance = Instance(None, "collections.namedtuple")
    instance.flags.add("namedtuple")
    if isinstance(names, Sequence) and names.items is not None:
        given = site.args[1:]
        for position, name in enumerate(names.items):
            if isinstance(name, Const):
                value = given[position] if position < len(given) else site.kwargs.get(name.value, Unknown("field"))
                instance.attrs[name.value] = value
    return instance


@model("itertools.chain")
def _chain(site: Site) -> Value:
    parts = [site.element(a) for a in site.args]
    return Stream("iterator", join_all(parts) if parts else Unknown("empty"))


@model("itertools.chain.from_iterable")
def _flatten(site: Site) -> Value:
    return Stream("iterator", site.element(site.element(site.args[0])) if site.args else Unknown("empty"))


@model("itertools.islice", "itertools.cycle", "itertools.takewhile", "itertools.dropwhile", "itertools.filterfalse")
def _same_elements(site: Site) -> Value:
    position = 0 if site.name.endswith(("islice", "cycle")) else 1
    value = site.arg(position)
    return Stream("iterator", site.element(value) if value is not None else Unknown("element"))


@model(
    "itertools.product",
    "itertools.zip_longest",
    "itertools.combinations",
    "itertools.permutations",
    "itertools.pairwise",
)
def _tuples(site: Site) -> Value:
    elements = [site.element(a) for a in site.args if not isinstance(a, Const)]
    if site.name.endswith(("combinations", "permutations", "pairwise")):
        return Stream("iterator", Sequence("tuple", None, elements[0] if elements else None))
    return Stream("iterator", Sequence("tuple", elements))


@model("itertools.accumulate", "itertools.repeat", "itertools.count")
def _stream(site: Site) -> Value:
    if site.name.endswith("repeat") and site.args:
        return Stream("iterator", site.args[0])
    return Stream(
        "iterator", site.element(site.args[0]) if site.name.endswith("accumulate") and site.args else Plain("int")
    )


@model("itertools.groupby")
def _groupby(site: Site) -> Value:
    element = site.element(site.args[0]) if site.args else Unknown("")
    key = site.arg(1, "key")
    group = site.call(key, [element]) if key is not None else element
    broken = key is not None and site.compare(group, "group")
    return Stream("iterator", Sequence("tuple", [group, Stream("iterator", element)]), passed_in=broken)


@model("numpy.isscalar")
def _isscalar(site: Site) -> Value:
    parts = members(site.args[0]) if site.args else ()
    return FALSE if parts and all(conditions.is_tensor_proper(part) for part in parts) else Plain("bool")


@model("math.prod", "math.fsum")
def _product(site: Site) -> Value:
    element = site.element(site.args[0]) if site.args else Plain("number")
    return (
        element
        if as_tensor(element) is not None
        else Plain("int" if site.name == "math.prod" else "float", symbolic=True)
    )


for _name in dir(math):
    if callable(getattr(math, _name)) and not _name.startswith("_") and _name not in ("prod", "fsum"):

        def _math(site: Site) -> Value:
            integral = site.name in (
                "math.ceil",
                "math.floor",
                "math.trunc",
                "math.gcd",
                "math.comb",
                "math.isqrt",
                "math.lcm",
            )
            if site.args and all(isinstance(a, Const) and isinstance(a.value, int | float) for a in site.args):
                try:
                    result = getattr(math, site.name[5:])(*(a.value for a in site.args if isinstance(a, Const)))
                except (ValueError, OverflowError, TypeError):
                    return Plain("float")
                return Const(result) if isinstance(result, int | float | bool) else Plain("float")
            if site.name in ("math.isnan", "math.isinf", "math.isfinite", "math.isclose"):
                return Plain("bool")
            return Plain("int" if integral else "float", symbolic=True)

        model(f"math.{_name}")(_math)


@model("logging.getLogger", "logging.Logger", "loguru.logger")
def _logger(site: Site) -> Value:
    return Instance(None, "logging.Logger", open=True, born="region" if site.frame.traced else "outside")


@model("contextlib.nullcontext")
def _nullcontext(site: Site) -> Value:
    instance = Instance(None, "contextlib.nullcontext", born="outside")
    instance.attrs["value"] = site.args[0] if site.args else NONE
    return instance


@model(
    "random.random", "random.uniform", "random.randint", "random.randrange", "random.gauss", "random.triangular",
    "random.betavariate", "random.Random.random", "random.Random.uniform", "random.Random.randint",
    "random.Random.randrange",
)  # fmt: skip
def _drawn(site: Site) -> Value:
    """A random number: within a region Dynamo holds it as a 0-d tensor. It traces these methods of a `Random`, but not
    all of the functions that are their namesakes."""
    kind = "int" if site.name.endswith(("randint", "randrange")) else "float"
    own = site.name.startswith("random.Random.")
    if not site.frame.traced or not (own or site.machine.knowledge.verdict(site.name) == "ok"):
        return Plain(kind)
    return Tensor(1.0, kind, 0, "result", "random", site.origin())


@model("operator.itemgetter", "operator.attrgetter", "operator.methodcaller")
def _getter(site: Site) -> Value:
    return Partial(External("gblint.getter"), [Const(site.name.rpartition(".")[2]), *site.args], {})


@model("gblint.getter", quiet=True)
def _get(site: Site) -> Value:
    from gblint.interpreter import attributes, subscripts

    kind, key, receiver = site.args[0], site.args[1], site.args[-1]
    if isinstance(kind, Const) and kind.value == "itemgetter":
        return subscripts.load(site.machine, site.frame, receiver, [key], site.node)
    if isinstance(key, Const):
        return attributes.load(site.machine, site.frame, receiver, str(key.value), site.node)
    return Unknown("getter")


@model("operator.mul", "operator.add", "operator.sub", "operator.truediv")
def _operator(site: Site) -> Value:
    from gblint.interpreter.expressions import binary

    symbol = {"mul": "*", "add": "+", "sub": "-", "truediv": "/"}[site.name.rpartition(".")[2]]
    if len(site.args) == 2:
        return binary(site.machine, site.frame, symbol, site.args[0], site.args[1], site.node)
    return Unknown("operator")


@model(
    "inspect.isfunction", "inspect.isclass", "inspect.ismethod", "inspect.isgenerator", "inspect.iscoroutinefunction"
)
def _inspect(site: Site) -> Value:
    value = site.args[0] if site.args else Unknown("")
    if site.name == "inspect.isclass" and isinstance(value, Class):
        return Const(True)
    if site.name == "inspect.isfunction" and isinstance(value, Function):
        return Const(True)
    return Plain("bool")


@model("tqdm.tqdm", "tqdm.auto.tqdm", "tqdm.notebook.tqdm", "tqdm.std.tqdm", "tqdm.autonotebook.tqdm")
def _progress_bar(site: Site) -> Value:
    """It yields what it is given."""
    source = site.arg(0, "iterable")
    return Sequence("list", None, site.element(source)) if source is not None else Unknown("progress bar")


@model("inspect.Signature.bind", "inspect.Signature.bind_partial")
def _bind_signature(site: Site) -> Value:
    proxies.note_read(site.machine, site.frame, site.receiver, site.node)
    return Instance(None, "inspect.BoundArguments", open=True)


@model("importlib.util.find_spec")
def _find_spec(site: Site) -> Value:
    name = site.args[0] if site.args else None
    if (
        isinstance(name, Const)
        and isinstance(name.value, str)
        and not site.machine.project.exists(name.value, site.frame.module)
    ):
        return NONE
    return Plain("")


@model("importlib.import_module", "builtins.__import__")
def _import_module(site: Site) -> Value:
    from gblint.interpreter.statements import imported

    name = site.args[0] if site.args else None
    if isinstance(name, Const) and isinstance(name.value, str) and not name.value.startswith("."):
        return imported(site.machine, site.frame, name.value)
    return Unknown("a module imported by a computed name")


@model("weakref.ref", "weakref.proxy")
def _weakref(site: Site) -> Value:
    value = site.args[0] if site.args else Unknown("weakref")
    return value if site.name.endswith("proxy") else Partial(External("gblint.second"), [NONE, value], {})


@model("gblint.second", quiet=True)
def _second(site: Site) -> Value:
    return site.args[1] if len(site.args) > 1 else Unknown("")


@model("types.SimpleNamespace", "argparse.Namespace")
def _namespace(site: Site) -> Value:
    made = construct_external(site, site.name)
    if isinstance(made, Instance):
        made.attrs.update(site.kwargs)
    return made


@model("types.MethodType")
def _method_type(site: Site) -> Value:
    return Bound(site.args[0], site.args[1]) if len(site.args) == 2 else Unknown("method")


def _of_objects(value: Value, dtype: Value | None) -> bool:
    """Whether an array made of these holds Python objects or text."""
    if isinstance(dtype, External):
        return dtype.dotted in ("builtins.object", "builtins.str", "numpy.object_", "numpy.str_")
    items = value.items if isinstance(value, Sequence) and value.items is not None else [value]
    return dtype is None and any(isinstance(i, Const) and (i.value is None or isinstance(i.value, str)) for i in items)


@model("numpy.array", "numpy.asarray", "numpy.ascontiguousarray")
def _array(site: Site) -> Value:
    value = site.args[0] if site.args else Unknown("")
    inner = value.element() if isinstance(value, Sequence) and (value.items or value.elem is not None) else value
    tensor = as_tensor(inner)
    if _of_objects(value, site.arg(1, "dtype")):
        return Tensor(0.95, "", None, "result", "object array", site.origin())
    if tensor is not None:
        return Tensor(tensor.c, tensor.dtype, None, "result", "ndarray", site.origin())
    return Tensor(0.85, "", None, "result", "ndarray", site.origin())


@model("typing.TYPE_CHECKING")
def _type_checking(site: Site) -> Value:
    return FALSE


@model(
    "packaging.version.parse", "packaging.version.Version", "pkg_resources.parse_version",
    "pkg_resources.packaging.version.parse", "distutils.version.LooseVersion", "distutils.version.StrictVersion",
    "looseversion.LooseVersion", "torch.torch_version.TorchVersion",
)  # fmt: skip
def _parse(site: Site) -> Value:
    text = site.args[0] if site.args else None
    if isinstance(text, Const) and isinstance(text.value, str) and NUMBERS.match(text.value):
        return Const(Release(text.value))
    return Plain("")


@model("importlib.metadata.version", "importlib_metadata.version")
def _installed(site: Site) -> Value:
    name = site.args[0] if site.args else None
    if isinstance(name, Const) and name.value == "torch":
        return Const(site.machine.knowledge.torch_version)
    return Plain("str")
