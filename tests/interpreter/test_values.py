"""Abstract values and their joins."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gblint.interpreter.values import (
    NONE,
    Const,
    DataScalar,
    Instance,
    Mapping,
    Plain,
    Sequence,
    Stream,
    Tensor,
    Union,
    Unknown,
    Value,
    as_tensor,
    join,
    join_all,
    maybe_none,
    members,
    tensor_certainty,
    union_of,
)


def kinds(value: Value) -> set[str]:
    return {type(member).__name__ for member in members(value)}


def test_join_of_a_value_with_itself_is_that_value() -> None:
    value = Tensor(0.7, "float", 2)
    assert join(value, value) is value


@pytest.mark.parametrize("unusual", ["sparse", "ndarray"])
def test_a_tensor_that_may_be_unusual_is_taken_for_a_plain_one(unusual: str) -> None:
    both = join(Tensor(1.0, "float", 2, subclass=unusual), Tensor(1.0, "float", 2))
    assert isinstance(both, Tensor)
    assert both.subclass == ""


def test_joined_tensors_keep_what_both_agree_on() -> None:
    both = join(Tensor(1.0, "float", 2, "input"), Tensor(1.0, "int", 2, "result"))
    assert isinstance(both, Tensor)
    assert (both.dtype, both.rank, both.role) == ("", 2, "")


@pytest.mark.parametrize(
    "other", [NONE, Const(3), Plain("str"), Unknown(), Sequence("list", []), Tensor(0.2), Mapping()]
)
def test_certainty_never_decays(other: Value) -> None:
    value: Value = Tensor(0.8)
    for _ in range(10):
        value = join(join(value, other), other)
    tensor = as_tensor(value)
    assert tensor is not None
    assert tensor.c == 0.8


def test_a_wide_join_keeps_its_tensor_and_none() -> None:
    wide = join_all([Tensor(0.9), NONE, Plain("str"), Sequence("list"), Mapping(), DataScalar(), Stream("zip")])
    assert kinds(wide) == {"Tensor", "Const", "Unknown"}
    assert tensor_certainty(wide) == pytest.approx(0.9 * 0.6)


def test_a_wide_join_without_tensor_is_unknown() -> None:
    objects = [Instance(None, f"a.{name}") for name in "ABCDEFGHIJKLMNOPQ"]
    assert kinds(join_all(objects[:16])) == {"Instance"}
    assert kinds(join_all(objects)) == {"Unknown"}
    assert kinds(join_all([*objects[:6], Mapping()])) == {"Unknown"}


@pytest.mark.parametrize(
    ("a", "b", "type", "value"),
    [
        (Const(1), Const(1), "Const", 1),
        (Const(1), Const(2), "Plain", "int"),
        (Const(1), Const(1.0), "Plain", "number"),
        (Const(1), Const(True), "Plain", "number"),
        (Const("a"), Plain("str"), "Plain", "str"),
        (Const("a"), Const(1), "Plain", ""),
    ],
)
def test_join_of_plain_values(a: Value, b: Value, type: str, value: object) -> None:
    both = join(a, b)
    assert both.__class__.__name__ == type
    assert getattr(both, "value" if type == "Const" else "type") == value


def test_none_stays_an_alternative() -> None:
    both = join(Const(1), NONE)
    assert isinstance(both, Union)
    assert maybe_none(both)
    assert not maybe_none(Const(1))


def test_sequences_of_one_length_join_item_by_item() -> None:
    both = join(Sequence("tuple", [Tensor(1.0), Const(1)]), Sequence("tuple", [NONE, Const(1)]))
    assert isinstance(both, Sequence)
    assert both.items is not None
    assert [kinds(item) for item in both.items] == [{"Tensor", "Const"}, {"Const"}]


def test_sequences_of_other_lengths_join_their_elements() -> None:
    both = join(Sequence("list", [Tensor(1.0)]), Sequence("list", []))
    assert isinstance(both, Sequence)
    assert both.items is None
    assert isinstance(both.element(), Tensor)


def test_mappings_join_key_by_key() -> None:
    both = join(Mapping({"a": Tensor(1.0), "b": Const(1)}), Mapping({"a": Tensor(0.5)}, exact=False))
    assert isinstance(both, Mapping)
    assert isinstance(both.items["a"], Tensor)
    assert both.items["a"].c == 1.0
    assert isinstance(both.items["b"], Const)
    assert not both.exact


def test_a_tensor_joined_with_an_array_is_a_tensor() -> None:
    both = join(Tensor(1.0), Tensor(1.0, subclass="ndarray"))
    assert isinstance(both, Tensor)
    assert both.subclass == ""


def test_an_optional_tensor_is_surer_than_a_tensor_or_something() -> None:
    optional = tensor_certainty(join(Tensor(1.0), NONE))
    mixed = tensor_certainty(join(Tensor(1.0), Plain("str")))
    assert 1.0 > optional > mixed > 0.0
    assert tensor_certainty(Plain("str")) == 0.0


def test_union_of_one_is_that_one_and_of_none_is_nothing() -> None:
    assert union_of([NONE]) is NONE
    assert union_of([]) is None


VALUES = st.one_of(
    st.builds(Tensor, st.floats(0, 1), st.sampled_from(["", "int", "float"]), st.none() | st.integers(0, 3)),
    st.builds(Const, st.none() | st.booleans() | st.integers(0, 2) | st.sampled_from(["", "a"])),
    st.builds(Plain, st.sampled_from(["", "int", "str", "bool"])),
    st.builds(Unknown),
    st.builds(Stream, st.sampled_from(["zip", "map"])),
    st.builds(Instance, st.none(), st.sampled_from(["a.B", "a.C"])),
)
NESTED = st.recursive(
    VALUES,
    lambda inner: st.one_of(
        st.builds(Sequence, st.sampled_from(["list", "tuple"]), st.lists(inner, max_size=3)),
        st.builds(Mapping, st.dictionaries(st.sampled_from(["a", "b"]), inner)),
    ),
    max_leaves=6,
)


@settings(deadline=None, max_examples=40)
@given(st.lists(NESTED, min_size=1, max_size=9))
def test_joins_are_bounded_and_keep_the_surest_tensor(values: list[Value]) -> None:
    joined = join_all(values)
    assert len(members(joined)) <= 6
    best = max((v.c for v in values if isinstance(v, Tensor)), default=None)
    found = as_tensor(joined)
    assert (found.c if found is not None else None) == best


@settings(deadline=None, max_examples=40)
@given(NESTED, NESTED)
def test_joining_what_is_covered_adds_no_alternative(a: Value, b: Value) -> None:
    joined = join(a, b)
    assert len(members(join(joined, b))) == len(members(joined))
