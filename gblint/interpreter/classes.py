"""Classes and their objects: ancestry, attribute lookup, construction, calls. nn.Module behaviour is in
`modules.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import libcst as cst

from gblint.index.model import ClassInfo
from gblint.interpreter import declared
from gblint.interpreter.events import Call, Construct, Entry
from gblint.interpreter.frame import Frame
from gblint.interpreter.functions import call_key, chunk_of, method_value, tree_of
from gblint.interpreter.values import (
    Bound,
    Class,
    Compiled,
    Const,
    Environment,
    External,
    Function,
    Instance,
    Mapping,
    Origin,
    Partial,
    Plain,
    Sequence,
    Stream,
    Super,
    Tensor,
    Union,
    Unknown,
    Value,
    is_none,
    join_all,
    type_name,
)
from gblint.interpreter.walk import walk_scope

if TYPE_CHECKING:
    from gblint.interpreter.machine import Machine

MODULE = "torch.nn.Module"
MODULE_LIKE = ("LightningModule", "lightning.pytorch.LightningModule", "ModelMixin")


# -- ancestry -----------------------------------------------------------------------------------------------------


def mro(machine: Machine, cls: Class) -> list[Class | External]:
    """The class and its ancestors, in method resolution order as far as it can be told."""
    if cls.mro is None:
        cls.mro = [cls]  # breaks cycles
        seen: list[Class | External] = [cls]
        for base in bases(machine, cls):
            for ancestor in mro(machine, base) if isinstance(base, Class) else [base]:
                if ancestor in seen:
                    seen.remove(ancestor)  # a shared ancestor comes after all that derive from it
                seen.append(ancestor)
        cls.mro = seen
        if all(isinstance(a, External) or a.local_bases is None for a in seen):
            cls.names = frozenset().union(*(_own_names(a) for a in seen if isinstance(a, Class)))
    return cls.mro


def _own_names(cls: Class) -> frozenset[str]:
    """Names that the body of a class outside functions defines."""
    if cls.own_names is None:
        nested = cls.info.qualname + "."
        inner = [q[len(nested) :] for q in cls.module.classes if q.startswith(nested)]
        cls.own_names = frozenset((*cls.info.methods, *cls.info.bindings, *inner))
    return cls.own_names


def bases(machine: Machine, cls: Class) -> list[Class | External]:
    """The direct bases, resolved."""
    if cls.local_bases is not None:
        return [b for b in cls.local_bases if isinstance(b, Class | External)]
    from gblint.interpreter.expressions import evaluate_text

    scope = Frame(cls.module, cls.chunk, cls.closure or Environment({}))  # type: ignore[arg-type]
    result: list[Class | External] = []
    for text in cls.info.bases:
        value = evaluate_text(machine, scope, text.split("[", 1)[0])
        if isinstance(value, Class | External):
            result.append(value)
        elif isinstance(value, Union):
            result.extend(m for m in value.members[:1] if isinstance(m, Class | External))
        elif isinstance(value, Unknown) or value is None:
            result.append(External("unknown." + text.split("[", 1)[0]))
    return result


def external_base(machine: Machine, cls: Class) -> str:
    """The dotted name of the first external ancestor that matters ("builtins.object" if there is none)."""
    if not cls.external:
        found = _external_base(machine, cls)
        if cls.names is None:
            return found
        cls.external = found
    return cls.external


def _external_base(machine: Machine, cls: Class) -> str:
    for ancestor in mro(machine, cls):
        if isinstance(ancestor, External):
            dotted = machine.knowledge.canonical(ancestor.dotted)
            if not dotted.startswith(("typing.", "abc.", "typing_extensions.", "unknown.")):
                return MODULE if dotted.endswith(MODULE_LIKE) else dotted
    return "builtins.object"


def kind_of(machine: Machine, cls: Class) -> str:
    """ "module", "autograd", "enum", "exception", "namedtuple", "dataclass", "mapping", "protocol" or "plain"."""
    if not cls.kind:
        found = _kind_of(machine, cls)
        if cls.names is None:
            return found
        cls.kind = found
    return cls.kind


def _kind_of(machine: Machine, cls: Class) -> str:
    base = external_base(machine, cls)
    if base.startswith("torch.nn.") and not base.startswith(
        ("torch.nn.Parameter", "torch.nn.attention", "torch.nn.utils")
    ):
        return "module"
    if base.startswith("torch.autograd.Function") or base == "torch.autograd.function.Function":
        return "autograd"
    if base.startswith("enum."):
        return "enum"
    if base in ("typing.NamedTuple", "collections.namedtuple") or any(
        isinstance(a, External) and a.dotted == "typing.NamedTuple" for a in mro(machine, cls)
    ):
        return "namedtuple"
    if any(isinstance(a, Class) and any("dataclass" in d for d in a.info.decorators) for a in mro(machine, cls)):
        return "dataclass"
    if base in ("collections.OrderedDict", "builtins.dict", "collections.UserDict"):
        return "mapping"
    if any(isinstance(a, External) and a.dotted.endswith(".Protocol") for a in mro(machine, cls)):
        return "protocol"
    return "plain"


def is_module_class(machine: Machine, cls: Class) -> bool:
    """True if objects of the class are nn.Modules (or look like ones whose base is not in view)."""
    if kind_of(machine, cls) == "module":
        return True
    unknown = any(isinstance(a, External) and a.dotted.startswith("unknown.") for a in mro(machine, cls))
    return unknown and "forward" in cls.info.methods and kind_of(machine, cls) == "plain"


def is_exception(base: str) -> bool:
    """True for the builtin exception classes."""
    return base.startswith("builtins.") and base.endswith(("Exception", "Error", "Warning"))


def is_module(machine: Machine, value: Instance) -> bool:
    if value.cls is not None:
        return is_module_class(machine, value.cls)
    return machine.knowledge.what(value.base) == "module-class" or value.base == MODULE


# -- class attributes ---------------------------------------------------------------------------------------------


def names_of(machine: Machine, receiver: Instance) -> set[str]:
    """The names of an object's attributes and methods, those of classes that are not in view left out."""
    found = {name for name in receiver.attrs if isinstance(name, str)}
    ancestors = mro(machine, receiver.cls) if receiver.cls is not None else []
    return found.union(*(_own_names(a) for a in ancestors if isinstance(a, Class)))


def class_attr(machine: Machine, cls: Class, name: str, after: Class | None = None) -> Value | None:
    """A class attribute looked up along the MRO (after a given class for super()); None if it is not in view."""
    if machine.watched is cls and after is None:
        machine.looked_up.add(name)
    if cls.names is not None and name not in cls.names and name not in machine.set_on_classes:
        return None
    waiting = after is not None
    for ancestor in mro(machine, cls):
        if waiting:
            waiting = ancestor is not after
            continue
        if isinstance(ancestor, Class):
            value = own_attr(machine, ancestor, name)
            if value is not None:
                return value
    return None


def own_attr(machine: Machine, cls: Class, name: str) -> Value | None:
    """An attribute that the body of the class itself defines."""
    if name in cls.attrs:
        return cls.attrs[name]
    if name in cls.info.methods:
        info = cls.module.functions[cls.info.methods[name]]
        value = method_value(machine, cls, cls.module, info)
        cls.attrs[name] = value
        return value
    if name in cls.info.bindings:
        return _class_binding(machine, cls, name)
    if cls.own_names is not None and name not in cls.own_names:
        return None
    nested = f"{cls.info.qualname}.{name}"
    if nested in cls.module.classes:
        from gblint.interpreter.globals import class_value

        return class_value(machine, cls.module, nested)
    return None


def undecorated(machine: Machine, cls: Class, name: str) -> Function | None:
    """A method as its `def` stands in the source, decorators left aside; None if no class in view defines it."""
    for ancestor in mro(machine, cls):
        if isinstance(ancestor, Class) and name in ancestor.info.methods:
            info = ancestor.module.functions[ancestor.info.methods[name]]
            return Function(ancestor.module, info.qualname, info, owner=ancestor)
    return None


def _class_binding(machine: Machine, cls: Class, name: str) -> Value:
    from gblint.interpreter.globals import preferred
    from gblint.interpreter.statements import execute_statement

    binding = preferred(cls.info.bindings[name])
    cls.attrs[name] = Unknown(f"{name} refers to itself")
    chunk = chunk_of(machine, cls.module, binding.start, binding.end)
    if chunk is None:
        return Unknown("class attribute")
    scope = _ClassScope(machine, cls)
    frame = Frame(cls.module, chunk, scope)
    for statement in chunk.body:
        execute_statement(machine, frame, statement)
    value = scope.names.get(name, Unknown("class attribute"))
    cls.attrs[name] = value
    return value


class _ClassScope(Environment):
    """Names visible in a class body: earlier class attributes, then globals."""

    __slots__ = ("_cls", "_machine")

    def __init__(self, machine: Machine, cls: Class) -> None:
        super().__init__({}, cls.closure)
        self._machine = machine
        self._cls = cls

    def lookup(self, name: str) -> Value | None:
        if name in self.names:
            return self.names[name]
        info = self._cls.info
        if name in self._cls.attrs or name in info.methods or name in info.bindings:
            return own_attr(self._machine, self._cls, name)
        return super().lookup(name)


def _decorator_heads(function: Value) -> tuple[str, ...]:
    if not isinstance(function, Function):
        return ()
    if function.info is not None:
        return tuple(d.split("(", 1)[0].strip() for d in function.info.decorators)
    if isinstance(function.node, cst.FunctionDef):
        return tuple(_head(d.decorator) for d in function.node.decorators)
    return ()


def _head(node: cst.BaseExpression) -> str:
    from gblint.interpreter.expressions import dotted_path

    return dotted_path(node.func if isinstance(node, cst.Call) else node)


def _binding_kind(value: Value) -> str:
    """ "static", "class", "property" or "" (an ordinary method)."""
    if isinstance(value, Function) and value.binding:
        return value.binding
    for head in _decorator_heads(value):
        last = head.rpartition(".")[2]
        if last == "staticmethod":
            return "static"
        if last == "classmethod":
            return "class"
        if last in ("property", "cached_property", "lazy_property", "abstractproperty", "functional_property"):
            return "property"
    return ""


def class_member(machine: Machine, frame: Frame, cls: Class, name: str, node: cst.CSTNode) -> Value:
    """The value of Class.name."""
    if name in ("__name__", "__qualname__", "__module__", "__doc__"):
        return Plain("str")
    if name == "__init__" and class_attr(machine, cls, name) is None:
        return External("gblint.no_op")
    if name == "apply" and kind_of(machine, cls) == "autograd":
        return Bound(External("torch.autograd.Function.apply"), cls)
    if kind_of(machine, cls) == "enum":
        return Plain("")
    value = class_attr(machine, cls, name)
    if value is None:
        base = external_base(machine, cls)
        return External(f"{base}.{name}") if base != "builtins.object" else Unknown(f"class attribute {name}")
    kind = _binding_kind(value)
    if kind == "class" and isinstance(value, Function):
        return Bound(value, cls)
    return value


def bind_member(machine: Machine, frame: Frame, receiver: Value, value: Value, node: cst.CSTNode) -> Value:
    """A class attribute read off an object: methods are bound, properties called."""
    kind = _binding_kind(value)
    if kind == "property":
        return _property(machine, frame, receiver, value, node)
    if kind == "static":
        return value
    if kind == "class":
        cls = receiver.cls if isinstance(receiver, Instance) else receiver
        return Bound(value, cls) if cls is not None else value
    if isinstance(value, Function | Compiled):
        return Bound(value, receiver)
    return value


def _property(machine: Machine, frame: Frame, receiver: Value, value: Value, node: cst.CSTNode) -> Value:
    """The value of a property; that of a cached one is kept."""
    if not isinstance(receiver, Instance) or not any(h.endswith("cached_property") for h in _decorator_heads(value)):
        return machine.call(frame, value, [receiver], {}, node)
    machine.emit_call(frame, Call(node, "mark:cached_property", [], {}, receiver))
    result = machine.call(frame, value, [receiver], {}, node)
    if isinstance(value, Function):
        receiver.attrs[value.name] = result
    return result


def super_attr(machine: Machine, frame: Frame, value: Super, name: str, node: cst.CSTNode) -> Value:
    """super().name."""
    receiver = value.receiver
    cls = receiver.cls if isinstance(receiver, Instance) else receiver if isinstance(receiver, Class) else None
    if cls is None:
        return Unknown("super of an unknown object")
    found = class_attr(machine, cls, name, after=value.after)
    if found is not None:
        return bind_member(machine, frame, receiver, found, node)
    base = external_base(machine, cls)
    if name == "__init__" and not is_exception(base):
        return External("gblint.no_op")
    if isinstance(receiver, Instance) and name in receiver.attrs:
        return receiver.attrs[name]
    return Bound(External(f"{base}.{name}"), receiver)


# -- instances ----------------------------------------------------------------------------------------------------


def instance_attr(machine: Machine, frame: Frame, receiver: Instance, name: str, node: cst.CSTNode) -> Value:
    """The value of object.name."""
    from gblint.interpreter import modules
    from gblint.interpreter.attributes import note_get

    if name in receiver.attrs:
        return receiver.attrs[name]
    if name == "__class__" and receiver.cls is not None:
        return receiver.cls
    if name == "__dict__":
        return Mapping(dict(receiver.attrs), exact=False)
    if receiver.cls is not None:
        value = class_attr(machine, receiver.cls, name)
        if value is not None:
            return bind_member(machine, frame, receiver, value, node)
        declared = _declared(machine, receiver, name)
        if declared is not None:
            return declared
    if is_module(machine, receiver):
        value = modules.attribute(machine, frame, receiver, name)
        if value is not None:
            return value
    if "namedtuple" in receiver.flags and name in ("_replace", "_asdict", "_fields"):
        return Bound(External(f"namedtuple.{name}"), receiver)
    getter = class_attr(machine, receiver.cls, "__getattr__") if receiver.cls is not None else None
    if isinstance(getter, Function):
        return machine.call(frame, getter, [receiver, Const(name)], {}, node)
    if receiver.base == "builtins.object" or (receiver.cls is not None and receiver.base.startswith("unknown.")):
        return Unknown(f"attribute {name}")
    answer = note_get(machine, frame, receiver, name, receiver.base, node)
    if answer is not None:
        return answer
    return Bound(External(f"{receiver.base}.{name}"), receiver)


def _declared(machine: Machine, receiver: Instance, name: str) -> Value | None:
    """An attribute declared by annotation only, on an object whose making was not seen."""
    from gblint.interpreter.expressions import evaluate_text  # noqa: F401
    from gblint.interpreter.guesses import annotation_value

    if receiver.cls is None:
        return None
    for ancestor in mro(machine, receiver.cls):
        if isinstance(ancestor, Class) and name in ancestor.info.annotations:
            try:
                node = cst.parse_expression(ancestor.info.annotations[name][0])
            except Exception:
                return None
            value = annotation_value(machine, Frame(ancestor.module, ancestor.chunk, Environment({})), node)  # type: ignore[arg-type]
            if value is not None:
                receiver.attrs[name] = value
            return value
    return None


def property_setter(machine: Machine, receiver: Instance, name: str) -> Function | None:
    """The setter of a property, if the class of an object has one under this name."""
    if receiver.cls is None:
        return None
    for ancestor in mro(machine, receiver.cls):
        if isinstance(ancestor, Class) and name in ancestor.info.methods:
            wanted = f"{ancestor.info.qualname}.{name}"
            for info in ancestor.module.functions:
                if info.qualname == wanted and f"{name}.setter" in info.decorators:
                    return Function(ancestor.module, info.qualname, info, owner=ancestor)
            return None
    return None


def truth_of(machine: Machine, value: Instance) -> bool | None:
    """The truth of an object: True unless its class may say otherwise."""
    if value.cls is None:
        return (
            True
            if value.base.startswith(("torch.nn.", "logging."))
            and "List" not in value.base
            and "Dict" not in value.base
            else None
        )
    if class_attr(machine, value.cls, "__bool__") is not None or class_attr(machine, value.cls, "__len__") is not None:
        return None
    return True if kind_of(machine, value.cls) in ("module", "plain") else None


def construct(
    machine: Machine,
    frame: Frame,
    cls: Class,
    args: list[Value],
    kwargs: dict[str, Value],
    node: cst.CSTNode,
    opaque: bool = False,
) -> Value:
    """The object `cls(...)` makes."""
    said = machine.declared.find(cls.qualname) if machine.declared else None
    if said is not None:
        if declared.is_closed(said):
            declared.tell(machine, frame, said, cls.qualname, args, kwargs, node)
        return declared.result(frame, said, node)
    kind = kind_of(machine, cls)
    base = external_base(machine, cls)
    if kind == "enum":
        return Plain("")
    instance = Instance(cls, base, born="region" if frame.traced else "outside", args=args, kwargs=kwargs)
    if machine.listens(frame, "construct"):
        answer = machine.emit(frame, "construct", Construct(node, base, cls, args, kwargs, instance))
        if answer is not None and answer.result is not None:
            return answer.result
    if kind in ("namedtuple", "dataclass") and not _has_own_init(machine, cls):
        fill_fields(machine, frame, instance, args, kwargs, kind, node)
        return instance
    maker = class_attr(machine, cls, "__new__")
    if isinstance(maker, Function) and kind == "plain" and class_attr(machine, cls, "__init__") is None:
        made = machine.call(frame, maker, [cls, *args], kwargs, node, opaque)
        return made if not isinstance(made, Unknown) else instance
    init = class_attr(machine, cls, "__init__")
    key = _sample_key(machine, frame, cls, args, kwargs) if kind == "module" and not opaque else None
    sample = machine.samples.get(key)
    if sample is not None:
        return sample.another(instance)
    if isinstance(init, Function | Partial | Bound):
        machine.drafts.open_log(frame)
        try:
            machine.call(frame, init, [instance, *args], kwargs, node, opaque)
        finally:
            _, breaks = machine.drafts.close_log()
        if kind == "module" and breaks is not None and isinstance(init, Function):
            enter_again(machine, frame, init, node)
    else:
        instance.open = True
    if key is not None:
        instance.form = len(machine.samples) + 1
        machine.samples[key] = Sample(instance)
    return instance


class Sample:
    """A module that nobody is seen to make, as its constructor left it: others made with like arguments are like it.

    They have their attributes to themselves and share the modules in them.
    """

    __slots__ = ("attrs", "flags", "form", "given", "open")

    def __init__(self, made: Instance) -> None:
        self.attrs = dict(made.attrs)
        self.flags = frozenset(made.flags)
        self.form = made.form
        self.open = made.open
        self.given = (made.args, made.kwargs)  # kept because keys name objects by their addresses

    def another(self, instance: Instance) -> Instance:
        """The object that the constructor would make of a new one."""
        instance.attrs.update(self.attrs)
        instance.flags |= self.flags
        instance.form, instance.open = self.form, self.open
        return instance


def _sample_key(machine: Machine, frame: Frame, cls: Class, args: list[Value], kwargs: dict[str, Value]) -> Any:
    """What tells whether a module was made before; None if this one is made by code that is seen to run."""
    if not machine.guessing or frame.traced or cls.closure is not None:
        return None
    return (cls.module.path, cls.info.start, call_key(args, kwargs, False, False))


def enter_again(machine: Machine, frame: Frame, init: Function, node: cst.CSTNode) -> None:
    """A constructor that broke the graph is run by eager code, and Dynamo starts a frame in it."""
    tree = tree_of(machine, init)
    if tree is None or not machine.listens(frame, "entry"):
        return
    own = Frame(init.module, tree.chunk, Environment({}), init, frame, node, True, starts=True)
    machine.emit(own, "entry", Entry(_super_call(tree.node) or node, init, is_root=False))


def _super_call(tree: cst.CSTNode) -> cst.CSTNode | None:
    """The `super().__init__(…)` of a constructor."""
    for node in walk_scope([tree.body]):  # type: ignore[attr-defined]
        if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and node.func.attr.value == "__init__":
            if isinstance(node.func.value, cst.Call):
                return node
    return None


def _has_own_init(machine: Machine, cls: Class) -> bool:
    return class_attr(machine, cls, "__init__") is not None


def fields(machine: Machine, cls: Class) -> list[tuple[str, bool, Class]]:
    """Fields of a dataclass or NamedTuple in order: name, has a default, and the class that declares it."""
    result: dict[str, tuple[bool, Class]] = {}
    for ancestor in reversed(mro(machine, cls)):
        if isinstance(ancestor, Class):
            for name, (text, default) in ancestor.info.annotations.items():
                if not text.startswith(("ClassVar", "typing.ClassVar")):
                    result[name] = (default, ancestor)
    return [(name, default, owner) for name, (default, owner) in result.items()]


def fill_fields(
    machine: Machine,
    frame: Frame,
    instance: Instance,
    args: list[Value],
    kwargs: dict[str, Value],
    kind: str,
    node: cst.CSTNode,
) -> None:
    """Give the fields of a dataclass or NamedTuple their values."""
    assert instance.cls is not None
    spare = list(args)
    for name, default, owner in fields(machine, instance.cls):
        if spare:
            instance.attrs[name] = spare.pop(0)
        elif name in kwargs:
            instance.attrs[name] = kwargs[name]
        elif default:
            value = own_attr(machine, owner, name)
            if isinstance(value, Instance | Unknown) and value is not None and not isinstance(value, Instance):
                value = Unknown(f"field {name}")
            instance.attrs[name] = value if value is not None else Unknown(f"field {name}")
    if kind == "namedtuple":
        instance.flags.add("namedtuple")
    post = class_attr(machine, instance.cls, "__post_init__")
    if isinstance(post, Function):
        machine.call(frame, post, [instance], {}, node)


def call_instance(
    machine: Machine,
    frame: Frame,
    receiver: Instance,
    args: list[Value],
    kwargs: dict[str, Value],
    node: cst.CSTNode,
    opaque: bool,
) -> Value:
    """The value of calling an object."""
    from gblint.interpreter import externals, modules

    if receiver.cls is not None:
        method = class_attr(machine, receiver.cls, "__call__")
        if method is not None:
            return machine.call(frame, bind_member(machine, frame, receiver, method, node), args, kwargs, node, opaque)
    if is_module(machine, receiver):
        return modules.call(machine, frame, receiver, args, kwargs, node, opaque)
    if receiver.cls is None:
        return externals.call(machine, frame, f"{receiver.base}.__call__", args, kwargs, node, receiver, opaque)
    return Unknown("call of an object")


def iterate_instance(machine: Machine, frame: Frame, receiver: Instance, node: cst.CSTNode) -> list[Value] | Value:
    """What iterating an object yields."""
    from gblint.interpreter import modules
    from gblint.interpreter.expressions import iterate

    children = modules.children(machine, receiver)
    if children is not None:
        return children
    if "namedtuple" in receiver.flags:
        return list(receiver.attrs.values())
    if receiver.cls is not None:
        method = class_attr(machine, receiver.cls, "__iter__")
        if isinstance(method, Function):
            return iterate(machine, frame, machine.call(frame, method, [receiver], {}, node), node)
        getter = class_attr(machine, receiver.cls, "__getitem__")
        if isinstance(getter, Function):
            return machine.call(frame, getter, [receiver, Plain("int")], {}, node)
    return Unknown("iteration over an object")


def index_instance(machine: Machine, frame: Frame, receiver: Instance, index: list[Value], node: cst.CSTNode) -> Value:
    """object[index]."""
    from gblint.interpreter import modules

    first = index[0] if index else Unknown("no index")
    children = modules.children(machine, receiver)
    if children is not None:
        return modules.child(machine, receiver, children, first)
    values = list(receiver.attrs.values())
    if "namedtuple" in receiver.flags or (receiver.cls is not None and kind_of(machine, receiver.cls) == "dataclass"):
        if isinstance(first, Const) and isinstance(first.value, str) and first.value in receiver.attrs:
            return receiver.attrs[first.value]
        if isinstance(first, Const) and isinstance(first.value, int) and not isinstance(first.value, bool):
            present = [v for v in values if not is_none(v)]
            if -len(present) <= first.value < len(present):
                return present[first.value]
        if values:
            return join_all(values) if len(values) < 6 else Unknown("element")
    method = class_attr(machine, receiver.cls, "__getitem__") if receiver.cls is not None else None
    if isinstance(method, Function):
        key = first if len(index) == 1 else Sequence("tuple", list(index))
        return machine.call(frame, method, [receiver, key], {}, node)
    return Unknown("element of an object")


def store_index(
    machine: Machine, frame: Frame, receiver: Instance, index: list[Value], value: Value, node: cst.CSTNode
) -> None:
    """object[index] = value."""
    from gblint.interpreter import modules

    method = class_attr(machine, receiver.cls, "__setitem__") if receiver.cls is not None else None
    if isinstance(method, Function):
        key = index[0] if len(index) == 1 else Sequence("tuple", list(index))
        machine.call(frame, method, [receiver, key, value], {}, node)
    elif modules.children(machine, receiver) is not None and isinstance(index[0], Const):
        receiver.attrs[str(index[0].value)] = value
    elif isinstance(index[0], Const) and isinstance(index[0].value, str):
        receiver.attrs[index[0].value] = value


# -- isinstance ---------------------------------------------------------------------------------------------------

_BUILTIN_TYPES = {
    "builtins.int": ("int", "bool"), "builtins.float": ("float",), "builtins.bool": ("bool",), "builtins.str": ("str",),
    "builtins.bytes": ("bytes",), "builtins.complex": ("complex",), "numbers.Number": ("int", "float", "bool",
    "complex", "number"),
    "numbers.Integral": ("int", "bool"), "numbers.Real": ("int", "float", "bool"),
}  # fmt: skip
_SEQUENCE_TYPES = {
    "builtins.list": ("list",), "builtins.tuple": ("tuple", "size"), "builtins.set": ("set",), "torch.Size": ("size",),
    "collections.abc.Sequence": ("list", "tuple", "size", "deque"), "typing.Sequence": ("list", "tuple", "size",
    "deque"),
    "collections.abc.Iterable": ("list", "tuple", "size", "set", "deque"), "typing.Iterable": ("list", "tuple",
    "size", "set", "deque"),
    "collections.deque": ("deque",), "typing.List": ("list",), "typing.Tuple": ("tuple", "size"),
}  # fmt: skip
_MAPPING_TYPES = (
    "builtins.dict",
    "collections.abc.Mapping",
    "typing.Mapping",
    "collections.OrderedDict",
    "typing.Dict",
    "collections.abc.MutableMapping",
)
_TENSOR_TYPES = ("torch.Tensor", "torch.autograd.Variable")


def is_instance(machine: Machine, value: Value, wanted: Value) -> bool | None:
    """isinstance(value, wanted) for a value that is no union; None if it cannot be told."""
    if isinstance(wanted, Sequence):
        if wanted.items is None:
            return None
        found = [is_instance(machine, value, w) for w in wanted.items]
        return True if True in found else (None if None in found else False)
    if isinstance(wanted, Union):
        found = [is_instance(machine, value, w) for w in wanted.members]
        return found[0] if len(set(found)) == 1 else None
    if isinstance(value, Unknown):
        return None
    if isinstance(wanted, Class):
        return _is_of_class(machine, value, wanted)
    if isinstance(wanted, External):
        return _is_of_external(machine, value, machine.knowledge.canonical(wanted.dotted))
    return None


def _is_of_class(machine: Machine, value: Value, wanted: Class) -> bool | None:
    if isinstance(value, Instance) and value.cls is not None:
        if wanted in mro(machine, value.cls):
            return True
        return None if value.open and value.born == "outside" and value.cls in mro(machine, wanted) else False
    if isinstance(value, Plain) and not value.type:
        return None
    if isinstance(value, Instance):
        return None if value.open else False
    return False


def _is_of_external(machine: Machine, value: Value, dotted: str) -> bool | None:
    if isinstance(value, Tensor):
        return _tensor_is(value, dotted)
    if dotted in _TENSOR_TYPES or dotted == "torch.nn.Parameter":
        return (
            None
            if isinstance(value, Instance) and value.cls is not None and value.base.startswith("torch.Tensor")
            else False
        )
    if dotted == "builtins.object":
        return True
    if isinstance(value, Const | Plain):
        return _plain_is(value, dotted)
    if isinstance(value, Sequence):
        return value.kind in _SEQUENCE_TYPES.get(dotted, ())
    if isinstance(value, Mapping):
        return dotted in _MAPPING_TYPES or dotted == "collections.abc.Iterable"
    if isinstance(value, Instance):
        if value.cls is None:
            return (
                True
                if machine.knowledge.canonical(value.base) == dotted
                else (dotted == MODULE if value.base.startswith("torch.nn.") else None)
            )
        return any(
            isinstance(a, External) and machine.knowledge.canonical(a.dotted) == dotted for a in mro(machine, value.cls)
        ) or (dotted == MODULE and is_module_class(machine, value.cls))
    if isinstance(value, Function | Bound | Partial | Class):
        return (
            True if dotted.endswith("Callable") else (dotted == "builtins.type" if isinstance(value, Class) else False)
        )
    if isinstance(value, Stream):
        return None
    return None


def _tensor_is(value: Tensor, dotted: str) -> bool | None:
    if dotted in _TENSOR_TYPES:
        return value.subclass != "ndarray"
    if dotted == "numpy.ndarray":
        return value.subclass == "ndarray"
    if dotted == "torch.nn.Parameter":
        return True if value.role == "parameter" else (False if value.role == "result" else None)
    if dotted.startswith("torch.") and dotted.endswith("Tensor"):
        kinds = {"FloatTensor": "float", "LongTensor": "int", "BoolTensor": "bool", "IntTensor": "int"}
        wanted = kinds.get(dotted.rpartition(".")[2])
        return None if wanted is None or not value.dtype else value.dtype == wanted
    if value.c < 0.8:
        return None
    return False


def _plain_is(value: Const | Plain, dotted: str) -> bool | None:
    name = type_name(value)
    if name == "":
        return None if dotted not in _TENSOR_TYPES else False
    if dotted in _BUILTIN_TYPES:
        if name == "number" and dotted in ("builtins.int", "builtins.float", "builtins.complex"):
            return None
        return name in _BUILTIN_TYPES[dotted]
    if dotted == "torch.device":
        return name == "device"
    if dotted == "torch.dtype":
        return name == "dtype"
    return False


def narrowed(machine: Machine, value: Value, wanted: Value) -> Value:
    """An uncertain value once isinstance(value, wanted) is known to hold."""
    if isinstance(wanted, Sequence):
        if wanted.items and len(wanted.items) == 1:
            return narrowed(machine, value, wanted.items[0])
        tensor = next(
            (
                w
                for w in wanted.items or []
                if isinstance(w, External) and machine.knowledge.canonical(w.dotted) in _TENSOR_TYPES
            ),
            None,
        )
        return (
            Union((Tensor(0.7, "", None, "", "", Origin("checked by isinstance")), value))
            if tensor is not None
            else value
        )
    if isinstance(wanted, External):
        dotted = machine.knowledge.canonical(wanted.dotted)
        if dotted in _TENSOR_TYPES or dotted == "torch.nn.Parameter":
            role = "parameter" if dotted.endswith("Parameter") else ""
            return Tensor(0.9, "", None, role, "", Origin("checked by isinstance"))
        if dotted in _BUILTIN_TYPES:
            return Plain(_BUILTIN_TYPES[dotted][0])
        if dotted in ("builtins.list", "builtins.tuple"):
            return Sequence(dotted[9:], None, None)
        if dotted in _MAPPING_TYPES:
            return Mapping({}, None, exact=False)
        return value
    if isinstance(wanted, Class) and isinstance(value, Unknown | Instance):
        return Instance(wanted, external_base(machine, wanted), open=True)
    return value


# -- classes made inside functions --------------------------------------------------------------------------------


def define_local(machine: Machine, frame: Frame, node: cst.ClassDef) -> Class:
    """The class a class statement inside a function makes."""
    from gblint.interpreter.expressions import evaluate
    from gblint.interpreter.statements import define_function, execute_statement

    where = f"{frame.function.qualname}." if frame.function is not None else ""
    info = ClassInfo(where + node.name.value, 1, 1)
    cls = Class(frame.module, info, frame.env)
    cls.node, cls.chunk = node, frame.chunk
    cls.local_bases = [evaluate(machine, frame, base.value) for base in node.bases if not base.star]
    scope = Frame(frame.module, frame.chunk, Environment({}, frame.env), frame.function)
    for statement in node.body.body:
        if isinstance(statement, cst.FunctionDef):
            scope.env.names[statement.name.value] = define_function(machine, scope, statement, cls)
        else:
            _note_annotations(info, statement)
            execute_statement(machine, scope, statement)
    cls.attrs.update(scope.env.names)
    return cls


def _note_annotations(info: ClassInfo, statement: cst.CSTNode) -> None:
    if isinstance(statement, cst.SimpleStatementLine):
        for small in statement.body:
            if isinstance(small, cst.AnnAssign) and isinstance(small.target, cst.Name):
                text = cst.Module([]).code_for_node(small.annotation.annotation)
                info.annotations[small.target.value] = (text, small.value is not None)
