"""What two runs are held to: which breaks are the same, and whether results are."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from gblint.fixing.moved import Moved
from gblint.verify.outputs import Call, Outputs, difference, recorded, recording
from gblint.verify.pairing import Change
from gblint.verify.prove import Observation, observe
from gblint.verify.sites import Site
from gblint.verify.trial import Baseline, Seen, judge_edits
from tests.conftest import Write

OLD = b"a\nb\nc\nd\n"


def site(row: int, code: str = "GB0059", function: str = "f", filename: str = "/p/m.py") -> Site:
    return Site(code, "name", filename, row, function, count=1)


def observation(*sites: Site, recompiles: int = 0, code: int = 0, traced: tuple[int, ...] = ()) -> Observation:
    rows = {"/p/m.py": set(traced)}
    found = Observation(list(sites), {}, rows, 1, 0.1, code, "failed" if code else "", 1.0, [])
    if recompiles:
        found.recompiles = {None: recompiles}  # type: ignore[dict-item]
    return found


def worse(before: Observation, after: Observation, new: bytes = b"a\nb\nnew\nc\nd\n") -> list[str]:
    change = Change({"/p/m.py": OLD}, {"/p/m.py": new})
    return judge_edits(Baseline(Seen(before)), Seen(after), change).worse


def test_rows_are_followed_back() -> None:
    moved = Moved(b"a\nb\nc\nd\ne\n", b"a\nX\nY\nc\nd\nnew\ne\n")
    assert [moved.back(row) for row in range(1, 8)] == [(1, 1), (2, 2), (2, 2), (3, 3), (4, 4), (4, 5), (5, 5)]
    assert [moved.untouched(row) for row in range(1, 8)] == [True, False, False, True, True, False, True]


def test_breaks_are_paired_by_row_then_text_then_function() -> None:
    change = Change({"/p/m.py": OLD}, {"/p/m.py": b"a\nB1\nB2\nc\nd\n"})
    pairs = change.pairs([site(1), site(2), site(4), site(3, "GB0170")], [site(1), site(3), site(5)])
    assert [(a.row, b.row) for a, b in pairs.same] == [(1, 1), (4, 5), (2, 3)]
    assert [(s.row, s.code) for s in pairs.gone] == [(3, "GB0170")]
    elsewhere = change.pairs([site(1, function="g")], [site(4, function="g"), site(4, filename="/p/n.py")])
    assert [(a.row, b.row) for a, b in elsewhere.same] == [(1, 4)]
    assert [s.filename for s in elsewhere.fresh] == ["/p/n.py"]


def test_new_breaks_and_recompiles_are_worse() -> None:
    assert worse(observation(site(1)), observation(site(1))) == []
    assert worse(observation(site(1)), observation()) == []
    assert worse(observation(site(1)), observation(site(3, "GB0170"))) == ["a new break came up: m.py:3 GB0170 name"]
    assert worse(observation(), observation(recompiles=1)) == ["1 recompiles instead of 0"]
    assert worse(observation(recompiles=2), observation(recompiles=1)) == []


def test_what_was_hidden_may_come_to_light_for_a_break_that_went() -> None:
    hidden = site(5, "GB0170")
    assert worse(observation(site(1), traced=(1,)), observation(hidden)) == []
    assert worse(observation(site(1), traced=(1, 4)), observation(hidden)) != []
    assert len(worse(observation(site(1)), observation(hidden, site(4, "GB0170", "g")))) == 2


def test_the_exit_status_counts() -> None:
    assert worse(observation(site(1)), observation(code=1)) == ["failed"]
    assert worse(observation(site(1), code=1), observation(code=1)) == []
    assert worse(observation(site(1), code=1), observation(site(5), site(4, "GB0170"), recompiles=3)) == []


# ---------------------------------------------------------------------------------------------------------- outputs


def outputs(*leaves: list[object], kind: str = "call") -> Outputs:
    return Outputs([[Call(kind, leaves)]])


def tensor(*values: float, dtype: str = "float32", largest: float | None = None) -> list[object]:
    return ["t", dtype, [len(values)], max(map(abs, values)) if largest is None else largest, list(values)]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (tensor(1.0, 100.0), tensor(1.005, 100.0), True),
        (tensor(1.0, 100.0), tensor(1.02, 100.0), False),
        (tensor(1.0, dtype="float64"), tensor(1.00001, dtype="float64"), False),
        (tensor(1.0, dtype="bfloat16"), tensor(1.02, dtype="bfloat16"), True),
        (tensor(1.0, dtype="float16"), tensor(1.02, dtype="float16"), False),
        (tensor(100_000, dtype="int64"), tensor(100_001, dtype="int64"), False),
        (tensor(1, dtype="int64"), tensor(1, dtype="int32"), False),
        (tensor(1.0, float("nan"), largest=1.0), tensor(1.0, float("nan"), largest=1.0), True),
        (tensor(1.0, largest=1.0), tensor(float("nan"), largest=1.0), False),
        (tensor(float("inf")), tensor(float("inf")), True),
        (tensor(float("inf")), tensor(1.0), False),
        (["v", "0.1"], ["v", "0.10000001"], True),
        (["v", "3"], ["v", "4"], False),
        (["v", "'a'"], ["v", "'a'"], True),
        (["o", "Cache"], ["o", "Cache"], True),
        (["o", "Cache"], ["v", "None"], False),
    ],
)
def test_tolerance_goes_by_type(one: list[object], other: list[object], same: bool) -> None:
    assert (difference(outputs(one), outputs(other)) == "") is same
    assert (difference(outputs(other), outputs(one)) == "") is same


def test_calls_have_to_be_the_same_in_number_and_kind() -> None:
    two = Outputs([[Call("call", (["v", "1"],))] * 2])
    assert difference(two, outputs(["v", "1"])) == "1 calls and gradients were recorded, not 2"
    assert difference(outputs(["v", "1"]), two) == "2 calls and gradients were recorded, not 1"
    assert difference(outputs(["v", "1"]), two, prefix=True) == ""
    assert "a call came where gradients were" in difference(two, outputs(["v", "1"], kind="gradients"))
    assert "2 values, not 1" in difference(two, outputs(["v", "1"], ["v", "1"]))
    assert difference(two, Outputs()) == "0 processes recorded something, not 1"


RECORDED = """\
import torch
from dataclasses import dataclass

@dataclass
class Out:
    loss: torch.Tensor
    note: str

weight = torch.ones(2, requires_grad=True)
model = torch.compile(torch.nn.Linear(2, 2), backend="eager")

@torch.compile(backend="eager")
def inner(x):
    return x * 2

@torch.compile(backend="eager")
def f(x):
    print("b")
    return Out((inner(x) * weight).sum(), "n"), {"k": torch.rand(3)}

out, _ = f(model(torch.ones(2, dtype=torch.float32)))
out.loss.backward()
try:
    torch.compile(lambda x: x[3], backend="eager")([])
except IndexError:
    pass
print(type(model).__name__, model.weight.shape, f.__name__)
"""


def test_a_program_records_itself(project: Write) -> None:
    pytest.importorskip("torch")
    own = "import os\nos.environ['OWN'] = 'yes'\n"
    text = RECORDED + "import os\nprint(os.environ['OWN'], 'sitecustomize' in __import__('sys').modules)\n"
    folder = project({"model.py": text, "own/sitecustomize.py": own})
    env = {**os.environ, "PYTHONPATH": str(folder / "own")}
    words = [sys.executable, str(folder / "model.py")]
    plain = observe(words, env=env)
    runs = []
    for eager in (False, True):
        found = observe(words, env=recording(env, folder / "scratch", eager))
        runs.append(recorded(folder / "scratch"))
        assert found.tail == ["b", "OptimizedModule torch.Size([2, 2]) f", "yes True"]
        if eager:
            assert (found.sites, found.graphs) == ([], 0)
        else:
            assert [(s.row, s.code, s.count) for s in found.sites] == [(s.row, s.code, s.count) for s in plain.sites]
            assert (found.graphs, found.recompile_count) == (plain.graphs, plain.recompile_count)
    (calls,) = runs[0].processes
    assert [call.kind for call in calls] == ["call", "call", "gradients", "call"]
    assert [leaf[0] for leaf in calls[1].leaves] == ["t", "v", "t"]
    assert [leaf[2] for leaf in calls[2].leaves] == [[2, 2], [2], [2]]
    assert calls[3].leaves == (["o", "IndexError"],)
    assert difference(runs[0], runs[1]) == ""


def test_a_cut_off_recording_is_read(tmp_path: Path) -> None:
    recording({}, tmp_path / "r")
    (tmp_path / "r" / "calls" / "1.jsonl").write_text(json.dumps(["call", ["v", "1"]]) + '\n["call", ["v"')
    assert recorded(tmp_path / "r").processes == [[Call("call", (["v", "1"],))]]
