"""`gblint fix` and `gblint check --fix` on real files."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from gblint import registry
from gblint.codemod_api import Codemod, CodemodMeta, Edit, Repair, Site
from gblint.fixing import propose, session
from tests.conftest import spawn

MODEL = """\
import torch


@torch.compile
def f(x):
    print("a", x.shape)
    return x + 1
"""
GUARDED = MODEL.replace(
    '    print("a", x.shape)\n', '    if not torch.compiler.is_compiling():\n        print("a", x.shape)\n'
)


@pytest.fixture
def model(project) -> Path:
    return project({"model.py": MODEL}) / "model.py"


@pytest.fixture
def only(monkeypatch: pytest.MonkeyPatch):
    """Make one codemod the only one there is."""

    def use(repair, applicability: str = "safe") -> None:
        class Double(Codemod):
            meta = CodemodMeta("double", "a test double", ("print-call",))

            def repair(self, site: Site) -> Repair | None:
                return Repair(applicability, "do it", repair(site))

        monkeypatch.setattr(registry, "load_codemods", lambda: (Double,))
        propose.codemods_for.cache_clear()

    yield use
    propose.codemods_for.cache_clear()


def fix(gblint, *arguments):
    return gblint("fix", "--no-cache", *arguments)


def test_unsafe_fixes_are_made_when_asked_for_and_counted_otherwise(model: Path, gblint) -> None:
    kept = fix(gblint)
    assert kept.code == 1
    assert model.read_text() == MODEL
    assert "1 can be fixed with --unsafe-fixes" in kept.err
    made = fix(gblint, "--unsafe-fixes")
    assert made.code == 0
    assert model.read_text() == GUARDED
    assert "Fixed 1 graph break in 1 file." in made.err
    assert "guard-logging" in made.err


def test_diff_shows_and_changes_nothing(model: Path, gblint) -> None:
    result = fix(gblint, "--unsafe-fixes", "--diff")
    assert result.code == 1
    assert model.read_text() == MODEL
    assert "+    if not torch.compiler.is_compiling():" in result.out
    assert "--- a/model.py" in result.out
    assert fix(gblint, "--diff").code == 0


def test_rule_and_codemod_choose(model: Path, gblint) -> None:
    assert fix(gblint, "--unsafe-fixes", "--rule", "GB0170").code == 0
    assert model.read_text() == MODEL
    assert fix(gblint, "--unsafe-fixes", "--rule", "print-call", "--codemod", "guard-logging").code == 0
    assert model.read_text() == GUARDED
    unknown = fix(gblint, "--codemod", "guard-loging")
    assert unknown.code == 2
    assert "did you mean `guard-logging`?" in unknown.err


def test_check_repairs_and_reports_what_is_left(model: Path, gblint) -> None:
    model.write_text(MODEL + "\n\n@torch.compile\ndef g(x):\n    return bytes(3), x\n")
    result = gblint("check", "--no-cache", "--fix", "--unsafe-fixes", "--output-format", "concise")
    assert result.code == 1
    assert "print-call" not in result.out
    assert "untraceable-builtin" in result.out
    assert gblint("check", "--no-cache", "--unsafe-fixes").code == 2


def test_settings_promote_and_demote(model: Path, gblint) -> None:
    settings = model.with_name("gblint.toml")
    settings.write_text('[fix]\nextend-safe-fixes = ["guard-logging"]\n')
    assert fix(gblint).code == 0
    assert model.read_text() == GUARDED
    settings.write_text('[fix]\nlogging = "gard"\n')
    wrong = fix(gblint)
    assert wrong.code == 2
    assert "`fix`: `logging`: expected one of guard, reorder, ignore, remove" in wrong.err


def test_standard_input_is_repaired_to_standard_output(tmp_path: Path) -> None:
    result = spawn("fix", "--no-cache", "--unsafe-fixes", "-", cwd=tmp_path, stdin=MODEL.encode())
    assert (result.code, result.out) == (1, GUARDED)
    same = spawn("fix", "--no-cache", "-", cwd=tmp_path, stdin=GUARDED.encode())
    assert (same.code, same.out) == (0, GUARDED)


def test_bytes_outside_of_the_edit_stay(model: Path, gblint) -> None:
    odd = MODEL.replace("return x + 1", "return x + 1   ").replace("\n", "\r\n").replace("    ", "\t").rstrip("\r\n")
    model.write_bytes(b"\xef\xbb\xbf" + odd.encode())
    assert fix(gblint, "--unsafe-fixes").code == 0
    guarded = GUARDED.replace("return x + 1", "return x + 1   ").replace("\n", "\r\n").replace("    ", "\t")
    assert model.read_bytes() == b"\xef\xbb\xbf" + guarded.rstrip("\r\n").encode()


def test_a_silenced_break_is_left(model: Path, gblint) -> None:
    text = MODEL.replace("x.shape)\n", "x.shape)  # noqa: GB0059\n")
    model.write_text(text)
    assert fix(gblint, "--unsafe-fixes").code == 0
    assert model.read_text() == text


def test_only_named_files_are_changed(project, gblint) -> None:
    root = project({"pyproject.toml": "[tool.gblint]\n", "model.py": MODEL, "other.py": MODEL})
    assert fix(gblint, "--unsafe-fixes", "model.py").code == 0
    assert (root / "model.py").read_text() == GUARDED
    assert (root / "other.py").read_text() == MODEL


def test_an_edit_that_does_not_help_is_taken_back(model: Path, gblint, only) -> None:
    only(lambda site: [site.insert_before(site.statement(site.node), "x = x + 1\n")])
    result = fix(gblint)
    assert result.code == 1
    assert model.read_text() == MODEL
    assert "the break would still be there" in result.err


def test_an_edit_that_brings_another_break_is_taken_back(model: Path, gblint, only) -> None:
    only(lambda site: [site.replace_lines(site.statement(site.node), site.statement(site.node), "bytes(3)\n")])
    result = fix(gblint)
    assert model.read_text() == MODEL
    assert "it would bring up GB0059 untraceable-builtin" in result.err


def test_a_text_that_would_not_parse_is_not_offered(model: Path, gblint, only) -> None:
    only(lambda site: [site.replace(site.node, "print(")])
    result = fix(gblint)
    assert result.code == 1
    assert model.read_text() == MODEL
    assert (
        "no fix: the new text would not be Python: '(' was never closed (double)" in gblint("check", "--no-cache").out
    )


@pytest.mark.parametrize(
    ("string", "new"),
    [
        ("f'{print()}'", "d['a']"),
        ('f"{print()}"', 'd["a"]'),
        ('f"""{print()}"""', 'd["""a"""]'),
        ('f"""{print()}"""', "d['\\n']"),
        ('f"{print()}"', "(1,\n2)"),
        ('f"{print()}"', "{1: 2}"),
        ("f\"{f'{print()}'}\"", 'd["a"]'),
    ],
)
def test_a_text_that_an_f_string_cannot_hold_is_not_offered(model: Path, gblint, only, string: str, new: str) -> None:
    """Whatever the Python that gblint runs in allows: the project's may be an older one."""
    model.write_text(MODEL.replace('print("a", x.shape)', f"d = {string}"))
    only(lambda site: [site.replace(site.node, new)])
    assert "no fix: the f-string around it has no room for the new text" in gblint("check", "--no-cache").out


@pytest.mark.parametrize(("string", "new"), [('f"{print()}"', "len('a')"), ('f"""{print()}"""', '(len("a"),\n1)')])
def test_a_text_that_an_f_string_can_hold_is_put_there(model: Path, gblint, only, string: str, new: str) -> None:
    model.write_text(MODEL.replace('print("a", x.shape)', f"d = {string}"))
    only(lambda site: [site.replace(site.node, new)])
    assert fix(gblint).code == 0
    assert model.read_text() == MODEL.replace('print("a", x.shape)', f"d = {string.replace('print()', new)}")


def _unusable(site: Site, text: str = "print(\n") -> Edit:
    """An edit outside of the function: what codemods are asked about does not show what is wrong with it."""
    return site.at_module_level(text)


def test_an_edit_that_would_not_parse_is_taken_back(model: Path, gblint, only) -> None:
    only(lambda site: [_unusable(site)])
    result = fix(gblint)
    assert result.code == 1
    assert model.read_text() == MODEL
    assert "would leave model.py unusable" in result.err


def test_edits_that_would_not_parse_cost_the_others_nothing(model: Path, gblint, only) -> None:
    """However many there are."""
    many = 2 * session.TRIES
    body = "".join(f'    print("{n}", x.shape)\n' for n in range(many))
    model.write_text(MODEL.replace('    print("a", x.shape)\n', body + '    print("good", x.shape)\n'))

    def edits(site: Site):
        statement = site.statement(site.node)
        good = '"good"' in site.text(site.node)
        number = "".join(c for c in site.text(site.node) if c.isdigit())
        return [site.remove(statement) if good else _unusable(site, f"unclosed{number} = (\n")]

    only(edits)
    result = fix(gblint)
    assert result.code == 1
    assert model.read_text() == MODEL.replace('    print("a", x.shape)\n', body)
    assert result.err.count("would leave model.py unusable") == many


def test_a_draft_is_shown_and_not_made(model: Path, gblint, only) -> None:
    only(lambda site: [site.replace(site.node, "...")], "placeholder")
    assert fix(gblint, "--unsafe-fixes").code == 1
    assert model.read_text() == MODEL
    assert "fix [placeholder]: do it (double)" in gblint("check", "--no-cache").out


def test_a_codemod_at_fault_costs_only_its_own_answer(model: Path, gblint, only) -> None:
    only(lambda site: 1 / 0)
    result = gblint("check", "--no-cache")
    assert "print-call" in result.out
    assert "codemod double: ZeroDivisionError" in result.out


def test_a_file_changed_meanwhile_is_left(model: Path, gblint, monkeypatch: pytest.MonkeyPatch) -> None:
    real = session.check
    calls = []

    def check(*arguments):
        outcome = real(*arguments)
        if not calls:
            model.write_text(MODEL + "# edited\n")
            os.utime(model, ns=(time.time_ns() + 10**9,) * 2)
        calls.append(1)
        return outcome

    monkeypatch.setattr(session, "check", check)
    result = fix(gblint, "--unsafe-fixes")
    assert result.code == 2
    assert "changed while gblint was at work" in result.err
    assert model.read_text() == MODEL + "# edited\n"


def test_a_file_that_cannot_be_replaced_is_left_and_said(model: Path, gblint, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    result = fix(gblint, "--unsafe-fixes")
    monkeypatch.undo()
    assert result.code == 2
    assert "model.py: cannot be written: No space left on device; left as it is" in result.err
    assert "0 of 1 files were fixed" in result.err
    assert "Fixed" not in result.err
    assert model.read_text() == MODEL


def test_findings_say_in_json_what_their_fix_is(model: Path, gblint) -> None:
    import json

    (item,) = json.loads(gblint("check", "--no-cache", "--output-format", "json").out)
    assert item["fix"]["codemod"] == "guard-logging"
    assert item["fix"]["applicability"] == "unsafe"
    (edit,) = item["fix"]["edits"]
    assert edit["filename"] == str(model)
    assert edit["location"] == {"row": 6, "column": 1}
