"""What keeps moved code from being called the same: each change of a program that is proved takes the proof away."""

from __future__ import annotations

from pathlib import Path

import pytest

from gblint.checking import Options, check

PROVED = """\
import torch


@torch.compile(backend="eager")
@torch.no_grad()
def f(x, pick):
    out = torch.zeros_like(x)
    for i in range(2):
        if pick[i] > 0:
            out[i] = 1.0
    return out * 2


f(torch.ones(2), torch.ones(2))
"""
SEED = """\
import torch


@torch.compile(backend="eager")
def f(x, seed: int):
    torch.manual_seed(seed)
    return x + torch.rand(2)


f(torch.ones(2), 3)
"""


def offers(file: Path) -> set[tuple[str, str]]:
    """The opaque operations offered for a file, with how sure they are."""
    found = check(Options(paths=(str(file),), isolated=True, no_cache=True, all_fixes=True)).findings
    names = ("leaf-function", "custom-operator")
    return {(x.codemod, x.applicability) for f in found for x in f.fixes if x.codemod in names}


def changed(tmp_path: Path, text: str, old: str, new: str) -> Path:
    assert old in text
    file = tmp_path / "program.py"
    file.write_text(text.replace(old, new, 1), encoding="utf8")
    return file


def test_a_script_that_shows_everything_is_proved(tmp_path: Path) -> None:
    assert offers(changed(tmp_path, PROVED, "torch", "torch")) == {
        ("leaf-function", "safe"),
        ("custom-operator", "safe"),
    }
    assert offers(changed(tmp_path, SEED, "torch", "torch")) == {("leaf-function", "safe")}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("@torch.no_grad()\n", ""),
        ("torch.zeros_like(x)", "x.view(-1)"),
        ("out = torch.zeros_like(x)", "out = torch.zeros_like(x)\n    top = x\n    top[0] = 1.0"),
        ("out[i] = 1.0", "x[i] = 1.0"),
        ("out[i] = 1.0", "out = out + x"),
        ("out[i] = 1.0", "out[i] = torch.rand(())"),
        ("out[i] = 1.0", "out[i] = SCALE"),
        ("out[i] = 1.0", "row = x[i]\n            row += 1\n            out[i] = row"),
        ("out[i] = 1.0", "print(i)"),
        ("import torch\n", "import torch\nimport lightning\n"),
        ("f(torch.ones(2), torch.ones(2))\n", ""),
        ("f(torch.ones(2), torch.ones(2))\n", "with torch.inference_mode():\n    f(torch.ones(2), torch.ones(2))\n"),
        ("f(torch.ones(2), torch.ones(2))\n", "with torch.autocast('cpu'):\n    f(torch.ones(2), torch.ones(2))\n"),
    ],
)
def test_a_change_takes_the_proof_away(tmp_path: Path, old: str, new: str) -> None:
    text = PROVED.replace("import torch\n", "import torch\n\nSCALE = 1\n", 1)
    assert not {o for o in offers(changed(tmp_path, text, old, new)) if o[1] == "safe"}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('backend="eager"', ""),
        ("seed: int", "seed"),
        ("torch.rand(2)", "torch.initial_seed()"),
        ("torch.manual_seed(seed)", "g = torch.manual_seed(seed)"),
    ],
)
def test_a_seed_is_one_of_a_whole_number_in_eager_code(tmp_path: Path, old: str, new: str) -> None:
    text = SEED.replace("f(torch.ones(2), 3)", "f(torch.ones(2), torch.tensor(3))") if new == "seed" else SEED
    assert not {o for o in offers(changed(tmp_path, text, old, new)) if o[1] == "safe"}


def test_a_script_that_is_imported_is_not_alone(tmp_path: Path) -> None:
    (tmp_path / "other.py").write_text("import program\n", encoding="utf8")
    changed(tmp_path, PROVED, "torch", "torch")
    assert not {o for o in offers(tmp_path) if o[1] == "safe"}
