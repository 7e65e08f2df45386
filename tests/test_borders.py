"""Who may import whom: the borders that keep engine, rules and codemods apart."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ENGINE = sorted((ROOT / "gblint").rglob("*.py"))
RULES = sorted((ROOT / "rules").glob("*.py"))
CODEMODS = sorted((ROOT / "codemods").rglob("*.py"))
WITH_TORCH = ("devtools", "generate", "verify")


def imports(file: Path) -> Iterator[str]:
    """Absolute dotted names of all modules that a file imports, anywhere in it."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"relative import in {file}"
            yield node.module or ""


def place(file: Path) -> str:
    return file.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("file", ENGINE, ids=place)
def test_engine_knows_no_single_rule(file: Path) -> None:
    outside = {name for name in imports(file) if name.startswith(("gblint.rules", "gblint.codemods"))}
    if file.name in ("registry.py", "units.py"):
        outside -= {"gblint.rules", "gblint.codemods"}  # as a whole: to walk them, to know when one has changed
    assert outside == set()


@pytest.mark.parametrize("file", RULES, ids=place)
def test_rules_import_one_module(file: Path) -> None:
    foreign = {name for name in imports(file) if name.partition(".")[0] not in sys.stdlib_module_names}
    assert foreign <= {"gblint.rule_api", "libcst"}


@pytest.mark.parametrize("file", CODEMODS, ids=place)
def test_codemods_do_not_import_the_engine(file: Path) -> None:
    foreign = {name for name in imports(file) if name.partition(".")[0] not in sys.stdlib_module_names}
    assert foreign <= {"gblint.codemod_api", "libcst", "libcst.matchers", "libcst.metadata"}


@pytest.mark.parametrize("file", ENGINE, ids=place)
def test_only_tools_that_run_programs_import_torch(file: Path) -> None:
    if any(part in WITH_TORCH for part in file.parts):
        return
    assert not {name for name in imports(file) if name.partition(".")[0] in ("torch", "transformers", "numpy")}


@pytest.mark.parametrize("file", ENGINE, ids=place)
def test_only_the_language_server_speaks_the_protocol(file: Path) -> None:
    if place(file).startswith(("gblint/server/", "gblint/cli/server")):
        return
    assert not {name for name in imports(file) if name.startswith(("pygls", "lsprotocol", "gblint.server"))}


def test_checking_loads_neither_torch_nor_tools(tmp_path: Path) -> None:
    model = tmp_path / "model.py"
    model.write_text("import torch\n\n@torch.compile\ndef f(x):\n    print(x)\n    return x\n", encoding="utf8")
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from gblint.analysis import Settings, analyze\n"
        f"file = Path({str(model)!r})\n"
        "assert analyze([file], [file], Settings()).findings\n"
        "heavy = ('torch', 'numpy', 'gblint.devtools', 'pygls', 'lsprotocol')\n"
        "loaded = [name for name in sys.modules if name.startswith(heavy)]\n"
        "assert not loaded, loaded\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
