"""The site that mkdocs makes of the documentation: it builds without a warning, and needs nothing from elsewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from gblint.devtools.site import linked
from gblint.registry import load_codemods, load_rules

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the site, built as strictly as mkdocs does."""
    pytest.importorskip("material", reason="mkdocs-material is not installed (the extra `docs`)")
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_every_page_is_there(site: Path) -> None:
    pages = {path.relative_to(site).as_posix() for path in site.rglob("index.html")}
    assert {"index.html", "start/index.html", "contributing/index.html", "corpus/index.html"} <= pages
    own = [rule for rule in load_rules() if rule.__module__.startswith("gblint.")]
    assert {f"rules/{rule.meta.code}/index.html" for rule in own} <= pages
    assert {f"codemods/{codemod.meta.name}/index.html" for codemod in load_codemods()} <= pages
    assert not (site / "examples").exists(), "programs are shown on pages, not as files"


def test_every_page_of_the_docs_is_in_the_navigation(site: Path) -> None:
    home = (site / "index.html").read_text("utf-8")
    named = set(re.findall(r'href="([\w/.-]+)/"', home))
    missing = [page.stem for page in (ROOT / "docs").glob("*.md") if page.stem not in {*named, "index"}]
    assert missing == [], "add it to `nav` in mkdocs.yml"


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    for page in site.rglob("index.html"):
        text = page.read_text("utf-8")
        loaded = re.findall(r'<(?:script|img|iframe)[^>]* src="(https?:[^"]*)"', text)
        loaded += re.findall(r'<link[^>]* rel="(?:stylesheet|preconnect)"[^>]* href="(https?:[^"]*)"', text)
        assert loaded == [], page
        assert 'class="mermaid"' not in text, "material loads what draws it from elsewhere"


def test_a_page_of_a_rule_says_how_often_it_is_right_and_since_when(site: Path) -> None:
    text = (site / "rules/GB0059/index.html").read_text("utf-8")
    assert re.search(r"Measured precision: \d+ % \(\d+ of \d+ findings in the <a href=\"../../corpus/\">corpus", text)
    assert "torch &gt;=2.8" in text


def test_source_that_is_shown_is_coloured_and_whole(site: Path) -> None:
    text = (site / "writing-a-rule/index.html").read_text("utf-8")
    plain = re.sub(r"<[^>]+>", "", text)
    assert "class MetricCall(Rule):" in plain
    assert '<span class="k">class</span>' in text


@pytest.mark.parametrize(
    ("link", "source", "name", "on_site"),
    [
        ("[a](fixing.md)", "docs/ci.md", "ci.md", "[a](fixing.md)"),
        ("[a](../fixing.md#x)", "docs/rules/GB0059.md", "rules/GB0059.md", "[a](../fixing.md#x)"),
        ("[a](../CONTRIBUTING.md#x)", "docs/plugins.md", "plugins.md", "[a](contributing.md#x)"),
        ("[a](../../corpus/README.md)", "docs/rules/GB0059.md", "rules/GB0059.md", "[a](../corpus.md)"),
        ("[a](docs/ci.md)", "CONTRIBUTING.md", "contributing.md", "[a](ci.md)"),
        ("[a](README.md#x)", "CONTRIBUTING.md", "contributing.md", "[a](index.md)"),
        ("see [a](../LICENSE).", "docs/ci.md", "ci.md", "see a."),
        ("[a](https://b.c/d.md)", "docs/ci.md", "ci.md", "[a](https://b.c/d.md)"),
        ("[a](#below)", "docs/ci.md", "ci.md", "[a](#below)"),
    ],
)
def test_links_lead_to_pages_of_the_site(link: str, source: str, name: str, on_site: str) -> None:
    assert linked(link, source, name) == on_site
