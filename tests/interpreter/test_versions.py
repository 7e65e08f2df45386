"""Releases that code compares."""

from __future__ import annotations

import pytest

from gblint.interpreter.versions import Release
from tests.interpreter.programs import Analyst


@pytest.mark.parametrize(
    ("low", "high"),
    [("1.9", "1.10"), ("2.0rc1", "2.0"), ("2.1.0.dev20230101", "2.1"), ("v1.2", "2"), ("2.13.0+cpu", "2.13.1")],
)
def test_releases_are_ordered_by_their_numbers(low: str, high: str) -> None:
    older, newer = Release(low), Release(high)
    assert (older < newer, older <= newer, older != newer) == (True, True, True)
    assert (older > newer, older >= newer, older == newer) == (False, False, False)
    assert older < high


def test_zeros_at_the_end_and_what_is_built_do_not_count() -> None:
    assert Release("2.0") == "2.0.0" == Release("2.0.0+cu118")
    assert len({Release("2"), Release("2.0.0+cpu")}) == 1
    assert Release("2.4.1") >= (2, 4)
    with pytest.raises(TypeError):
        assert Release("2.4.1") < 3


@pytest.mark.parametrize(
    "test",
    [
        "torch.__version__ < '2.4'",
        "torch.__version__ < (2, 4)",
        "torch.__version__ >= '2.100'",
        "version.parse(torch.__version__) < version.parse('2.0')",
        "Version(torch.__version__.split('+')[0]).major < 2",
        "Version('2.1').release < (2, 0)",
        "Version('2.0').release < (2, 0)",
        "Version('2.0').release[1] == 1",
        "Version(torch.__version__).is_prerelease",
        "LooseVersion(TORCH) < LooseVersion('1.8')",
        "TORCH.startswith('1.')",
        "int(torch.__version__.split('.')[0]) < 2",
        "torch.__version__[0] == '1'",
        "tuple(int(part) for part in torch.__version__.split('.')[:2]) < (2, 0)",
        "tuple(map(int, torch.__version__.split('.')[:2])) < (2, 0)",
        "Version(importlib.metadata.version('torch')) < Version('2')",
        "sys.version_info < (3, 8)",
        "sys.version_info[0] == 2",
    ],
)
def test_the_way_for_other_releases_is_not_taken(analyst: Analyst, test: str) -> None:
    analyst.check(f"""
        import importlib.metadata
        from distutils.version import LooseVersion
        from packaging import version
        from packaging.version import Version
        from torch import __version__ as TORCH

        @torch.compile
        def f(x: Tensor):
            if {test}:
                graph_break()
            return x

        f(torch.rand(3))
    """)


@pytest.mark.parametrize(
    "test",
    [
        "parse(numpy.__version__) < parse('2.0')",
        "parse(numpy.__version__).is_prerelease",
        "parse('2.1rc1').is_devrelease",
        "parse(torch.__version__).local",
    ],
)
def test_a_release_that_is_not_known_leaves_both_ways(analyst: Analyst, test: str) -> None:
    analyst.check(f"""
        import numpy
        from packaging.version import parse

        @torch.compile
        def f(x: Tensor):
            if {test}:
                graph_break()  # splits
            return x

        f(torch.rand(3))
    """)
