"""What functions of torch give back that call back into the program, answer about tracing, or configure modules."""

from __future__ import annotations

from gblint.interpreter import effects, functions, modules, tensors
from gblint.interpreter.externals import MODELS, Site, construct_external, model
from gblint.interpreter.values import (
    COMPILING,
    FALSE,
    NONE,
    Bound,
    Compiled,
    Const,
    External,
    Function,
    Instance,
    Mapping,
    Origin,
    Partial,
    Plain,
    Sequence,
    Stream,
    Tensor,
    Union,
    Unknown,
    Value,
    as_tensor,
    is_false,
    is_none,
    join_all,
    members,
)

# -- compiling and asking about it --------------------------------------------------------------------------------


@model("torch.compile", "torch._dynamo.optimize", "torch.compiler.compile")
def _compile(site: Site) -> Value:
    functions.tell_compile(site.machine, site.frame, site.node, {} if site.opaque else site.kwargs)
    if not site.args or is_none(site.args[0]):
        target = site.kwargs.get("model")
        if target is None:
            return Partial(External("torch.compile"), [], dict(site.kwargs))
    else:
        target = site.args[0]
    if site.name == "torch._dynamo.optimize":
        return External("torch.compile")
    if isinstance(target, Compiled):
        return target
    compiled = Compiled(target, dict(site.kwargs), site.node)
    site.machine.compiled.append((compiled, site.frame, site.node))
    return compiled


@model("torch.nn.Module.compile")
def _module_compile(site: Site) -> Value:
    receiver = site.receiver
    functions.tell_compile(site.machine, site.frame, site.node, {} if site.opaque else site.kwargs)
    if isinstance(receiver, Instance):
        compiled = Compiled(Bound(External("gblint.module_call"), receiver), dict(site.kwargs), site.node)
        site.machine.compiled.append((compiled, site.frame, site.node))
        receiver.form = 0
        receiver.attrs["gblint:compiled"] = compiled
    return NONE


for _name in (
    "torch.compiler.is_compiling",
    "torch._dynamo.is_compiling",
    "torch.compiler.is_dynamo_compiling",
    "torch._utils.is_compiling",
):
    model(_name)(lambda site: COMPILING if site.frame.traced else FALSE)
for _name in (
    "torch.jit.is_scripting", "torch.jit.is_tracing", "torch.onnx.is_in_onnx_export", "torch._C._get_tracing_state",
    "torch.compiler.is_exporting",
    "torch.jit._state.is_scripting", "torch.overrides.has_torch_function", "torch.overrides.has_torch_function_unary",
    "torch.cuda.is_current_stream_capturing",
):  # fmt: skip
    model(_name)(lambda site: FALSE)


@model("torch.overrides.is_tensor_like", "torch.is_tensor")
def _is_tensor(site: Site) -> Value:
    from gblint.interpreter.conditions import instance_test

    known = instance_test(site.machine, site.args[0], External("torch.Tensor")) if site.args else None
    return Plain("bool") if known is None else Const(known)


_DECORATORS = (
    "torch.compiler.disable", "torch._dynamo.disable", "torch.compiler.allow_in_graph", "torch._dynamo.allow_in_graph",
    "torch._dynamo.nonstrict_trace", "torch._dynamo.disallow_in_graph", "torch.compiler.assume_constant_result",
    "torch._dynamo.assume_constant_result", "torch._dynamo.leaf_function", "torch._dynamo.decorators.leaf_function",
    "torch.jit.script", "torch.jit.trace",
    "torch.library.custom_op", "torch.library.triton_op", "torch.compiler.nonstrict_trace",
)  # fmt: skip


@model(*_DECORATORS)
def _decorator(site: Site) -> Value:
    from gblint.interpreter.functions import mark_of, with_mark

    mark = mark_of(site.name) or "jit"
    function = next((a for a in site.args if isinstance(a, Function | Bound | Instance | Partial)), None)
    if isinstance(function, Function):
        return with_mark(function, mark)
    if isinstance(function, Bound) and isinstance(function.function, Function):
        return Bound(with_mark(function.function, mark), function.receiver)
    if isinstance(function, Instance) and site.name in _SCRIPTING:
        return Instance(None, _SCRIPTING[site.name], born="outside")
    if function is not None:
        return Partial(External(f"gblint.marked.{mark}"), [function], {})
    if mark == "disable" and is_false(site.kwargs.get("recursive")):
        mark = "disable_frame"
    return Partial(External("gblint.apply_mark"), [Const(mark)], {})


_SCRIPTING = {"torch.jit.script": "torch.jit.ScriptModule", "torch.jit.trace": "torch.jit.TracedModule"}


@model("torch.jit.freeze", "torch.jit.optimize_for_inference")
def _frozen(site: Site) -> Value:
    return site.args[0] if site.args else Unknown("frozen module")


@model("torch.jit.load")
def _loaded(site: Site) -> Value:
    return Instance(None, "torch.jit.ScriptModule", born="outside")


@model("gblint.apply_mark", quiet=True)
def _apply_mark(site: Site) -> Value:
    from gblint.interpreter.functions import with_mark

    mark, function = site.args[0], site.args[-1]
    return (
        with_mark(function, str(mark.value)) if isinstance(function, Function) and isinstance(mark, Const) else function
    )


def _marked(mark: str):  # type: ignore[no-untyped-def]
    def apply(site: Site) -> Value:
        from gblint.interpreter.events import Call

        if mark in ("jit", "substitute") or not site.frame.traced:
            return site.call(site.args[0], site.args[1:], site.kwargs)
        kind = "disable_module" if mark == "disable" and isinstance(site.args[0], Instance) else mark
        site.machine.emit_call(site.frame, Call(site.node, f"mark:{kind}", site.args[1:], site.kwargs, name=mark))
        return Unknown("not traced")

    return apply


for _mark in (
    "disable",
    "allow_in_graph",
    "nonstrict_trace",
    "disallow_in_graph",
    "assume_constant_result",
    "leaf_function",
    "jit",
    "custom_op",
):
    model(f"gblint.marked.{_mark}", quiet=True)(_marked(_mark))


# -- functions that call back -------------------------------------------------------------------------------------


@model("torch.utils.checkpoint.checkpoint")
def _checkpoint(site: Site) -> Value:
    kwargs = {
        k: v
        for k, v in site.kwargs.items()
        if k not in ("use_reentrant", "preserve_rng_state", "context_fn", "determinism_check", "debug")
    }
    return effects.run_pure(site, site.args[0], site.args[1:], kwargs) if site.args else Unknown("checkpoint")


@model("torch.utils.checkpoint.checkpoint_sequential")
def _checkpoint_sequential(site: Site) -> Value:
    value = site.arg(2, "input") or Unknown("input")
    functions = site.iterate(site.args[0]) if site.args else []
    for function in functions if isinstance(functions, list) else [functions]:
        value = effects.run_pure(site, function, [value], {})
    return value


@model(
    "torch.vmap",
    "torch.func.vmap",
    "torch.func.grad",
    "torch.func.jacrev",
    "torch.func.jacfwd",
    "torch.func.hessian",
    "torch.func.grad_and_value",
)
def _transform(site: Site) -> Value:
    return Partial(External("gblint.transformed"), [site.args[0]], {}) if site.args else Unknown("transform")


@model("gblint.transformed", quiet=True)
def _transformed(site: Site) -> Value:
    value = site.call(site.args[0], site.args[1:], site.kwargs)
    return value if not isinstance(value, Unknown) else Tensor(0.9, origin=site.origin())


@model("torch.cond", "torch._higher_order_ops.cond.cond")
def _cond(site: Site) -> Value:
    operands = site.iterate(site.args[3]) if len(site.args) > 3 else []
    args = operands if isinstance(operands, list) else [operands]
    values = [effects.run_pure(site, f, args, {}) for f in site.args[1:3]]
    return join_all(values) if values else Unknown("cond")


@model("torch.func.functional_call", "torch.nn.utils.stateless.functional_call")
def _functional_call(site: Site) -> Value:
    args = site.arg(2, "args")
    values = args.items if isinstance(args, Sequence) and args.items is not None else [args] if args is not None else []
    return site.call(site.args[0], values, {}) if site.args else Unknown("functional_call")


@model("torch.utils._pytree.tree_map", "torch.utils._pytree.tree_map_only")
def _tree_map(site: Site) -> Value:
    function, tree = (site.args[-2], site.args[-1]) if len(site.args) >= 2 else (Unknown(""), Unknown(""))
    leaf = tree.element() if isinstance(tree, Sequence | Mapping) else tree
    value = site.call(function, [leaf])
    if isinstance(tree, Sequence):
        return Sequence(tree.kind, None, value)
    return Mapping(dict.fromkeys(tree.items, value), value, tree.exact) if isinstance(tree, Mapping) else value


@model("torch.Tensor.apply_", "torch.Tensor.map_")
def _apply_to(site: Site) -> Value:
    return site.receiver or Tensor()


# -- making tensors -----------------------------------------------------------------------------------------------


@model("torch.nn.Parameter", "torch.nn.parameter.Parameter", "torch.nn.Buffer")
def _parameter(site: Site) -> Value:
    construct_external(site, "torch.nn.Parameter" if "Parameter" in site.name else "torch.nn.Buffer")
    data = as_tensor(site.arg(0, "data"))
    role = "parameter" if "Parameter" in site.name else "buffer"
    return Tensor(
        1.0,
        data.dtype if data is not None else "float",
        data.rank if data is not None else None,
        role,
        "",
        Origin("parameter"),
    )


@model("torch.where")
def _where(site: Site) -> Value:
    if len(site.args) + len(site.kwargs) <= 1:
        source = as_tensor(site.args[0]) if site.args else None
        return (
            Sequence("tuple", None, Tensor(1.0, "int", 1, "result", "", site.origin()))
            if source is not None or not site.args
            else Unknown("where")
        )
    arms = [a for a in (site.arg(1, "input"), site.arg(2, "other")) if a is not None]
    dtype = tensors.promoted([tensors.element_dtype(a) for a in arms])
    return Tensor(1.0, dtype, tensors._rank_of([*site.args]), "result", "", site.origin())


@model("torch.tensor", "torch.as_tensor", "torch.asarray", "torch.from_numpy")
def _tensor(site: Site) -> Value:
    value = site.arg(0, "data") or Unknown("")
    rank = 0 if isinstance(value, Const | Plain) and getattr(value, "type", "number") != "" else None
    inner = value
    depth = 0
    while isinstance(inner, Sequence) and (inner.items or inner.elem is not None):
        inner = inner.element()
        depth += 1
    if isinstance(value, Sequence):
        rank = depth if not isinstance(inner, Unknown | Union) and as_tensor(inner) is None else None
    if as_tensor(value) is not None:
        rank = as_tensor(value).rank  # type: ignore[union-attr]
    dtype = tensors.given_dtype(site.machine, site.kwargs, site.args) or tensors.element_dtype(inner)
    role = "constant" if isinstance(value, Const) and site.frame.traced else "result"
    return Tensor(1.0, dtype, rank, role, "", site.origin())


_FACTORIES = (
    "zeros",
    "ones",
    "empty",
    "rand",
    "randn",
    "full",
    "eye",
    "arange",
    "linspace",
    "randint",
    "randperm",
    "tril_indices",
    "triu_indices",
)


def _factory_rank(site: Site) -> int | None:
    last = site.name.rpartition(".")[2]
    if last in ("arange", "linspace", "randperm"):
        return 1
    if last == "eye":
        return 2
    sizes = site.args
    if last == "randint":
        return None
    if sizes and isinstance(sizes[0], Sequence):
        return len(sizes[0].items) if sizes[0].items is not None else None
    if last == "full":
        return None
    return len(sizes) if sizes and all(isinstance(s, Const | Plain) for s in sizes) else None


@model(*(f"torch.{name}" for name in _FACTORIES))
def _factory(site: Site) -> Value:
    last = site.name.rpartition(".")[2]
    dtype = tensors.given_dtype(site.machine, site.kwargs, site.args)
    if not dtype and "dtype" not in site.kwargs:
        if last in ("randint", "randperm", "tril_indices", "triu_indices"):
            dtype = "int"
        elif last == "arange":
            kinds = [tensors.element_dtype(a) for a in site.args]
            dtype = "float" if "float" in kinds else ("int" if kinds and all(k == "int" for k in kinds) else "")
        elif last == "full":
            value = site.arg(1, "fill_value")
            dtype = tensors.element_dtype(value) if value is not None else ""
        else:
            dtype = "float"
    return Tensor(1.0, dtype, _factory_rank(site), "result", "", site.origin())


@model("torch.finfo", "torch.iinfo")
def _limits(site: Site) -> Value:
    kind = "float" if site.name == "torch.finfo" else "int"
    return Instance(
        None,
        site.name,
        {n: Plain(kind) for n in ("min", "max", "eps", "tiny", "bits", "smallest_normal", "resolution")},
    )


@model("torch.Size")
def _size(site: Site) -> Value:
    value = site.args[0] if site.args else Sequence("size", [])
    if not isinstance(value, Sequence) or value.items is None:
        return Sequence("size", None, Plain("int", True))
    return Sequence("size", [v if isinstance(v, Const) else Plain("int", True) for v in value.items])


@model("torch.device")
def _device(site: Site) -> Value:
    return Plain("device")


@model(
    "torch.get_default_dtype",
    "torch.get_autocast_dtype",
    "torch.get_autocast_gpu_dtype",
    "torch.result_type",
    "torch.promote_types",
)
def _dtype(site: Site) -> Value:
    return Plain("dtype")


# -- modules ------------------------------------------------------------------------------------------------------


@model("torch.nn.Module.register_buffer", "torch.nn.Module.register_parameter")
def _register_tensor(site: Site) -> Value:
    name, value = site.arg(0, "name"), site.arg(1, "tensor") or site.arg(1, "param") or NONE
    if isinstance(site.receiver, Instance) and isinstance(name, Const):
        role = "buffer" if site.name.endswith("buffer") else "parameter"
        stored: list[Value] = []
        for member in members(value):
            tensor = member if isinstance(member, Tensor) else None
            if tensor is not None:
                stored.append(Tensor(1.0, tensor.dtype, tensor.rank, role, tensor.subclass, Origin(role)))
            elif isinstance(member, Unknown | Plain):
                stored.append(Tensor(0.9, "", None, role, "", Origin(role)))
            else:
                stored.append(member)
        site.receiver.attrs[str(name.value)] = stored[0] if len(stored) == 1 else Union(tuple(stored))
    return NONE


@model("torch.nn.Module.add_module", "torch.nn.Module.register_module")
def _add_module(site: Site) -> Value:
    name, value = site.arg(0, "name"), site.arg(1, "module")
    if isinstance(site.receiver, Instance) and value is not None:
        if isinstance(name, Const):
            site.receiver.attrs[str(name.value)] = value
        else:
            site.receiver.open = True
            if site.receiver.base in modules.CONTAINERS:
                modules.append(site.receiver, value)
    return NONE


@model("torch.nn.ModuleList.append", "torch.nn.Sequential.append", "torch.nn.ParameterList.append")
def _append(site: Site) -> Value:
    if isinstance(site.receiver, Instance) and site.args:
        modules.append(site.receiver, site.args[0])
    return site.receiver or NONE


@model("torch.nn.ModuleList.extend", "torch.nn.Sequential.extend", "torch.nn.ParameterList.extend")
def _extend(site: Site) -> Value:
    if isinstance(site.receiver, Instance) and site.args:
        found = site.iterate(site.args[0])
        for value in found if isinstance(found, list) else [found]:
            modules.append(site.receiver, value)
    return site.receiver or NONE


@model("torch.nn.ModuleList.insert", "torch.nn.Sequential.insert")
def _insert(site: Site) -> Value:
    if isinstance(site.receiver, Instance) and len(site.args) == 2:
        modules.append(site.receiver, site.args[1])
    return site.receiver or NONE


@model("torch.nn.ModuleDict.items", "torch.nn.ParameterDict.items")
def _items(site: Site) -> Value:
    receiver = site.receiver
    if isinstance(receiver, Instance):
        return Stream(
            "dict_items", None, [Sequence("tuple", [Const(k), v]) for k, v in receiver.attrs.items() if k != "elem"]
        )
    return Stream("dict_items", Unknown("item"))


@model("torch.nn.ModuleDict.values", "torch.nn.ParameterDict.values")
def _values(site: Site) -> Value:
    receiver = site.receiver
    return (
        Stream("dict_values", None, list(receiver.attrs.values()))
        if isinstance(receiver, Instance)
        else Stream("dict_values", Unknown("value"))
    )


@model("torch.nn.ModuleDict.keys", "torch.nn.ParameterDict.keys")
def _keys(site: Site) -> Value:
    return Stream("dict_keys", Plain("str"))


@model("torch.nn.ModuleDict.update")
def _update(site: Site) -> Value:
    if isinstance(site.receiver, Instance) and site.args and isinstance(site.args[0], Mapping):
        site.receiver.attrs.update({str(k): v for k, v in site.args[0].items.items()})
    return NONE


@model("torch.nn.Module.children", "torch.nn.Module.modules")
def _children(site: Site) -> Value:
    return Stream("generator", join_all(_submodules(site.receiver)))


@model("torch.nn.Module.named_children", "torch.nn.Module.named_modules")
def _named_children(site: Site) -> Value:
    return Stream("generator", Sequence("tuple", [Plain("str"), join_all(_submodules(site.receiver))]))


def _submodules(receiver: Value | None) -> list[Value]:
    if isinstance(receiver, Instance):
        found: list[Value] = [v for v in receiver.attrs.values() if isinstance(v, Instance)]
        return found[:6] if found else [Unknown("a submodule")]
    return [Unknown("a submodule")]


@model("torch.nn.Module.parameters", "torch.nn.Module.buffers")
def _parameters(site: Site) -> Value:
    role = "parameter" if site.name.endswith("parameters") else "buffer"
    return Stream("generator", Tensor(1.0, "float" if role == "parameter" else "", None, role, "", Origin(role)))


@model("torch.nn.Module.named_parameters", "torch.nn.Module.named_buffers")
def _named_parameters(site: Site) -> Value:
    role = "parameter" if site.name.endswith("parameters") else "buffer"
    return Stream(
        "generator",
        Sequence(
            "tuple", [Plain("str"), Tensor(1.0, "float" if role == "parameter" else "", None, role, "", Origin(role))]
        ),
    )


@model("torch.nn.Module.state_dict")
def _state_dict(site: Site) -> Value:
    return Mapping({}, Tensor(1.0, "", None, "parameter"), exact=False, kind="OrderedDict")


def _itself(site: Site) -> Value:
    return site.receiver if site.receiver is not None else NONE


for _name in (
    "to",
    "cuda",
    "cpu",
    "float",
    "half",
    "double",
    "bfloat16",
    "train",
    "eval",
    "requires_grad_",
    "apply",
    "type",
    "to_empty",
    "share_memory",
):
    model(f"torch.nn.Module.{_name}")(_itself)


@model(
    "torch.nn.Module.register_full_backward_hook",
    "torch.nn.Module.register_full_backward_pre_hook",
    "torch.nn.Module.register_backward_hook",
)
def _backward_hook(site: Site) -> Value:
    if isinstance(site.receiver, Instance):
        site.receiver.form = 0
        site.receiver.flags.add("backward hook")
    return Unknown("hook handle")


@model("torch.nn.Module.register_forward_hook", "torch.nn.Module.register_forward_pre_hook")
def _register_hook(site: Site) -> Value:
    key = "gblint:pre_hooks" if "pre_hook" in site.name else "gblint:hooks"
    if isinstance(site.receiver, Instance) and site.args:
        known = site.receiver.attrs.get(key)
        items = known.items if isinstance(known, Sequence) and known.items is not None else []
        site.receiver.form = 0
        site.receiver.attrs[key] = Sequence("list", [*items, site.args[0]])
    return Instance(None, "torch.utils.hooks.RemovableHandle")


@model("torch.nn.Module.get_submodule", "torch.nn.Module.get_parameter", "torch.nn.Module.get_buffer")
def _get_member(site: Site) -> Value:
    from gblint.interpreter import attributes

    name = site.args[0] if site.args else None
    if isinstance(name, Const) and isinstance(name.value, str) and site.receiver is not None and name.value:
        value: Value = site.receiver
        for part in name.value.split("."):
            value = attributes.load(site.machine, site.frame, value, part, site.node)
        return value
    return Tensor(0.9, "", None, "parameter") if "submodule" not in site.name else Unknown("submodule")


@model("torch.nn.Module.__call__", "torch.nn.Module.__init__", "torch.nn.Module.zero_grad")
def _nothing(site: Site) -> Value:
    if site.name.endswith("__call__") and isinstance(site.receiver, Instance):
        return modules.call(site.machine, site.frame, site.receiver, site.args, site.kwargs, site.node, site.opaque)
    return NONE


@model("torch.nn.DataParallel", "torch.nn.parallel.DistributedDataParallel")
def _parallel(site: Site) -> Value:
    made = construct_external(site, site.name)
    if isinstance(made, Instance) and site.args:
        made.attrs["module"] = site.args[0]
    return made


def _parallel_call(site: Site) -> Value:
    inner = site.receiver.attrs.get("module") if isinstance(site.receiver, Instance) else None
    return site.call(inner, site.args, site.kwargs) if inner is not None else Unknown("parallel")


for _name in ("torch.nn.DataParallel.__call__", "torch.nn.parallel.DistributedDataParallel.__call__"):
    MODELS[_name] = _parallel_call


@model("torch.atleast_1d", "torch.atleast_2d", "torch.atleast_3d")
def _at_least(site: Site) -> Value:
    tensor = as_tensor(site.arg(0, "tensors"))
    if tensor is None or len(site.args) > 1:
        return Sequence("tuple", None, Tensor(0.95, "", None, "result", "", site.origin()))
    return Tensor(
        tensor.c, tensor.dtype, None if tensor.rank == 0 else tensor.rank, "result", tensor.subclass, site.origin()
    )


@model(*(f"torch.nn.modules.utils.{name}" for name in ("_single", "_pair", "_triple", "_quadruple")))
def _ntuple(site: Site) -> Value:
    """n copies of a number, or the sequence that was given."""
    value = site.args[0] if site.args else Unknown("")
    if any(isinstance(m, Sequence) for m in members(value)):
        return next(m for m in members(value) if isinstance(m, Sequence))
    return Sequence("tuple", None, value if not isinstance(value, Unknown) else Plain("number"))


@model("torch.nn.modules.utils._ntuple")
def _ntuple_maker(site: Site) -> Value:
    return External("torch.nn.modules.utils._pair")


@model("torch.nested.nested_tensor", "torch.nested.as_nested_tensor")
def _nested(site: Site) -> Value:
    layout = site.kwargs.get("layout")
    jagged = isinstance(layout, External) and layout.dotted.endswith("jagged")
    return Tensor(1.0, "float", None, "result", "" if jagged else "nested", site.origin())


# -- sequence models ----------------------------------------------------------------------------------------------


@model("torch.autograd.grad")
def _grad(site: Site) -> Value:
    return Sequence("tuple", None, Tensor(1.0, "float", None, "result", "", site.origin()))


@model("torch.jit.fork")
def _fork(site: Site) -> Value:
    return site.call(site.args[0], site.args[1:], site.kwargs) if site.args else Unknown("fork")


@model("torch.jit.wait")
def _wait(site: Site) -> Value:
    return site.args[0] if site.args else Unknown("wait")


@model("torch.Generator.manual_seed", "torch.Generator.set_state")
def _seeded(site: Site) -> Value:
    return site.receiver if site.receiver is not None else Unknown("generator")
