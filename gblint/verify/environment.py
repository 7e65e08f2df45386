"""What the program that is run gets to know: torch's own settings for logs and traces, merged with the user's."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

from gblint.verify.textlog import CONVERT_FRAME

ASKED = ("graph_breaks", "recompiles", "trace_source", CONVERT_FRAME)
# Settings that turn the compiler off: what would be seen is that nothing is compiled.
OFF_SWITCHES = ("TORCH_COMPILE_DISABLE", "TORCHDYNAMO_DISABLE")
PRECOMPILED = "TORCH_CACHING_PRECOMPILE"  # takes compiled functions from a cache without tracing them


class Places(msgspec.Struct, frozen=True):
    """Where the program will write.

    log: file of TORCH_LOGS_OUT, of which the first `skip` bytes are old. trace: folder of TORCH_TRACE, with the files
    that were in it. hidden: logs on standard error that the user has not asked for. notes: what was changed.
    """

    log: Path
    trace: Path
    hidden: frozenset[str]
    skip: int = 0
    old: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()


def prepare(base: Mapping[str, str], scratch: Path, verbose: bool = False) -> tuple[dict[str, str], Places]:
    """The environment to run in, and where to read. scratch: a folder for what the user gives no place to."""
    env, notes = dict(base), []
    theirs = [word.strip() for word in base.get("TORCH_LOGS", "").split(",") if word.strip() not in ("", "help")]
    named = {word.lstrip("+-") for word in theirs}
    env["TORCH_LOGS"] = ",".join([*theirs, *(name for name in ASKED if name not in named)])
    log = Path(os.path.abspath(base.get("TORCH_LOGS_OUT") or scratch / "torch.log"))
    trace = Path(os.path.abspath(base.get("TORCH_TRACE") or scratch / "trace"))
    env["TORCH_LOGS_OUT"], env["TORCH_TRACE"] = str(log), str(trace)
    for name in ("TORCH_LOGS_FORMAT", "TORCH_LOGS_TRACE_ID_FILTER"):
        if env.pop(name, ""):
            notes.append(f"{name} is not set for this run: the log could not be read with it")
    if env.get(PRECOMPILED, "0") == "1":
        notes.append(f"{PRECOMPILED} is off for this run: what is taken from that cache is not traced")
    env[PRECOMPILED] = "0"
    if verbose:
        env["TORCHDYNAMO_VERBOSE"] = "1"
    places = Places(
        log,
        trace,
        hidden=frozenset(ASKED) - named,
        skip=log.stat().st_size if log.is_file() else 0,
        old=frozenset(os.listdir(trace)) if trace.is_dir() else frozenset(),
        notes=tuple(notes),
    )
    return env, places


def switched_off(env: Mapping[str, str]) -> str:
    """The setting that turns the compiler off, "" if none does."""
    return next((name for name in OFF_SWITCHES if env.get(name, "0") not in ("", "0")), "")
