"""Labels are read as documented, and lies in them are found."""

from __future__ import annotations

import pytest

from gblint.devtools.labels import (
    Place,
    example_problems,
    expected,
    expected_silent,
    header,
    header_lines,
    program_problems,
)
from gblint.devtools.observed import Break, Observed
from gblint.devtools.relabel import relabelled

HEADER = """\
# source: a report
# expect: GB0059 @ 12
# expect: GB0124 @ pkg/helper.py:4
# also: GB7000 @ 12
# silent: GB0003 @ 9
# needs: numpy, einops

# expect: GB0001 @ 1
"""


def test_header() -> None:
    labels = header(HEADER)
    assert labels.expect == {Place("", 12, "GB0059"), Place("pkg/helper.py", 4, "GB0124")}
    assert labels.also == {Place("", 12, "GB7000")}
    assert labels.silent == {Place("", 9, "GB0003")}
    assert labels.needs == ("numpy", "einops")


def test_header_none_and_absent() -> None:
    assert header("# expect: none\n").expect == frozenset()
    with pytest.raises(ValueError, match="no `# expect:` line"):
        header("import torch\n# expect: none\n")


def test_trailing_comments() -> None:
    text = """\
x.item()  # GB0124
y = "# GB0001"
f(x)  # GB0059, GB7000
def g():  # silent: GB0003
    yield  # see GB0003 docs
"""
    assert expected(text) == {(1, "GB0124"), (3, "GB0059"), (3, "GB7000")}
    assert expected_silent(text) == {(4, "GB0003")}


def test_example_problems() -> None:
    text = "f(x)  # GB0059\ng(x)\n"
    good = Observed(breaks=(Break("GB0059", 1),), traced={"": [1]})
    assert example_problems(text, good) == []
    bad = Observed(breaks=(Break("GB0124", 2),), error="KeyError: 1")
    assert example_problems(text, bad) == [
        "no break GB0059 at line 1",
        "unannounced break GB0124 at line 2",
        "it ends with KeyError: 1",
        "Dynamo traced none of it: is the compiled function called?",
    ]


def test_program_problems() -> None:
    labels = header("# expect: GB0059 @ 3\n# also: GB7000 @ 3\n")
    assert program_problems(labels, Observed(breaks=(Break("GB0059", 3, wrapped_by=("GB7000",)),))) == []
    assert program_problems(labels, Observed(breaks=(Break("GB0059", 4),))) == [
        "expect: GB0059 @ 3 did not happen",
        "expect: GB0059 @ 4 is not in the header",
        "also: GB7000 @ 3 did not happen",
    ]


def test_relabelling_makes_the_header_true_in_spite_of_the_lines_it_adds() -> None:
    text = "# source: a report\n# expect: none\nimport torch\nf(x)\n"
    observed = Observed(breaks=(Break("GB0059", 4, wrapped_by=("GB7000",)),), silent=(Break("GB0003", 2, "a.py"),))
    new = relabelled(text, observed)
    assert new.splitlines() == [
        "# expect: GB0059 @ 6",
        "# also: GB7000 @ 6",
        "# silent: GB0003 @ a.py:2",
        "# source: a report",
        "import torch",
        "f(x)",
    ]
    assert new.splitlines()[5] == "f(x)"


def test_header_lines_round_trip() -> None:
    observed = Observed(breaks=(Break("GB0059", 3, wrapped_by=("GB7000",)), Break("GB0124", 1, "b.py")))
    assert program_problems(header("\n".join(header_lines(observed))), observed) == []
