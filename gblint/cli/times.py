"""`gblint check --timing`: where the time went."""

from __future__ import annotations

import click

from gblint.report.style import plural, shown
from gblint.timing import CLOCK

_SHOWN = 10  # files
_LEAST = 0.001  # seconds that are worth a line


def tell_times(total: float, jobs: int) -> None:
    """Say on stderr what the clock has counted; total: seconds of the whole run, jobs: processes it could use."""
    lines = [f"time: {total:.3f} s, in up to {plural(jobs, 'process', 'processes')}"]
    counted = sorted(CLOCK.stages.items(), key=lambda item: -item[1])
    lines += [_line(seconds, name) for name, seconds in counted if seconds >= _LEAST]
    lines.append(_line(max(0.0, total - sum(CLOCK.stages.values())), "the rest"))
    files = sorted(CLOCK.files.items(), key=lambda item: -item[1])
    fresh = f"{plural(len(files), 'file')} with roots analysed"
    work = "; seconds of work on roots, all processes together:" if files else ""
    lines.append(f"{fresh}, {CLOCK.kept:,} from the cache{work}")
    lines += [_line(seconds, shown(path)) for path, seconds in files[:_SHOWN]]
    if len(files) > _SHOWN:
        lines.append(_line(sum(seconds for _, seconds in files[_SHOWN:]), f"{len(files) - _SHOWN:,} more"))
    click.echo("\n".join(lines), err=True)


def _line(seconds: float, what: str) -> str:
    return f"  {seconds:7.3f} s  {what}"
