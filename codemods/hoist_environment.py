"""A question about the machine, or a write of its environment, made when the module is loaded.

What it does:
    Moves a call that asks for what does not change while a program runs (`os.path.exists("scale.txt")`, `os.getpid()`,
    `importlib.import_module("name")`) into a constant of the module, and a statement that sets an environment variable
    to the top of the file, or in front of the function where it reads constants of the module.
Applicability:
    Unsafe: it happens once, when the file is loaded, and later changes (a file that appears, a fork) are not seen.
Preconditions:
    The arguments are literals or names that the module sets once, above. A write stands directly in the function.
"""

from __future__ import annotations

import libcst as cst

from gblint.codemod_api import (
    Codemod,
    CodemodMeta,
    Declined,
    Example,
    Repair,
    Site,
    refuse,
    require,
    walk,
)

ASKING = frozenset(
    {
        "os.path.exists", "os.path.isdir", "os.path.isfile", "os.path.islink", "os.path.getsize", "os.path.abspath",
        "os.path.realpath", "os.getpid", "os.getppid", "os.cpu_count", "os.getcwd", "os.uname", "os.listdir",
        "os.access", "socket.gethostname", "getpass.getuser", "multiprocessing.cpu_count", "platform.system",
        "platform.machine", "platform.platform", "platform.python_version", "importlib.import_module", "glob.glob",
        "shutil.which", "tempfile.gettempdir", "importlib.metadata.version", "importlib.util.find_spec",
    }
)  # fmt: skip


class HoistEnvironment(Codemod):
    """Moves questions about the machine to module level."""

    meta = CodemodMeta(
        name="hoist-environment",
        summary="ask about the machine once, at module level",
        fixes=("skipped-call", "skipped-library-function", "environment-write", "opaque-method"),
        rank=40,
    )
    EXAMPLES = (
        Example(
            """
import os

import torch

DUMP = "a-folder-that-is-not-here"


@torch.compile
def f(x):
    if os.path.isdir(DUMP):
        x = x * 2
    return x + 1


print("checksum", f(torch.ones(2)).sum().item())
""",
            """
import os

import torch

DUMP = "a-folder-that-is-not-here"


ISDIR = os.path.isdir(DUMP)


@torch.compile
def f(x):
    if ISDIR:
        x = x * 2
    return x + 1


print("checksum", f(torch.ones(2)).sum().item())
""",
            "unsafe",
        ),
        Example(
            """
import os

import torch


class Scale(torch.nn.Module):
    def forward(self, x):
        os.environ["SCALE"] = "1"
        return x * 2


print("checksum", torch.compile(Scale())(torch.ones(2)).sum().item())
""",
            """
import os

import torch

os.environ["SCALE"] = "1"


class Scale(torch.nn.Module):
    def forward(self, x):
        return x * 2


print("checksum", torch.compile(Scale())(torch.ones(2)).sum().item())
""",
            "unsafe",
        ),
        Example(
            """
import importlib
import os
from os import path as paths

import torch

NAMES = ("a-folder", "that-is-not-here")


@torch.compile
def f(x):
    _folder = paths.join("a", paths.abspath(paths.sep))
    first = second = os.getpid()
    module = importlib.import_module("os.path")
    other = importlib.import_module(name="math")
    third = importlib.import_module("math", None)
    _ = os.cpu_count()
    if paths.exists(os.path.join(NAMES[0], NAMES[1])) and os.path.isdir(str(NAMES)):
        x = x * 2
    return x + 1


print("checksum", f(torch.ones(2)).sum().item())
""",
            """
import importlib
import math
import os
from os import path as paths

import torch

NAMES = ("a-folder", "that-is-not-here")


ABSPATH = paths.abspath(paths.sep)


GETPID = os.getpid()


MODULE = importlib.import_module("os.path")


THIRD = importlib.import_module("math", None)


VALUE = os.cpu_count()


EXISTS = paths.exists(os.path.join(NAMES[0], NAMES[1]))


ISDIR = os.path.isdir(str(NAMES))


@torch.compile
def f(x):
    _folder = paths.join("a", ABSPATH)
    first = second = GETPID
    module = MODULE
    other = math
    third = THIRD
    _ = VALUE
    if EXISTS and ISDIR:
        x = x * 2
    return x + 1


print("checksum", f(torch.ones(2)).sum().item())
""",
            "unsafe",
        ),
        Example(
            """
import os

import torch

LEVEL = "1"


class Scale(torch.nn.Module):
    def forward(self, x):
        os.environ.setdefault("SCALE", LEVEL)
        os.environ.update(SHIFT=LEVEL)
        os.environ["LEVEL"] = str(len(LEVEL))
        return x * 2


print("checksum", torch.compile(Scale())(torch.ones(2)).sum().item())
""",
            """
import os

import torch

LEVEL = "1"


os.environ.setdefault("SCALE", LEVEL)


os.environ.update(SHIFT=LEVEL)


os.environ["LEVEL"] = str(len(LEVEL))


class Scale(torch.nn.Module):
    def forward(self, x):
        return x * 2


print("checksum", torch.compile(Scale())(torch.ones(2)).sum().item())
""",
            "unsafe",
        ),
    )
    DECLINES = (
        Declined(
            """
import os
import torch

@torch.compile
def f(x, path):
    return x * 2 if os.path.exists(path) else x

HERE = "here"
f(torch.ones(2), "here")
""",
            "`path` is not known when the module is loaded",
        ),
        Declined(
            """
import os
import torch

@torch.compile
def f(x, flag):
    if flag:
        os.environ["FLAG"] = "1"
    return x

f(torch.ones(2), True)
""",
            "under a condition",
        ),
        Declined(
            """
import os
import torch

@torch.compile
def shared(x):
    os.environ["FLAG"] = "1"; y = x * 2
    return y

@torch.compile
def twice(x):
    old = os.environ["FLAG"] = "1"
    return x * 2, old

@torch.compile
def added(x):
    os.environ["FLAG"] += "1"
    return x * 2

for f in (shared, twice, added, more):
    f(torch.ones(2))
""",
            "the statement is not on its own",
        ),
        Declined(
            """
import os
import torch

HERE = "a"
HERE = "b"
COUNT = 1

def counted():
    global COUNT
    COUNT += 1

@torch.compile
def f(x, module, path="a"):
    (lambda path: os.path.exists(path))(path)
    if os.path.exists(THERE) or os.path.isdir(HERE) or os.path.isfile(str(COUNT)):
        x = x + 1
    del os.environ[THERE]
    return x * module.pi

os.environ["a"] = THERE = "a"
counted()
f(torch.ones(2), torch)
""",
            "`THERE` is not known when the module is loaded",
        ),
    )

    def repair(self, site: Site) -> Repair | None:
        if site.finding.name == "environment-write":
            return self._write(site)
        if site.callee(site.node) not in ASKING:
            return None
        assert isinstance(site.node, cst.Call)
        self._require_known(site, [a.value for a in site.node.args])
        module = self._module(site, site.node)
        if module:
            name, imports = site.refer(module)
            return Repair(
                "unsafe", f"import `{module}` when the file is loaded", [site.replace(site.node, name), *imports]
            )
        name = self._name(site, site.node)
        edits = [site.before_definition(f"{name} = {site.flat(site.node)}\n"), site.replace(site.node, name)]
        return Repair("unsafe", "ask once, when the file is loaded; later changes are not seen", edits)

    def _module(self, site: Site, call: cst.Call) -> str:
        """The module that `importlib.import_module` is to import, if a plain import can do that."""
        if site.callee(call) != "importlib.import_module" or len(call.args) != 1:
            return ""
        text = call.args[0].value
        word = text.evaluated_value if isinstance(text, cst.SimpleString) else ""
        return word if isinstance(word, str) and word.isidentifier() else ""

    def _name(self, site: Site, call: cst.Call) -> str:
        above = site.parent(call)
        if isinstance(above, cst.Assign) and len(above.targets) == 1:
            target = above.targets[0].target
            if isinstance(target, cst.Name):
                return site.fresh(target.value.upper().strip("_") or "VALUE")
        return site.fresh(site.callee(call).rpartition(".")[2].upper())

    def _write(self, site: Site) -> Repair:
        line = site.statement(site.node)
        require(isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1, "the statement is not on its own")
        assert isinstance(line, cst.SimpleStatementLine)
        direct = site.parent(line) is site.function.body
        require(direct, "the environment is written under a condition, or in a block of its own")
        (small,) = line.body
        if isinstance(small, cst.Assign) and len(small.targets) == 1:
            parts: list[cst.CSTNode] = [small.value, small.targets[0].target]
        elif isinstance(small, cst.Expr) and isinstance(small.value, cst.Call):
            parts = [a.value for a in small.value.args]
        else:
            refuse("the statement does more than write the environment")
        self._require_known(site, parts)
        text = f"{site.text(line)}\n"
        first = site.at_module_level(text)
        names = {n.value for part in parts for n in walk(part) if isinstance(n, cst.Name)}
        late = any(b.end >= first.row for name in names for b in site.module.bindings.get(name, ()))
        edits = [site.before_definition(text) if late else first, site.remove(line)]
        return Repair("unsafe", "set the environment when the file is loaded", edits)

    def _require_known(self, site: Site, parts: list[cst.CSTNode]) -> None:
        """Refuse if an expression reads what is set in a function, below the function, or more than once."""
        row = site.span(site.node)[0]
        top = next((start for start, end, _ in site.module.statements if start <= row <= end), row)
        for part in parts:
            for name in (n for n in walk(part) if isinstance(n, cst.Name)):
                above = site.parent(name)
                if name in (getattr(above, "attr", None), getattr(above, "keyword", None)):
                    continue
                bound = site.module.bindings.get(name.value, [])
                known = len(bound) == 1 and bound[0].end < top and name.value not in site.module.globals_written
                known = known or not bound
                require(known and not site.binds(name.value), f"`{name.value}` is not known when the module is loaded")
