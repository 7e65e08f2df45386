"""Runs of the engine: the same answer whatever the order, the processes and the cache; and what makes it look again."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from gblint import units
from gblint.analysis import Analysis, Settings, analyze
from gblint.index import cache as cache_module
from gblint.index.cache import IndexCache
from gblint.index.project import Project
from gblint.interpreter import machine as machine_module
from gblint.units import Plan, UnitResult, Worker
from tests.conftest import Write

BASE = """
import torch
from torch import nn

def check(config):
    return bool(config.checked)

class Base(nn.Module):
    kind = "base"

    def __init__(self, config):
        super().__init__()
        self.config = config
        self.scale = 2.0
        self.checked = check(config)
        self.post()

    def post(self):
        self.ready = self.more()

    def more(self):
        return True
"""
HELPERS = """
import torch

def gate(x: torch.Tensor):
    if x.sum() > 0:
        return x * 2
    return x

def plain(x):
    return x + 1
"""
MODEL = """
import torch
from torch import nn
from framework.base import Base
from models.helpers import gate, plain

class Layer{n}(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        print(x.shape, {n})
        return self.linear(plain(x))

class Model{n}(Base):
    def __init__(self, config):
        super().__init__(config)
        self.layers = nn.ModuleList([Layer{n}(config.width) for _ in range(config.depth)])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = layer(x)
        return gate(x * self.scale) if self.ready else x.item()
"""
COUNT = 12


@pytest.fixture(autouse=True)
def trusting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files written by a test are younger than a cache trusts."""
    monkeypatch.setattr(cache_module, "_RACY_NS", -1)


@pytest.fixture
def tree(project: Write) -> Path:
    shared = {"framework/__init__.py": "", "framework/base.py": BASE}
    files = shared | {"models/__init__.py": "", "models/helpers.py": HELPERS}
    return project(files | {f"models/model_{n}.py": MODEL.format(n=n) for n in range(COUNT)})


def run(root: Path, jobs: int = 1, cache: Path | None = None, search: tuple[str, ...] = ()) -> Analysis:
    files = sorted(path for path in root.rglob("*.py") if "libs" not in path.parts)
    return analyze(files, files, Settings(search_paths=search, jobs=jobs), cache)


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> Callable[[], set[str]]:
    """Gives the names of the files interpreted since it was last called."""
    names: set[str] = set()
    interpret = Worker.run

    def noting(self: Worker, plan: Plan) -> UnitResult:
        names.add(Path(plan.info.path).name)
        return interpret(self, plan)

    def taken() -> set[str]:
        found = set(names)
        names.clear()
        return found

    monkeypatch.setattr(Worker, "run", noting)
    return taken


def rewrite(path: Path, text: str) -> None:
    """Another content, and a time stamp that shows it."""
    path.write_text(text)
    later = time.time() + 10
    os.utime(path, (later, later))


MODELS = {f"model_{n}.py" for n in range(COUNT)}


def test_the_models_have_breaks(tree: Path) -> None:
    analysis = run(tree)
    assert {f.code for f in analysis.findings} >= {"GB0059", "GB0170"}
    assert len({f.filename for f in analysis.findings}) == COUNT + 1
    assert not analysis.stats.internal


def test_processes_do_not_change_the_answer(tree: Path) -> None:
    one, two = run(tree, jobs=1), run(tree, jobs=2)
    assert two.findings == one.findings
    assert two.stats == one.stats
    assert two.calls == one.calls


def test_a_unit_does_not_depend_on_those_before(tree: Path) -> None:
    files = sorted(tree.rglob("*.py"))
    settings = Settings()

    def results(order: list[Path], worker: Worker) -> dict[str, bytes]:
        encode = msgspec.msgpack.Encoder().encode
        return {str(p): encode(worker.run(Plan(worker.project.info(p), "modules"))) for p in order}

    forwards = results(files, Worker(Project(files, []), settings))
    backwards = results(files[::-1], Worker(Project(files, []), settings))
    alone = {k: v for p in files for k, v in results([p], Worker(Project(files, []), settings)).items()}
    assert forwards == backwards == alone


def test_a_warm_run_interprets_nothing_and_says_the_same(tree: Path, tmp_path: Path, ran) -> None:
    cold = run(tree, cache=tmp_path / "cache")
    assert ran() >= MODELS
    warm = run(tree, cache=tmp_path / "cache")
    assert ran() == set()
    assert warm.findings == cold.findings
    assert warm.stats == cold.stats


def test_a_changed_file_is_looked_at_again_with_all_that_use_it(tree: Path, tmp_path: Path, ran) -> None:
    run(tree, cache=tmp_path / "cache")
    ran()
    rewrite(tree / "models/model_3.py", MODEL.format(n=33))
    changed = run(tree, cache=tmp_path / "cache")
    assert ran() == {"model_3.py"}
    assert changed.findings == run(tree).findings
    ran()
    rewrite(tree / "models/helpers.py", HELPERS.replace("x.sum() > 0", "x.ndim > 0"))
    changed = run(tree, cache=tmp_path / "cache")
    assert ran() == MODELS
    assert "GB0170" not in {f.code for f in changed.findings if f.filename.endswith("helpers.py")}


def test_a_new_file_matters_to_those_that_looked_for_it(project: Write, tmp_path: Path, ran) -> None:
    model = "class M(nn.Module):\n    def forward(self, x):\n        return f(x)\n"
    text = "from torch import nn\nfrom {0} import f\n" + model
    library = {"libs/other.py": "def f(x):\n    return x\n"}
    root = project(library | {"a.py": text.format("ops"), "b.py": text.format("other")})
    search = (str(root / "libs"),)
    assert not run(root, cache=tmp_path / "cache", search=search).findings
    ran()
    (root / "ops.py").write_text("def f(x):\n    print(x)\n    return x\n")
    assert {Path(f.filename).name for f in run(root, cache=tmp_path / "cache", search=search).findings} == {"ops.py"}
    assert ran() == {"a.py"}
    (root / "other.py").write_text("def f(x):\n    print(x)\n    return x\n")  # comes before the one in libs
    found = run(root, cache=tmp_path / "cache", search=search).findings
    assert {Path(f.filename).name for f in found} == {"ops.py", "other.py"}
    assert ran() == {"b.py"}
    run(root, cache=tmp_path / "cache", search=search)
    assert ran() == set()


def test_a_torch_setting_elsewhere_in_the_package_counts(tree: Path, tmp_path: Path, ran) -> None:
    run(tree, cache=tmp_path / "cache")
    ran()
    (tree / "models/settings.py").write_text("import torch\ntorch._dynamo.config.capture_scalar_outputs = True\n")
    run(tree, cache=tmp_path / "cache")
    assert ran() >= MODELS


def test_other_rules_or_settings_start_anew(tree: Path, tmp_path: Path, ran, monkeypatch: pytest.MonkeyPatch) -> None:
    run(tree, cache=tmp_path / "cache")
    ran()
    files = sorted(tree.rglob("*.py"))
    analyze(files, files, Settings(target_torch="2.12"), tmp_path / "cache")
    assert ran() >= MODELS
    monkeypatch.setattr(cache_module, "source_fingerprint", lambda *folders: "other")
    run(tree, cache=tmp_path / "cache")
    assert ran() >= MODELS


def test_what_processes_learn_of_libraries_is_kept(project: Write, tmp_path: Path) -> None:
    models = {f"model_{n}.py": MODEL.format(n=n).replace("models.helpers", "helpers") for n in range(COUNT)}
    framework = {"libs/framework/__init__.py": "", "libs/framework/base.py": BASE}
    root = project(models | framework | {"libs/helpers.py": HELPERS})
    library = root / "libs/framework/base.py"
    run(root, jobs=2, cache=tmp_path / "cache", search=(str(root / "libs"),))
    cache = IndexCache(tmp_path / "cache")
    digest = cache.digest(str(library))
    assert digest == cache_module.content_digest(library.read_bytes())
    assert cache.load(digest, "framework.base", "framework") is not None


def test_an_interrupted_run_keeps_what_it_found(tree: Path, tmp_path: Path, ran) -> None:
    def stop(done: int, total: int, path: str) -> None:
        if done == 5:
            raise KeyboardInterrupt

    files = sorted(tree.rglob("*.py"))
    with pytest.raises(KeyboardInterrupt):
        analyze(files, files, Settings(), tmp_path / "cache", stop)
    first = ran()
    run(tree, cache=tmp_path / "cache")
    assert len(first) > 2
    assert first & ran() <= {"model_0.py"}  # which runs again for the repairs in what it shares with the others


def test_a_cache_that_cannot_be_used_costs_nothing_else(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    assert run(tree, cache=tmp_path / "file").findings == run(tree).findings


def test_roots_that_are_cut_short_are_counted(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(tree).stats.cut == 0
    monkeypatch.setattr(machine_module, "ROOT_BUDGET", 5)
    stats = run(tree).stats
    assert stats.cut >= COUNT
    assert not stats.internal


def test_the_key_of_a_unit_names_all_settings(tree: Path) -> None:
    others = [Settings(), Settings(roots=("m:f",)), Settings(roots_mode="all"), Settings(python="3.12")]
    assert len({units.settings_key(s) for s in others}) == 4
    assert units.settings_key(Settings(jobs=4)) == units.settings_key(Settings())
