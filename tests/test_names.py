"""The names that rules and codemods look for, in tables and in code, are those of things that there are."""

from __future__ import annotations

import re
import sys

import pytest

from gblint.codemod_api import Codemod
from gblint.devtools.names import is_known, is_there, names, words
from gblint.devtools.said import own_rules, stem
from gblint.registry import load_codemods
from gblint.rule_api import SKIPPED_PACKAGES, Rule

# Not to be found where the tests run, and yet right.
ELSEWHERE = {
    "_thread.lock": "the class of locks, which some Python releases only give by `type`",
    "hashlib.HASH": "what typeshed calls the class of digests",
    "hashlib._Hash": "what typeshed called the class of digests",
    "math.sumprod": "new in Python 3.12",
    "multiprocessing.context.Lock": "what the source of `multiprocessing.Lock` looks like by its import",
    "numpy.product": "gone in NumPy 2",
    "torchvision.utils.save_image": "of a package that the tests do not install",
    **dict.fromkeys(("tqdm", "fastprogress", "progressbar"), "packages that the tests do not install"),
    **dict.fromkeys(
        ("set_description", "set_description_str", "set_postfix", "set_postfix_str", "refresh"), "methods of tqdm"
    ),
    **dict.fromkeys(("acquire", "release", "locked"), "methods of locks, whose class is built in"),
    **dict.fromkeys(("writerow", "writerows"), "methods of what `csv.writer` gives"),
    "observe": "a method of the clients of Prometheus",
    "tracemalloc": "a module",
    "constant": "a mode of `numpy.pad`",
    **dict.fromkeys(("affine", "elementwise_affine", "eps", "fill_value"), "parameters of torch's functions"),
    "rng_state": "in the names of functions of torch",
    **dict.fromkeys(("dict_items", "dict_keys", "dict_values", "iterator"), "kinds of a `Stream`"),
    "tensors": "a kind of argument in the knowledge",
    "cell": "a kind of `Globals`",
    **dict.fromkeys(("match", "ternary"), "kinds of a `Branch`"),
    **dict.fromkeys(("default", "lite"), "modes of `torch.compile`"),
    **dict.fromkeys(("eager", "aot_eager", "cudagraphs"), "backends of `torch.compile`"),
}
# Names that repairs give to what they add, and parts of names that they take off.
GIVEN = {"Forward", "Ns", "Out", "Output", "VALUE", "_value", "draw", "early_", "get_", "if_not", "if_so", "joined",
         "main", "make_", "resource"}  # fmt: skip
LETTERS = {"aei": "of the words that take `an`", "rRuU": "that strings of kinds without a print begin with"}
GRAPH_BREAK = re.compile(r"GB\d{4}")


def is_right(name: str) -> bool:
    known = name.partition(".")[0] in SKIPPED_PACKAGES or name.removesuffix(".") in ELSEWHERE
    return known or GRAPH_BREAK.fullmatch(name) is not None or is_there(name)


@pytest.mark.parametrize("subject", [*own_rules(), *load_codemods()], ids=stem)
def test_names_in_tables_are_there(subject: type[Rule] | type[Codemod]) -> None:
    assert {name for name in names(sys.modules[subject.__module__]) if not is_right(name)} == set()


@pytest.mark.parametrize("subject", [*own_rules(), *load_codemods()], ids=stem)
def test_names_in_code_are_there(subject: type[Rule] | type[Codemod]) -> None:
    found = set(words(sys.modules[subject.__module__])) - GIVEN - LETTERS.keys()
    assert {word for word in found if not is_right(word) and not is_known(word)} == set()


def test_a_misspelt_name_is_met() -> None:
    assert is_there("torch.Tensor.item")
    assert is_there("list.sort")
    assert not is_there("torch.Tensor.itme")
    assert not is_there("troch.zeros")
    assert is_there("time.")
    assert not is_there("tiem.")
    assert is_there("register_forward_hook")
    assert not is_there("REGISTER_FORWARD_HOOK")
    assert is_known("num_classes")
    assert is_known("inplace")
    assert not is_known("inplcae")
    assert not is_known("XXresultXX")
