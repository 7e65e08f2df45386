"""Files are replaced whole or not at all."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from gblint.errors import GblintError
from gblint.fixing import rewrite
from gblint.fixing.rewrite import replace_file

OLD, NEW = b"old\n", b"new\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.py"
    path.write_bytes(OLD)
    return path


def leftovers(file: Path) -> list[str]:
    return [name for name in os.listdir(file.parent) if name != file.name]


def test_content_changes_and_mode_stays(file: Path) -> None:
    file.chmod(0o751)
    replace_file(str(file), OLD, NEW)
    assert file.read_bytes() == NEW
    assert stat.S_IMODE(file.stat().st_mode) == 0o751
    assert leftovers(file) == []


def test_a_link_stays_and_its_target_changes(file: Path) -> None:
    link = file.with_name("link.py")
    link.symlink_to(file)
    replace_file(str(link), OLD, NEW)
    assert link.is_symlink()
    assert file.read_bytes() == NEW


def test_a_file_changed_meanwhile_is_left(file: Path) -> None:
    file.write_bytes(b"somebody else\n")
    with pytest.raises(GblintError, match="changed while gblint was at work"):
        replace_file(str(file), OLD, NEW)
    assert file.read_bytes() == b"somebody else\n"


def test_a_file_that_is_gone_is_left(file: Path) -> None:
    file.unlink()
    with pytest.raises(GblintError, match="cannot be read"):
        replace_file(str(file), OLD, NEW)
    assert not file.exists()


def test_a_read_only_file_is_left(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The super-user may write to any file, so the system's answer is stood in for.
    monkeypatch.setattr(os, "access", lambda path, mode: not (mode & os.W_OK))
    with pytest.raises(GblintError, match="read-only"):
        replace_file(str(file), OLD, NEW)
    assert file.read_bytes() == OLD


@pytest.mark.parametrize("step", ["fsync", "replace", "chmod"])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EACCES, errno.EIO])
def test_a_fault_on_the_way_leaves_the_file(file: Path, monkeypatch: pytest.MonkeyPatch, step: str, code: int) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(GblintError, match=os.strerror(code)):
        replace_file(str(file), OLD, NEW)
    monkeypatch.undo()
    assert file.read_bytes() == OLD
    assert leftovers(file) == []


def test_an_owner_that_cannot_be_kept_is_a_fault(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    real = os.stat

    class Foreign:
        st_uid, st_gid = 12345, 12345

    def foreign(path: str, **options: object) -> object:
        return Foreign() if str(path) == str(file) and not options else real(path, **options)

    monkeypatch.setattr(os, "chown", fail)
    monkeypatch.setattr(rewrite.os, "stat", foreign)
    monkeypatch.setattr(rewrite, "raw_bytes", lambda path, limit: OLD)
    with pytest.raises(GblintError, match="not permitted"):
        replace_file(str(file), OLD, NEW)
    monkeypatch.undo()
    assert file.read_bytes() == OLD
    assert leftovers(file) == []


def test_an_interrupt_leaves_the_file(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        replace_file(str(file), OLD, NEW)
    monkeypatch.undo()
    assert file.read_bytes() == OLD
    assert leftovers(file) == []
