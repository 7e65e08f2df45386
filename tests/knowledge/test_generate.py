"""The generator: how it reads annotations, how it draws rules from runs, and that it still finds what is shipped."""

from __future__ import annotations

import ast

import pytest

from gblint.knowledge import Return, load

torch = pytest.importorskip("torch")
pytest.importorskip("expecttest", reason="torch.testing needs it")

from gblint.knowledge.generate import breaks, names, probing, runs, stubs, verdicts  # noqa: E402
from gblint.knowledge.generate.runs import Run, Tensorish  # noqa: E402

facts = load(".".join(torch.__version__.split(".")[:2]))
same_torch = pytest.mark.skipif(
    facts.torch_version != torch.__version__.partition("+")[0], reason="the data is of another torch"
)


def annotation(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("Tensor", ("tensor",)),
        ("Tensor | Number", ("tensor", "number")),
        ("Optional[Tensor]", ("tensor",)),
        ("Sequence[_int | SymInt]", ("size",)),
        ("tuple[Tensor, ...] | list[Tensor]", ("tensors",)),
        ("_int | _size | None", ("int", "size")),
        ("_size_2_t", ("int", "size")),
        ("Literal[True]", ("bool",)),
        ("Callable[[int], Tensor]", ("any",)),
        ("'Tensor'", ("tensor",)),
    ],
)
def test_annotations_become_kinds(text: str, kinds: tuple[str, ...]):
    assert stubs.kinds_of(annotation(text)) == kinds


@pytest.mark.parametrize(
    ("text", "returns"),
    [
        ("Tensor", Return("tensor")),
        ("tuple[Tensor, Tensor]", Return("tensors", count=2)),
        ("tuple[Tensor, ...]", Return("tensors")),
        ("torch.return_types.max", Return("tensors", count=2, names=("values", "indices"))),
        ("Size", Return("size")),
        ("list[_int]", Return("list_int")),
        ("None", Return("none")),
        ("Tensor | None", Return("any")),
        ("_int | _float", Return("number")),
    ],
)
def test_annotations_become_results(text: str, returns: Return):
    assert stubs.return_of(annotation(text)) == returns


def run(inputs: str, out: str, *, ranks: tuple[int, ...] = (2, 2), out_rank: int = 2, fully: bool = True) -> Run:
    kinds = {"b": "bool", "i": "int", "f": "float", "c": "complex"}
    tensors = tuple(Tensorish(kinds[k], r) for k, r in zip(inputs, ranks, strict=False))
    return Run(tensors, (), fully, None, "tensor", (Tensorish(kinds[out], out_rank),))


@pytest.mark.parametrize(
    ("observed", "rule"),
    [
        ([("b", "b"), ("i", "i"), ("f", "f")], "same"),
        ([("b", "i"), ("i", "i"), ("f", "f")], "same+int"),
        ([("b", "f"), ("i", "f"), ("f", "f"), ("c", "c")], "same+float"),
        ([("b", "b"), ("i", "b"), ("f", "b")], "bool"),
        ([("b", "i"), ("f", "i")], "int"),
        ([("f", "f")], "same+float"),
        ([("bi", "i"), ("bf", "f"), ("ib", "i")], "promote"),
        ([("bi", "f"), ("ib", "f"), ("bc", "c")], "promote+float"),
        ([("f", "f"), ("c", "f")], "float"),
        ([("i", "i"), ("f", "f"), ("c", "f")], "same+int"),
        ([("i", "f"), ("f", "i")], None),
    ],
)
def test_element_rules(observed: list[tuple[str, str]], rule: str | None):
    assert runs.element_rule([run(*o) for o in observed], 0) == rule


def test_rank_rules():
    assert runs.rank_rule([run("f", "f"), run("f", "f", ranks=(1,), out_rank=1)]) == "same"
    assert runs.rank_rule([run("ff", "f", ranks=(1, 3), out_rank=3), run("ff", "f")]) == "promote"
    assert runs.rank_rule([run("f", "f", out_rank=0), run("f", "f", out_rank=1, fully=False)]) == "reduce"
    assert runs.rank_rule([run("f", "f", out_rank=3)]) is None


@same_torch
@pytest.mark.parametrize("name", ["sum", "eq", "sqrt", "topk", "masked_fill", "argmax"])
def test_running_an_operator_gives_what_is_shipped(name: str):
    from torch.testing._internal.common_methods_invocations import op_db

    op = next(o for o in op_db if o.name == name)
    shipped = facts.returns(f"torch.{name}")
    assert shipped is not None
    measured = runs.classify(runs.runs_of(op), Return(shipped.kind, count=shipped.count, names=shipped.names))
    assert measured == shipped


@same_torch
def test_aliases_are_of_the_same_object():
    for spelling in ("torch.functional.norm", "torch.nn.modules.linear.Linear", "torch.autograd.no_grad"):
        assert names.resolve(spelling) is names.resolve(facts.canonical(spelling))


@same_torch
def test_probing_again_gives_the_shipped_verdicts():
    sample = ["print", "time.time", "random.uniform", "torch.Tensor.item", "torch.Tensor.nonzero"]
    probes = [probing.Probe(n, (entry.probe,)) for n in sample if (entry := facts.entry(n)) and entry.probe]
    assert len(probes) == len(sample)
    breaks.warm_up()
    measured = verdicts.probe_all(probes, jobs=2)
    assert {n: m.verdict for n, m in measured.items()} == {n: facts.verdict(n) for n in sample}


@same_torch
def test_what_does_not_run_eagerly_is_left_out_and_what_hangs_is_stopped():
    names_ = {"f": lambda: 1}
    assert breaks.in_child(lambda: probing.measure(probing.Probe("f", ("f(1)",)), names_)).verdict is None

    def hang() -> None:
        while True:
            pass

    assert breaks.in_child(hang, limit_s=0.2).detail == "time limit"
