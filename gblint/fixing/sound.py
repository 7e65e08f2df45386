"""Whether the function around a finding would still be Python after a repair: none is offered that would not parse."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING

import msgspec

from gblint.findings.finding import Edit
from gblint.fixing.edits import Conflict, edited_text
from gblint.interpreter.source import WRAPPER

if TYPE_CHECKING:
    from gblint.fixing.site import Site


def unsound(site: Site, edits: Iterable[Edit]) -> str:
    """What is wrong with the text of the site's chunk once edits are made, a clause; "" if nothing is.

    Edits of other stretches and files are not looked at: `gblint fix` compiles each file as a whole.
    """
    tree, first = site.chunk.tree, site.chunk.first
    last = first + len(tree.text.splitlines())
    here = (e for e in edits if e.filename == site.module.path and first <= e.row and e.end_row <= last)
    try:
        text = edited_text(tree.text, [_moved(e, 1 - first) for e in here])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(WRAPPER * tree.shift + text)
    except SyntaxError as error:
        return f"the new text would not be Python: {error.msg}"
    except (Conflict, ValueError) as error:
        return f"the edits do not go together: {error}"
    except RecursionError:
        return "the new text would be nested too deeply for Python"
    return ""


def _moved(edit: Edit, rows: int) -> Edit:
    return msgspec.structs.replace(edit, row=edit.row + rows, end_row=edit.end_row + rows)
