"""What other releases did is written down and read back, and of changed programs nothing is claimed."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from gblint.devtools.labels import Labels, Place
from gblint.devtools.observed import UNNUMBERED, Break, Observed
from gblint.devtools.programs import LABELLED, collections_in, programs_in
from gblint.devtools.releases import Ran, Release, digest, load_releases, ran, text_of

CORPUS = Path(__file__).parents[2] / "corpus"
OBSERVED = Observed(
    breaks=(Break("GB0059", 3, wrapped_by=("GB7000",)), Break(UNNUMBERED, 4, "pkg/a.py")), silent=(Break("GB0003", 1),)
)


def program(tmp_path: Path) -> Path:
    file = tmp_path / "x.py"
    file.write_text("import torch\n")
    return file


def test_a_record_reads_back_as_the_labels_seen(tmp_path: Path) -> None:
    file = program(tmp_path)
    written = text_of(Release("2.9.1", "3.11.7", {"field/x.py": ran(file, OBSERVED), "field/y.py": Ran("0")}))
    assert written.count("\n") == 8, "a line for each program"
    read = msgspec.json.decode(written, type=Release)
    places = {Place("", 3, "GB0059"), Place("pkg/a.py", 4, UNNUMBERED)}
    labels = Labels(frozenset(places), frozenset({Place("", 3, "GB7000")}), frozenset({Place("", 1, "GB0003")}))
    assert read.labels("field", [file, tmp_path / "z.py"]) == {file: labels}


def test_nothing_is_said_of_another_text_or_of_a_run_cut_short(tmp_path: Path) -> None:
    file = program(tmp_path)
    record = Release("2.9.1", "3.11.7", {"field/x.py": ran(file, OBSERVED)})
    file.write_text("import torch  # edited\n")
    assert record.labels("field", [file]) == {}
    failed = ran(file, Observed(error="RuntimeError: at 0x7f00\nmore"))
    assert failed.error == "RuntimeError"
    assert Release("2.9.1", "3.11.7", {"field/x.py": failed}).labels("field", [file]) == {}


def test_releases_are_ordered_as_numbers(tmp_path: Path) -> None:
    (tmp_path / "releases").mkdir()
    for minor in ("2.11", "2.9"):
        (tmp_path / "releases" / f"torch-{minor}.json").write_text(text_of(Release(f"{minor}.0", "3.11.7", {})))
    assert [*load_releases(tmp_path)] == ["2.9", "2.11"]


@pytest.mark.parametrize("text", ["GB0059", "GB0059 @ x.py", "GB59 @ 3", "GB0059 @ 3 more"])
def test_what_is_no_place_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="not a place"):
        Place.parse(text)


@pytest.mark.parametrize(("minor", "release"), load_releases(CORPUS).items())
def test_the_records_are_of_these_programs(minor: str, release: Release) -> None:
    """A record that tells of few programs would hold the analyzer to little."""
    assert minor != LABELLED
    assert release.torch.startswith(f"{minor}.")
    programs = {f"{name}/{p.name}": p for name, folder in collections_in(CORPUS).items() for p in programs_in(folder)}
    assert release.programs.keys() <= programs.keys()
    current = sum(one.text == digest(programs[name]) for name, one in release.programs.items())
    assert current >= 0.8 * len(programs), "record again: python -m gblint.devtools.releases"
    assert sum(bool(one.error) for one in release.programs.values()) <= 0.02 * len(programs)
