"""What mkdocs does for the site besides rendering docs/: pages from elsewhere in the repository, and links to them.

mkdocs finds the functions by their names (`hooks` in mkdocs.yml).
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
# Pages of the repository outside of docs/ → where they are on the site.
_ELSEWHERE = {
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "corpus/README.md": "corpus.md",
    "README.md": "index.md",  # the site has a first page of its own
}
# A drawing that a script from elsewhere would have to make; the same one stands below it as text.
_MERMAID = re.compile(r"^```mermaid\n.*?^```\n", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(!?)\[([^\]\n]*)\]\(([^)\s#]+)(#[^)\s]*)?\)")


def on_files(files: Any, config: Any) -> Any:
    """Add the pages from elsewhere."""
    from mkdocs.structure.files import File

    for source, name in _ELSEWHERE.items():
        if name != "index.md":
            files.append(File.generated(config, name, content=(ROOT / source).read_text("utf-8")))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Let links between files of the repository lead to pages of the site."""
    markdown = _MERMAID.sub("", markdown)
    place = {name: source for source, name in _ELSEWHERE.items() if name != "index.md"}.get(page.file.src_uri)
    return linked(markdown, place or f"docs/{page.file.src_uri}", page.file.src_uri)


def linked(markdown: str, source: str, name: str) -> str:
    """A page with links as the site has them; a link to a file that is not on the site becomes its text.

    source: the page's path in the repository; name: its path on the site.
    """

    def relinked(found: re.Match[str]) -> str:
        mark, text, target, anchor = found[1], found[2], found[3], found[4] or ""
        if "://" in target:
            return found[0]
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
        on_site = path.removeprefix("docs/") if path.startswith("docs/") else _ELSEWHERE.get(path)
        if on_site is None:
            return text
        if on_site == "index.md":
            anchor = ""
        return f"{mark}[{text}]({posixpath.relpath(on_site, posixpath.dirname(name) or '.')}{anchor})"

    return _LINK.sub(relinked, markdown)
