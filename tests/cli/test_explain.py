"""`gblint explain` in a terminal, as data, and with a clone of PyTorch's graph-break site."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.conftest import spawn

PAGE = """\
---
layout: default
---
# GB0059

## Graph-Break Type
*Short name describing what triggered the graph break*

A builtin that cannot be traced


## Additional Information

<!-- ADDITIONAL INFORMATION START - Add custom information below this line -->
Some code:
```python
print("x")
```

<!-- ADDITIONAL INFORMATION END -->

[Click here to add Additional Info](https://github.com/x/edit/main/docs/gb/gb0059.md)

[Back to Registry](../index.html)
"""


def plain(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def test_a_terminal_gets_styled_text_no_wider_than_it_is(tmp_path) -> None:
    shown = spawn("explain", "print-call", cwd=tmp_path, FORCE_COLOR="1", COLUMNS="60").out
    assert "\x1b[1mWhat breaks.\x1b[0m" in shown
    lines = plain(shown).splitlines()
    assert "GB0059 print-call" in lines[0]
    assert 'print("hidden", h.shape)' in plain(shown)
    assert "`" not in plain(shown)
    address = "https://meta-pytorch.org/compile-graph-break-site/gb/gb0059.html"
    assert address in plain(shown)
    assert [line for line in lines if len(line) > 60 and line.strip() != address] == []
    assert plain(spawn("explain", "guard-logging", cwd=tmp_path, FORCE_COLOR="1").out).strip().startswith("guard-logg")


def test_a_pipe_gets_the_text_as_it_was_written(tmp_path) -> None:
    assert "\x1b" not in spawn("explain", "print-call", cwd=tmp_path).out
    assert "\x1b" not in spawn("explain", "print-call", cwd=tmp_path, FORCE_COLOR="1", NO_COLOR="1").out


def test_as_data(gblint) -> None:
    found = json.loads(gblint("explain", "GB0059", "--output-format", "json").out)
    assert {"print-call", "dir-of-object"} <= {item["name"] for item in found}
    (printing,) = (item for item in found if item["name"] == "print-call")
    assert printing["kind"] == "rule"
    assert "**Why Dynamo breaks.**" in printing["markdown"]
    assert printing["url"].endswith("gb0059.html")
    (repair,) = json.loads(gblint("explain", "reorder-logging", "--output-format", "json").out)
    assert repair["kind"] == "codemod"
    assert "print-call" in repair["fixes"]
    renamed = json.loads(gblint("explain", "iterator-from-outside", "--output-format", "json").out)[0]
    assert {"torch": ">=2.14", "code": "GB9493"} in renamed["other_ids"]
    every = json.loads(gblint("explain", "--output-format", "json").out)
    assert [item["code"] for item in every] == [r["code"] for r in json.loads(gblint("rules", "--output-format", "json").out)]  # fmt: skip # noqa: E501


@pytest.mark.parametrize("folder", ["docs/gb", "GBID directory/gb", "gb", "."])
def test_the_page_of_pytorch_is_shown_too(folder, project, gblint) -> None:
    project({f"site/{folder}/gb0059.md": PAGE, f"site/{folder}/gb0002.md": "# GB0002\n\nSomething else.\n"})
    page = gblint("explain", "print-call", "--site", "site").out
    assert page.startswith(gblint("explain", "print-call").out)
    ours = page[len(gblint("explain", "print-call").out) :]
    assert ours.lstrip("\n").startswith("What PyTorch says about GB0059\n====")
    assert "A builtin that cannot be traced" in ours
    assert 'print("x")' in ours
    assert not re.search("<!--|layout: default|Back to|Click here|^# GB0059", ours, re.MULTILINE)


def test_an_id_that_no_rule_is_about_is_explained_by_the_page_alone(project, gblint) -> None:
    project({"site/docs/gb/gb0002.md": "# GB0002\n\nSomething else.\n"})
    result = gblint("explain", "gb0002", "--site", "site")
    assert result.code == 0
    assert "Something else." in result.out
    data = json.loads(gblint("explain", "GB0002", "--site", "site", "--output-format", "json").out)
    assert data == [{"kind": "pytorch", "code": "GB0002", "markdown": "Something else.\n"}]
    assert gblint("explain", "GB0003", "--site", "site").code == 0, "gblint has a rule, the site no page"
    assert gblint("explain", "GB9999", "--site", "site").code == 2


def test_the_site_may_stand_in_the_environment(project) -> None:
    root = project({"site/docs/gb/gb0059.md": PAGE})
    assert "What PyTorch says" in spawn("explain", "print-call", cwd=root, GBLINT_SITE="site").out


def test_a_folder_without_pages_is_an_error_that_says_what_is_expected(project, gblint) -> None:
    project({"site/readme.md": ""})
    result = gblint("explain", "print-call", "--site", "site")
    assert result.code == 2
    assert "no pages about graph breaks in site" in result.err
    assert "compile-graph-break-site" in result.err
    assert gblint("explain", "print-call", "--site", str(Path("gone"))).code == 2
