"""`gblint fix`: repair graph breaks in the source."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING, Any

import click
import msgspec

from gblint.checking import Options
from gblint.cli.analysis_options import analysis_options, options_of
from gblint.cli.main import colour_of, print_out, warn
from gblint.cli.options import SELECTORS, flat, words_of
from gblint.cli.progress import progress_bar
from gblint.errors import GblintError, suggest
from gblint.fixing.plan import Choice
from gblint.fixing.session import Repaired, repair
from gblint.notebook import is_notebook
from gblint.report import fixes
from gblint.report.style import Style, printable

if TYPE_CHECKING:
    from gblint.fixing.proving import Proved
    from gblint.verify.trial import Program


@click.command("fix")
@analysis_options
@click.option("--rule", "rules", type=SELECTORS, multiple=True, metavar="RULES", help="Repair only findings of these.")
@click.option("--codemod", "codemods", multiple=True, metavar="NAME", help="Use only this codemod (repeatable).")
@click.option("--unsafe-fixes", is_flag=True, help="Make repairs that are right only in the usual case as well.")
@click.option(
    "--diff", is_flag=True, help="Show what would change, and change nothing; exits with 1 if anything would."
)
@click.option("--verify", "program", metavar="COMMAND", help="Run COMMAND, and keep only repairs that it approves.")
@click.option("--check-outputs", is_flag=True, help="With --verify: what compiled callables give has to stay the same.")
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), metavar="SECONDS", help="For each run.")
@click.option("--memory", type=click.FloatRange(min=0, min_open=True), metavar="MB", help="End a run that takes more.")
@click.option("--show-output", is_flag=True, help="Let the command's output through, on standard error.")
@click.option("-e", "--exit-zero", is_flag=True, help="Exit with 0 even if breaks are left.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing of what was done.")
def command(
    rules: tuple[tuple[str, ...], ...],
    codemods: tuple[str, ...],
    unsafe_fixes: bool,
    diff: bool,
    program: str | None,
    check_outputs: bool,
    timeout: float | None,
    memory: float | None,
    show_output: bool,
    exit_zero: bool,
    quiet: bool,
    **given: Any,
) -> int:
    """Repair graph breaks in PATHS (default: the current folder). Nothing is run or imported, unless --verify says what
    to run.

    Every edit is checked again before it is kept: the break has to be gone and no other may have come. With `-` for a
    path, source is read from standard input and written, repaired, to standard output.

    Exits with 0 if no break of those asked for is left, 1 if some are, 2 if gblint could not do its work.
    """
    _check_codemods(codemods)
    choice = Choice(flat(rules), codemods, unsafe_fixes)
    options = options_of(**given)
    if program is None and (check_outputs or timeout or memory or show_output):
        raise click.UsageError("--check-outputs, --timeout, --memory and --show-output go with --verify")
    if options.stdin is not None and is_notebook(str(options.stdin_path)):
        raise click.UsageError("notebooks are repaired in their files, not through standard input")
    if program is not None:
        if diff or options.stdin is not None:
            raise click.UsageError("--verify excludes --diff and standard input: what runs has to be in the files")
        from gblint.cli.verify import show
        from gblint.verify.trial import Program

        judge = Program(
            words_of(program, "--verify"),
            timeout=timeout,
            memory=memory,
            outputs=check_outputs,
            show=show if show_output else None,
        )
        repaired = prove_and_tell(options, choice, judge, quiet).repaired
    else:
        repaired = fix_and_tell(options, choice, diff, True, quiet)
    if exit_zero:
        return 0
    if diff or options.stdin is not None:
        return int(bool(repaired.new))
    return int(bool(fixes.left(repaired, choice)))


def fix_and_tell(options: Options, choice: Choice, diff: bool, listed: bool, quiet: bool) -> Repaired:
    """Repair, write the files (or the difference, or standard output), and say on stderr what was done.

    Raises GblintError when files cannot be replaced; the others are.
    """
    with progress_bar() as progress:
        repaired = repair(options, choice, progress)
    for note in repaired.before.notes:
        warn(note)
    style = Style(colour_of(sys.stdout))
    if diff:
        print_out(fixes.difference(repaired, style))
    elif options.stdin is not None:
        sys.stdout.buffer.write(next(iter(repaired.new.values()), options.stdin))
        sys.stdout.buffer.flush()
    else:
        repaired.write()
    if not quiet:
        click.echo(fixes.summary(repaired, choice, diff, listed, Style(colour_of(sys.stderr))), nl=False, err=True)
    return repaired


def prove_and_tell(options: Options, choice: Choice, program: Program, quiet: bool) -> Proved:
    """Repair what the program approves, and say on stderr what was run, kept and taken back. Raises as `prove` does."""
    from gblint.cli.verify import ticker
    from gblint.fixing.proving import prove
    from gblint.report import proof

    shown = printable(shlex.join(program.words))
    click.echo(f"gblint: `{shown}` is run on the source as it is, and again after repairs", err=True)
    if program.outputs:
        click.echo("gblint: a `sitecustomize` on PYTHONPATH records what compiled callables give", err=True)

    def announce(what: str) -> None:
        click.echo(f"gblint: {what}", err=True)

    with ticker(program.show is not None) as tick:
        proved = prove(options, choice, msgspec.structs.replace(program, tick=tick), announce)
    for note in (*proved.repaired.before.notes, *proved.before.notes):
        warn(printable(note))
    if not quiet:
        click.echo(proof.summary(proved, choice, Style(colour_of(sys.stderr))), nl=False, err=True)
    return proved


def _check_codemods(names: tuple[str, ...]) -> None:
    from gblint.registry import load_codemods

    known = [c.meta.name for c in load_codemods()]
    for name in names:
        if name not in known:
            raise GblintError(f"no codemod is called `{name}`", suggest(name, known))
