"""`gblint rules`: what gblint looks for."""

from __future__ import annotations

from typing import Any

import click

from gblint.cli.main import print_out
from gblint.registry import load_codemods, load_rules
from gblint.report.explained import rule_facts
from gblint.report.json import dump
from gblint.rule_api import Rule


@click.command("rules")
@click.option("--output-format", type=click.Choice(["text", "json"]), default="text", show_default=True)
def command(output_format: str) -> int:
    """List all rules: the id that PyTorch gives the graph break, the rule's name, and what breaks."""
    if output_format == "json":
        print_out(dump([_data(rule) for rule in load_rules()]))
    else:
        print_out(listing())
    return 0


def listing() -> str:
    """One line for each rule."""
    return "".join(f"{r.meta.code}  {r.meta.slug}: {r.meta.summary}\n" for r in load_rules())


def _data(rule: type[Rule]) -> dict[str, Any]:
    """A rule as plain data; codemods: those made for it, not those that are asked about everything."""
    made_for = {rule.meta.code, rule.meta.slug}
    return rule_facts(rule) | {"codemods": [c.meta.name for c in load_codemods() if made_for & set(c.meta.fixes)]}
