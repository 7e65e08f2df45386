"""Statements put under `if not torch.compiler.is_compiling():`, in the form a person would give it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import libcst as cst

from gblint.findings.finding import Edit

if TYPE_CHECKING:
    from gblint.fixing.site import Site, Statement

Place = cst.SimpleStatementLine | cst.BaseCompoundStatement | cst.BaseSmallStatement  # what can be under a guard
COMPILING = "torch.compiler.is_compiling"
OTHER_NAMES = ("torch._dynamo.is_compiling", "torch._dynamo.external_utils.is_compiling", "torch.compiler.is_exporting")
WIDTH = 88  # columns that a changed line may have: what black allows, the least of the usual formatters


def owner(site: Site, node: cst.CSTNode) -> Place:
    """The statement to guard for a node: its line, or the small statement where that stands behind the colon of a
    compound one (`if verbose: print(x)`)."""
    for above in (node, *site.ancestors(node)):
        if isinstance(above, cst.BaseSmallStatement) and isinstance(site.parent(above), cst.SimpleStatementSuite):
            return above
        if isinstance(above, cst.SimpleStatementLine | cst.BaseCompoundStatement):
            return above
    return site.statement(node)


def is_guarded(site: Site, node: cst.CSTNode) -> bool:
    """Whether a node stands in a branch that compiled code does not take: under a test for `is_compiling`."""
    below = node
    for above in site.ancestors(node):
        if isinstance(above, cst.If | cst.IfExp) and below is above.body and _needs_eager(site, above.test):
            return True
        if isinstance(above, cst.BooleanOperation) and isinstance(above.operator, cst.And) and below is above.right:
            if _needs_eager(site, above.left):
                return True
        if isinstance(above, cst.FunctionDef | cst.Lambda):
            return False
        below = above
    return False


def _needs_eager(site: Site, test: cst.BaseExpression) -> bool:
    """Whether a test can only be true outside of compiled code."""
    if isinstance(test, cst.BooleanOperation) and isinstance(test.operator, cst.And):
        return _needs_eager(site, test.left) or _needs_eager(site, test.right)
    if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        return site.callee(test.expression) in (COMPILING, *OTHER_NAMES)
    return False


def guarded(site: Site, statements: Iterable[Place]) -> list[Edit]:
    """The edits that put statements under a guard, one for each run of neighbours; those that have one are left alone.
    Where the statements are all that an `if` without `else` holds, its test gets the condition instead. Raises Refusal
    where a statement has no room for a guard."""
    wanted = [s for s in dict.fromkeys(statements) if not is_guarded(site, s)]
    word, edits = site.refer(COMPILING)
    for statement in (s for s in wanted if isinstance(s, cst.BaseSmallStatement)):
        edits.append(_on_one_line(site, statement, word))
    lines = [s for s in wanted if isinstance(s, cst.SimpleStatementLine | cst.BaseCompoundStatement)]
    for run in _runs(site, lines):
        edits += _guard(site, run, word)
    return edits


def _runs(site: Site, statements: list[Statement]) -> list[list[Statement]]:
    """Statements that stand one behind the other, together."""
    left = set(statements)
    found = []
    for statement in statements:
        if statement not in left:
            continue
        block = site.block(statement)
        first = last = block.index(statement)
        while first > 0 and block[first - 1] in left:
            first -= 1
        while last + 1 < len(block) and block[last + 1] in left:
            last += 1
        left -= set(block[first : last + 1])
        found.append(block[first : last + 1])
    return found


def _guard(site: Site, run: list[Statement], word: str) -> list[Edit]:
    block = site.parent(run[0])
    above = site.parent(block) if block is not None else None
    alone = len(site.block(run[0])) == len(run)
    if isinstance(above, cst.If) and above.body is block and above.orelse is None and alone:
        edit = narrowed(site, above, f"not {word}()", first=False)
        if edit is not None:
            return [edit]
    return [site.replace_lines(run[0], run[-1], f"if not {word}():\n{site.body_text(run, site.step)}")]


def _on_one_line(site: Site, statement: cst.BaseSmallStatement, word: str) -> Edit:
    from gblint.fixing.site import Refusal

    suite = site.parent(statement)
    above = site.parent(suite) if suite is not None else None
    if isinstance(above, cst.If) and above.body is suite and above.orelse is None and len(above.body.body) == 1:
        edit = narrowed(site, above, f"not {word}()", first=False)
        if edit is not None:
            return edit
        if not isinstance(site.parent(above), cst.If):
            rows = f"if {site.flat(above.test)}:\n{site.step}if not {word}():\n{site.step * 2}{site.text(statement)}\n"
            return site.replace_lines(above, above, rows)
    raise Refusal("the statement stands on the line of the one it belongs to")


def narrowed(site: Site, branch: cst.If, condition: str, first: bool) -> Edit | None:
    """The edit that makes an `if` ask for a condition as well, before or after what it asks now; None if the line would
    be too long for that."""
    test = branch.test
    text = site.text(test)
    if "\n" in text:
        return None
    loose = isinstance(test, cst.Lambda | cst.IfExp | cst.NamedExpr) or (
        isinstance(test, cst.BooleanOperation) and isinstance(test.operator, cst.Or)
    )
    if loose and not test.lpar:
        text = f"({text})"
    new = f"{condition} and {text}" if first else f"{text} and {condition}"
    row, column, _, end = site.span(test)
    line = site.lines[row - 1]
    if len(line[: column - 1]) + len(new) + len(line[end - 1 :].split("#")[0].rstrip()) > limit(site):
        return None
    return site.replace(test, new)


def limit(site: Site) -> int:
    """How long a line of new code may be: as black has it, or as the file's own lines are (120 at most)."""
    code = (len(line) for line in site.lines if line.strip() and not line.lstrip().startswith("#") and '"' not in line)
    return min(max(WIDTH, max(code, default=0)), 120)


def everything_that_needs(
    site: Site,
    seed: Place,
    joins: Callable[[cst.BaseSmallStatement], str],
    head: Callable[[Statement], bool] = lambda statement: False,
) -> list[Place]:
    """The statement and all that read, directly or through others, a variable it sets: what has to be guarded with it.

    joins: says of a small statement why it cannot be left out of compiled code, "" if it can. head: takes on a compound
    statement that reads a variable in its head (it is then not among those given). Raises Refusal where a statement
    cannot be left out, or a variable is read in another kind of place.
    """
    found: dict[Place, None] = {}
    taken: set[cst.CSTNode] = set()  # compound statements, with all they hold
    waiting = [seed]
    while waiting:
        statement = waiting.pop()
        if statement in found or is_guarded(site, statement) or taken & {statement, *site.ancestors(statement)}:
            continue
        if isinstance(statement, cst.BaseCompoundStatement) and head(statement):
            taken.add(statement)
            continue
        names = _left_out(site, statement, joins)
        found[statement] = None
        places = [n for name in names for n in site.uses(name) if not site.is_store(n) or _adds_to(site, n)]
        waiting += sorted((owner(site, n) for n in places), key=lambda s: isinstance(s, cst.BaseCompoundStatement))
    return list(found)


def _left_out(site: Site, statement: Place, joins: Callable[[cst.BaseSmallStatement], str]) -> list[str]:
    """The variables that a statement sets; raises Refusal where compiled code cannot do without it."""
    from gblint.fixing.site import Refusal

    small = _small(statement)
    if small is None:
        raise Refusal("a value is read by a compound statement")
    reason = joins(small)
    if reason:
        raise Refusal(reason)
    names = set_names(small)
    for name in names:
        if name in site.shared_names:
            raise Refusal(f"`{name}` is shared with other functions")
    return names


def _adds_to(site: Site, place: cst.Name) -> bool:
    return isinstance(site.parent(place), cst.AugAssign)


def _small(statement: Place) -> cst.BaseSmallStatement | None:
    if isinstance(statement, cst.BaseSmallStatement):
        return statement
    if isinstance(statement, cst.SimpleStatementLine) and len(statement.body) == 1:
        return statement.body[0]
    return None


def set_names(small: cst.BaseSmallStatement) -> list[str]:
    """The plain variables an assignment sets, each once."""
    targets: list[cst.BaseExpression] = []
    if isinstance(small, cst.Assign):
        targets = [t.target for t in small.targets]
    elif isinstance(small, cst.AnnAssign | cst.AugAssign):
        targets = [small.target]
    found = []
    for target in targets:
        parts = [e.value for e in target.elements] if isinstance(target, cst.Tuple | cst.List) else [target]
        found += [p.value for p in parts if isinstance(p, cst.Name)]
    return list(dict.fromkeys(found))
