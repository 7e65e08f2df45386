"""The last lines of a report: what was found, what was looked at, and how much of it to trust."""

from __future__ import annotations

from collections import Counter

from gblint.checking import BROKEN_FILE, GAP, Outcome
from gblint.gaps import gaps
from gblint.reach import key_of
from gblint.report.cells import place_order
from gblint.report.style import Style, percent, plural, printable, shown

_SILENT = {
    "fails": ("call that torch.compile refuses", "calls that torch.compile refuses"),
    "ignored": ("argument of torch.compile without effect", "arguments of torch.compile without effect"),
    "needless": ("guard that keeps traceable code out", "guards that keep traceable code out"),
    "recompiles": (
        "place where torch.compile compiles anew at each call",
        "places where torch.compile compiles anew at each call",
    ),
}


def render(outcome: Outcome, style: Style) -> str:
    """Summary lines, each with its line end."""
    lines = [
        _found(outcome, style),
        *_tolerated(outcome),
        *_left_out(outcome),
        *_reach(outcome),
        _looked_at(outcome),
        *_doubts(outcome, style),
    ]
    return "".join(f"{line}\n" for line in lines if line)


def _found(outcome: Outcome, style: Style) -> str:
    parts: list[str] = []
    findings = [f for f in outcome.findings if f.is_break]
    silent = Counter(f.consequence for f in outcome.findings if not f.is_break)
    if findings:
        hot = sum(f.hot for f in findings)
        masked = sum(f.consequence == "masked" for f in findings)
        raising = sum(f.consequence == "raises" for f in findings)
        lost = (f for f in findings if f.consequence == "frame-falls-back")
        fallen = len({(place_order(f.filename)[0], f.function) for f in lost})
        details = [
            f"{hot:,} on hot paths" if hot else "",
            f"{raising:,} where compiling raises an error" if raising else "",
            f"{plural(fallen, 'frame falls', 'frames fall')} back to eager" if fallen else "",
            f"{masked:,} masked by another" if masked else "",
        ]
        what = ", ".join(d for d in details if d)
        files = plural(len({place_order(f.filename)[0] for f in findings}), "file")
        parts.append(f"{plural(len(findings), 'graph break')} in {files}" + (f" ({what})" if what else ""))
    parts += [plural(count, *_SILENT[what]) for what, count in sorted(silent.items())]
    broken = sum(p.code == BROKEN_FILE for p in outcome.problems)
    unseen = sum(p.code == GAP for p in outcome.problems)
    unused = len(outcome.problems) - broken - unseen
    if broken:
        parts.append(plural(broken, "place that could not be analysed", "places that could not be analysed"))
    if unused:
        parts.append(plural(unused, "unused suppression"))
    if unseen:
        parts.append(f"{plural(unseen, 'kind')} of things not seen, by --strict")
    if parts:
        return style.paint(f"Found {', '.join(parts)}.", bold=True)
    if outcome.stats.roots:
        return style.paint("Found no graph breaks.", bold=True)
    return style.paint("Nothing was found because nothing was analysed.", fg="yellow", bold=True)


def _tolerated(outcome: Outcome) -> list[str]:
    if not outcome.tolerated:
        return []
    what = "None of them makes" if outcome.tolerated == len(outcome.findings) else f"{outcome.tolerated:,} do not make"
    return [f"{what} the check fail, by `fail-on`."]


def _left_out(outcome: Outcome) -> list[str]:
    parts = [
        f"{outcome.low:,} below confidence {percent(outcome.min_confidence)} (--min-confidence 0 shows them)"
        if outcome.low
        else "",
        f"{outcome.cold:,} off the hot paths" if outcome.cold else "",
        f"{outcome.foreign:,} in code of others than --owner names" if outcome.foreign else "",
        f"{outcome.silenced:,} silenced by comments" if outcome.silenced else "",
        f"{outcome.recorded:,} in the baseline" if outcome.recorded else "",
        f"{outcome.older:,} there before, at {printable(outcome.since)}" if outcome.older else "",
    ]
    text = ", ".join(p for p in parts if p)
    lines = [f"Not shown: {text}."] if text else []
    if outcome.stale:
        gone = plural(outcome.stale, "entry of the baseline is", "entries of the baseline are")
        lines.append(f"{gone} no longer needed: --update-baseline drops {'it' if outcome.stale == 1 else 'them'}.")
    return lines


def _reach(outcome: Outcome) -> list[str]:
    """How many roots break, and by how many causes; nothing where there is one root."""
    causes = {key_of(f): f for f in outcome.findings if f.reach}
    if outcome.stats.roots < 2 or not causes:
        return []
    broken = {root for key in causes for root in outcome.broken.get(key, ())}
    verb = "cause breaks" if len(causes) == 1 else "causes break"
    text = f"{len(causes):,} root {verb} {len(broken):,} of {outcome.stats.roots:,} roots"
    best = max(causes.values(), key=lambda f: (f.frees, f.reach, -f.row))
    if len(causes) > 1 and best.frees > 1:
        text += f"; without {shown(best.filename)}:{best.row} alone, {best.frees:,} of these would be clean"
    return [f"{text}."]


def _looked_at(outcome: Outcome) -> str:
    stats = outcome.stats
    files = sum(s.checked for s in outcome.scopes)
    context = sum(s.files for s in outcome.scopes)
    of = f" of a project of {context:,}" if context > files else ""
    return f"Looked at {plural(files, 'file')}{of}, {plural(stats.functions, 'function')} from {_roots(outcome)}."


def _roots(outcome: Outcome) -> str:
    stats = outcome.stats
    explicit, assumed = stats.explicit_roots, stats.assumed_roots
    if not stats.roots:
        return "no compiled root"
    kinds = [
        f"{explicit:,} compiled in the source or named" if explicit else "",
        f"{assumed:,} assumed to be compiled" if assumed else "",
    ]
    text = ", ".join(k for k in kinds if k)
    return plural(stats.roots, "root") + (f" ({text})" if text else "")


def _doubts(outcome: Outcome, style: Style) -> list[str]:
    stats = outcome.stats
    lines: list[str] = []
    if stats.assumed_roots and not stats.explicit_roots:
        lines.append("No torch.compile was found, so these roots are assumptions; name yours in `roots`.")
    if stats.twins:
        lines.append(
            f"{plural(stats.twins, 'file repeats', 'files repeat')} classes of files beside "
            f"{'it' if stats.twins == 1 else 'them'} that the project imports instead: their modules were taken for "
            "roots there (--roots modules takes all)."
        )
    lines += [f"{gap.text[:1].upper()}{gap.text[1:]}." for gap in gaps(outcome) if gap.name == "unfound-import"]
    unsure = [
        f"{plural(stats.unresolved, 'called name')} could not be resolved" if stats.unresolved else "",
        f"{plural(stats.cut, 'function')} ran out of budget" if stats.cut else "",
        plural(len(stats.internal), "internal error") if stats.internal else "",
    ]
    text = ", ".join(u for u in unsure if u)
    if text:
        lines.append(style.paint(f"{text}: breaks behind them can be missing.", dim=True))
    lines += [style.paint(f"internal error: {printable(text)}", fg="yellow") for text in stats.internal[:5]]
    return lines
