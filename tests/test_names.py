"""The dotted names that rules and codemods look for are those of things that there are."""

from __future__ import annotations

import sys

import pytest

from gblint.codemod_api import Codemod
from gblint.devtools.names import dotted_names, is_there
from gblint.devtools.said import own_rules, stem
from gblint.registry import load_codemods
from gblint.rule_api import Rule

# Not to be found where the tests run, and yet right.
ELSEWHERE = {
    "_thread.lock": "the class of locks, which some Python releases only give by `type`",
    "hashlib.HASH": "what typeshed calls the class of digests",
    "hashlib._Hash": "what typeshed called the class of digests",
    "math.sumprod": "new in Python 3.12",
    "multiprocessing.context.Lock": "what the source of `multiprocessing.Lock` looks like by its import",
    "numpy.product": "gone in NumPy 2",
    "torchvision.utils.save_image": "of a package that the tests do not install",
}


@pytest.mark.parametrize("subject", [*own_rules(), *load_codemods()], ids=stem)
def test_names_in_tables_are_there(subject: type[Rule] | type[Codemod]) -> None:
    names = set(dotted_names(sys.modules[subject.__module__]))
    assert {name for name in names - set(ELSEWHERE) if not is_there(name)} == set()


def test_a_misspelt_name_is_met() -> None:
    assert is_there("torch.Tensor.item")
    assert is_there("list.sort")
    assert not is_there("torch.Tensor.itme")
    assert not is_there("troch.zeros")
