"""What survives between runs, and what a bad cache does not do."""

from __future__ import annotations

import os
import sqlite3
import time
from pathlib import Path

import pytest

from gblint.index import build
from gblint.index import cache as cache_module
from gblint.index import project as project_module
from gblint.index.cache import IndexCache, content_digest, source_fingerprint
from gblint.index.project import Project

OLD = time.time() - 3600


def write(path: Path, text: str, age: float = OLD) -> Path:
    path.write_text(text)
    os.utime(path, (age, age))
    return path


@pytest.fixture(autouse=True)
def trusting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files written by a test are younger than a cache trusts."""
    monkeypatch.setattr(cache_module, "_RACY_NS", -1)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return write(tmp_path / "m.py", "def f(): pass\n")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def filled(folder: Path, source: Path) -> IndexCache:
    cache = IndexCache(folder)
    Project([source], [], cache).info(source)
    cache.put("key", b"blob")
    cache.close()
    assert not cache.problem
    return cache


def forbid(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    def fail(*_: object) -> None:
        raise AssertionError("not from the cache")

    for name in names:
        monkeypatch.setattr(build if name == "build_index" else project_module, name, fail)


def test_an_unchanged_file_is_neither_read_nor_parsed(
    folder: Path, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(folder, source)
    forbid(monkeypatch, "read_bytes", "build_index")
    cache = IndexCache(folder)
    project = Project([source], [], cache)
    info = project.info(source)
    assert [function.qualname for function in info.functions] == ["f"]
    assert info.path == str(source)
    assert project.digest(str(source)) == info.digest == content_digest(b"def f(): pass\n")
    assert cache.get("key") == b"blob"
    assert cache.get("other") is None


def test_a_touched_or_moved_file_is_read_but_not_parsed(
    folder: Path, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(folder, source)
    home = tmp_path / "elsewhere" / tmp_path.name
    home.mkdir(parents=True)
    moved = write(home / "m.py", source.read_text())
    os.utime(source)
    forbid(monkeypatch, "build_index")
    for path in (source, moved):
        info = Project([path], [], IndexCache(folder)).info(path)
        assert (info.path, info.functions[0].qualname) == (str(path), "f")


def test_a_changed_file_is_indexed_anew_even_with_its_old_time(folder: Path, source: Path) -> None:
    filled(folder, source)
    write(source, "def g(): pass\n")  # same size and modification time
    project = Project([source], [], IndexCache(folder))
    assert project.info(source).functions[0].qualname == "g"


def test_the_same_text_under_another_name_has_its_own_index(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "pkg").mkdir()
    init = write(tmp_path / "pkg" / "__init__.py", "from . import x\n")
    other = write(tmp_path / "pkg" / "other.py", "from . import x\n")
    cache = IndexCache(folder)
    project = Project([init, other], [], cache)
    assert (project.info(init).name, project.info(other).name) == ("pkg", "pkg.other")
    cache.close()
    project = Project([init, other], [], IndexCache(folder))
    assert (project.info(init).name, project.info(other).name) == ("pkg", "pkg.other")


def test_a_file_younger_than_its_time_stamp_can_tell_is_hashed_again(
    folder: Path, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache_module, "_RACY_NS", 10**18)
    filled(folder, source)
    assert IndexCache(folder).digest(str(source)) == ""


@pytest.mark.parametrize("damage", [b"", b"this is no database", "truncate", "blob", "table"])
def test_a_damaged_cache_is_rebuilt(folder: Path, source: Path, damage: bytes | str) -> None:
    path = filled(folder, source).path
    if damage == "truncate":
        path.write_bytes(path.read_bytes()[:5000])
    elif isinstance(damage, bytes):
        path.write_bytes(damage)
    else:
        with sqlite3.connect(path) as connection:
            query = "UPDATE indexes SET blob = x'c1ff'" if damage == "blob" else "DROP TABLE files"
            connection.execute(query)
        connection.close()
    for _ in range(2):
        cache = IndexCache(folder)
        assert Project([source], [], cache).info(source).functions[0].qualname == "f"
        cache.put("key", b"again")
        cache.close()
        assert not cache.problem
    last = IndexCache(folder)
    assert last.digest(str(source))
    assert last.get("key") == b"again"


def test_a_damaged_cache_met_only_when_saving_is_rebuilt(folder: Path, source: Path) -> None:
    path = filled(folder, source).path
    path.write_bytes(b"x" * 10_000)
    cache = IndexCache(folder)
    cache.put("key", b"new")
    cache.close()
    assert not cache.problem
    assert IndexCache(folder).get("key") == b"new"


def test_a_locked_cache_is_left_alone(folder: Path, source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache_module, "_BUSY_SECONDS", 0.05)
    path = filled(folder, source).path
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    cache = IndexCache(folder)
    assert Project([source], [], cache).info(source).functions[0].qualname == "f"
    cache.put("key", b"lost")
    cache.close()
    assert "another process" in cache.problem
    holder.execute("COMMIT")
    holder.close()
    assert IndexCache(folder).get("key") == b"blob"


def test_a_folder_that_cannot_be_made_costs_nothing_else(tmp_path: Path, source: Path) -> None:
    blocker = write(tmp_path / "file", "")
    cache = IndexCache(blocker / "cache")
    assert Project([source], [], cache).info(source).functions[0].qualname == "f"
    cache.close()
    assert cache.problem


def test_two_writers(folder: Path, source: Path) -> None:
    first, second = IndexCache(folder), IndexCache(folder)
    first.put("a", b"1")
    second.put("b", b"2")
    first.save()
    second.save()
    third = IndexCache(folder)
    assert (third.get("a"), third.get("b")) == (b"1", b"2")


def test_a_forked_worker_reads_and_saves_on_its_own(folder: Path, source: Path) -> None:
    filled(folder, source)
    cache = IndexCache(folder)
    assert cache.get("key") == b"blob"
    cache.put("parent", b"p")
    child = os.fork()
    if child == 0:
        good = cache.get("key") == b"blob" and cache.get("parent") is None
        cache.put("child", b"c")
        cache.save()
        os._exit(0 if good else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert cache.get("child") == b"c"
    cache.save()
    assert IndexCache(folder).get("parent") == b"p"


def test_the_folder_is_marked_as_a_cache(folder: Path, source: Path) -> None:
    filled(folder, source)
    assert (folder / ".gitignore").read_text() == "*\n"
    assert (folder / "CACHEDIR.TAG").read_text().startswith("Signature: 8a477f597d28d172789f06886806bc55")


def test_old_versions_go_and_recent_ones_stay(folder: Path, source: Path) -> None:
    folder.mkdir()
    old = write(folder / "gblint-0.0.1-py39-x.db", "", time.time() - 30 * 24 * 3600)
    recent = write(folder / "gblint-0.0.2-py39-x.db", "")
    filled(folder, source)
    assert not old.exists()
    assert recent.exists()


def test_a_cache_grown_too_big_starts_anew(folder: Path, source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(folder, source)
    monkeypatch.setattr(cache_module, "_SIZE_LIMIT", 100)
    cache = IndexCache(folder)
    cache.put("new", b"n")
    cache.close()
    again = IndexCache(folder)
    assert (again.get("key"), again.get("new")) == (None, b"n")


def test_names_that_are_no_text(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"m\xff.py")
    write(path, "__all__ = ['\\ud800']\ndef f(): pass\n")
    for _ in range(2):
        cache = IndexCache(folder)
        assert Project([path], [], cache).info(path).functions[0].qualname == "f"
        cache.put(str(path), b"x")
        cache.close()
        assert not cache.problem


def test_fingerprint_follows_names_and_contents(tmp_path: Path) -> None:
    write(tmp_path / "a.py", "1")
    first = source_fingerprint(tmp_path)
    assert source_fingerprint(tmp_path) == first
    write(tmp_path / "a.py", "2")
    second = source_fingerprint(tmp_path)
    (tmp_path / "a.py").rename(tmp_path / "b.py")
    assert len({first, second, source_fingerprint(tmp_path)}) == 3
