"""The shipped data answers the questions that the analyzer asks, in any spelling, quickly, without torch."""

from __future__ import annotations

import re
import subprocess
import sys
import time

import msgspec
import pytest

from gblint.knowledge import DATA, Knowledge, Return, available, load, measured
from gblint.knowledge.model import Changes

VERDICT = re.compile(r"ok|crash|unnamed|GB\d{4}")


@pytest.fixture(scope="module")
def torch_facts() -> Knowledge:
    return load("2.13")


def test_releases_fall_back_to_the_nearest_older_one():
    newest = measured()[-1]
    assert load(newest).torch_version.startswith(newest)
    assert load("99.0").torch_version == load(newest).torch_version
    assert load("1.0").torch_version.startswith(measured()[0])
    assert load(newest + ".1").torch_version == load(newest).torch_version


def test_what_a_release_does_otherwise_lies_over_what_was_measured_in_full():
    base, later = load("2.13"), load("2.14")
    assert (base.verdict("random.random"), later.verdict("random.random")) == ("GB0007", "ok")
    assert (base.verdict("range", "tensor"), later.verdict("range", "tensor")) == ("GB0059", "GB0124")
    assert (base.verdict("builtins.range"), later.verdict("builtins.range")) == ("ok", "ok")
    assert base.context_managers["threading.Condition"] != later.context_managers["threading.Condition"]
    assert later.context_managers["threading.Lock"] == base.context_managers["threading.Lock"]
    assert later.returns("torch.sum") == base.returns("torch.sum")


@pytest.mark.parametrize("release", sorted({*measured()} - {*available()}))
def test_files_of_changes_hold_differences_only(release: str):
    changes = msgspec.json.decode((DATA / f"changes-{release}.json").read_bytes(), type=Changes)
    assert changes.torch.startswith(f"{release}.")
    base = load(changes.base)
    assert base.torch_version.startswith(changes.base)
    for full_name, verdict in changes.verdicts.items():
        name, _, form = full_name.partition("@")
        assert base.canonical(name) == name
        assert base.entry(name) is not None, name
        assert VERDICT.fullmatch(verdict)
        assert verdict != base.verdict(name, form), full_name
        assert load(release).verdict(name, form) == verdict
    assert all(base.context_managers.get(name) != verdict for name, verdict in changes.context_managers.items())


def test_a_target_that_is_no_release_is_refused():
    with pytest.raises(ValueError, match="not a torch release: 'nightly'"):
        load("nightly")


def test_loading_imports_neither_torch_nor_numpy():
    code = (
        "import sys; from gblint.knowledge import load; facts = load();"
        "assert facts.returns('torch.sum').dtype == 'same+int'; facts.verdict('numpy.prod');"
        "assert not {'torch', 'numpy'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_loading_is_fast():
    def once() -> float:
        load.cache_clear()
        start = time.perf_counter()
        load("2.13").returns("torch.sum")
        return time.perf_counter() - start

    assert min(once() for _ in range(5)) < 0.04


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        ("torch.functional.norm", "torch.norm"),
        ("torch.nn.modules.linear.Linear", "torch.nn.Linear"),
        ("torch.nn.modules.Linear", "torch.nn.Linear"),
        ("torch.FloatTensor.nonzero", "torch.Tensor.nonzero"),
        ("torch.nn.Parameter.sum", "torch.Tensor.sum"),
        ("torch.autograd.no_grad", "torch.no_grad"),
        ("torch.nn.modules.conv.F.relu", "torch.nn.functional.relu"),
        ("torch.nn.functional.softmax", "torch.nn.functional.softmax"),
        ("torch.distributions.normal.Normal.sample", "torch.distributions.Normal.sample"),
        ("builtins.print", "builtins.print"),
        ("my.own.function", "my.own.function"),
    ],
)
def test_spellings_of_one_object_share_a_name(torch_facts: Knowledge, spelling: str, name: str):
    assert torch_facts.canonical(spelling) == name


def test_functional_aliases_answer_as_their_twins(torch_facts: Knowledge):
    for twin in ("conv1d", "pixel_shuffle", "cosine_similarity"):
        assert torch_facts.returns(f"torch.nn.functional.{twin}") == torch_facts.returns(f"torch.{twin}")


@pytest.mark.parametrize(
    ("name", "kind", "dtype"),
    [
        ("torch.eq", "tensor", "bool"),
        ("torch.isnan", "tensor", "bool"),
        ("torch.Tensor.ne", "tensor", "bool"),
        ("torch.logical_and", "tensor", "bool"),
        ("torch.sum", "tensor", "same+int"),
        ("torch.Tensor.cumsum", "tensor", "same+int"),
        ("torch.sqrt", "tensor", "same+float"),
        ("torch.argmax", "tensor", "int"),
        ("torch.nn.functional.one_hot", "tensor", "int"),
        ("torch.add", "tensor", "promote"),
        ("torch.gather", "tensor", "same"),
        ("torch.masked_fill", "tensor", "same"),
        ("torch.zeros", "tensor", "arg"),
        ("torch.Tensor.float", "tensor", "float"),
        ("torch.Tensor.bool", "tensor", "bool"),
        ("torch.Tensor.size", "size", None),
        ("torch.Tensor.dim", "int", None),
        ("torch.Tensor.item", "number", None),
        ("torch.numel", "int", None),
        ("torch.equal", "bool", None),
        ("torch.is_grad_enabled", "bool", None),
        ("torch.jit.is_scripting", "bool", None),
        ("torch.manual_seed", "any", None),
        ("torch.Tensor.add_", "self", "same"),
        ("torch.cuda.is_available", "bool", None),
        ("torch.distributed.get_rank", "int", None),
        ("torch.split", "tensors", "same"),
        ("torch.distributions.Normal.sample", "tensor", None),
    ],
)
def test_results(torch_facts: Knowledge, name: str, kind: str, dtype: str | None):
    returns = torch_facts.returns(name)
    assert returns is not None
    assert (returns.kind, returns.dtype) == (kind, dtype)


def test_reductions_are_scalar_without_a_dimension(torch_facts: Knowledge):
    for name in ("sum", "mean", "any", "all", "max", "argmax", "norm", "std"):
        returns = torch_facts.returns(f"torch.{name}")
        assert returns is not None
        assert returns.rank == "reduce", name


def test_named_results_and_variants(torch_facts: Knowledge):
    assert torch_facts.returns("torch.topk") == Return(
        "tensors", "same+int", None, 2, ("values", "indices"), ("same+int", "int")
    )
    (by_dim,) = torch_facts.variants("torch.max")
    assert (by_dim.parameter, by_dim.position, by_dim.kinds) == ("dim", 1, ("int",))
    assert by_dim.returns.names == ("values", "indices")
    (sized,) = torch_facts.variants("torch.Tensor.size")
    assert sized.returns.kind == "int"
    assert any(v.parameter == "as_tuple" and v.equals == "True" for v in torch_facts.variants("torch.nonzero"))


def test_modules(torch_facts: Knowledge):
    assert torch_facts.what("torch.nn.Linear") == "module-class"
    assert torch_facts.module_returns("torch.nn.Linear").kind == "tensor"  # type: ignore[union-attr]
    assert torch_facts.module_returns("torch.nn.LSTM").count == 2  # type: ignore[union-attr]
    assert torch_facts.verdict("torch.nn.LSTM", "call") == "GB0014"
    assert torch_facts.verdict("torch.nn.Linear", "call") == "ok"


def test_parameters_tell_sizes_from_tensors(torch_facts: Knowledge):
    split = {p.name: p for p in torch_facts.parameters("torch.split")}
    assert split["split_size_or_sections"].kinds == ("int", "size")
    assert (split["tensor"].required, split["tensor"].position) == (True, 0)
    view = {p.name: p.kinds for p in torch_facts.parameters("torch.Tensor.view")}
    assert "tensor" not in {k for kinds in view.values() for k in kinds}
    assert {p.name: p.kinds for p in torch_facts.parameters("torch.softmax")}["dim"][0] == "int"


def test_attributes_and_names_of_a_tensor(torch_facts: Knowledge):
    attributes = torch_facts.tensor_attributes
    assert {n: attributes[n] for n in ("shape", "dtype", "device", "is_cuda", "ndim", "T", "requires_grad")} == {
        "shape": "size",
        "dtype": "dtype",
        "device": "device",
        "is_cuda": "bool",
        "ndim": "int",
        "T": "tensor",
        "requires_grad": "bool",
    }
    assert {"masked_fill", "__getitem__", "grad", "shape"} <= torch_facts.tensor_names
    assert {"masked_fill", "unsqueeze", "softmax", "argmin_"} & torch_facts.tensor_only_names == {
        "masked_fill",
        "unsqueeze",
        "softmax",
    }
    assert not {"copy", "sum", "mean", "size", "to", "split", "index", "sample", "type"} & torch_facts.tensor_only_names


def test_constants(torch_facts: Knowledge):
    assert torch_facts.value("torch.pi") == "float"
    assert torch_facts.dtype_kind("torch.bool") == "bool"
    assert torch_facts.dtype_kind("torch.int8") == "int"
    assert torch_facts.dtype_kind("torch.bfloat16") == "float"


@pytest.mark.parametrize(
    ("name", "condition"),
    [
        ("torch.nonzero", "always"),
        ("torch.Tensor.unique", "always"),
        ("torch.masked_select", "always"),
        ("torch.bincount", "always"),
        ("torch.where", "one-argument"),
        ("torch.repeat_interleave", "no-output-size"),
        ("torch.nn.functional.one_hot", "no-num-classes"),
        ("torch.sum", None),
        ("torch.nonzero_static", None),
        ("torch.nn.functional.grid_sample", None),
    ],
)
def test_shapes_that_depend_on_contents(torch_facts: Knowledge, name: str, condition: str | None):
    assert torch_facts.dynamic_condition(name) == condition
    assert torch_facts.dynamic_shape(name) is (condition is not None)


@pytest.mark.parametrize(
    ("name", "form", "verdict"),
    [
        ("print", "", "GB0059"),
        ("builtins.print", "", "GB0059"),
        ("time.time", "", "GB0007"),
        ("os.path.exists", "", "GB0007"),
        ("random.random", "", "GB0007"),
        ("random.uniform", "", "ok"),
        ("uuid.uuid4", "", "GB0007"),
        ("logging.Logger.debug", "", "GB0291"),
        ("logging.getLogger", "", "GB6215"),
        ("copy.deepcopy", "tensor", "GB4198"),
        ("math.sqrt", "", "ok"),
        ("math.sqrt", "tensor", "GB0033"),
        ("numpy.random.default_rng", "", "GB0294"),
        ("numpy.prod", "shape", "ok"),
        ("torch.manual_seed", "", "GB0007"),
        ("torch.equal", "", "GB0033"),
        ("torch.Tensor.item", "", "GB0124"),
        ("torch.Tensor.nonzero", "", "GB0036"),
        ("torch.Tensor.__getitem__", "mask", "GB0036"),
        ("torch.Tensor.__getitem__", "scalar-bool", "GB0033"),
        ("torch.sum", "", "ok"),
        ("torch.nn.functional.relu", "", "ok"),
        ("my.own.function", "", None),
    ],
)
def test_verdicts(torch_facts: Knowledge, name: str, form: str, verdict: str | None):
    assert torch_facts.verdict(name, form) == verdict


def test_context_managers(torch_facts: Knowledge):
    contexts = torch_facts.context_managers
    expected = {"torch.no_grad": "ok", "torch.device": "GB0142", "threading.Lock": "GB0142", "open": "GB0059"}
    assert {name: contexts[name] for name in expected} == expected


def test_types_of_results_outside_torch(torch_facts: Knowledge):
    expected = {
        "time.time": "float",
        "len": "int",
        "os.path.exists": "bool",
        "logging.getLogger": "logging.Logger",
        "threading.Lock": "threading.Lock",
        "datetime.datetime.now": "datetime.datetime",
        "re.match": "re.Match",
        "numpy.zeros": "numpy.ndarray",
        "str.split": "list",
    }
    assert {name: torch_facts.return_type_external(name) for name in expected} == expected


def test_polymorphic_functions_have_no_type(torch_facts: Knowledge):
    for name in ("max", "sum", "abs", "copy.deepcopy", "dict.get", "list.pop", "operator.add", "getattr", "json.loads"):
        assert torch_facts.return_type_external(name) is None, name


def test_the_files_stay_small():
    assert all(path.stat().st_size < 1_500_000 for path in DATA.iterdir())


def test_every_entry_is_whole_and_names_its_sources(torch_facts: Knowledge):
    names = list(torch_facts.names())
    assert len(names) > 5000
    for name in names:
        entry = torch_facts.entry(name)
        assert entry is not None
        assert all(VERDICT.fullmatch(v) for v in (entry.verdict or "ok", *entry.forms.values())), name
        for field in ("calls", "dynamic", "verdict", "type"):
            assert not getattr(entry, field) or field in entry.sources, (name, field)
        assert not entry.returns or {"signature", "returns"} & set(entry.sources), name


def test_measured_callables_are_many_and_their_breaks_are_named(torch_facts: Knowledge):
    measured = [e for n in torch_facts.names() if (e := torch_facts.entry(n)) and e.verdict]
    assert sum(e.what == "external" for e in measured) > 1000
    assert sum(e.what in ("function", "method") for e in measured) > 1000
    ids = {v for e in measured for v in (e.verdict, *e.forms.values()) if v and v.startswith("GB")}
    assert len(ids & set(torch_facts.gb_types)) > 0.9 * len(ids)
