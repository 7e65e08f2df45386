"""Places in notebooks as a reader has them: the cell, and the row in it."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from gblint.checking import Outcome, Problem
from gblint.findings.finding import Edit, Finding, Fix, Reason, Step
from gblint.notebook import Cells, is_notebook
from gblint.source import SourceError, read_bytes

_BETWEEN = ":cell "


def cell_of(filename: str) -> tuple[str, int | None]:
    """The file and the cell in what `by_cells` calls a file; None for a file that is no notebook."""
    path, between, number = filename.rpartition(_BETWEEN)
    return (path, int(number)) if between and is_notebook(path) and number.isdecimal() else (filename, None)


def place_order(filename: str) -> tuple[str, int]:
    """What sorts files by name, and the cells of one as they stand."""
    path, cell = cell_of(filename)
    return path, cell or 0


def by_cells(outcome: Outcome) -> Outcome:
    """What a run has to report with the cells of notebooks as files of their own: `nb.ipynb:cell 3`, row 2."""
    if not any(map(is_notebook, outcome.checked)):
        return outcome
    places = _Places(outcome)
    cells = [cell for filename in outcome.checked if is_notebook(filename) for cell in places.texts(filename)]
    return msgspec.structs.replace(
        outcome,
        findings=[places.finding(f) for f in outcome.findings],
        doubtful=[places.finding(f) for f in outcome.doubtful],
        aside=[places.finding(f) for f in outcome.aside],
        problems=[places.problem(p) for p in outcome.problems],
        overlay=outcome.overlay | dict(cells),
    )


def by_files(outcome: Outcome) -> Outcome:
    """What a run has to report for services that know files and rows alone: what is in a notebook stands at its start,
    and says in which cell it is. Repairs of notebooks are left out, as their rows are of no file."""
    if not any(map(is_notebook, outcome.checked)):
        return outcome
    told = by_cells(outcome)
    return msgspec.structs.replace(
        told, findings=[_at_start(f) for f in told.findings], problems=[_at_start(p) for p in told.problems]
    )


_Item = TypeVar("_Item", Finding, Problem)


def _at_start(item: _Item) -> _Item:
    filename, cell = cell_of(item.filename)
    if cell is None:
        return item
    message = f"cell {cell}, row {item.row}: {item.message}"
    place: dict[str, Any] = {"filename": filename, "message": message, "row": 1, "column": 1}
    if isinstance(item, Finding):
        steps = [Step(s.function, cell_of(s.filename)[0], _row(s.filename, s.row)) for s in item.path]
        why = [Reason(_row(r.filename, r.row), r.text, cell_of(r.filename)[0]) for r in item.why]
        place |= {"end_row": 1, "end_column": 1, "noqa_row": 1, "masked_by": 0, "fixes": (), "path": steps, "why": why}
    return msgspec.structs.replace(item, **place)


def _row(filename: str, row: int) -> int:
    return row if cell_of(filename)[1] is None else 1


class _Places:
    def __init__(self, outcome: Outcome) -> None:
        self._overlay = outcome.overlay
        self._known: dict[str, Cells | None] = {}

    def texts(self, filename: str) -> list[tuple[str, bytes]]:
        """The cells of a notebook, by what they are called."""
        cells = self._cells(filename)
        return [(f"{filename}{_BETWEEN}{number}", text) for number, text in cells.texts()] if cells else []

    def finding(self, f: Finding) -> Finding:
        """A finding with all rows in it those of cells. A row that is given without a file has to be in its cell."""
        fixes = tuple(self._fix(fix) for fix in f.fixes)
        path = [self._step(step) for step in f.path]
        why = [self._reason(reason, f.filename) for reason in f.why]
        library = self._step(f.library) if f.library else None
        filename, row = self._place(f.filename, f.row)
        same = {name: self._place(f.filename, n) for name, n in (("noqa_row", f.noqa_row), ("masked_by", f.masked_by))}
        rows = {name: found[1] if found[0] == filename else 0 for name, found in same.items()}
        end = self._place(f.filename, f.end_row)[1]
        return msgspec.structs.replace(
            f, filename=filename, row=row, end_row=end, fixes=fixes, path=path, why=why, library=library, **rows
        )

    def problem(self, p: Problem) -> Problem:
        """A problem in its cell; that the file is no notebook is no cell's."""
        if p.name == "invalid-notebook":
            return p
        filename, row = self._place(p.filename, p.row)
        return msgspec.structs.replace(p, filename=filename, row=row)

    def _fix(self, fix: Fix) -> Fix:
        return msgspec.structs.replace(fix, edits=tuple(map(self._edit, fix.edits)))

    def _edit(self, edit: Edit) -> Edit:
        filename, row = self._place(edit.filename, edit.row)
        end = row + edit.end_row - edit.row
        return msgspec.structs.replace(edit, filename=filename, row=row, end_row=end)

    def _step(self, step: Step) -> Step:
        filename, row = self._place(step.filename, step.row)
        return Step(step.function, filename, row)

    def _reason(self, reason: Reason, filename: str) -> Reason:
        place, row = self._place(reason.filename or filename, reason.row)
        return Reason(row, reason.text, place if reason.filename or is_notebook(filename) else "")

    def _place(self, filename: str, row: int) -> tuple[str, int]:
        cells = self._cells(filename) if row and is_notebook(filename) else None
        if cells is None:
            return filename, row
        number, inside = cells.place(row)
        return (f"{filename}{_BETWEEN}{number}", inside) if number else (filename, row)

    def _cells(self, filename: str) -> Cells | None:
        if filename not in self._known:
            try:
                data = self._overlay.get(filename)
                self._known[filename] = Cells(read_bytes(filename) if data is None else data)
            except SourceError:
                self._known[filename] = None
        return self._known[filename]
