"""What Dynamo did with a program, as plain data that travels between processes."""

from __future__ import annotations

import msgspec

UNNUMBERED = "GB????"  # stands for the id of a break that Dynamo gave none


class Request(msgspec.Struct, frozen=True):
    """Run the file `path`; `key` comes back with the answer; `limit` is in seconds; eager: with Dynamo off;
    digest: note what the statements of the main program give; rows: run it before with Dynamo off, and
    note what runs."""

    key: int
    path: str
    limit: float
    eager: bool = False
    digest: bool = False
    rows: bool = False


class Break(msgspec.Struct, frozen=True):
    """One graph break, or one frame that Dynamo refused.

    gb_id: id in torch's registry, UNNUMBERED when Dynamo gave none.
    row: line of the innermost frame that belongs to the program; 0 when no frame does.
    file: "" for the program's own file, else the path of another file of its folder, relative to it.
    wrapped_by: ids reported "while handling this graph break", such as GB7000 for a break in a loop.
    reason: first line of Dynamo's message.
    """

    gb_id: str
    row: int
    file: str = ""
    wrapped_by: tuple[str, ...] = ()
    reason: str = ""


class Observed(msgspec.Struct, frozen=True):
    """One run of a program.

    breaks: distinct graph breaks in order of appearance.
    silent: frames refused without a graph break being logged (a generator function, for example).
    error: the exception that left the program, "" for a normal end; also "time limit …" and "process died …".
    output: what it wrote to stdout.
    results: of each call that the main program makes as a statement of its own, what it gave in short (if asked for).
    traced: rows Dynamo traced, by file ("" for the program's own): whether a clean line was looked at at all.
    ran: rows that ran in a run before this one, with Dynamo off (if asked for).
    graphs: how many graphs were captured.
    """

    breaks: tuple[Break, ...] = ()
    silent: tuple[Break, ...] = ()
    error: str = ""
    output: str = ""
    results: tuple[str, ...] = ()
    traced: dict[str, list[int]] = {}
    ran: dict[str, list[int]] = {}
    graphs: int = 0
    seconds: float = 0.0

    def places(self) -> set[tuple[int, str]]:
        """Row and id of each break in the program's own file."""
        return {(b.row, b.gb_id) for b in self.breaks if not b.file}

    def silent_places(self) -> set[tuple[int, str]]:
        """Row and id of each silently refused frame in the program's own file."""
        return {(b.row, b.gb_id) for b in self.silent if not b.file}


class Answer(msgspec.Struct, frozen=True):
    """What the run of request `key` showed."""

    key: int
    observed: Observed
