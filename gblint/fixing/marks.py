"""Functions that Dynamo was told something about (`disable`, …), and where they are defined."""

from __future__ import annotations

import libcst as cst

from gblint.findings.finding import Edit
from gblint.fixing.places import at
from gblint.fixing.site import Refusal, Site
from gblint.interpreter import trials
from gblint.interpreter.trials import Trial
from gblint.interpreter.values import Function


def marked(site: Site) -> Function | None:
    """The function with a mark whose call the finding is about."""
    return site.machine.marked.get(site.seen(site.node))


def tried(site: Site) -> Trial | None:
    """What the function that the call leaves out would do if it were traced; None if it leaves none out."""
    return trials.trial(site.machine, site.seen(site.node))


def definition(site: Site, function: Function) -> tuple[Site, cst.FunctionDef]:
    """A function's `def` and a site over it. Raises Refusal for a lambda, or where the file cannot be read."""
    if function.info is not None:
        found = at(site, function.module, function.info.start, function.info.end)
    elif function.node is not None and function.chunk is not None:
        found = Site(site.machine, function.chunk, function.node, site.finding, site.options)
    else:
        raise Refusal(f"the definition of `{function.name}` is not in view")
    if not isinstance(found.node, cst.FunctionDef):
        raise Refusal(f"`{function.name}` is no `def`")
    return found, found.node


def without_decorator(site: Site, decorator: cst.Decorator) -> Edit:
    """The edit that takes a decorator's rows out."""
    row, _, last, _ = site.span(decorator)
    return Edit(site.module.path, row, 1, last + 1, 1, "")
