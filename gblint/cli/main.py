"""The `gblint` command: finds the subcommand, and turns what goes wrong into a line and an exit code."""

from __future__ import annotations

import importlib
import io
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import NoReturn

import click

import gblint
from gblint.errors import GblintError, suggest

FAILURE = 2

# Command → line for the overview. Each lives in the module of its name, imported only when it runs.
COMMANDS = {
    "check": "Predict where torch.compile breaks its graph.",
    "fix": "Repair graph breaks in the source.",
    "override": "Repair library code in a module of your own.",
    "verify": "Run a command, and hold the predictions against what Dynamo says.",
    "logs": "Show the graph breaks in the log of an earlier run.",
    "calibrate": "Show how well confidences hold in a project, by its verdicts.",
    "bench": "Measure what compiling costs in a command, or in two.",
    "report": "Write up a graph break for an issue at PyTorch.",
    "rules": "List all rules.",
    "explain": "Explain a rule, or list all of them.",
    "graph": "Draw the calls from compiled roots, with the breaks in them.",
    "server": "Serve an editor: the language server.",
    "config": "Show the settings that hold for a path.",
    "clean": "Delete the cache.",
    "completion": "Print what makes a shell complete the command line.",
}


class LazyGroup(click.Group):
    """A group that imports the module of a command only when it needs it."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"gblint.cli.{cmd_name}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            hint = f"to check a path: gblint check {args[0]}" if os.path.exists(args[0]) else suggest(args[0], COMMANDS)
            raise GblintError(f"no such command: {args[0]}", hint)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(gblint.__version__, prog_name="gblint", message="%(prog)s %(version)s")
def cli() -> None:
    """Predict, on source and without running it, where torch.compile breaks its graph."""


def run_and_exit() -> NoReturn:
    """Run gblint and leave with 0 (nothing to report), 1 (something reported) or 2 (gblint could not do its work)."""
    for stream in (sys.stdout, sys.stderr):
        # Source and file names hold characters that not every terminal or pipe can take.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    code = run()
    if code == FAILURE:
        # An interrupt that came while some import ran exec() would make Python end itself by signal all the same.
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, AttributeError):  # full, or closed from the start
                stream.flush()
        os._exit(code)
    sys.exit(code)


def run(arguments: Sequence[str] | None = None) -> int:
    """Run a command line (default: that of the process) and return the exit code."""
    try:
        code = cli.main(list(sys.argv[1:] if arguments is None else arguments), "gblint", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except GblintError as error:
        return fail(error.message, error.hint)
    except click.ClickException as error:
        return _usage(error)
    except click.exceptions.Exit as error:
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        return fail("interrupted, nothing is reported")
    except OSError as error:
        return fail(_os_error(error))
    except Exception as error:  # the last resort: a person reads this, not a traceback
        if os.environ.get("GBLINT_TRACEBACK"):
            raise
        return fail(
            f"internal error: {type(error).__name__}: {error}", "this is a bug; GBLINT_TRACEBACK=1 shows where it is"
        )


def fail(message: str, hint: str = "") -> int:
    """Say on stderr why gblint could not do its work."""
    click.echo(f"{click.style('gblint: error:', fg='red', bold=True)} {message}", err=True, color=colour_of(sys.stderr))
    if hint:
        click.echo(f"  hint: {hint}", err=True)
    return FAILURE


def warn(message: str) -> None:
    """Say on stderr what a reader of the report has to know."""
    mark = click.style("gblint: warning:", fg="yellow", bold=True)
    click.echo(f"{mark} {message}", err=True, color=colour_of(sys.stderr))


def print_out(text: str) -> None:
    """Write to stdout what already has its colours; a reader that leaves early (`| head`) is no error."""
    try:
        click.echo(text, nl=False, color=True)
    except BrokenPipeError:
        # What is still buffered would fail again when the interpreter shuts down.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def colour_of(stream: object) -> bool:
    """Whether to colour what goes to a stream: a terminal, unless NO_COLOR; FORCE_COLOR overrules the first."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    isatty = getattr(stream, "isatty", None)
    return bool(isatty and isatty()) and os.environ.get("TERM") != "dumb"


def _usage(error: click.ClickException) -> int:
    message = error.format_message()
    hint = ""
    if isinstance(error, click.UsageError):
        # click appends its suggestions to the message of an unknown option.
        path = error.ctx.command_path if error.ctx else "gblint"
        hint = f"{path} --help shows what there is"
    return fail(message[:1].lower() + message[1:].rstrip("."), hint)


def _os_error(error: OSError) -> str:
    reason = error.strerror or str(error)
    return f"{error.filename}: {reason}" if error.filename else reason
