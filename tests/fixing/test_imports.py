"""Names of modules in a file, and new import statements where isort would have them."""

from __future__ import annotations

import pytest

from gblint.fixing.edits import edited
from gblint.fixing.imports import add, behind_imports, unused_after
from gblint.index.build import build_index


def index(text: str):
    return build_index(text, "/p/a.py", "a", "", "")


def added(text: str, name: str) -> str:
    return edited(text.encode(), [add(index(text), text.split("\n"), name)]).decode()


FUTURE = "from __future__ import annotations\n"
SORTED = "import os\n\nimport numpy as np\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x = 1\n", "import torch\n\nx = 1\n"),
        ('"""Doc."""\n\nx = 1\n', '"""Doc."""\nimport torch\n\nx = 1\n'),
        ("# licence\n\nx = 1\n", "# licence\nimport torch\n\nx = 1\n"),
        ("import os\n\nx = 1\n", "import os\n\nimport torch\n\nx = 1\n"),
        (f"{SORTED}import yaml\n", f"{SORTED}import torch\nimport yaml\n"),
        ("from torch import nn\n\nx = 1\n", "import torch\nfrom torch import nn\n\nx = 1\n"),
        (f"{FUTURE}\nx = 1\n", f"{FUTURE}\nimport torch\n\nx = 1\n"),
    ],
    ids=["empty", "docstring", "comment", "stdlib", "sorted", "before-from", "future"],
)
def test_where_an_import_goes(before: str, after: str) -> None:
    assert added(before, "torch") == after


def test_a_standard_import_goes_before_a_third_party_one() -> None:
    assert added("import torch\n", "math") == "import math\n\nimport torch\n"


def test_module_level_lines_go_behind_the_imports() -> None:
    text = "import torch\n\n\ndef f(): ...\n"
    made = behind_imports(index(text), text.split("\n"), "torch.x = 1\n")
    assert edited(text.encode(), [made]).decode() == "import torch\n\ntorch.x = 1\n\n\ndef f(): ...\n"


def removed(before: str, after: str, path: str = "a.py") -> str:
    edits = unused_after(path, before.encode(), after.encode())
    return edited(before.encode(), edits).decode()


def test_an_import_whose_last_use_went_goes_too() -> None:
    before = "import time\nimport os\nx = time.time()\nprint(os)\n"
    assert removed(before, "import time\nimport os\nprint(os)\n") == "import os\nx = time.time()\nprint(os)\n"


@pytest.mark.parametrize(
    "line",
    ["import time  # noqa: F401\n", "from time import (\n    time,\n)\n", "from a import time, b\n"],
    ids=["marked", "lines", "several"],
)
def test_other_imports_stay(line: str) -> None:
    before = f"{line}x = time\nb\n"
    assert removed(before, f"{line}b\n") == before


def test_what_was_unused_before_stays_and_packages_are_left_alone() -> None:
    before = "import time\nimport os\nx = os\n"
    assert removed(before, "import time\nimport os\n") == "import time\nx = os\n"
    assert removed(before, "import time\nimport os\n", "pkg/__init__.py") == before


def test_a_name_listed_for_export_stays() -> None:
    before = "import time\n__all__ = ['time']\nx = time\n"
    assert removed(before, "import time\n__all__ = ['time']\n") == before
