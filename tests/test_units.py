"""Torch ranges of rules, and the keys results are kept under."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from gblint.analysis import Settings
from gblint.index.cache import IndexCache
from gblint.index.project import Project
from gblint.ranges import applies
from gblint.units import Plan, Worker, settings_key


@pytest.mark.parametrize(
    ("specifier", "holds"),
    [
        (">=2.8", "2.8 2.13 2.14 3.0"),
        (">2.8", "2.13 2.14 3.0"),
        ("<2.13", "2.7 2.8"),
        ("<=2.13", "2.7 2.8 2.13"),
        ("==2.13", "2.13"),
        (">=2.8,<2.14", "2.8 2.13"),
        (">= 2.8, < 2.14", "2.8 2.13"),
        (">=2.8,!=2.13", "2.8 2.14 3.0"),
        (">=2.14,<2.8", ""),
    ],
)
def test_ranges_of_releases(specifier: str, holds: str) -> None:
    releases = "2.7 2.8 2.13 2.14 3.0".split()
    found = [r for r in releases if applies(specifier, (int(r.split(".")[0]), int(r.split(".")[1])))]
    assert found == holds.split()


@pytest.mark.parametrize("specifier", ["2.8", "~=2.8", "", "=>2.8"])
def test_a_range_that_cannot_be_read_is_an_error(specifier: str) -> None:
    with pytest.raises(ValueError, match="torch range"):
        applies(specifier, (2, 13))


def make(tmp_path: Path, settings: Settings, **files: str) -> tuple[Worker, list[Path]]:
    paths = [tmp_path / f"{name}.py" for name in files]
    for path, text in zip(paths, files.values(), strict=True):
        path.write_text(text)
    cache = IndexCache(tmp_path / "cache")
    return Worker(Project(paths, [], cache), settings), paths


def test_keys_tell_files_modes_and_settings_apart(tmp_path: Path) -> None:
    files = {"a": "x = 1\n", "b": "import torch\ntorch._dynamo.config.capture_scalar_outputs = True\n"}
    keys: set[str] = set()
    for settings in (
        Settings(),
        Settings(target_torch="2.8"),
        Settings(roots=("a:f",)),
        Settings(search_paths=("lib",)),
    ):
        worker, paths = make(tmp_path, settings, **files)
        keys |= {
            worker.unit_key(Plan(worker.project.info(path), mode))
            for path in paths
            for mode in ("explicit", "modules", "all")
        }
    assert len(keys) == 4 * 2 * 3


def test_a_torch_setting_in_the_file_is_part_of_its_key(tmp_path: Path) -> None:
    plain, (path,) = make(tmp_path, Settings(), a="import torch\n\nf = torch.compile(abs)\n")
    before = plain.unit_key(Plan(plain.project.info(path), "explicit"))
    setting = "import torch\ntorch._dynamo.config.capture_scalar_outputs = True\nf = torch.compile(abs)\n"
    other, (path,) = make(tmp_path, Settings(), a=setting)
    assert other.unit_key(Plan(other.project.info(path), "explicit")) != before


def test_the_number_of_processes_changes_no_key() -> None:
    assert settings_key(Settings(jobs=8)) == settings_key(Settings())


def test_a_result_is_remembered_only_while_all_it_rests_on_is_unchanged(tmp_path: Path) -> None:
    files = {"a": "import torch\nfrom b import g\n\nf = torch.compile(g)\n", "b": "def g(x):\n    return x\n"}
    worker, (path, other) = make(tmp_path, Settings(), **files)
    info = worker.project.info(path)
    assert worker.cached(Plan(info, "explicit")) is None
    result = worker.run(Plan(info, "explicit"))
    worker.remember(Plan(info, "explicit"), result)
    assert worker.cached(Plan(info, "explicit")) == result
    assert worker.cached(Plan(info, "modules")) is None
    files["b"] = "def g(x):\n    return print(x)\n"
    again, _ = make(tmp_path, Settings(), **files)
    again.project.cache = worker.project.cache
    assert str(other) in dict(result.files)
    assert again.cached(Plan(again.project.info(path), "explicit")) is None


def test_a_result_with_errors_of_gblint_is_not_kept(tmp_path: Path) -> None:
    worker, (path,) = make(tmp_path, Settings(), a="import torch\n\nf = torch.compile(abs)\n")
    info = worker.project.info(path)
    result = worker.run(Plan(info, "explicit"))
    result.internal.append("a rule failed")
    worker.remember(Plan(info, "explicit"), result)
    assert worker.cached(Plan(info, "explicit")) is None
    assert Worker(Project([path], []), Settings()).cached(Plan(info, "explicit")) is None


USER = "import torch\nfrom lib import g\n\n\ndef f(x):\n    return g(x)\n\n\nh = torch.compile(f)\n"
LIBRARY = "class A:\n    x = 1\n\n\ndef g(x):\n    print(x)\n    return x\n\n\ndef other(x):\n    return x\n"


@pytest.mark.parametrize(
    ("old", "new", "holds"),
    [
        ("", "", True),
        ("def other(x):\n    return x\n", "def other(x):\n    return x + 1\n", True),
        ("\n\ndef other", "\n\ndef added():\n    pass\n\n\ndef other", True),
        ("print(x)", "input(x)", False),
        ("class A", "# a comment moves all that comes after\nclass A", False),
        ("def other(x):", "@staticmethod\ndef other(x):", False),
        ("x = 1", "y = 1", False),
        ("\n\ndef other", "\n\ndef print(x):\n    pass\n\n\ndef other", False),
        ("\n\ndef other", "\n\ndef g(x):\n    return x\n\n\ndef other", False),
        ("x\n\n\ndef other(x):\n    return x\n", "x\n", False),
        ("def g", "def g(:\n\ndef g", False),
    ],
)
def test_an_edit_elsewhere_concerns_only_who_read_what_it_changed(
    tmp_path: Path, old: str, new: str, holds: bool
) -> None:
    worker, (path, _) = make(tmp_path, Settings(), user=USER, lib=LIBRARY)
    info = worker.project.info(path)
    result = worker.run(Plan(info, "explicit"))
    assert [(f.row, Path(f.filename).name) for f in result.findings] == [(6, "lib.py")]
    worker.remember(Plan(info, "explicit"), result)
    assert worker.project.cache is not None
    worker.project.cache.close()
    again, _ = make(tmp_path, Settings(), user=USER, lib=LIBRARY.replace(old, new, 1))
    kept = again.cached(Plan(again.project.info(path), "explicit"))
    assert (kept is not None) is holds
    if kept is not None:
        fresh = again.run(Plan(again.project.info(path), "explicit"))
        assert kept.findings == fresh.findings
        assert kept.files == fresh.files


def test_an_edit_of_the_file_itself_is_always_seen(tmp_path: Path) -> None:
    worker, (path, _) = make(tmp_path, Settings(), user=USER, lib=LIBRARY)
    info = worker.project.info(path)
    worker.remember(Plan(info, "explicit"), worker.run(Plan(info, "explicit")))
    assert worker.project.cache is not None
    worker.project.cache.close()
    again, _ = make(tmp_path, Settings(), user=USER + "\n\ndef added():\n    pass\n", lib=LIBRARY)
    assert again.cached(Plan(again.project.info(path), "explicit")) is None


BASE = """import functools
import torch
from torch import nn

REGISTRY = {}


def quiet(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs)

    return wrapper


class Base(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.flag = bool(config)
        REGISTRY[type(self)] = self


def mask_of(x, limit=None):
    if x.sum() > 0:
        return x
    return x.nonzero() if limit is None else x
"""
MODEL = """import torch
from torch import nn
from lib.base import Base, mask_of, quiet


class Layer(nn.Module):
    def __init__(self, size, sparse={sparse}):
        super().__init__()
        self.linear = nn.Linear(size, size)
        self.sparse = sparse

    def forward(self, x):
        if self.sparse:
            print("sparse")
        return self.linear(mask_of(x, {limit}))


class Model(Base):
    def __init__(self, config):
        super().__init__(config)
        self.first = Layer(config.size)
        self.second = Layer(config.size)
        self.second.sparse = True

    @quiet
    def forward(self, x):
        return self.second(self.first(x))


class Head(Base):
    def __init__(self, config):
        super().__init__(config)
        self.model = Model(config)

    def forward(self, x):
        return self.model(x).tolist()
"""


def test_results_do_not_depend_on_the_order_of_units(tmp_path: Path) -> None:
    texts = {"lib/__init__": "", "lib/base": BASE}
    for n, (sparse, limit) in enumerate([("False", "None"), ("True", "None"), ("False", "3"), ("None", "x")]):
        texts |= {f"m{n}/__init__": "", f"m{n}/model": MODEL.format(sparse=sparse, limit=limit)}
    paths = [tmp_path / f"{name}.py" for name in texts]
    for path, text in zip(paths, texts.values(), strict=True):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    found = []
    for seed in range(4):
        order = list(paths)
        random.Random(seed).shuffle(order)
        worker = Worker(Project(paths, [tmp_path]), Settings())
        results = {path: worker.run(Plan(worker.project.info(path), "modules")) for path in order}
        found.append([results[path] for path in paths])
    assert all(results == found[0] for results in found)
    assert {f.code for result in found[0] for f in result.findings} >= {"GB0033", "GB0170"}


def test_an_object_changed_after_it_was_made_is_not_like_the_others(tmp_path: Path) -> None:
    texts = {"base": BASE, "model": MODEL.format(sparse="False", limit="None").replace("lib.base", "base")}
    worker, (_, path) = make(tmp_path, Settings(), **texts)
    result = worker.run(Plan(worker.project.info(path), "modules"))
    assert [f.message for f in result.findings if f.row == 14 and f.filename == str(path)]
