"""Which names of torch are public, what stands behind each, and which spellings mean the same object."""

from __future__ import annotations

import importlib
import inspect
import sys
import types
import warnings
from collections.abc import Iterator
from typing import Any

import torch

MODULES = """
torch torch.nn torch.nn.functional torch.nn.init torch.nn.utils torch.nn.utils.rnn torch.nn.utils.parametrize
torch.nn.utils.parametrizations torch.nn.utils.prune torch.nn.utils.stateless torch.nn.utils.fusion
torch.nn.attention torch.nn.attention.flex_attention torch.nn.attention.bias torch.nn.parallel torch.linalg
torch.fft torch.special torch.signal.windows torch.masked torch.nested torch.sparse torch.random torch.amp
torch.autograd torch.autograd.functional torch.autograd.graph torch.autograd.profiler
torch.autograd.forward_ad torch.autograd.grad_mode torch.autograd.anomaly_mode torch.autograd.function
torch.cuda torch.cuda.amp torch.cuda.random torch.cuda.nvtx torch.cuda.memory torch.cuda.graphs torch.cpu
torch.cpu.amp torch.mps torch.xpu torch.accelerator torch.backends torch.backends.cuda torch.backends.cudnn
torch.backends.cpu torch.backends.mps torch.backends.mkldnn torch.backends.mkl torch.backends.openmp
torch.backends.opt_einsum torch.compiler torch.jit torch.utils.checkpoint torch.utils.dlpack torch.utils.hooks
torch.utils.data torch.utils._pytree torch.utils._python_dispatch torch.func torch._dynamo
torch._functorch.apis torch.distributed torch.distributed.nn.functional
torch.distributed._functional_collectives torch.distributed.algorithms.join torch.distributions
torch.distributions.kl torch.distributions.utils torch.distributions.constraints
torch.distributions.transforms torch.optim torch.optim.lr_scheduler torch.optim.swa_utils torch.profiler
torch.overrides torch.library torch.fx torch.hub torch.serialization torch.testing torch.futures
torch.multiprocessing torch.nn.modules.module torch.nn.modules.utils torch.nn.parameter torch.functional
torch.types torch.version torch._utils torch.utils torch.utils.model_zoo torch.onnx
""".split()

PRIVATE_WORTH_KEEPING = """
torch._assert torch._check torch._check_index torch._check_is_size torch._check_type torch._check_value
torch._shape_as_tensor torch._foreach_add torch._foreach_mul torch._foreach_norm torch._foreach_mul_
torch._foreach_add_ torch._foreach_sqrt torch._foreach_lerp_ torch._foreach_div_ torch._foreach_zero_
torch._foreach_copy_ torch._weight_norm torch._is_functional_tensor torch._scaled_mm torch._grouped_mm
torch._int_mm torch._efficientzerotensor torch._C._get_tracing_state torch._C._functorch.is_batchedtensor
torch._C._is_tracing torch._C._log_api_usage_once torch._C._nn.gelu torch._C._nn._parse_to
torch._C._nn.pad_sequence torch._C._set_grad_enabled torch._jit_internal.is_scripting torch._dynamo.config
torch._functorch.config torch._inductor.config torch.nn.functional._verify_batch_size
torch.nn.functional._pad_circular torch.nn.functional._canonical_mask torch.nn.functional._none_or_dtype
torch.nn.modules.utils._pair torch.nn.modules.utils._single torch.nn.modules.utils._triple
torch.nn.modules.utils._quadruple torch.nn.modules.utils._ntuple torch.nn.modules.utils._reverse_repeat_tuple
torch.nn.init._calculate_fan_in_and_fan_out torch.nn.init._calculate_correct_fan
torch.nn.init._no_grad_trunc_normal_ torch._utils._get_device_index torch._utils._flatten_dense_tensors
torch._utils._unflatten_dense_tensors torch.nn.modules.module._IncompatibleKeys
torch.nn.modules.batchnorm._BatchNorm torch.nn.modules.conv._ConvNd torch.nn.modules.dropout._DropoutNd
torch.nn.modules.instancenorm._InstanceNorm torch.nn.modules.loss._Loss torch.nn.modules.loss._WeightedLoss
torch.nn.modules.conv._ConvTransposeNd torch.nn.modules.pooling._MaxPoolNd
torch.nn.modules.activation.MultiheadAttention torch.optim.lr_scheduler._LRScheduler torch.cuda._sleep
torch.distributed._functional_collectives.AsyncCollectiveTensor torch._dynamo.disable
torch._dynamo.allow_in_graph torch._dynamo.mark_dynamic torch._dynamo.graph_break torch._dynamo.is_compiling
torch._higher_order_ops.print torch._higher_order_ops.wrap.wrap
""".split()

# Classes whose methods and properties are worth an entry of their own.
WITH_METHODS = """
torch.Size torch.Generator torch.device torch.dtype torch.finfo torch.iinfo torch.nn.Module
torch.nn.ModuleList torch.nn.ModuleDict torch.nn.Sequential torch.nn.ParameterList torch.nn.ParameterDict
torch.optim.Optimizer torch.cuda.Stream torch.cuda.Event torch.autograd.Function torch.utils.data.DataLoader
torch.nn.utils.rnn.PackedSequence torch.amp.GradScaler torch.nn.Transformer torch.futures.Future
torch.distributed.ProcessGroup torch.distributed.Work torch.distributed.Store
""".split()


def public_objects() -> dict[str, Any]:
    """Every public dotted name of torch with its object; a module that cannot be imported here is left out."""
    found: dict[str, Any] = {}
    for module_name in MODULES:
        module = _import(module_name)
        if module is None:
            continue
        for name in public_names(module):
            value = getattr(module, name, None)
            if value is not None and not isinstance(value, types.ModuleType) and _is_of_torch(value):
                found[f"{module_name}.{name}"] = value
    for dotted in PRIVATE_WORTH_KEEPING:
        value = resolve(dotted)
        if value is not None and not isinstance(value, types.ModuleType):
            found[dotted] = value
    return found


def public_names(module: types.ModuleType) -> list[str]:
    """Names a module offers: its `__all__` and what else is public in it."""
    declared = list(getattr(module, "__all__", ()))
    return sorted({*declared, *(n for n in vars(module) if not n.startswith("_"))})


def resolve(dotted: str) -> Any:
    """The object behind a dotted name, importing as far as needed; None if there is none."""
    parts = dotted.split(".")
    for cut in range(len(parts), 0, -1):
        value = _import(".".join(parts[:cut]))
        if value is None:
            continue
        for part in parts[cut:]:
            value = getattr(value, part, None)
        return value
    return None


def _import(name: str) -> types.ModuleType | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return importlib.import_module(name)
    except Exception:
        return None


def _is_of_torch(value: Any) -> bool:
    """Whether torch owns the object: re-exports of the standard library and typing are not torch's."""
    if isinstance(value, (torch.dtype, torch.layout, torch.memory_format, int, float, str, bool)):
        return True
    if isinstance(value, (types.BuiltinFunctionType, types.BuiltinMethodType)):
        return not (value.__module__ or "torch").startswith(("builtins", "_", "math", "itertools", "operator"))
    owner = getattr(value, "__module__", None) or ""
    return isinstance(owner, str) and owner.split(".")[0] == "torch" and callable(value)


def canonical_names(objects: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """Splits public names into the chosen name per object and aliases of it.

    Chosen is the name with the fewest private parts, then the fewest parts, then torch's own order of modules.
    """
    order = {name: i for i, name in enumerate(MODULES)}
    groups: dict[int, list[str]] = {}
    for name, value in objects.items():
        if callable(value) and not isinstance(value, type(torch.float32)):
            groups.setdefault(id(value), []).append(name)

    def rank(name: str) -> tuple[int, int, int, str]:
        parts = name.split(".")
        private = sum(p.startswith("_") for p in parts)
        return private, len(parts), order.get(name.rpartition(".")[0], 999), name

    aliases: dict[str, str] = {}
    for names in groups.values():
        chosen = min(names, key=rank)
        value = objects[chosen]
        aliases.update({name: chosen for name in names if name != chosen})
        for spelling in _defined_as(value):
            if spelling != chosen and spelling not in objects:
                aliases[spelling] = chosen
    kept = {name: value for name, value in objects.items() if name not in aliases}
    aliases.update(_module_reexports(kept))
    return kept, aliases


def _defined_as(value: Any) -> Iterator[str]:
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    if isinstance(module, str) and isinstance(name, str) and "<" not in name and module.startswith("torch"):
        if resolve(f"{module}.{name}") is value:
            yield f"{module}.{name}"


def _module_reexports(kept: dict[str, Any]) -> dict[str, str]:
    """Spellings through the packages that define things: torch.nn.modules.Linear, torch.nn.modules.conv.F …"""
    by_id = {id(v): k for k, v in kept.items() if callable(v)}
    found: dict[str, str] = {"torch.functional.F": "torch.nn.functional"}
    packages = ("torch.nn.modules", "torch.nn.parallel", "torch.distributions", "torch.optim", "torch.nn.utils")
    for module_name in sorted(m for m in sys.modules if m.startswith(packages)):
        module = sys.modules[module_name]
        for name in getattr(module, "__all__", ()):
            spelling, target = f"{module_name}.{name}", by_id.get(id(getattr(module, name, None)))
            if target and target != spelling:
                found[spelling] = target
        if getattr(module, "F", None) is torch.nn.functional:
            found[f"{module_name}.F"] = "torch.nn.functional"
    return found


def attribute_aliases(kept: dict[str, Any]) -> dict[str, str]:
    """Classes whose attributes are those of a tensor, as "name.*": legacy tensor types, Parameter, Buffer."""
    legacy = {name for name, v in kept.items() if type(v).__name__ == "tensortype"}
    subclasses = {
        name for name, v in kept.items() if inspect.isclass(v) and issubclass(v, torch.Tensor) and v is not torch.Tensor
    }
    extra = {"torch._C.TensorBase", "torch.nn.Parameter", "torch.nn.Buffer"}
    return {f"{name}.*": "torch.Tensor" for name in sorted(legacy | subclasses | extra)}


def describe(value: Any) -> str:
    """The `what` of an object: see `Entry`."""
    if inspect.isclass(value):
        return "module-class" if issubclass(value, torch.nn.Module) else "class"
    return "function" if callable(value) else "constant"


def constant_kind(value: Any) -> str:
    """Kind of a constant's value."""
    for cls, kind in ((torch.dtype, "dtype"), (bool, "bool"), (int, "int"), (float, "float"), (str, "str")):
        if isinstance(value, cls):
            return kind
    return "any"


def dtype_kinds() -> dict[str, str]:
    """Every dtype of torch by name with the kind of its elements."""
    found = {f"torch.{n}": v for n, v in vars(torch).items() if isinstance(v, torch.dtype)}
    return {name: dtype_kind(v) for name, v in sorted(found.items())}


def dtype_kind(dtype: torch.dtype) -> str:
    """ "bool", "int", "float" or "complex" (quantized types count as "int")."""
    if dtype is torch.bool:
        return "bool"
    if dtype.is_complex:
        return "complex"
    return "float" if dtype.is_floating_point else "int"


def tensor_names() -> list[str]:
    """Public and dunder names of torch.Tensor, and the attributes instances have without the class showing them."""
    names = {n for n in dir(torch.Tensor) if not n.startswith("_") or n.startswith("__")}
    return sorted(names | {"grad", "data"})


def tensor_only_names() -> list[str]:
    """Methods of a tensor that no other object common in model code has."""
    shared = {n for owner in _common_objects() for n in dir(owner)}
    own = (n for n in tensor_names() if not n.startswith("__") and callable(getattr(torch.Tensor, n, None)))
    return [n for n in own if n not in shared]


def _common_objects() -> list[Any]:
    import argparse
    import collections
    import datetime
    import decimal
    import enum
    import fractions
    import logging
    import pathlib
    import random
    import re
    import threading

    import numpy

    plain = [str, bytes, list, dict, set, tuple, int, float, complex, slice, range, type, object, memoryview]
    library = [
        collections.Counter,
        collections.deque,
        collections.OrderedDict,
        datetime.datetime,
        datetime.timedelta,
        decimal.Decimal,
        fractions.Fraction,
        logging.Logger,
        pathlib.Path,
        random.Random,
        re.Pattern,
        re.Match,
        threading.Thread,
        threading.Lock(),
        argparse.ArgumentParser,
        enum.Enum,
        numpy.ndarray,
        numpy.random.Generator,
        numpy.random.RandomState,
        numpy.float64,
        numpy.dtype,
    ]
    of_torch = [
        torch.nn.Module(),
        torch.nn.ModuleList(),
        torch.nn.ModuleDict(),
        torch.nn.Sequential(),
        torch.nn.ParameterList(),
        torch.nn.ParameterDict(),
        torch.nn.MultiheadAttention(2, 1),
        torch.nn.LSTM(1, 1),
        torch.Size,
        torch.device,
        torch.dtype,
        torch.Generator,
        torch.cuda.Stream,
        torch.cuda.Event,
        torch.optim.Optimizer,
        torch.optim.lr_scheduler.LRScheduler,
        torch.distributions.Distribution,
        torch.distributions.Transform,
        torch.utils.data.DataLoader,
        torch.nn.utils.rnn.PackedSequence,
        torch.amp.GradScaler,
        torch.autograd.function.FunctionCtx,
        torch.UntypedStorage,
        torch.TypedStorage,
        torch.finfo(torch.float32),
        torch.jit.ScriptModule,
        torch.fx.Graph,
        torch.fx.Node,
        torch.distributed.ProcessGroup,
    ]
    return [*plain, *library, *of_torch]
