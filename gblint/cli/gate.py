"""The options of `gblint check` that say what is new, what is to be silenced, and what is only to be shown."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from gblint.checking import Options, Outcome, Settled, files_of, wanted
from gblint.cli.main import print_out, warn
from gblint.cli.progress import progress_bar
from gblint.discovery import absolute
from gblint.findings.finding import Finding
from gblint.report.style import plural, shown

if TYPE_CHECKING:
    from gblint.gate.baseline import Updated

_FILE = click.Path(dir_okay=False, path_type=Path)
_NOQA = "--add-noqa"


class WithReason(click.Command):
    """A command whose `--add-noqa` takes its reason only behind an equals sign: a path may follow."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        end = args.index("--") if "--" in args else len(args)
        return super().parse_args(ctx, [f"{a}=" if a == _NOQA and i < end else a for i, a in enumerate(args)])


def _reason(text: str) -> str:
    if "#" in text or not text.isprintable():
        raise click.BadParameter("a reason is one line without `#`", param_hint=f"'{_NOQA}'")
    return text.strip()


_OPTIONS = (
    click.option(
        "--owner",
        type=click.Choice(["yours", "library", "all"]),
        default="all",
        show_default=True,
        help="Only breaks in your own code, or only in libraries.",
    ),
    click.option("--baseline", type=_FILE, help="Report only what this file does not record."),
    click.option("--update-baseline", "update", is_flag=True, help="Write the baseline: drop what is gone from it."),
    click.option("--accept-new", is_flag=True, help="With --update-baseline: add what is new."),
    click.option("--new-since", "since", metavar="REV", help="Only what this branch adds to a git revision."),
    click.option("--strict", is_flag=True, help="What could not be seen makes the exit code 1: gblint says what."),
    click.option("--ignore-noqa", is_flag=True, help="Comments silence nothing."),
    click.option(
        _NOQA, "reason", type=_reason, metavar="[=REASON]", help="Put a comment on each finding that silences it."
    ),
    click.option("--show-files", is_flag=True, help="List the files that would be checked."),
    click.option("--show-settings", is_flag=True, help="Show the settings that hold for the first path."),
)


def gate_options(command: Callable[..., int]) -> Callable[..., int]:
    """Give a command function the options; what it gets of them as keywords goes to `Gate.of`."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


class Gate(msgspec.Struct, frozen=True):
    """What the options say, save for `owner`, `strict` and `ignore_noqa`, which are among those of every check."""

    baseline: Path | None
    update: bool
    accept_new: bool
    since: str | None
    reason: str | None
    show_files: bool
    show_settings: bool

    @classmethod
    def of(cls, given: dict[str, Any], beside: str) -> Gate:
        """Take the options out of what a command was given; raises usage errors. beside: an option that has no use for
        them, "" for none."""
        gate = cls(**{name: given.pop(name) for name in cls.__struct_fields__})
        used = {"--baseline": gate.baseline, "--update-baseline": gate.update, "--new-since": gate.since is not None,
                _NOQA: gate.reason is not None}  # fmt: skip
        first = next((name for name, value in used.items() if value), None)
        if first and beside:
            raise click.UsageError(f"{first} excludes {beside}")
        if gate.accept_new and not gate.update:
            raise click.UsageError("--accept-new goes with --update-baseline")
        if gate.update and (gate.since is not None or gate.reason is not None):
            raise click.UsageError("--update-baseline excludes --new-since and --add-noqa")
        return gate

    def show(self, options: Options) -> bool:
        """Show files or settings if that is wanted, and say whether it was."""
        if self.show_settings:
            from gblint.cli.config import settings_text

            place = absolute(options.stdin_path or options.paths[0])
            folder = place if place.is_dir() else place.parent
            print_out(settings_text(Settled(options).of(folder), folder))
        if self.show_files:
            print_out("".join(f"{shown(str(file))}\n" for file in files_of(options)))
        return self.show_settings or self.show_files

    def apply(self, outcome: Outcome, options: Options, quiet: bool) -> None:
        """Leave in an outcome what is new and was not silenced, and say on stderr what was written.

        Raises usage errors, and GblintError when a baseline, git or a file is not as it has to be.
        """
        if options.stdin is not None and (self.update or self.reason is not None):
            raise click.UsageError("--update-baseline and --add-noqa do not go with standard input")
        new = {id(finding) for finding in self._unrecorded(outcome, options, quiet)}
        recorded = [finding for finding in outcome.findings if id(finding) not in new]
        if self.since is not None:
            from gblint.gate.since import added

            with progress_bar() as progress:
                new &= {id(finding) for finding in added(outcome, options, self.since, progress)}
            outcome.since = self.since
        left = [finding for finding in outcome.findings if id(finding) in new]
        outcome.recorded = len(recorded)
        outcome.older = len(outcome.findings) - len(recorded) - len(left)
        outcome.findings = left
        if self.reason is not None:
            self._silence(outcome, self.reason, quiet)

    def _unrecorded(self, outcome: Outcome, options: Options, quiet: bool) -> list[Finding]:
        """The findings that no baseline records; baselines are written if that is wanted."""
        by_baseline = self._files(outcome, options)
        if self.update and not any(by_baseline):
            raise click.UsageError("--update-baseline needs --baseline FILE, or `baseline` in the settings")
        wants = wanted(options)
        new: list[Finding] = []
        for path, files in by_baseline.items():
            mine = [finding for finding in outcome.findings if finding.filename in files]
            if path is None:
                new += mine
                continue
            from gblint.gate.baseline import Baseline, update

            baseline = Baseline.read(path, missing_ok=self.update)
            if self.update:
                _tell(update(outcome, baseline, files, wants, self.accept_new), quiet)
            outcome.stale += baseline.stale(outcome, files, wants)
            new += baseline.new(mine)
        return new

    def _files(self, outcome: Outcome, options: Options) -> dict[Path | None, set[str]]:
        """The checked files by the baseline that holds for them."""
        if self.baseline is not None:
            return {absolute(self.baseline): set(outcome.checked)}
        settled = Settled(options)
        files: dict[Path | None, set[str]] = defaultdict(set)
        for name in outcome.checked:
            config = settled.of_file(name)
            files[absolute(config.path(config.baseline)) if config.baseline else None].add(name)
        return files

    @staticmethod
    def _silence(outcome: Outcome, reason: str, quiet: bool) -> None:
        from gblint.fixing.silence import silence

        done = silence(outcome.findings, reason)
        outcome.findings = done.left
        outcome.silenced += len(done.findings)
        if done.left:
            warn(f"{plural(len(done.left), 'finding')} could not be given a comment")
        if not quiet:
            rows, files = plural(done.rows, "comment"), plural(done.files, "file")
            click.echo(f"gblint: put {rows} in {files}, for {plural(len(done.findings), 'finding')}", err=True)


def _tell(done: Updated, quiet: bool) -> None:
    name = shown(str(done.path))
    if done.refused:
        count = plural(done.refused, "graph break is", "graph breaks are")
        warn(f"{count} not in {name}, which only shrinks: --accept-new adds what is new")
    if not quiet:
        changes = f"{done.added:,} added, {done.dropped:,} dropped"
        click.echo(f"gblint: {name} records {plural(done.recorded, 'finding')}: {changes}", err=True)
