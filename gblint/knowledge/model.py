"""The shape of what is known of one callable: immutable records, as they stand in the data file."""

from __future__ import annotations

import msgspec


class Return(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a call gives back.

    kind: "tensor", "tensors" (tuple or list of tensors), "int", "float", "bool", "number", "size", "str", "dtype",
        "device", "none", "self" (works in place and returns its first argument), "list_int" or "any".
    dtype: kind of the elements: "bool", "int", "float", "complex"; "same" as the first tensor argument, "same+int"
        and "same+float" likewise with bool raised to int (sum) or bool and int raised to float (sqrt); "promote" and
        "promote+float": common kind of all tensor and number arguments; "arg": that of the `dtype=` argument, else of
        the values given or torch's default (factories); None: not known. Where a function has a `dtype` parameter,
        a `dtype=` given at the call outranks this field.
    rank: "0" always a scalar tensor; "same" as the first tensor argument; "reduce": scalar when called without `dim`;
        "promote": the largest rank among the tensor arguments; None: not known.
    count: number of results where fixed. names: their field names. dtypes: their dtypes, one each, where they differ.
    """

    kind: str
    dtype: str | None = None
    rank: str | None = None
    count: int | None = None
    names: tuple[str, ...] = ()
    dtypes: tuple[str | None, ...] = ()


class Param(msgspec.Struct, frozen=True, array_like=True, omit_defaults=True):
    """One parameter, overloads merged.

    kinds: what it takes: "tensor", "tensors", "int", "size" (sequence of ints), "number", "bool", "float", "str",
        "dtype", "device", "any"; an optional parameter takes None as well (see default).
    default: its text, None where there is none. position: index among positional arguments (0 is the first; for a
        method the receiver is not counted), None for keyword-only.
    """

    name: str
    kinds: tuple[str, ...] = ()
    default: str | None = None
    required: bool = False
    position: int | None = None


class Variant(msgspec.Struct, frozen=True, omit_defaults=True):
    """A different result under a condition: `parameter` is given (and, if `equals` is set, given that value).

    position: where it may stand positionally; there only an argument of one of `kinds` selects this variant.
    """

    parameter: str
    returns: Return
    equals: str | None = None
    position: int | None = None
    kinds: tuple[str, ...] = ()


class Entry(msgspec.Struct, frozen=True, omit_defaults=True):
    """Everything known of one dotted name, each fact with its source in `sources`.

    what: "function", "method", "property", "class", "module-class" (an nn.Module), "constant", "external".
    calls: what calling an instance of the module class returns. value: kind of a constant or property.
    type: result type of an external callable, as a builtin or dotted name.
    dynamic: when the shape of the result depends on contents. verdict: "ok", a graph-break id, or "crash".
    forms: verdicts of other forms of the call, by name (see `Knowledge.verdict`). probe: the expression measured.
    """

    what: str = "function"
    returns: Return | None = None
    calls: Return | None = None
    parameters: tuple[Param, ...] = ()
    variants: tuple[Variant, ...] = ()
    value: str | None = None
    type: str | None = None
    dynamic: str | None = None
    verdict: str | None = None
    forms: dict[str, str] = {}
    probe: str | None = None
    sources: dict[str, str] = {}


class Changes(msgspec.Struct, frozen=True):
    """What a release does otherwise than the release `base`, whose data says all the rest.

    verdicts: by name, or "name@form". context_managers: as in the data file. torch: the full version measured.
    """

    torch: str
    base: str
    verdicts: dict[str, str]
    context_managers: dict[str, str]
