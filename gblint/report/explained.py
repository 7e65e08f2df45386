"""A rule or codemod explained: as plain text, as data, or as styled text for a terminal."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from gblint.codemod_api import Codemod
from gblint.registry import documentation
from gblint.report.page import markdown
from gblint.rule_api import Rule

# Where the pages lie in a clone of PyTorch's site: below docs today, below the folder with a space before.
_FOLDERS = ("docs/gb", "GBID directory/gb", "gb", ".")
_FRONT = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
_COMMENT = re.compile(r"<!--.*?-->\n?", re.DOTALL)
_NAVIGATION = re.compile(r"^\[(?:Click here|Back to|Edit this)[^\]]*\]\([^)]*\)\n?", re.MULTILINE)


def site_pages(site: Path) -> Path | None:
    """The folder with the pages of a clone of PyTorch's graph-break site, None if there are none."""
    return next((site / folder for folder in _FOLDERS if any((site / folder).glob("gb[0-9][0-9][0-9][0-9].md"))), None)


def site_page(pages: Path, code: str) -> str:
    """PyTorch's page on an id as Markdown, without its navigation and its title; "" if there is none."""
    try:
        text = (pages / f"{code.lower()}.md").read_text("utf-8", "replace")
    except OSError:
        return ""
    for part in (_FRONT, _COMMENT, _NAVIGATION, re.compile(rf"\A\s*# {code}\n", re.IGNORECASE)):
        text = part.sub("", text)
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def rule_text(rule: type[Rule]) -> str:
    """A rule as its author wrote it, with the facts about it."""
    meta = rule.meta
    url = f"{meta.url}\n" if meta.url else ""
    return (
        f"{_titled(f'{meta.code} {meta.slug}')}{documentation(rule)}\n\nInstead: {meta.advice}\n{_facts(rule)}\n{url}"
    )


def codemod_text(codemod: type[Codemod]) -> str:
    """A codemod as its author wrote it, with the facts about it."""
    return f"{_titled(codemod.meta.name)}{documentation(codemod)}\n\n{_codemod_facts(codemod)}\n"


def site_text(code: str, page: str) -> str:
    """PyTorch's page below a title."""
    return f"{_titled(f'What PyTorch says about {code}')}{page}"


def rule_markdown(rule: type[Rule]) -> str:
    """A rule as Markdown."""
    meta = rule.meta
    return f"# {meta.code} {meta.slug}\n\n{markdown(documentation(rule))}\n{_facts(rule)}\n"


def codemod_markdown(codemod: type[Codemod]) -> str:
    """A codemod as Markdown."""
    return f"# {codemod.meta.name}\n\n{markdown(documentation(codemod))}\n{_codemod_facts(codemod)}\n"


def site_markdown(code: str, page: str) -> str:
    """PyTorch's page below a title, as Markdown."""
    return f"# What PyTorch says about {code}\n\n{page}"


def rule_facts(rule: type[Rule]) -> dict[str, Any]:
    """The metadata of a rule as plain data."""
    meta = rule.meta
    return {
        "code": meta.code,
        "name": meta.slug,
        "summary": meta.summary,
        "category": meta.category,
        "advice": meta.advice,
        "torch": meta.torch,
        "since": meta.since,
        "url": meta.url or None,
    }


def rule_data(rule: type[Rule]) -> dict[str, Any]:
    """A rule as plain data, with its documentation."""
    return {
        "kind": "rule",
        **rule_facts(rule),
        "other_ids": [{"torch": where, "code": code or None} for where, code in rule.meta.renamed],
        "text": documentation(rule),
        "markdown": markdown(documentation(rule)),
    }


def codemod_data(codemod: type[Codemod]) -> dict[str, Any]:
    """A codemod as plain data."""
    meta = codemod.meta
    return {
        "kind": "codemod",
        "name": meta.name,
        "summary": meta.summary,
        "fixes": list(meta.fixes),
        "since": meta.since,
        "text": documentation(codemod),
        "markdown": markdown(documentation(codemod)),
    }


def site_data(code: str, page: str) -> dict[str, Any]:
    """PyTorch's page as plain data."""
    return {"kind": "pytorch", "code": code, "markdown": page}


def styled_rule(rule: type[Rule], width: int) -> str:
    """A rule for a terminal; the address at its end stays on one line, so that it can be opened."""
    url = f"{rule.meta.url}\n" if rule.meta.url else ""
    return styled(rule_markdown(rule), width) + url


def styled(text: str, width: int) -> str:
    """Markdown with headings, code and emphasis as a terminal shows them, in lines of a width."""
    from rich.console import Console
    from rich.markdown import Markdown

    console = Console(width=width, force_terminal=True, legacy_windows=False)
    with console.capture() as capture:
        console.print(Markdown(text, code_theme="ansi_dark", hyperlinks=False))
    return "\n".join(line.rstrip() for line in capture.get().splitlines()) + "\n"


def _titled(title: str) -> str:
    return f"{title}\n{'=' * len(title)}\n\n"


def _facts(rule: type[Rule]) -> str:
    meta = rule.meta
    return f"Category: {meta.category}. {meta.releases}. Since gblint {meta.since}."


def _codemod_facts(codemod: type[Codemod]) -> str:
    meta = codemod.meta
    return f"Repairs findings of {', '.join(meta.fixes)}. Since gblint {meta.since}."
