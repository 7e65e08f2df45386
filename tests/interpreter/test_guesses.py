"""What a parameter is taken for when nobody is seen to pass it."""

from __future__ import annotations

import pytest

from gblint.interpreter.values import (
    Const,
    Instance,
    Mapping,
    Plain,
    Sequence,
    Tensor,
    Union,
    as_tensor,
    tensor_certainty,
)
from tests.interpreter.programs import Analyst


def parameter(
    analyst: Analyst, annotation: str = "", default: str = "", use: str = "pass", before: str = "pass"
) -> object:
    """The value of the second parameter of a forward, declared and used like this."""
    declared = "p" + (f": {annotation}" if annotation else "") + (f" = {default}" if default else "")
    (value,) = analyst.seen(
        f"""
        import numpy.typing as npt
        from typing import Any, Callable, Dict, List, Literal, Tuple
        {before}

        class Net(nn.Module):
            def forward(self, x, {declared}):
                probe.see(p)
                {use}
                return x
        """,
        mode="modules",
    )
    return value


@pytest.mark.parametrize(
    ("annotation", "certainty"),
    [
        ("torch.Tensor", 1.0),
        ("'Tensor'", 1.0),
        ("torch.FloatTensor", 1.0),
        ("nn.Parameter", 1.0),
        ("Optional[Tensor]", 0.9),
        ("Tensor | None", 0.9),
        ("np.ndarray", 1.0),
        ("int | Tensor", 0.3),
        ("int", 0.0),
        ("Optional[float]", 0.0),
        ("Literal['a', 'b']", 0.0),
        ("torch.dtype", 0.0),
        ("Callable", 0.0),
        ("Callable[[Tensor], Tensor]", 0.0),
    ],
)
def test_annotations_are_believed(analyst: Analyst, annotation: str, certainty: float) -> None:
    value = parameter(analyst, annotation)
    assert tensor_certainty(value) == pytest.approx(certainty)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "annotation", ["list[Tensor]", "List['Tensor']", "tuple[Tensor, ...]", "Tuple[Tensor]", "Sequence[Tensor]"]
)
def test_elements_of_annotated_sequences(analyst: Analyst, annotation: str) -> None:
    value = parameter(analyst, annotation, before="from collections.abc import Sequence")
    assert isinstance(value, Sequence)
    assert isinstance(value.element(), Tensor)


def test_elements_of_annotated_tuples_and_dicts(analyst: Analyst) -> None:
    pair = parameter(analyst, "tuple[Tensor, int]")
    assert isinstance(pair, Sequence)
    assert pair.items is not None
    assert [type(item) for item in pair.items] == [Tensor, Plain]
    table = parameter(analyst, "Dict[str, Tensor]")
    assert isinstance(table, Mapping)
    assert 0.5 < tensor_certainty(table.element()) < 1.0


def test_aliases_and_classes_are_followed(analyst: Analyst) -> None:
    value = parameter(analyst, "Images", before="Images = Union[Tensor, None]")
    assert isinstance(as_tensor(value), Tensor)  # type: ignore[arg-type]
    held = parameter(analyst, "Cache", before="class Cache: pass")
    assert isinstance(held, Instance)
    assert held.cls is not None
    assert held.cls.info.qualname == "Cache"


@pytest.mark.parametrize(
    ("use", "least", "most"),
    [
        ("y = p.softmax(-1)", 0.9, 1.0),
        ("y = p.shape", 0.8, 0.95),
        ("y = torch.relu(p)", 0.8, 0.95),
        ("pass", 0.7, 0.8),
        ("y = p == 'mean'", 0.0, 0.0),
        ("y = p['key']", 0.0, 0.0),
        ("y = p()", 0.0, 0.0),
        ("y = 1 if p else 2", 0.0, 0.0),
        ("y = range(p)", 0.0, 0.0),
        ("y = x.sum(dim=p)", 0.0, 0.0),
        ("y = x[:p]", 0.0, 0.0),
        ("y = p.unheard_of", 0.0, 0.0),
    ],
)
def test_use_speaks_for_a_tensor_or_against_it(analyst: Analyst, use: str, least: float, most: float) -> None:
    certainty = tensor_certainty(parameter(analyst, use=use))  # type: ignore[arg-type]
    assert least <= certainty <= most


def test_defaults_speak_too(analyst: Analyst) -> None:
    number = parameter(analyst, default="3")
    assert isinstance(number, Plain)
    assert number.type == "int"
    optional = parameter(analyst, default="None", use="y = p.softmax(-1)")
    assert isinstance(optional, Union)
    assert any(isinstance(member, Const) for member in optional.members)
    assert tensor_certainty(parameter(analyst, "Tensor", default="None")) == pytest.approx(0.9)  # type: ignore[arg-type]


def test_a_method_only_tensors_have_proves_the_variable(analyst: Analyst) -> None:
    values = analyst.seen(
        """
        class Net(nn.Module):
            def forward(self, x):
                probe.see(x)
                y = x.masked_fill(x > 0, 0)
                probe.see(x)
        """,
        mode="modules",
    )
    assert [tensor_certainty(v) >= 0.97 for v in values] == [False, True]


def test_a_callees_annotation_corrects_a_doubtful_argument(analyst: Analyst) -> None:
    values = analyst.seen("""
        def takes_tensor(y: Tensor):
            probe.see(y)

        def takes_int(y: int):
            probe.see(y)

        @torch.compile
        def f(x: Tensor):
            takes_tensor(unheard_of(x))
            takes_int(unheard_of(x))
            takes_int(x)
    """)
    assert [type(v) for v in values] == [Tensor, Plain, Tensor]


def test_return_annotations_speak_for_calls_that_are_not_followed(analyst: Analyst) -> None:
    values = analyst.seen("""
        @torch.compiler.disable
        def number(x) -> int:
            return unheard_of(x)

        @torch.compiler.disable
        def anything(x):
            return unheard_of(x)

        @torch.compile
        def f(x: Tensor):
            probe.see(number(x))
            probe.see(anything(x))
    """)
    assert [type(v) for v in values] == [Plain, Tensor]
    assert tensor_certainty(values[1]) < 1.0


def test_constructor_arguments_of_a_module_nobody_makes_are_no_tensors(analyst: Analyst) -> None:
    values = analyst.seen(
        """
        class Net(nn.Module):
            def __init__(self, size, name: str, depth=3, act=None):
                super().__init__()
                self.size, self.name, self.depth, self.act = size, name, depth, act

            def forward(self, x):
                probe.see(self.size), probe.see(self.name), probe.see(self.depth), probe.see(self.act)
        """,
        mode="modules",
    )
    assert [type(v) for v in values] == [Plain] * 4


@pytest.mark.parametrize(
    "use",
    [
        "if p == 3: x = x + 1",
        "y = math.sqrt(2 / p)",
        "c = p - 1\n                y = math.log(c)",
    ],
)
def test_what_a_number_is_used_for_is_no_tensor(analyst: Analyst, use: str) -> None:
    value = parameter(analyst, use=use, before="import math")
    assert tensor_certainty(value) == 0.0  # type: ignore[arg-type]


def test_an_optional_mask_that_selects_is_a_tensor(analyst: Analyst) -> None:
    assert as_tensor(parameter(analyst, default="None", use="y = x[p]")) is None  # type: ignore[arg-type]
    (value,) = analyst.seen(
        """
        class Net(nn.Module):
            def forward(self, x, mask=None):
                probe.see(mask)
                return x[mask]
        """,
        mode="modules",
    )
    tensor = as_tensor(value)
    assert tensor is not None
    assert tensor.dtype == "bool"
