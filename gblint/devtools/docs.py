"""`python -m gblint.devtools.docs` writes the parts of the documentation that follow from the code.

These are the pages in docs/rules/ and docs/codemods/, made of metadata, docstrings and examples, the schema of the
settings, docs/accuracy.md, source below a comment `<!-- file: PATH -->`, and the excerpt of a report in the README and
the picture of one, made by running gblint on corpus/models. With --check nothing is written: the command lists what is
out of date and exits with 1.
"""

from __future__ import annotations

import io
import os
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from difflib import unified_diff
from functools import cache
from itertools import groupby, pairwise
from pathlib import Path
from xml.etree import ElementTree as Xml

import click

from gblint.checking import Options, Outcome, check
from gblint.codemod_api import Codemod
from gblint.devtools import published, settings_schema
from gblint.findings.confidence import shipped
from gblint.findings.finding import STRENGTH
from gblint.registry import documentation, load_codemods, load_rules
from gblint.report import FORMATS, Style
from gblint.report.page import markdown
from gblint.rule_api import Rule

ROOT = Path(__file__).parents[2]
MODELS = "corpus/models"
PICTURE = "docs/report.svg"
BEGIN, END = "<!-- report: python -m gblint.devtools.docs -->\n", "<!-- end of report -->"
_FILE = re.compile(r"<!-- file: (?P<path>\S+) -->\n(?:```python\n.*?\n```\n)?", re.DOTALL)
_WIDTH = 122  # columns of the terminal in the picture
_REPORT = re.compile(f"{re.escape(BEGIN)}.*?{re.escape(END)}", re.DOTALL)


def pages() -> dict[str, str]:
    """Every generated page: path from the root of the repository → text."""
    own = [rule for rule in load_rules() if rule.__module__.startswith("gblint.")]  # none of plugins
    by_code = {code: list(rules) for code, rules in groupby(own, key=lambda rule: rule.meta.code)}
    made = {f"docs/rules/{code}.md": code_page(code, rules) for code, rules in by_code.items()}
    made["docs/rules/README.md"] = index_page(by_code)
    made |= {f"docs/codemods/{c.meta.name}.md": codemod_page(c) for c in load_codemods()}
    made["docs/codemods/README.md"] = codemod_index()
    made["docs/schema/settings.json"] = settings_schema.text((ROOT / "docs/configuration.md").read_text("utf-8"))
    for page in sorted((ROOT / "docs").glob("*.md")):
        text = page.read_text("utf-8")
        if _FILE.search(text):
            made[f"docs/{page.name}"] = with_files(text)
    made["docs/accuracy.md"] = published.page(ROOT)
    made["README.md"] = with_report((ROOT / "README.md").read_text("utf-8"), report_excerpt(Style()))
    made[PICTURE] = picture(report_excerpt(Style(colour=True)))
    return made


def stale() -> list[str]:
    """Paths of generated pages that are not what they should be: out of date, missing, or of a rule that is gone."""
    made = pages()
    there = {f"docs/{d}/{path.name}" for d in ("rules", "codemods") for path in (ROOT / "docs" / d).glob("*.md")}
    wrong = [name for name, text in made.items() if _content(_read(ROOT / name)) != _content(text)]
    return sorted(wrong) + sorted(there - set(made))


def _read(path: Path) -> str:
    return path.read_text("utf-8") if path.is_file() else ""


# ------------------------------------------------------------------------------------------------------------ rules


def index_page(by_code: dict[str, list[type[Rule]]]) -> str:
    """The list of all rules, by what Dynamo's authors say of the break."""
    by_category: dict[str, list[type[Rule]]] = defaultdict(list)
    for rules in by_code.values():
        for rule in rules:
            by_category[rule.meta.category].append(rule)
    sections = []
    for category, text in _CATEGORIES.items():
        metas = [rule.meta for rule in by_category[category]]
        rows = [f"| [{m.code}]({m.code}.md) | `{m.slug}` | {m.summary} |" for m in metas]
        if rows:
            sections.append("\n".join([f"## {text}", "", *_TABLE, *rows]))
    return _INDEX + "\n\n".join(sections) + "\n"


_CATEGORIES = {
    "fundamental": "What no compiler of graphs can do",
    "supportable": "What Dynamo does not support yet",
    "user-error": "What is wrong in any case",
    "dynamo-bug": "Errors of Dynamo",
    "recompile": "What fails in silence (off until it is selected)",
    "needless": "What is not needed any more (off until it is selected)",
}
_TABLE = ("| id | name | what breaks the graph |", "|---|---|---|")
_INDEX = """# Rules

One page for each graph-break id of PyTorch; an id that stands for several patterns has several rules, each with a name
of its own. `gblint explain ID` or `gblint explain NAME` prints the same text. In settings and comments a rule is named
by its id, its name, or the start of an id.

These pages are written by `python -m gblint.devtools.docs` from the docstrings in `rules/`.

"""


def code_page(code: str, rules: list[type[Rule]]) -> str:
    """The page of one id."""
    url = rules[0].meta.url
    link = f"[What PyTorch says about {code}]({url}). " if url else ""
    head = f"# {code}\n\n{link}[All rules](README.md).\n"
    return head + "".join(_section(rule) for rule in rules)


def _section(rule: type[Rule]) -> str:
    meta = rule.meta
    facts = f"Category: {meta.category}. {meta.releases}. Since gblint {meta.since}."
    return f"\n## {meta.slug}\n\n{markdown(documentation(rule))}\n{facts}\n\n{_measured(rule)}\n"


def _measured(rule: type[Rule]) -> str:
    """How often findings of a rule were right where confidence was fitted."""
    known = shipped().rules.get(f"{rule.meta.code} {rule.meta.slug}")
    if known is None or not known.findings:
        return "Measured precision: none, the rule has no finding in the [corpus](../../corpus/README.md)."
    share = f"{known.hits} of {known.findings} findings in the [corpus](../../corpus/README.md)"
    return f"Measured precision: {100 * known.hits / known.findings:.0f} % ({share} were breaks)."


def codemod_index() -> str:
    """The list of all codemods."""
    rows = [f"| [{c.meta.name}]({c.meta.name}.md) | {c.meta.summary} | {_worst(c)} |" for c in load_codemods()]
    return "\n".join([_CODEMODS, "| name | what it does | repairs are |", "|---|---|---|", *rows]) + "\n"


def _worst(codemod: type[Codemod]) -> str:
    return ", ".join(word for word in STRENGTH if any(e.applicability == word for e in codemod.EXAMPLES))


_CODEMODS = """# Codemods

One page for each repair that `gblint fix` knows ([about repairs](../fixing.md)). `gblint explain NAME` prints the same
text. These pages are written by `python -m gblint.devtools.docs` from the docstrings and examples in `codemods/`.
"""


def codemod_page(codemod: type[Codemod]) -> str:
    """The page of one codemod: its documentation, and what it does to its first example."""
    meta, example = codemod.meta, codemod.EXAMPLES[0]
    before, after = example.before.strip("\n"), example.after.strip("\n")
    changes = unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=100)
    diff = "\n".join(list(changes)[3:])
    rules = ", ".join(f"`{name}`" for name in meta.fixes)
    return (
        f"# {meta.name}\n\n[All codemods](README.md). Repairs findings of {rules}. Since gblint {meta.since}.\n\n"
        f"{markdown(documentation(codemod))}\n**Example** ({example.applicability})\n\n```diff\n{diff}\n```\n"
    )


# ------------------------------------------------------------------------------------------------------------ source


def with_files(text: str) -> str:
    """A page with the files that its comments name, each as a block of code below its comment."""

    def block(found: re.Match[str]) -> str:
        content = (ROOT / found["path"]).read_text("utf-8")
        return f"<!-- file: {found['path']} -->\n```python\n{content}```\n"

    return _FILE.sub(block, text)


# ----------------------------------------------------------------------------------------------------------- README


def with_report(readme: str, report: str) -> str:
    """The README with the excerpt replaced; raises ValueError if it has no place for one."""
    if not _REPORT.search(readme):
        raise ValueError(f"the README has no lines {BEGIN.strip()} and {END}")
    return _REPORT.sub(lambda _: f"{BEGIN}```text\n{report}```\n{END}", readme)


def report_excerpt(style: Style) -> str:
    """What `gblint check corpus/models` prints, the first finding of each section and the first line of the summary."""
    with _at_root():
        text = FORMATS["full"](_found_in_models(), style)
    *blocks, summary = text.removesuffix("\n").split("\n\n")
    kept: list[str] = []
    for title, block in pairwise(blocks):
        if _is_title(title):
            kept += [title, block, "…"]
    return "\n\n".join([*kept, summary.splitlines()[0]]) + "\n"


@cache
def _found_in_models() -> Outcome:
    return check(Options(paths=(MODELS,), no_cache=True))


def _is_title(block: str) -> bool:
    return "\n" not in block and MODELS not in block


def picture(report: str) -> str:
    """The start and the last line of a coloured excerpt as they look in a terminal, as SVG that fetches no font."""
    from rich.console import Console
    from rich.text import Text

    console = Console(record=True, width=_WIDTH, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    start, _, rest = report.partition("…\n")
    last = rest.splitlines()[-1]
    console.print(Text(f"$ gblint check {MODELS}\n"), Text.from_ansi(f"{start}…\n\n{last}"), sep="\n")
    svg = console.export_svg(title="gblint", unique_id="gblint")
    return re.sub(r"\s*@font-face \{.*?\}", "", svg, flags=re.DOTALL)


def _content(page: str) -> str:
    """What a page says. Of a picture only the text: how it is drawn depends on the release of rich."""
    if not page.startswith("<svg"):
        return page
    return "\n".join(text for text in Xml.fromstring(page).itertext() if text.strip() and "{" not in text)


@contextmanager
def _at_root() -> Iterator[None]:
    """Paths in a report are relative to the current folder."""
    before = Path.cwd()
    os.chdir(ROOT)
    try:
        yield
    finally:
        os.chdir(before)


# ---------------------------------------------------------------------------------------------------------- command


@click.command(help=__doc__)
@click.option("--check", "only_check", is_flag=True, help="Write nothing; exit with 1 if something is out of date.")
def main(only_check: bool) -> None:
    wrong = stale()
    made = {} if only_check or not wrong else pages()
    for name in wrong:
        click.echo(f"{'out of date' if only_check else 'written' if name in made else 'removed'}: {name}")
        if name in made:
            (ROOT / name).parent.mkdir(parents=True, exist_ok=True)
            (ROOT / name).write_text(made[name], "utf-8")
        elif not only_check:
            (ROOT / name).unlink()
    sys.exit(bool(wrong) and only_check)


if __name__ == "__main__":
    main()
