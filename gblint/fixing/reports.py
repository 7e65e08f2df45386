"""Calls that only tell somebody something: prints, logs, warnings, progress bars."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from gblint.fixing.guards import Place
from gblint.fixing.purity import changes_state, walk_all
from gblint.interpreter.values import Instance, members, type_name

if TYPE_CHECKING:
    from gblint.fixing.site import Site

LEVELS = frozenset("debug info warning warn error critical exception log fatal".split())
ONCE = frozenset("warning_once info_once debug_once error_once warning_advice".split())
FUNCTIONS = frozenset(
    {
        "builtins.print", "warnings.warn", "warnings.warn_explicit", "pprint.pprint", "pprint.pp", "rich.print",
        "traceback.print_exc", "traceback.print_stack", "tqdm.write", "tqdm.tqdm.write", "tqdm.auto.tqdm.write",
        "click.echo", "logging.debug", "logging.info", "logging.warning", "logging.warn", "logging.error",
        "logging.critical", "logging.exception", "logging.log", "wandb.log", "mlflow.log_metric", "mlflow.log_metrics",
        "warnings.simplefilter", "warnings.filterwarnings", "warnings.resetwarnings",
    }
)  # fmt: skip
STREAMS = ("sys.stdout.", "sys.stderr.", "sys.__stdout__.", "sys.__stderr__.")
STREAM_METHODS = frozenset({"write", "flush", "writelines"})
LOGGERS = ("logging.Logger.", "logging.LoggerAdapter.", "logging.RootLogger.")
WRITER_METHODS = frozenset({"add_scalar", "add_scalars", "add_histogram", "add_image", "add_images", "add_text"})
WORDS = ("log", "logger", "_log", "_logger", "rank_zero_logger", "console")


def reports(site: Site, small: cst.CSTNode) -> bool:
    """Whether a statement is nothing but a call that prints, logs or warns."""
    return isinstance(small, cst.Expr) and isinstance(small.value, cst.Call) and is_report(site, small.value)


def is_report(site: Site, call: cst.Call) -> bool:
    """Whether a call prints, logs or warns; its value is None or of no use."""
    name = site.callee(call)
    method = call.func.attr.value if isinstance(call.func, cst.Attribute) else ""
    if name in FUNCTIONS:
        return True
    if name.startswith(LOGGERS):
        return method in LEVELS | ONCE
    if name.startswith(STREAMS):
        return method in STREAM_METHODS
    if method in LEVELS | ONCE and isinstance(call.func, cst.Attribute):
        return _is_logger(site, call.func.value)
    if method in WRITER_METHODS:
        return "writer" in site.text(call.func).lower() or "SummaryWriter" in name
    return False


def _is_logger(site: Site, node: cst.BaseExpression) -> bool:
    value = site.value(node)
    if value is not None and any(isinstance(p, Instance) and _logs(p) for p in members(value)):
        return True
    last = site.text(node).rpartition(".")[2].lower()
    return last in WORDS or last.endswith("logger")


def _logs(instance: Instance) -> bool:
    return instance.base.startswith("logging.") or type_name(instance).endswith("Logger")


def may_go(site: Site, small: cst.CSTNode) -> bool:
    """Whether a statement only reports, and loses nothing but the message when it is left out."""
    if not reports(site, small) or not isinstance(small, cst.Expr) or not isinstance(small.value, cst.Call):
        return False
    return harmless(site, [a.value for a in small.value.args])


def only_reports(site: Site, branch: cst.If) -> bool:
    """Whether an `if` holds nothing but reports and has no other branches."""
    lines = branch.body.body
    small = [s for line in lines for s in (line.body if isinstance(line, cst.SimpleStatementLine) else [line])]
    return branch.orelse is None and all(may_go(site, s) for s in small)


def with_neighbours(site: Site, line: Place) -> list[Place]:
    """A statement that only reports with those next to it that do so too; any other statement alone."""
    if not isinstance(line, cst.SimpleStatementLine) or not _line_may_go(site, line):
        return [line]
    block = site.block(line)
    first = last = block.index(line)
    while first > 0 and _line_may_go(site, block[first - 1]):
        first -= 1
    while last + 1 < len(block) and _line_may_go(site, block[last + 1]):
        last += 1
    return list(block[first : last + 1])


def _line_may_go(site: Site, line: cst.CSTNode) -> bool:
    return isinstance(line, cst.SimpleStatementLine) and all(may_go(site, s) for s in line.body)


def harmless(site: Site, nodes: list[cst.CSTNode]) -> bool:
    """Whether leaving out an evaluation loses nothing but its value, as far as the text shows: it sets no variable,
    awaits nothing, changes no tensor in place, draws no random number, takes nothing from an iterator or container, and
    calls no function of the project that changes what outlives the call."""
    return not any(_leaves_a_trace(site, part) for part in walk_all(nodes)) and not changes_state(site, nodes)


def _leaves_a_trace(site: Site, part: cst.CSTNode) -> bool:
    if isinstance(part, cst.NamedExpr | cst.Await | cst.Yield):
        return True
    if not isinstance(part, cst.Call):
        return False
    text = site.text(part.func)
    last = text.rpartition(".")[2]
    if last in ("next", "pop", "popitem", "popleft", "append", "extend", "step", "backward", "shuffle", "read"):
        return True
    if last.startswith(("rand", "manual_seed")):
        return True
    return last.endswith("_") and not last.endswith("__")
