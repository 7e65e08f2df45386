"""What a parameter may be when no call site says: annotation first, then default, use and name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from gblint.interpreter.frame import Frame
from gblint.interpreter.uses import Uses
from gblint.interpreter.values import (
    NONE,
    Class,
    Const,
    Environment,
    External,
    Function,
    Instance,
    Mapping,
    Origin,
    Plain,
    Sequence,
    Tensor,
    Union,
    Unknown,
    Value,
    as_tensor,
    is_none,
    join_all,
    members,
    tensor_certainty,
    union_of,
)

if TYPE_CHECKING:
    from gblint.index.model import Binding, ModuleInfo
    from gblint.interpreter.functions import FunctionTree
    from gblint.interpreter.machine import Machine

BUILTIN = {"int", "float", "bool", "str", "bytes", "complex", "number"}
TENSOR_TYPES = {
    "torch.Tensor": "", "torch.FloatTensor": "float", "torch.LongTensor": "int", "torch.BoolTensor": "bool",
    "torch.IntTensor": "int", "torch.HalfTensor": "float", "torch.DoubleTensor": "float", "torch.ByteTensor": "int",
    "torch.cuda.FloatTensor": "float", "torch.cuda.LongTensor": "int", "torch.nn.Parameter": "float",
    "torch.nn.parameter.Parameter": "float", "torch.autograd.Variable": "", "torch.types.Tensor": "",
}  # fmt: skip
UNANNOTATED = 0.75  # certainty that an unannotated forward parameter without contrary evidence is a tensor
GUESSED = 0.6  # the same for a parameter of a function that is no forward
IN_DICT = 0.85  # a value of a dict annotated as a dict of tensors
WEAK = 0.5  # "int or tensor" annotations
SEQUENCES = {
    "list": "list",
    "List": "list",
    "Sequence": "list",
    "Iterable": "list",
    "Collection": "list",
    "set": "set",
    "Set": "set",
    "MutableSequence": "list",
}
MAPPINGS = {"dict", "Dict", "Mapping", "MutableMapping", "OrderedDict", "defaultdict", "DefaultDict"}


def annotation_value(machine: Machine, scope: Frame, node: cst.BaseExpression, depth: int = 0) -> Value | None:
    """The value an annotation promises; None if it says nothing usable."""
    if depth > 4:
        return None
    if isinstance(node, cst.SimpleString):
        return _from_string(machine, scope, node, depth)
    if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.BitOr):
        return _alternatives(machine, scope, [node.left, node.right], depth)
    if isinstance(node, cst.Name) and node.value == "None":
        return NONE
    if isinstance(node, cst.Subscript):
        return _subscripted(machine, scope, node, depth)
    if isinstance(node, cst.Name | cst.Attribute):
        return _named(machine, scope, node, depth)
    return None


def _from_string(machine: Machine, scope: Frame, node: cst.SimpleString, depth: int) -> Value | None:
    try:
        inner = cst.parse_expression(str(node.evaluated_value))
    except Exception:
        return None
    return annotation_value(machine, scope, inner, depth + 1)


def _alternatives(machine: Machine, scope: Frame, nodes: list[cst.BaseExpression], depth: int) -> Value | None:
    parts: list[Value] = []
    unsure = False
    for node in nodes:
        value = annotation_value(machine, scope, node, depth + 1)
        if value is None:
            unsure = True
        else:
            parts.extend(members(value))
    if not parts:
        return None
    others = [p for p in parts if not isinstance(p, Tensor) and not is_none(p)]
    if unsure:
        others.append(Unknown("annotation"))
    tensors = [p for p in parts if isinstance(p, Tensor)]
    result: list[Value] = []
    if tensors:
        tensor = next((t for t in tensors if not t.subclass), tensors[0])  # "array or tensor": the tensor is compiled
        result.append(
            Tensor(
                WEAK if others else tensor.c,
                tensor.dtype if len(tensors) == 1 else "",
                None,
                "input",
                origin=tensor.origin,
            )
        )
    result += others
    if any(is_none(p) for p in parts):
        result.append(NONE)
    return union_of(result)


def _subscripted(machine: Machine, scope: Frame, node: cst.Subscript, depth: int) -> Value | None:
    head = node.value.attr.value if isinstance(node.value, cst.Attribute) else getattr(node.value, "value", "")
    inner = [e.slice.value for e in node.slice if isinstance(e.slice, cst.Index)]
    if head == "Optional" and inner:
        return _alternatives(machine, scope, [inner[0], cst.Name("None")], depth)
    if head == "Union":
        return _alternatives(machine, scope, inner, depth)
    if head in ("Annotated", "Final", "ClassVar", "Unpack") and inner:
        return annotation_value(machine, scope, inner[0], depth + 1) if head != "Unpack" else None
    if head == "Literal":
        return Plain("str") if all(isinstance(i, cst.SimpleString) for i in inner) else Plain("")
    if head in SEQUENCES and inner:
        elem = annotation_value(machine, scope, inner[0], depth + 1)
        return Sequence(SEQUENCES[str(head)], None, elem if elem is not None else Unknown("element"))
    if head in ("tuple", "Tuple") and inner:
        return _tuple(machine, scope, inner, depth)
    if head in MAPPINGS and len(inner) == 2:
        elem = _of_dict(annotation_value(machine, scope, inner[1], depth + 1))
        return Mapping({}, elem if elem is not None else Unknown("value"), exact=False)
    if head in ("Callable", "type", "Type"):
        return Unknown("callable")
    value = annotation_value(machine, scope, node.value, depth + 1)
    return value if isinstance(value, Tensor | Instance) else None


def _of_dict(elem: Value | None) -> Value | None:
    """Dicts annotated as holding tensors hold sizes and flags as well: each element is a little less sure."""
    if isinstance(elem, Tensor) and elem.c > IN_DICT:
        return Tensor(IN_DICT, elem.dtype, elem.rank, elem.role, elem.subclass, elem.origin)
    return elem


def _tuple(machine: Machine, scope: Frame, inner: list[cst.BaseExpression], depth: int) -> Value:
    if len(inner) == 2 and isinstance(inner[1], cst.Ellipsis):
        elem = annotation_value(machine, scope, inner[0], depth + 1)
        return Sequence("tuple", None, elem if elem is not None else Unknown("element"))
    found = [annotation_value(machine, scope, i, depth + 1) for i in inner]
    if len(found) == 1:  # commonly written for "a tuple of these"
        return Sequence("tuple", None, found[0] if found[0] is not None else Unknown("element"))
    return Sequence("tuple", [v if v is not None else Unknown("element") for v in found])


def _named(machine: Machine, scope: Frame, node: cst.Name | cst.Attribute, depth: int) -> Value | None:
    name = node.value if isinstance(node, cst.Name) else ""
    if name in BUILTIN:
        return Plain(name)
    if name in SEQUENCES or name in ("tuple", "Tuple"):
        return Sequence(SEQUENCES.get(name, "tuple"), None, None)
    if name in MAPPINGS:
        return Mapping({}, None, exact=False)
    from gblint.interpreter.expressions import dotted_path, evaluate_silently

    resolved = machine.project.resolve(scope.module, dotted_path(node))
    if (
        resolved is not None
        and resolved.kind == "assign"
        and resolved.info is not None
        and resolved.binding is not None
    ):
        return _alias(machine, resolved.info, resolved.binding, depth)
    value = evaluate_silently(machine, scope, node)
    if isinstance(value, External):
        return _external(machine, machine.knowledge.canonical(value.dotted))
    return _instance_of(machine, value) if isinstance(value, Class) else None


def _alias(machine: Machine, module: ModuleInfo, binding: Binding, depth: int) -> Value | None:
    """A type alias, `TensorLike = Union[Tensor, ndarray]`: what its right-hand side promises as an annotation."""
    from gblint.interpreter.functions import chunk_of

    chunk = chunk_of(machine, module, binding.start, binding.end)
    if chunk is None:
        return None
    scope = Frame(module, chunk, Environment({}))
    for line in chunk.body:
        for statement in line.body if isinstance(line, cst.SimpleStatementLine) else ():
            if isinstance(statement, cst.Assign | cst.AnnAssign) and statement.value is not None:
                if isinstance(statement.value, cst.Subscript | cst.BinaryOperation | cst.Name | cst.Attribute):
                    return annotation_value(machine, scope, statement.value, depth + 1)
    return None


def _external(machine: Machine, dotted: str) -> Value | None:
    if dotted in TENSOR_TYPES:
        return Tensor(1.0, TENSOR_TYPES[dotted], None, "input")
    if dotted in ("torch.Size",):
        return Sequence("size", None, Plain("int", symbolic=True))
    if dotted in ("torch.dtype", "torch.device", "torch.layout", "torch.memory_format"):
        return Plain(dotted[6:])
    if dotted == "numpy.ndarray":
        return Tensor(1.0, "", None, "input", "ndarray")
    if dotted == "torch.Generator":
        return Instance(None, "torch.Generator", open=True)
    if dotted.startswith("jaxtyping."):
        return Tensor(0.95, "", None, "input")
    if dotted.startswith(("typing.", "collections.abc.", "typing_extensions.")):
        last = dotted.rpartition(".")[2]
        if last in ("Callable", "Type"):
            return Unknown("callable")
        if last in SEQUENCES:
            return Sequence(SEQUENCES[last], None, None)
        return Mapping({}, None, exact=False) if last in MAPPINGS else None
    if dotted.startswith("torch.nn."):
        return Instance(None, dotted, open=True)
    if dotted.startswith("torch.distributions."):
        return Instance(None, dotted, open=True)
    if dotted.startswith(("enum.", "pathlib.", "argparse.", "datetime.")):
        return Plain("")
    return None


def _instance_of(machine: Machine, cls: Class) -> Value | None:
    from gblint.interpreter import classes

    kind = classes.kind_of(machine, cls)
    if kind == "module":
        return Instance(cls, "torch.nn.Module", open=True)
    if kind == "enum":
        return Plain("")
    if cls.info.qualname.endswith(("Config", "Configuration", "Args", "Arguments")):
        return Plain("")
    if kind in ("protocol", "typing"):
        return None
    return Instance(cls, classes.external_base(machine, cls), open=True)


def believe_annotation(machine: Machine, function: Function, tree: FunctionTree, name: str, value: Value) -> Value:
    """A callee's annotation corrects a weak argument: "Tensor" makes it one, a builtin type unmakes a doubtful one."""
    if isinstance(value, Union) and as_tensor(value) is not None and tensor_certainty(value) < 0.7:
        promised = promised_value(machine, function, tree, name)
        if promised is not None and as_tensor(promised) is None and not _says_little(promised):
            return union_of(m for m in value.members if not isinstance(m, Tensor)) or promised
        if isinstance(promised, Tensor) and promised.c >= 0.9:
            sure = as_tensor(value)
            return Tensor(0.9, sure.dtype, sure.rank, sure.role, sure.subclass, sure.origin)  # type: ignore[union-attr]
        if promised is None and contradicts_tensor(machine, tree.uses, name):
            return union_of(m for m in value.members if not isinstance(m, Tensor)) or value
        return value
    doubtful = (
        isinstance(value, Unknown)
        or (isinstance(value, Plain) and not value.type)
        or (isinstance(value, Tensor) and value.c < 0.9)
    )
    if not doubtful and not (isinstance(value, Union) and any(isinstance(m, Unknown) for m in value.members)):
        return value
    promised = promised_value(machine, function, tree, name)
    if promised is None:
        return value
    if isinstance(value, Union):
        tensor = as_tensor(promised)
        if tensor is not None and as_tensor(value) is not None:
            return union_of([m for m in value.members if not isinstance(m, Unknown)]) or value
        return value
    if isinstance(value, Tensor):
        tensor = as_tensor(promised)
        if tensor is not None:
            certainty = max(value.c, tensor.c)
            return Tensor(certainty, value.dtype, value.rank, value.role, value.subclass, value.origin)
        return promised if isinstance(promised, Plain) and promised.type in BUILTIN else value
    return promised


def promised_value(machine: Machine, function: Function, tree: FunctionTree, name: str) -> Value | None:
    """What the annotation of a parameter says."""
    node = tree.signature.annotations.get(name)
    if node is None:
        return None
    scope = Frame(function.module, tree.chunk, Environment({}, function.closure), function)
    value = annotation_value(machine, scope, node)
    return _with_origin(value, name, tree)


def _with_origin(value: Value | None, name: str, tree: FunctionTree) -> Value | None:
    if isinstance(value, Tensor):
        return Tensor(
            value.c, value.dtype, value.rank, value.role, value.subclass, Origin("parameter", cst.Name(name), None)
        )
    if isinstance(value, Union):
        return Union(tuple(_with_origin(m, name, tree) or m for m in value.members))
    return value


def parameter_guess(machine: Machine, function: Function, tree: FunctionTree, name: str, is_forward: bool) -> Value:
    """The value of a parameter of a root nobody calls."""
    value = _parameter_guess(machine, function, tree, name, is_forward)
    if any(isinstance(m, Tensor) and not m.dtype for m in members(value)) and name in tree.masks:
        return union_of(_boolean(m) if isinstance(m, Tensor) and not m.dtype else m for m in members(value)) or value
    return value


def _boolean(tensor: Tensor) -> Tensor:
    return Tensor(tensor.c, "bool", tensor.rank, tensor.role, tensor.subclass, tensor.origin)


def _parameter_guess(machine: Machine, function: Function, tree: FunctionTree, name: str, is_forward: bool) -> Value:
    promised = promised_value(machine, function, tree, name)
    default = tree.signature.defaults.get(name)
    if promised is not None and not _says_little(promised):
        if (
            default is not None
            and isinstance(default, cst.Name)
            and default.value == "None"
            and not any(is_none(m) for m in members(promised))
        ):
            return Union((*members(promised), NONE))
        return promised
    return _from_default(machine, function, tree, name, default, is_forward)


def _says_little(value: Value) -> bool:
    return (
        isinstance(value, Sequence | Mapping)
        and value.elem is None
        and not getattr(value, "items", None)
        and isinstance(value, Sequence)
        and value.kind == "tuple"
    )


def _from_default(
    machine: Machine,
    function: Function,
    tree: FunctionTree,
    name: str,
    default: cst.BaseExpression | None,
    is_forward: bool,
) -> Value:
    uses: Uses = tree.uses
    contrary = contradicts_tensor(machine, uses, name)
    if default is not None and not (isinstance(default, cst.Name) and default.value == "None"):
        from gblint.interpreter.functions import default_value

        value = default_value(machine, Frame(function.module, tree.chunk, Environment({})), function, tree, name)
        if isinstance(value, Const):
            return Plain(type(value.value).__name__, off=not value.value)
        return value
    if contrary:
        return (
            Plain("")
            if name in uses.plain or name in uses.truth or name in uses.bounds
            else Unknown(f"parameter {name}")
        )
    positive = supports_tensor(machine, uses, name)
    origin = Origin("parameter", cst.Name(name), None)
    if default is not None:
        if positive or name in uses.masks:
            kind = "bool" if name in uses.masks else ""
            return Union((Tensor(0.9 if positive > 1 else 0.7, kind, None, "input", origin=origin), NONE))
        return Union((Unknown(f"parameter {name}"), NONE))
    base = UNANNOTATED if is_forward else GUESSED
    if positive:
        return Tensor(0.95 if positive > 1 else 0.85, "", None, "input", origin=origin)
    if is_forward or name in uses.attributes or name in uses.tensorish:
        return Tensor(base if is_forward else 0.4, "", None, "input", origin=origin)
    return Unknown(f"parameter {name}")


def contradicts_tensor(machine: Machine, uses: Uses, name: str) -> bool:
    """Evidence that a name is no tensor: tested bare, used with strings, called, or read for what a tensor lacks."""
    if name in uses.strings or name in uses.plain or name in uses.called or name in uses.truth:
        return True
    if name in uses.bounds and name not in uses.attributes:
        return True
    names = machine.knowledge.tensor_names
    return any(a not in names and a not in machine.knowledge.tensor_attributes for a in uses.attributes.get(name, ()))


def supports_tensor(machine: Machine, uses: Uses, name: str) -> int:
    """Evidence that a name is a tensor: 2 for a method only tensors have, 1 for shape-like attributes or torch
    calls."""
    only = machine.knowledge.tensor_only_names
    if any(a in only for a in uses.calls_on.get(name, ())):
        return 2
    if uses.attributes.get(name, set()) & {
        "shape",
        "dtype",
        "device",
        "ndim",
        "T",
        "requires_grad",
        "is_cuda",
        "grad_fn",
    }:
        return 1
    return 1 if name in uses.tensorish else 0


def return_guess(machine: Machine, function: Function, args: list[Value]) -> Value:
    """The value of a call that is not descended into: its return annotation, else a tensor if one went in."""
    from gblint.interpreter.functions import tree_of

    tree = tree_of(machine, function)
    if tree is not None and isinstance(tree.node, cst.FunctionDef) and tree.node.returns is not None:
        scope = Frame(function.module, tree.chunk, Environment({}, function.closure), function)
        value = annotation_value(machine, scope, tree.node.returns.annotation)
        if value is not None:
            return value
    if any(as_tensor(a) is not None for a in args):
        return Tensor(0.8)
    return Unknown("not traced")


def plain_argument(machine: Machine, function: Function, tree: FunctionTree, name: str) -> Value:
    """The value of a constructor parameter nobody passes: never a tensor."""
    default = tree.signature.defaults.get(name)
    if default is not None:
        from gblint.interpreter.functions import default_value

        value = default_value(machine, Frame(function.module, tree.chunk, Environment({})), function, tree, name)
        if isinstance(value, Const):
            return Plain("" if value.value is None else type(value.value).__name__, off=value.value in (False, 0, ""))
        return value
    promised = promised_value(machine, function, tree, name)
    if promised is None or as_tensor(promised) is not None:
        return Plain("")
    if isinstance(promised, Union):
        kinds = [m for m in promised.members if not is_none(m)]
        return (
            kinds[0]
            if len(kinds) == 1 and not any(is_none(m) for m in promised.members)
            else join_all([Plain(""), *[m for m in kinds if isinstance(m, Instance)]])
        )
    return promised
