"""`gblint check --new-since`: what a branch adds, in real repositories."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from gblint.checking import Options, Outcome
from gblint.gate import since
from tests.conftest import finding

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

MODEL = """\
import torch
from tools import shout


class Net(torch.nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return x
        return shout(x)


net = torch.compile(Net())
"""
TOOLS = "def shout(x):\n    return -x\n\n\ndef cry(x):\n    print(x)\n    return x\n"


def git(root: Path, *words: str) -> str:
    identity = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    command = ["git", "-C", str(root), *identity, *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def commit(root: Path) -> None:
    git(root, "add", "-A")
    git(root, "commit", "-q", "--allow-empty", "-m", "a change")


@pytest.fixture
def repo(project) -> Path:
    root = project({"pyproject.toml": "", ".gitignore": ".gblint_cache\n", "model.py": MODEL, "tools.py": TOOLS})
    git(root, "init", "-q", "-b", "main")
    commit(root)
    return root


@pytest.fixture
def new(gblint):
    def ask(*arguments: str, rev: str = "main") -> list[tuple[str, int]]:
        result = gblint("check", "-j", "1", "--output-format", "json", "--new-since", rev, *arguments)
        assert result.code in (0, 1), result.err
        found = [(Path(item["filename"]).name, item["location"]["row"]) for item in json.loads(result.out)]
        assert result.code == bool(found)
        return found

    return ask


def test_only_what_was_added_is_reported(repo: Path, new, gblint) -> None:
    assert new() == []
    (repo / "model.py").write_text("# a line\n" * 100 + MODEL.replace("return shout(x)", "print(x)\n        return x"))
    assert new() == [("model.py", 109)]
    result = gblint("check", "-j", "1", "--new-since", "main")
    assert "Not shown: 1 there before, at main." in result.out


def test_a_break_in_a_file_that_has_not_changed(repo: Path, new) -> None:
    (repo / "model.py").write_text(MODEL.replace("shout", "cry"))
    assert new() == [("tools.py", 6)]
    assert new("tools.py") == [("tools.py", 6)]
    assert new("model.py") == []


def test_of_more_in_one_function_the_last_is_new(repo: Path, new) -> None:
    (repo / "model.py").write_text(MODEL.replace("        return shout(x)", "        if x.min() > 0: x = x + 1\n" * 2))
    assert new() == [("model.py", 9), ("model.py", 10)]


def test_work_that_is_not_committed_counts(repo: Path, new) -> None:
    git(repo, "checkout", "-q", "-b", "branch")
    (repo / "other.py").write_text("import torch\n\n@torch.compile\ndef f(x):\n    print(x)\n")
    assert new() == [("other.py", 5)]
    git(repo, "add", "-A")
    assert new() == [("other.py", 5)]
    commit(repo)
    assert new() == [("other.py", 5)]
    assert new(rev="HEAD") == []
    assert new("model.py") == []


def test_what_the_other_branch_repaired_meanwhile_is_not_new(repo: Path, new) -> None:
    git(repo, "checkout", "-q", "-b", "branch")
    commit(repo)
    git(repo, "checkout", "-q", "main")
    (repo / "model.py").write_text(MODEL.replace("if x.sum() > 0", "if x.ndim"))
    commit(repo)
    assert new(rev="branch") == []
    git(repo, "checkout", "-q", "branch")
    assert new() == []


@pytest.mark.parametrize("target", ["network.py", "pkg/network.py", "model/__init__.py"])
def test_a_renamed_file_is_known_under_its_old_name(repo: Path, new, target: str) -> None:
    (repo / target).parent.mkdir(exist_ok=True)
    git(repo, "mv", "model.py", target)
    assert new() == []
    assert new(target) == []


def test_a_module_that_becomes_a_package(repo: Path, new) -> None:
    (repo / "model.py").write_text(MODEL.replace("shout", "cry"))
    commit(repo)
    (repo / "tools").mkdir()
    git(repo, "mv", "tools.py", "tools/__init__.py")
    assert new(rev="HEAD") == []


def test_a_root_that_moved_to_another_file(repo: Path, new) -> None:
    (repo / "model.py").write_text(MODEL.replace("shout", "cry"))
    commit(repo)
    (repo / "model.py").unlink()
    (repo / "fresh.py").write_text("import torch\nfrom tools import cry\n\nrun = torch.compile(cry)\n")
    assert new(rev="HEAD") == [], "the helper was reached before, from a file that is gone"


def test_nothing_of_the_repository_changes(repo: Path, new) -> None:
    (repo / "beside.py").write_text("x = 1\n")
    commit(repo)
    (repo / "model.py").write_text(MODEL + "\n")
    (repo / "tools.py").unlink()
    hook = repo / ".git/hooks/post-checkout"
    hook.write_text("#!/bin/sh\ntouch ran\n")
    hook.chmod(0o755)
    os.utime(repo / "beside.py", (1, 1))  # git would like to write the new time into its index

    def state() -> list[tuple[str, bytes]]:
        files = (p for p in repo.rglob("*") if p.is_file() and ".gblint_cache" not in p.parts)
        return sorted((str(p), p.read_bytes()) for p in files)

    before = state()
    new("--no-cache")
    assert state() == before
    assert not (repo / "ran").exists()


def test_standard_input(repo: Path, new, monkeypatch) -> None:
    for name in ("model.py", "brand_new.py"):
        source = MODEL.replace("return shout(x)", "print(x)")
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(source.encode())))
        expected = [(name, 7), (name, 9)] if name == "brand_new.py" else [(name, 9)]
        assert new("-", "--stdin-filename", name) == expected


def test_with_a_baseline_both_have_to_find_it_new(repo: Path, gblint, new) -> None:
    (repo / "model.py").write_text(MODEL.replace("return shout(x)", "print(x)\n        print(x)"))
    gblint("check", "-j", "1", "--baseline", "base.json", "--update-baseline")
    assert new() == [("model.py", 9), ("model.py", 10)]
    (repo / "model.py").write_text(MODEL.replace("return shout(x)", "print(x)\n        print(x)\n        print(x)"))
    assert new("--baseline", "base.json") == [("model.py", 11)]


def test_a_hooks_own_repository_does_not_mislead(repo: Path, new, monkeypatch) -> None:
    monkeypatch.setenv("GIT_DIR", str(repo / "nowhere"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(repo / "no-index"))
    assert new() == []


@pytest.mark.parametrize(
    ("then", "now", "new_rows"),
    [
        # Rows of findings that are shown, and of doubtful ones.
        (([1], []), ([1], []), []),
        (([], [1]), ([1], []), []),  # it has become surer
        (([1], []), ([], [1]), []),
        (([], [1]), ([2], [1]), [2]),
        (([1], []), ([1], [2]), []),
        (([1], []), ([1, 3], [2]), [3]),
    ],
)
def test_doubtful_findings_are_there_too(repo: Path, monkeypatch, then, now, new_rows: list[int]) -> None:
    def outcome(shown: list[int], doubtful: list[int]) -> Outcome:
        findings, others = ([finding(repo / "model.py", row) for row in rows] for rows in (shown, doubtful))
        return Outcome(findings=findings, doubtful=others, checked=[str(repo / "model.py")])

    monkeypatch.setattr(since, "check", lambda *_: outcome(*then))
    found = since.added(outcome(*now), Options(paths=(str(repo),)), "HEAD")
    assert [f.row for f in found] == new_rows


@pytest.mark.parametrize("rev", ["nope", "--all", "", "HEAD:model.py", "deadbeef"])
def test_a_revision_that_is_none(repo: Path, gblint, rev: str) -> None:
    result = gblint("check", f"--new-since={rev}")
    assert (result.code, result.out) == (2, "")
    assert f"git knows no revision `{rev}` in {repo}" in result.err


def test_outside_of_git(project, gblint, tmp_path: Path) -> None:
    project({"a.py": "x = 1\n"})
    result = gblint("check", "--new-since", "HEAD")
    assert (result.code, result.out) == (2, "")
    assert f"{tmp_path} is in no git repository" in result.err


def test_without_git(repo: Path, gblint, monkeypatch) -> None:
    monkeypatch.setenv("PATH", "")
    result = gblint("check", "--new-since", "HEAD")
    assert (result.code, result.out) == (2, "")
    assert "git cannot be run: No such file or directory" in result.err


def test_a_broken_repository(repo: Path, gblint) -> None:
    blob = git(repo, "rev-parse", "HEAD:model.py").strip()
    (repo / "model.py").write_text(MODEL + "\n")
    (repo / ".git/objects" / blob[:2] / blob[2:]).unlink()
    result = gblint("check", "--new-since", "HEAD")
    assert result.code == 2
    assert "git" in result.err
    assert "Traceback" not in result.err
