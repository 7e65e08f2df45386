"""Facts that neither torch's stubs nor a run can tell, each with its reason."""

from __future__ import annotations

import msgspec

from gblint.knowledge.model import Entry, Return, Variant

# Unannotated in torch, no operator samples; read off the documentation of each function.
RETURNS = {
    "torch.tensor": Return("tensor", "arg"),
    "torch.as_tensor": Return("tensor", "arg"),
    "torch.asarray": Return("tensor", "arg"),
    "torch.from_numpy": Return("tensor", "arg"),
    "torch.empty": Return("tensor", "arg"),
    "torch.zeros": Return("tensor", "arg"),
    "torch.ones": Return("tensor", "arg"),
    "torch.full": Return("tensor", "arg"),
    "torch.arange": Return("tensor", "arg"),
    "torch.rand": Return("tensor", "arg"),
    "torch.randn": Return("tensor", "arg"),
    "torch.linspace": Return("tensor", "arg"),
    "torch.logspace": Return("tensor", "arg"),
    "torch.eye": Return("tensor", "arg"),
    "torch.empty_strided": Return("tensor", "arg"),
    "torch.randint": Return("tensor", "int"),
    "torch.randperm": Return("tensor", "int", None),
    "torch.norm": Return("tensor", "same+float", "reduce"),
    "torch.Tensor.norm": Return("tensor", "same+float", "reduce"),
    "torch.multinomial": Return("tensor", "int", "same"),
    "torch.Tensor.multinomial": Return("tensor", "int", "same"),
    "torch.Tensor.to": Return("tensor", "same", "same"),
    "torch.Tensor.type": Return("tensor", "arg", "same"),
    "torch.Tensor.backward": Return("none"),
    "torch.Tensor.tolist": Return("any"),
    "torch.Tensor.numpy": Return("any"),
    "torch.Tensor.item": Return("number"),
    "torch.Tensor.view": Return("tensor", "same"),
    "torch.Tensor.unique": Return("tensor", "same"),
    "torch.Tensor.unique_consecutive": Return("tensor", "same"),
    "torch.unique": Return("tensor", "same"),
    "torch.unique_consecutive": Return("tensor", "same"),
    "torch.where": Return("tensor", "promote", "promote"),
    "torch.Tensor.where": Return("tensor", "promote", "promote"),
    "torch.broadcast_tensors": Return("tensors"),
    "torch.meshgrid": Return("tensors"),
    "torch.autograd.grad": Return("tensors"),
    "torch.utils.checkpoint.checkpoint": Return("any"),
    "torch.nn.utils.clip_grad_norm_": Return("tensor", "float", "0"),
    "torch.nn.utils.rnn.pad_sequence": Return("tensor", "same"),
    "torch.nn.functional.multi_head_attention_forward": Return("tensors", "float", None, 2),
    "torch.nn.functional.embedding": Return("tensor", "float"),
    "torch.nn.functional.embedding_bag": Return("tensor", "float"),
    "torch.nn.functional.one_hot": Return("tensor", "int"),
    "torch.bincount": Return("tensor", "int"),
    "torch.Tensor.bincount": Return("tensor", "int"),
    "torch.polygamma": Return("tensor", "promote+float", "same"),
    "torch.special.polygamma": Return("tensor", "promote+float", "same"),
    "torch.cat": Return("tensor", "promote", "promote"),
    "torch.concat": Return("tensor", "promote", "promote"),
    "torch.concatenate": Return("tensor", "promote", "promote"),
    "torch.stack": Return("tensor", "promote"),
    "torch.hstack": Return("tensor", "promote"),
    "torch.vstack": Return("tensor", "promote"),
    "torch.dstack": Return("tensor", "promote"),
    "torch.column_stack": Return("tensor", "promote"),
}
for _window in ("bartlett", "blackman", "hamming", "hann", "kaiser"):
    RETURNS[f"torch.{_window}_window"] = Return("tensor", "arg")
# Casts name their result's element kind.
CASTS = {
    "bool": "bool",
    "int": "int",
    "long": "int",
    "short": "int",
    "char": "int",
    "byte": "int",
    "float": "float",
    "double": "float",
    "half": "float",
    "bfloat16": "float",
    "cfloat": "complex",
    "cdouble": "complex",
    "chalf": "complex",
}
# Moves and views of the same elements, which op_db leaves out or which depend on more than tensors.
SAME = "cpu cuda xpu detach requires_grad_ pin_memory to_dense expand_as view_as type_as contiguous".split()

# Calls whose extra results are chosen by flags that stubs do not spell as overloads.
VARIANTS = {
    "unique": (("return_inverse", 1), ("return_counts", 2)),
    "unique_consecutive": (("return_inverse", 0), ("return_counts", 1)),
}

# Module classes that no sample covers: results by the documentation of each.
CALLS = {
    "torch.nn.LSTM": Return("any", count=2),
    "torch.nn.GRU": Return("tensors", "float", None, 2),
    "torch.nn.RNN": Return("tensors", "float", None, 2),
    "torch.nn.LSTMCell": Return("tensors", "float", None, 2),
    "torch.nn.MultiheadAttention": Return("any", count=2),
    "torch.nn.Sequential": Return("any"),
    "torch.nn.AdaptiveLogSoftmaxWithLoss": Return("tensors", "float", None, 2, ("output", "loss")),
}


def apply(entries: dict[str, Entry]) -> dict[str, Entry]:
    """Entries with the facts above laid over them."""
    fixed = dict(entries)
    for name, returns in RETURNS.items():
        _set(fixed, name, returns)
    for method, kind in CASTS.items():
        _set(fixed, f"torch.Tensor.{method}", Return("tensor", kind, "same"))
    for method in SAME:
        _set(fixed, f"torch.Tensor.{method}", Return("tensor", "same", "same"))
    for name, calls in CALLS.items():
        entry = fixed.get(name, Entry("module-class"))
        fixed[name] = msgspec.structs.replace(entry, calls=calls, sources={**entry.sources, "calls": "curated"})
    for function, flags in VARIANTS.items():
        for owner, shift in (("torch", 1), ("torch.Tensor", 0)):
            _set_variants(fixed, f"{owner}.{function}", flags, shift)
    return fixed


def _set(entries: dict[str, Entry], name: str, returns: Return) -> None:
    entry = entries.get(name)
    if entry is not None:
        sources = {**entry.sources, "returns": "curated"}
        entries[name] = msgspec.structs.replace(entry, returns=returns, sources=sources)


def _set_variants(entries: dict[str, Entry], name: str, flags: tuple[tuple[str, int], ...], shift: int) -> None:
    entry = entries.get(name)
    if entry is None:
        return
    several = Return("tensors", dtype="same", dtypes=())
    found = tuple(Variant(flag, several, "True", position + shift, ("bool",)) for flag, position in flags)
    entries[name] = msgspec.structs.replace(entry, variants=found, sources={**entry.sources, "variants": "curated"})
