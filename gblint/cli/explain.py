"""`gblint explain`: what a rule or a codemod is about."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

import click

from gblint.cli.main import colour_of, print_out
from gblint.cli.options import complete_rules
from gblint.cli.rules import listing
from gblint.errors import GblintError, suggest
from gblint.registry import load_codemods, load_rules
from gblint.report import explained
from gblint.report.json import dump

_WIDEST = 100  # columns: longer lines are hard to read


@click.command("explain")
@click.argument("rule", required=False, shell_complete=complete_rules)
@click.option("--output-format", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option(
    "--site",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    envvar="GBLINT_SITE",
    help="A clone of PyTorch's graph-break site: show its page as well.  [env: GBLINT_SITE]",
)
def command(rule: str | None, output_format: str, site: Path | None) -> int:
    """Explain RULE, a code such as GB0059 or a name, or a codemod by its name. Without one, list all rules.

    A terminal gets styled text, a file or a pipe the text as it was written.
    """
    if rule is None:
        if output_format == "json":
            print_out(dump([explained.rule_data(each) for each in load_rules()]))
        else:
            print_out(listing())
        return 0
    rules = [r for r in load_rules() if rule.upper() in r.meta.codes or rule.lower() == r.meta.slug]
    codemods = [c for c in load_codemods() if rule.lower() == c.meta.name]
    pages = _pages(site, {r.meta.code for r in rules} or {rule.upper()}) if site else []
    if not rules and not codemods and not pages:
        raise _unknown(rule)
    if output_format == "json":
        data = [*map(explained.rule_data, rules), *map(explained.codemod_data, codemods)]
        print_out(dump([*data, *(explained.site_data(*page) for page in pages)]))
    elif colour_of(sys.stdout):
        width = min(shutil.get_terminal_size().columns, _WIDEST)
        others = [*map(explained.codemod_markdown, codemods), *(explained.site_markdown(*page) for page in pages)]
        texts = [explained.styled_rule(each, width) for each in rules]
        print_out("\n".join([*texts, *(explained.styled(text, width) for text in others)]))
    else:
        texts = [*map(explained.rule_text, rules), *map(explained.codemod_text, codemods)]
        print_out("\n".join([*texts, *(explained.site_text(*page) for page in pages)]))
    return 0


def _pages(site: Path, codes: set[str]) -> list[tuple[str, str]]:
    """Ids with PyTorch's pages about them, of those that have one."""
    folder = explained.site_pages(site)
    if folder is None:
        hint = "expected a clone of https://github.com/meta-pytorch/compile-graph-break-site, with docs/gb/gb0000.md"
        raise GblintError(f"no pages about graph breaks in {site}", hint)
    wanted = sorted(code for code in codes if re.fullmatch(r"GB\d{4}", code))
    return [(code, page) for code in wanted if (page := explained.site_page(folder, code))]


def _unknown(rule: str) -> GblintError:
    names = [r.meta.slug for r in load_rules()] + [c.meta.name for c in load_codemods()]
    near = suggest(rule.lower(), names) if rule[:2].upper() != "GB" else ""
    return GblintError(f"no such rule: {rule}", near or "`gblint explain` lists the rules there are")
