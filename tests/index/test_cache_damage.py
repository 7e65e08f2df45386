"""A cache is believed only as it was written: damage, other hands, killed writers and company."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from gblint.index import cache as cache_module
from gblint.index.cache import IndexCache
from tests.conftest import Result, Write, spawn

CHECK = ("check", "-j1", "--output-format", "json")
MODEL = """
import torch
from torch import nn

class Net{n}(nn.Module):
    def forward(self, x):
        if x.sum() > {n}:
            print(x)
        return x[x > {n}].item()
"""


@pytest.fixture
def models(project: Write, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(cache_module, "_RACY_NS", -1)  # files written by a test are younger than a cache trusts
    folder = project({"pyproject.toml": "[tool.gblint]\n", **{f"m{n}.py": MODEL.format(n=n) for n in range(6)}})
    for file in folder.iterdir():
        os.utime(file, (1e9, 1e9))
    return folder


def database(folder: Path) -> Path:
    (found,) = (folder / ".gblint_cache").glob("*.db")
    return found


@pytest.mark.parametrize("name", [b"files", b"indexes", b"results"])
def test_a_damaged_name_that_is_no_text_is_damage(name: bytes, models: Path, gblint: Callable[..., Result]) -> None:
    expected = gblint(*CHECK).out
    whole = database(models).read_bytes()
    schema = (
        whole[:4096].replace(b"TABLE " + name, b"TABL\xe6 " + name).replace(b"table" + name, b"table\xe6" + name[1:])
    )
    assert schema != whole[:4096]
    database(models).write_bytes(schema + whole[4096:])
    result = gblint(*CHECK)
    assert (result.out, result.err) == (expected, "")


def test_no_damage_is_believed(models: Path, gblint: Callable[..., Result]) -> None:
    expected = gblint(*CHECK).out
    whole = database(models).read_bytes()
    random = Random(7)
    for number in range(40):
        damaged = bytearray(whole)
        for _ in range(random.choice((1, 4, 40))):
            damaged[random.randrange(len(whole))] ^= 1 << random.randrange(8)
        cut = random.randrange(len(whole)) if number % 3 == 0 else len(whole)
        database(models).write_bytes(damaged[:cut])
        result = gblint(*CHECK)
        assert (result.out, result.err) == (expected, ""), number


def test_entries_that_changed_places_are_not_believed(models: Path, gblint: Callable[..., Result]) -> None:
    expected = gblint(*CHECK).out
    for table, column in (("indexes", "blob"), ("results", "blob"), ("files", "digest")):
        connection = sqlite3.connect(database(models))
        key = "path" if table == "files" else "key"
        rows = connection.execute(f"SELECT {key}, {column} FROM {table} ORDER BY {key}").fetchall()
        assert len(rows) > 3
        for (name, _), (_, other) in zip(rows, [*rows[1:], rows[0]], strict=True):
            connection.execute(f"UPDATE {table} SET {column} = ? WHERE {key} = ?", (other, name))
        connection.commit()
        connection.close()
        assert gblint(*CHECK).out == expected


def test_checks_side_by_side_share_one_cache(models: Path) -> None:
    expected = spawn(*CHECK, "-n", cwd=models).out
    command = [sys.executable, "-m", "gblint", *CHECK]
    for _ in range(2):  # cold, then warm
        together = [subprocess.Popen(command, cwd=models, stdout=subprocess.PIPE, text=True) for _ in range(4)]
        assert [process.communicate(timeout=120)[0] for process in together] == [expected] * 4
    (check,) = sqlite3.connect(database(models)).execute("PRAGMA integrity_check").fetchone()
    assert check == "ok"


WRITER = """
import sys
from pathlib import Path
from gblint.index.cache import IndexCache
cache = IndexCache(Path(sys.argv[1]))
number = 0
while True:
    number += 1
    for name in range(300):
        cache.put(f"k{name}", f"{name} ".encode() * 2000)
    cache.save()
    print(number, flush=True)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_a_killed_writer_leaves_what_is_right_or_nothing(tmp_path: Path) -> None:
    random = Random(3)
    for _ in range(8):
        writer = subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path / "c")], stdout=subprocess.PIPE)
        assert writer.stdout is not None
        writer.stdout.readline()
        time.sleep(random.random() / 20)
        writer.kill()
        writer.communicate()
        cache = IndexCache(tmp_path / "c")
        for name in range(300):
            assert cache.get(f"k{name}") in (None, f"{name} ".encode() * 2000)
        cache.put("after", b"1")
        cache.close()
        assert not cache.problem
        assert IndexCache(tmp_path / "c").get("after") == b"1"


posix = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="needs users")


@posix
@pytest.mark.parametrize("what", ["folder", "file"])
def test_what_others_can_write_is_not_read(models: Path, gblint: Callable[..., Result], what: str) -> None:
    expected = gblint(*CHECK).out
    place = database(models) if what == "file" else models / ".gblint_cache"
    before = database(models).read_bytes()
    place.chmod(0o777)
    (models / "m0.py").write_text(MODEL.format(n=99))
    result = gblint(*CHECK)
    assert result.code == 1
    assert "the cache is not used: other users can write to" in result.err
    assert str(place) in result.err
    assert database(models).read_bytes() == before
    place.chmod(0o700)
    assert gblint(*CHECK).err == ""
    assert gblint(*CHECK).out != expected


@posix
def test_a_folder_of_another_user_is_not_read(
    models: Path, gblint: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = gblint(*CHECK).out
    if os.geteuid() == 0:
        os.chown(models / ".gblint_cache", 4242, -1)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: 4242)
    result = gblint(*CHECK)
    assert result.out == expected
    assert "belongs to another user" in result.err


@posix
def test_the_cache_is_made_for_one_user(models: Path, gblint: Callable[..., Result]) -> None:
    before = os.umask(0)
    try:
        gblint(*CHECK)
    finally:
        os.umask(before)
    assert (models / ".gblint_cache").stat().st_mode & 0o077 == 0
    assert database(models).stat().st_mode & 0o077 == 0
