"""Calls that leave the source at hand: torch, builtins, the stdlib, NumPy. Rules hear of each; models say what comes
back.

Models of builtins and the stdlib are in `builtin_models.py` and `library_models.py`, those of torch in
`torch_models.py`;
each registers functions here by dotted name.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from gblint.interpreter import declared, effects, tensors
from gblint.interpreter.events import Call, Compare, Construct
from gblint.interpreter.frame import Frame
from gblint.interpreter.values import (
    NONE,
    Const,
    Instance,
    Mapping,
    Origin,
    Plain,
    Sequence,
    Stream,
    Tensor,
    Union,
    Unknown,
    Value,
    as_tensor,
    is_true,
    type_name,
)

if TYPE_CHECKING:
    from gblint.interpreter.machine import Machine


@dataclass(slots=True)
class Site:
    """One external call, as a model sees it."""

    machine: Machine
    frame: Frame
    name: str
    args: list[Value]
    kwargs: dict[str, Value]
    node: cst.CSTNode
    receiver: Value | None
    opaque: bool

    def arg(self, position: int, name: str = "") -> Value | None:
        """The argument at a position or under a keyword; None if it is not given."""
        if name and name in self.kwargs:
            return self.kwargs[name]
        return self.args[position] if position < len(self.args) else None

    def call(self, callee: Value, args: list[Value], kwargs: dict[str, Value] | None = None) -> Value:
        """Call back into the program."""
        return self.machine.call(self.frame, callee, args, kwargs or {}, self.node)

    def iterate(self, value: Value) -> list[Value] | Value:
        from gblint.interpreter.expressions import iterate

        return iterate(self.machine, self.frame, value, self.node)

    def element(self, value: Value) -> Value:
        """The join of what iterating a value yields."""
        from gblint.interpreter.values import join_all

        found = self.iterate(value)
        if isinstance(found, list):
            return join_all(found) if found else Unknown("empty")
        return found

    def compare(self, value: Value, how: str) -> bool:
        """Tell the rules that values like this one are compared with each other ("sort", "group"); True if that
        breaks."""
        if not self.machine.listens(self.frame, "compare"):
            return False
        return self.machine.emit(self.frame, "compare", Compare(self.node, how, value, value)) is not None

    def origin(self) -> Origin:
        return Origin("result of", self.node, self.frame.chunk)


Model = Callable[[Site], Value]
MODELS: dict[str, Model] = {}
QUIET: set[str] = set()  # models that report their own events


def model(*names: str, quiet: bool = False) -> Callable[[Model], Model]:
    """Register a model for dotted names. quiet: the call itself is not reported to rules by `call`."""

    def register(function: Model) -> Model:
        for name in names:
            MODELS[name] = function
            if quiet:
                QUIET.add(name)
        return function

    return register


def call(
    machine: Machine,
    frame: Frame,
    dotted: str,
    args: list[Value],
    kwargs: dict[str, Value],
    node: cst.CSTNode,
    receiver: Value | None,
    opaque: bool,
) -> Value:
    """The value of calling an external function, class or method; rules are told first."""
    name = machine.knowledge.canonical(dotted)
    if (
        receiver is not None
        and as_tensor(receiver) is not None
        and name.startswith(("torch.Tensor.", "numpy.ndarray."))
    ):
        return tensors.method(machine, frame, name.rpartition(".")[2], receiver, args, kwargs, node, opaque)
    if name.startswith("torch.Tensor.") and receiver is None and args and as_tensor(args[0]) is not None:
        return tensors.method(machine, frame, name.rpartition(".")[2], args[0], args[1:], kwargs, node, opaque)
    said = machine.declared.find(name) if machine.declared else None
    if said is not None and declared.is_closed(said):
        declared.tell(machine, frame, said, name, args, kwargs, node)
        return declared.result(frame, said, node)
    if kwargs and is_true(kwargs.get("requires_grad")):
        machine.gradients = True
    if frame.pure:
        effects.note_call(machine, frame, name, args, kwargs, node)
    if receiver is None and args and name.startswith("torch."):
        args = [_taken_as_tensor(machine, name, args[0]), *args[1:]]
    site = Site(machine, frame, name, args, kwargs, node, receiver, opaque)
    answer = None
    if frame.traced and name not in QUIET and machine.table.for_callee(name):
        answer = machine.emit_call(frame, Call(node, name, args, kwargs, receiver, opaque))
        if answer is not None and answer.result is not None:
            return answer.result
    if said is not None:
        return declared.result(frame, said, node)
    found = MODELS.get(name) or MODELS.get(dotted)
    value = found(site) if found is not None else _default(site)
    if name not in QUIET and answer is not None and isinstance(value, Stream):
        value.passed_in = True  # made by eager code
    return value


def _taken_as_tensor(machine: Machine, name: str, value: Value) -> Value:
    """What nothing is known of, where a function of torch takes a tensor, is one."""
    unknown = isinstance(value, Unknown) or (
        isinstance(value, Union) and as_tensor(value) is None and any(isinstance(m, Unknown) for m in value.members)
    )
    if not unknown:
        return value
    found = machine.knowledge.returns(name)
    parameters = machine.knowledge.parameters(name)
    if found is None or found.kind not in ("tensor", "tensors", "self") or not parameters:
        return value
    takes_tensor = parameters[0].kinds == ("tensor",) or (
        not parameters[0].kinds and machine.knowledge.dynamic_shape(name)
    )
    return Tensor(0.85 if isinstance(value, Unknown) else 0.8) if takes_tensor else value


def _default(site: Site) -> Value:
    """What a call gives that no model describes."""
    machine, name = site.machine, site.name
    what = machine.knowledge.what(name)
    if what in ("module-class", "class") or (
        what is None and name.startswith("torch.nn.") and name.rpartition(".")[2][:1].isupper()
    ):
        return construct_external(site, name)
    if name.startswith("torch."):
        return _torch(site, what)
    if name.startswith("numpy."):
        return _numpy(site)
    if what == "external" or name.startswith("builtins."):
        return of_type(machine, machine.knowledge.return_type_external(name), site)
    return _foreign(site)


def construct_external(site: Site, name: str) -> Value:
    """An object of an external class, or of the external part of a class."""
    machine, frame = site.machine, site.frame
    machine.gradients = machine.gradients or name.startswith("torch.nn.")
    instance = Instance(None, name, born="region" if frame.traced else "outside", args=site.args, kwargs=site.kwargs)
    if machine.listens(frame, "construct"):
        answer = machine.emit(frame, "construct", Construct(site.node, name, None, site.args, site.kwargs, instance))
        if answer is not None and answer.result is not None:
            return answer.result
    from gblint.interpreter import modules

    if name in modules.CONTAINERS:
        modules.fill_container(machine, frame, instance, site.args, site.node)
    return instance


def _torch(site: Site, what: str | None) -> Value:
    machine, name = site.machine, site.name
    found = machine.knowledge.returns(name)
    if found is not None:
        _prove_first(site)
        found = tensors.choose(machine, name, found, site.args, site.kwargs)
        return tensors.from_return(machine, site.frame, name, found, site.args, site.kwargs, site.node)
    if site.receiver is not None:
        return _torch_method(site)
    if name.startswith(
        (
            "torch.distributed.",
            "torch.cuda.",
            "torch.backends.",
            "torch.utils.",
            "torch.jit.",
            "torch._",
            "torch.version",
        )
    ):
        return Unknown(f"result of {name}")
    if machine.knowledge.dtype_kind(name):
        return Plain("dtype")
    return Tensor(0.6, "", None, "result", origin=site.origin())


def _prove_first(site: Site) -> None:
    """A function of torch that takes a tensor first proves its first argument."""
    parameters = site.machine.knowledge.parameters(site.name)
    if (
        not parameters
        or parameters[0].kinds != ("tensor",)
        or not site.args
        or not isinstance(site.node, cst.Call)
        or not site.node.args
    ):
        return
    first, written = site.args[0], site.node.args[0].value
    if (
        isinstance(first, Tensor)
        and first.c < 0.97
        and isinstance(written, cst.Name)
        and site.frame.env.names.get(written.value) is first
    ):
        site.frame.env.names[written.value] = Tensor(
            0.97, first.dtype, first.rank, first.role, first.subclass, first.origin
        )


def _torch_method(site: Site) -> Value:
    """A method of an object of torch: distributions and transforms give tensors, modules themselves."""
    owner, _, method = site.name.rpartition(".")
    if owner.startswith("torch.distributions"):
        return Tensor(
            0.95, "float" if method in ("rsample", "log_prob", "entropy") else "", None, "result", origin=site.origin()
        )
    if owner.startswith("torch.nn.") or owner == "torch.nn.Module":
        return module_method(site, method)
    return Unknown(f"result of {site.name}")


def module_method(site: Site, method: str) -> Value:
    """Methods of nn.Module that no model describes."""
    from gblint.interpreter import modules

    receiver = site.receiver
    if method in ("forward", "__call__") and isinstance(receiver, Instance):
        return modules.torch_forward(site.machine, site.frame, receiver, site.args, site.kwargs, site.node, site.opaque)
    return Unknown(f"result of {method}")


_OF_NUMBERS = frozenset({  # functions of NumPy that give a number for a number; answers (`isnan`) stay arrays
    "sqrt", "cbrt", "log", "log2", "log10", "log1p", "exp", "exp2", "expm1", "ceil", "floor", "round", "rint",
    "trunc", "abs",
    "absolute", "sin", "cos", "tan", "arctan", "arctan2", "sinh", "cosh", "tanh", "power", "square", "maximum",
    "minimum",
    "floor_divide", "divide", "multiply", "add", "subtract", "prod", "sum", "mean", "max", "min", "clip", "sign", "mod",
    "remainder", "hypot", "gcd", "lcm",
})  # fmt: skip

_REDUCTIONS = {"prod", "sum", "mean", "max", "min"}


def _numpy(site: Site) -> Value:
    kind = site.machine.knowledge.return_type_external(site.name)
    if site.name.startswith("numpy.random."):
        return _numpy_random(site)
    if kind in ("int", "float", "bool", "str", "NoneType"):  # of Python itself, such as `np.size(x)`
        return of_type(site.machine, kind, site)
    traced = any(as_tensor(a) is not None for a in site.args)
    last = site.name.rpartition(".")[2]
    scalar = (
        last in _OF_NUMBERS
        and bool(site.args)
        and all(isinstance(v, Const | Plain) and type_name(v) in ("", "int", "float", "number") for v in site.args)
    )
    if scalar and site.frame.traced:  # of numbers it gives a number: Dynamo folds it
        return Plain("float", symbolic=any(getattr(a, "symbolic", False) for a in site.args))
    if last.endswith("_indices"):
        return Sequence("tuple", None, Tensor(0.9, "int", 1, "result", "ndarray", site.origin()))
    if last in ("float32", "float64", "int64", "int32", "bool_"):
        return Plain("number")
    dtype = "bool" if last.startswith(("is", "logical", "any", "all", "greater", "less", "equal")) else ""
    # A NumPy number kept from eager code is an array to Dynamo as well; of something unknown it may be a plain number.
    certainty = 0.92 if traced or scalar else 0.5 if last in _OF_NUMBERS - _REDUCTIONS else 0.8
    return Tensor(certainty, dtype, 0 if scalar else None, "result", "ndarray", site.origin())


_SIZES_ONLY = ("rand", "randn", "random", "random_sample", "permutation", "standard_normal")


def _numpy_random(site: Site) -> Value:
    """An array where a size is given, else a number or an object."""
    last = site.name.rpartition(".")[2]
    if last[:1].isupper() or last == "default_rng":
        return of_type(
            site.machine, site.machine.knowledge.return_type_external(site.name) or "numpy.random.Generator", site
        )
    sized = "size" in site.kwargs or len(site.args) > 2 or any(isinstance(a, Sequence) for a in site.args)
    dtype = "int" if last in ("randint", "permutation", "choice") else "float"
    if sized or (site.args and last in _SIZES_ONLY):
        return Tensor(0.9, dtype, None, "result", "ndarray", site.origin())
    return Plain(dtype if last != "choice" else "")


def _foreign(site: Site) -> Value:
    """A library that is not installed, or whose source is not read."""
    site.machine.unresolved.add(site.name)
    if site.name.startswith("einops.") or site.name.startswith("torchvision.transforms"):
        first = as_tensor(site.args[0]) if site.args else None
        return Tensor(0.95, first.dtype if first is not None else "", None, "result", origin=site.origin())
    if site.name.startswith(("unknown.", "gblint.")):
        return Unknown(f"result of {site.name}")
    last = site.name.rpartition(".")[2]
    if last[:1].isupper():
        return Instance(
            None,
            site.name,
            open=True,
            born="region" if site.frame.traced else "outside",
            args=site.args,
            kwargs=site.kwargs,
        )
    return Unknown(f"result of {site.name}")


_TYPES: dict[str, Callable[[], Value]] = {
    "NoneType": lambda: NONE,
    "None": lambda: NONE,
    "list": lambda: Sequence("list", None, None),
    "tuple": lambda: Sequence("tuple", None, None),
    "set": lambda: Sequence("set", None, None),
    "dict": lambda: Mapping({}, None, exact=False),
    "numpy.ndarray": lambda: Tensor(0.9, "", None, "result", "ndarray"),
    "torch.Tensor": lambda: Tensor(0.95, "", None, "result"),
}


def of_type(machine: Machine, name: str | None, site: Site) -> Value:
    """A value of a type given by name."""
    if not name:
        return Unknown(f"result of {site.name}")
    if name in _TYPES:
        return _TYPES[name]()
    if name in ("int", "float", "bool", "str", "bytes", "complex"):
        return Plain(name)
    if name in ("generator", "map", "zip", "filter", "iterator", "range", "enumerate", "reversed"):
        return Stream(name, Unknown("element"))
    return Instance(
        None, name, open=True, born="region" if site.frame.traced else "outside", args=site.args, kwargs=site.kwargs
    )


from gblint.interpreter import autograd, builtin_models, container_models, library_models, torch_models  # noqa: E402,F401
