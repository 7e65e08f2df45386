"""A plugin for pytest: `--gblint-breaks=FILE` fails a run in which a graph breaks that the file does not record.

Torch writes a trace of what it compiles when the environment names a folder before it is imported; that is done here,
as early as pytest lets a plugin act. Workers of pytest-xdist and processes that tests start inherit it, and the process
that pytest was started in reads what all of them have left. Without the option nothing is done, and no other module is
loaded.
"""

from __future__ import annotations

import os
import sys
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from gblint.verify.suite import Gate

_WORKER = "PYTEST_XDIST_WORKER"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("gblint", "graph breaks (gblint)")
    group.addoption(
        "--gblint-breaks",
        metavar="FILE",
        help="Fail when a graph breaks, or a function is compiled again, that this baseline does not record.",
    )
    group.addoption(
        "--gblint-update-baseline",
        action="store_true",
        help="Write the baseline: drop what is gone from it; all that there is, if there is no file.",
    )
    group.addoption("--gblint-accept-new", action="store_true", help="With --gblint-update-baseline: add what is new.")


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    options = early_config.known_args_namespace
    if options.gblint_accept_new and not options.gblint_update_baseline:
        raise pytest.UsageError("--gblint-accept-new goes with --gblint-update-baseline")
    if options.gblint_update_baseline and not options.gblint_breaks:
        raise pytest.UsageError("--gblint-update-baseline goes with --gblint-breaks=FILE")
    if not options.gblint_breaks or os.environ.get(_WORKER):
        return  # a worker writes where the process that started it has said
    from gblint.errors import GblintError
    from gblint.verify.suite import Gate

    scratch = TemporaryDirectory(prefix="gblint-breaks-")
    early_config.add_cleanup(scratch.cleanup)
    try:
        gate = Gate.open(
            options.gblint_breaks, options.gblint_update_baseline, options.gblint_accept_new, scratch.name, os.environ
        )
    except GblintError as error:
        hint = f" ({error.hint.replace('--update', '--gblint-update')})" if error.hint else ""
        raise pytest.UsageError(f"--gblint-breaks: {error.message}{hint}") from None
    before = {name: os.environ.get(name) for name in gate.environment}
    os.environ.update(gate.environment)
    early_config.add_cleanup(lambda: _restore(before))
    if "torch" in sys.modules:
        _read_environment_again()
    early_config.pluginmanager.register(_AtTheEnd(gate), "gblint-breaks")


def _read_environment_again() -> None:
    """For a torch that another plugin has imported before. It has no public way to do this."""
    try:
        logs = sys.modules["torch"]._logging._internal
        logs.LOG_TRACE_HANDLER = None
        logs._init_logs()
    except AttributeError:
        raise pytest.UsageError(
            "--gblint-breaks: another plugin has imported torch already, and this torch reads TORCH_TRACE only then; "
            "set TORCH_TRACE to a folder before pytest starts"
        ) from None


def _restore(variables: dict[str, str | None]) -> None:
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


class _AtTheEnd:
    """What is done once all tests have run."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        if self._gate.finish(_partly(session)) and exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        from gblint.report.style import Style

        title, failed = self._gate.title
        colour = terminalreporter.hasmarkup
        terminalreporter.section(title, sep="=", red=failed, bold=True)
        for line in self._gate.report(Style(colour)):
            terminalreporter.line(line)


def _partly(session: pytest.Session) -> str:
    """Why the run does not tell what is gone, "" if it does."""
    option = session.config.option
    if session.testsfailed or session.shouldstop or session.shouldfail:
        return "not every test has passed"
    chosen = any(getattr(option, name, None) for name in ("keyword", "lf", "stepwise", "collectonly", "deselect"))
    named = any("::" in argument or argument.endswith(".py") for argument in session.config.args)
    return "only some tests were chosen" if chosen or named else ""
