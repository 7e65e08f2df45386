"""`gblint explain`: what a rule or a codemod is about."""

from __future__ import annotations

import click

from gblint.cli.main import print_out
from gblint.cli.rules import listing
from gblint.codemod_api import Codemod
from gblint.errors import GblintError, suggest
from gblint.registry import documentation, load_codemods, load_rules
from gblint.rule_api import Rule


@click.command("explain")
@click.argument("rule", required=False)
def command(rule: str | None) -> int:
    """Explain RULE, a code such as GB0059 or a name, or a codemod by its name. Without one, list all rules."""
    rules = load_rules()
    if rule is None:
        print_out(listing())
        return 0
    found = [r for r in rules if rule.upper() in r.meta.codes or rule.lower() == r.meta.slug]
    codemods = [c for c in load_codemods() if rule.lower() == c.meta.name]
    if not found and not codemods:
        names = [r.meta.slug for r in rules] + [c.meta.name for c in load_codemods()]
        near = suggest(rule.lower(), names) if rule[:2].upper() != "GB" else ""
        raise GblintError(f"no such rule: {rule}", near or "`gblint explain` lists the rules there are")
    print_out("\n".join([*(_page(r) for r in found), *(_codemod_page(c) for c in codemods)]))
    return 0


def _page(rule: type[Rule]) -> str:
    meta = rule.meta
    title = f"{meta.code} {meta.slug}"
    facts = f"Category: {meta.category}. {meta.releases}. Since gblint {meta.since}."
    return f"{title}\n{'=' * len(title)}\n\n{documentation(rule)}\n\nInstead: {meta.advice}\n{facts}\n{meta.url}\n"


def _codemod_page(codemod: type[Codemod]) -> str:
    meta = codemod.meta
    facts = f"Repairs findings of {', '.join(meta.fixes)}. Since gblint {meta.since}."
    return f"{meta.name}\n{'=' * len(meta.name)}\n\n{documentation(codemod)}\n\n{facts}\n"
