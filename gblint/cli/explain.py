"""`gblint explain`: what a rule is about."""

from __future__ import annotations

import click

from gblint.cli.main import print_out
from gblint.errors import GblintError, suggest
from gblint.registry import documentation, load_rules
from gblint.rule_api import Rule


@click.command("explain")
@click.argument("rule", required=False)
def command(rule: str | None) -> int:
    """Explain RULE, a code such as GB0059 or a name. Without one, list all rules."""
    rules = load_rules()
    if rule is None:
        print_out("".join(f"{r.meta.code}  {r.meta.slug}: {r.meta.summary}\n" for r in rules))
        return 0
    found = [r for r in rules if rule.upper() == r.meta.code or rule.lower() == r.meta.slug]
    if not found:
        near = suggest(rule.lower(), [r.meta.slug for r in rules]) if rule[:2].upper() != "GB" else ""
        raise GblintError(f"no such rule: {rule}", near or "`gblint explain` lists the rules there are")
    print_out("\n".join(_page(r) for r in found))
    return 0


def _page(rule: type[Rule]) -> str:
    meta = rule.meta
    title = f"{meta.code} {meta.slug}"
    facts = f"Category: {meta.category}. torch {meta.torch}. Since gblint {meta.since}."
    return f"{title}\n{'=' * len(title)}\n\n{documentation(rule)}\n\nInstead: {meta.advice}\n{facts}\n{meta.url}\n"
