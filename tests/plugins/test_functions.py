"""`[tool.gblint.functions]`: what a project says of its own functions."""

from __future__ import annotations

import json

import pytest

from gblint.knowledge.declared import RETURNS, Declarations, Declared, parse_functions

OPS = """\
import ctypes

LIBRARY = ctypes.CDLL("libshop.so")

def overflows(x):
    return LIBRARY.overflows(x)

def norm(x):
    print(x)
    return LIBRARY.norm(x)

def send(x):
    pass

class Journal:
    def write(self, text):
        pass

def journal():
    return LIBRARY.journal()

class Net:
    def flush(self):
        return 1
"""
MODEL = """\
import torch
import shop.ops
import shop_native
from shop.ops import Journal, Net, journal, norm, overflows, send

log = journal()

@torch.compile
def step(x, net: Net):
    if overflows(x):
        x = x / 2
    if shop_native.overflows(x):
        x = x / 2
    send(x)
    shop_native.log_once("x")
    log.info("y")
    Journal().info("z")
    if net.flush():
        x = x + 1
    return norm(x)
"""
ROWS = {"overflows": 10, "native": 12, "send": 14, "log_once": 15, "log": 16, "Journal": 17, "flush": 18}


def check(project, gblint, *said: str) -> list[tuple[str, int]]:
    table = "".join(f"{line}\n" for line in said)
    project({"gblint.toml": f"[functions]\n{table}", "shop/__init__.py": "", "shop/ops.py": OPS, "model.py": MODEL})
    result = gblint("check", "model.py", "--output-format", "json", "-n", "-j", "1")
    assert result.code in (0, 1), result.err
    return [(item["code"], item["location"]["row"]) for item in json.loads(result.out)]


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ('"shop.ops.overflows" = { returns = "bool tensor" }', ("GB0170", ROWS["overflows"])),
        ('"shop.ops.overflows" = { returns = "tensor" }', ("GB0170", ROWS["overflows"])),
        ('"shop_native.overflows" = { returns = "tensor" }', ("GB0170", ROWS["native"])),
        ('"shop_native.*" = { returns = "tensor" }', ("GB0170", ROWS["native"])),
        ('"shop.ops.Net.flush" = { returns = "tensor" }', ("GB0170", ROWS["flush"])),
        ('"shop.ops.send" = { breaks = "it waits for the network" }', ("GBL100", ROWS["send"])),
        ('"shop.ops.Net.flush" = { breaks = "it waits" }', ("GBL100", ROWS["flush"])),
        ('"shop.ops.Journal" = { breaks = "it opens a file" }', ("GBL100", ROWS["Journal"])),
        ('"shop_native.log_once" = { logs = true }', ("GB0291", ROWS["log_once"])),
        ('"shop.ops.journal" = { returns = "logger" }', ("GB0291", ROWS["log"])),
        ('"shop.ops.Journal" = { returns = "logger" }', ("GB0291", ROWS["Journal"])),
        ('"shop.ops.send" = { disabled = true }', ("GB0098", ROWS["send"])),
        ('"shop_native.log_once" = { disabled = true }', ("GB0098", ROWS["log_once"])),
    ],
)
def test_what_is_said_counts(said, found, project, gblint) -> None:
    before = check(project, gblint)
    assert found not in before
    assert check(project, gblint, said) == sorted([*before, found], key=lambda item: item[1])


@pytest.mark.parametrize("kind", ["bool", "int", "float", "str", "none"])
def test_what_is_no_tensor_is_none(kind, project, gblint) -> None:
    table = f'"shop_native.overflows" = {{ returns = "{kind}" }}'
    assert check(project, gblint, table) == check(project, gblint)


def test_a_function_whose_result_is_told_is_looked_into_all_the_same(project, gblint) -> None:
    """`norm` prints: that breaks at a place of its own, in another file."""
    project({"gblint.toml": '[functions]\n"shop.ops.norm" = { returns = "tensor" }\n', "shop/__init__.py": "",
             "shop/ops.py": OPS, "model.py": MODEL})  # fmt: skip
    found = json.loads(gblint("check", "--output-format", "json", "-n", "-j", "1").out)
    assert [(f["code"], f["location"]["row"]) for f in found if f["filename"].endswith("ops.py")] == [("GB0059", 9)]
    project({"gblint.toml": '[functions]\n"shop.ops.norm" = { breaks = "native", returns = "tensor" }\n'})
    found = json.loads(gblint("check", "--output-format", "json", "-n", "-j", "1").out)
    assert [f["location"]["row"] for f in found if f["filename"].endswith("ops.py")] == []
    assert [f["location"]["row"] for f in found if f["code"] == "GBL100"] == [20]


def test_the_message_is_what_the_settings_say(project, gblint) -> None:
    project({"gblint.toml": '[functions]\n"shop.ops.send" = { breaks = "it waits for the network" }\n',
             "shop/__init__.py": "", "shop/ops.py": OPS, "model.py": MODEL})  # fmt: skip
    out = gblint("check", "model.py", "-n", "-j", "1").out
    assert "`send(x)` calls `shop.ops.send`, which breaks the graph: it waits for the network" in out
    assert gblint("check", "model.py", "-n", "-j", "1", "--select", "GBL100").code == 1
    assert gblint("check", "model.py", "-n", "-j", "1", "--select", "GBL001").code == 0
    assert "declared to break" in gblint("explain", "GBL100").out


def test_an_edit_of_the_table_counts_at_once(project, gblint) -> None:
    files = {"shop/__init__.py": "", "shop/ops.py": OPS, "model.py": MODEL}
    project({"gblint.toml": "", **files})
    before = gblint("check", "model.py", "--output-format", "concise").out
    project({"gblint.toml": '[functions]\n"shop.ops.send" = { disabled = true }\n'})
    assert "GB0098" not in before
    assert "GB0098" in gblint("check", "model.py", "--output-format", "concise").out
    project({"gblint.toml": ""})
    assert gblint("check", "model.py", "--output-format", "concise").out == before


def test_a_loud_call_that_is_declared_is_repaired_like_any(project, gblint) -> None:
    root = project({"gblint.toml": '[functions]\n"shop_native.log_once" = { logs = true }\n',
                    "shop/__init__.py": "", "shop/ops.py": OPS, "model.py": MODEL})  # fmt: skip
    gblint("fix", "--unsafe-fixes", "--rule", "GB0291", "model.py", "-j", "1")
    text = (root / "model.py").read_text()
    assert '    if not torch.compiler.is_compiling():\n        shop_native.log_once("x")\n' in text


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ([], "expected a table such as"),
        ({"fused": {"returns": "tensor"}}, "`fused` is not a dotted name"),
        ({"shop.*.fused": {"returns": "tensor"}}, "is not a dotted name"),
        ({"shop.fused": "tensor"}, "`shop.fused`: expected a table such as"),
        ({"shop.fused": {"return": "tensor"}}, "unknown key `return`; did you mean `returns`?"),
        ({"shop.fused": {"returns": "tensors"}}, "`returns`: expected one of tensor, bool tensor"),
        ({"shop.fused": {"logs": "yes"}}, "`logs`: expected true or false"),
        ({"shop.fused": {"breaks": True}}, "`breaks`: expected a text that says why"),
        ({"shop.fused": {}}, "says nothing"),
        ({"shop.fused": {"logs": False}}, "says nothing"),
        ({"shop.fused": {"logs": True, "disabled": True}}, "`logs` and `disabled` exclude each other"),
    ],
)
def test_a_wrong_table_is_an_error_that_says_what_is_wrong(value, said) -> None:
    with pytest.raises(ValueError, match=r"shop|expected|dotted") as caught:
        parse_functions(value)
    assert said in str(caught.value)


def test_an_error_names_file_and_key(project, gblint) -> None:
    project({"pyproject.toml": "[tool.gblint.functions]\nfused = { returns = 'tensor' }\n", "a.py": ""})
    result = gblint("check")
    assert result.code == 2
    assert "pyproject.toml: `tool.gblint.functions`: `fused` is not a dotted name" in result.err


def test_a_name_goes_before_a_pattern_and_a_long_one_before_a_short_one() -> None:
    said = {name: Declared(breaks=name) for name in ("a.*", "a.b.*", "a.b.c")}
    found = Declarations(said.items())
    assert [found.find(name) for name in ("a.b.c", "a.b.d", "a.x", "ab.c", "a")] == [
        said["a.b.c"], said["a.b.*"], said["a.*"], None, None,
    ]  # fmt: skip
    assert found
    assert not Declarations(())


def test_every_kind_of_result_is_taken() -> None:
    table = {f"shop.f{n}": {"returns": kind} for n, kind in enumerate(RETURNS)}
    assert [what.returns for _, what in parse_functions(table)] == list(RETURNS)
