"""Waiting, cleaning up, writing files and stopping in a debugger under `if not torch.compiler.is_compiling():`.

What it does:
    Puts a statement whose only effect lies outside of the computation (`time.sleep`, `gc.collect`,
    `torch.cuda.empty_cache`, `torch.save`, a `with open(…)` block that only writes, `breakpoint()`) under a guard that
    is false while Dynamo traces. An `if` that holds nothing else asks for the guard first.
Applicability:
    Unsafe: compiled code does not do that work.
Preconditions:
    The call is a statement of its own: nothing reads its result. Its arguments change nothing.
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
    guarded,
    harmless,
    is_guarded,
    narrowed,
    owner,
    reports,
    require,
)

CALLS = frozenset(
    {
        "time.sleep", "gc.collect", "gc.enable", "gc.disable", "gc.freeze", "torch.cuda.empty_cache",
        "torch.cuda.ipc_collect", "torch.mps.empty_cache", "torch.xpu.empty_cache", "torch.save", "numpy.save",
        "numpy.savez", "numpy.savetxt", "json.dump", "pickle.dump", "yaml.dump", "os.makedirs", "os.mkdir", "os.remove",
        "os.unlink", "os.rename", "os.replace", "shutil.copy", "shutil.copyfile", "shutil.move", "shutil.rmtree",
        "builtins.breakpoint", "pdb.set_trace", "builtins.input", "os.sync", "sys.exit", "torchvision.utils.save_image",
        "torch.cuda.nvtx.range_push", "torch.cuda.nvtx.range_pop", "torch.cuda.nvtx.mark",
        "faulthandler.dump_traceback",
        "torch.cuda.memory._record_memory_history", "torch.cuda.memory._dump_snapshot",
    }
)  # fmt: skip
WRITING = frozenset({"write", "writelines", "flush", "close", "writerow", "writerows"})
MESSAGE = "do that only when not compiling; compiled code does not"


class GuardSideWork(Codemod):
    """Guards work that is no part of the computation."""

    meta = CodemodMeta(
        name="guard-side-work",
        summary="wait, clean up and write files only when not compiling",
        fixes=("*",),
        rank=30,
    )
    EXAMPLES = (
        Example(
            """
import gc
import time

import torch

@torch.compile
def f(x):
    time.sleep(0.001)
    y = x * 2
    if y.shape[0] > 1:
        gc.collect()
    return y

print("checksum", f(torch.ones(2)).sum().item())
""",
            """
import gc
import time

import torch

@torch.compile
def f(x):
    if not torch.compiler.is_compiling():
        time.sleep(0.001)
    y = x * 2
    if y.shape[0] > 1 and not torch.compiler.is_compiling():
        gc.collect()
    return y

print("checksum", f(torch.ones(2)).sum().item())
""",
            "unsafe",
        ),
        Example(
            """
import os

import torch

FOLDER = "a-folder-that-is-not-here"

@torch.compile
def f(x):
    y = x * 2
    if os.path.isdir(FOLDER):
        torch.save(y, os.path.join(FOLDER, "y.pt"))
    with open(os.devnull, "w") as sink:
        sink.write("done")
    return y

print("checksum", f(torch.ones(2)).sum().item())
""",
            """
import os

import torch

FOLDER = "a-folder-that-is-not-here"

@torch.compile
def f(x):
    y = x * 2
    if not torch.compiler.is_compiling() and os.path.isdir(FOLDER):
        torch.save(y, os.path.join(FOLDER, "y.pt"))
    if not torch.compiler.is_compiling():
        with open(os.devnull, "w") as sink:
            sink.write("done")
    return y

print("checksum", f(torch.ones(2)).sum().item())
""",
            "unsafe",
        ),
    )
    DECLINES = (
        Declined(
            """
import gc
import torch

@torch.compile
def f(x):
    return x * gc.collect()

f(torch.ones(2))
""",
            "the result of the call is used",
        ),
    )

    def repair(self, site: Site) -> Repair | None:
        if is_guarded(site, site.node):
            return None
        whole = self._block(site)
        if whole is not None:
            return Repair("unsafe", MESSAGE, guarded(site, [whole]), ("effects",))
        branch = site.enclosing(site.node, cst.If)
        if branch is not None and (branch.test is site.node or branch.test in site.ancestors(site.node)):
            return self._ask_first(site, branch)
        line = owner(site, site.node)
        small = line.body[0] if isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1 else line
        if self._is_side_work(site, small):
            return Repair("unsafe", MESSAGE, guarded(site, [line]), ("effects",))
        require(
            site.callee(site.node) not in CALLS, "the result of the call is used, or its arguments change something"
        )
        return None

    def _is_side_work(self, site: Site, small: cst.CSTNode) -> bool:
        if not isinstance(small, cst.Expr) or not isinstance(small.value, cst.Call):
            return False
        return site.callee(small.value) in CALLS and harmless(site, [a.value for a in small.value.args])

    def _small(self, block: cst.BaseSuite) -> list[cst.CSTNode]:
        return [s for line in block.body for s in (line.body if isinstance(line, cst.SimpleStatementLine) else [line])]

    def _ask_first(self, site: Site, branch: cst.If) -> Repair | None:
        inside = self._small(branch.body)
        if branch.orelse is not None or not any(self._is_side_work(site, s) for s in inside):
            return None
        if not all(self._is_side_work(site, s) or reports(site, s) for s in inside):
            return None
        require(harmless(site, [branch.test]), "the test changes something besides")
        word, imports = site.refer("torch.compiler.is_compiling")
        edit = narrowed(site, branch, f"not {word}()", first=True)
        return Repair(
            "unsafe", MESSAGE, [edit, *imports] if edit is not None else guarded(site, [branch]), ("effects",)
        )

    def _block(self, site: Site) -> cst.With | None:
        """The `with open(…)` round or at the node that does nothing but write to the file."""
        for above in (site.node, *site.ancestors(site.node)):
            if isinstance(above, cst.With):
                opened = all(site.callee(item.item) == "builtins.open" for item in above.items)
                return above if opened and all(self._writes(site, s) for s in self._small(above.body)) else None
            if isinstance(above, cst.FunctionDef | cst.Lambda):
                return None
        return None

    def _writes(self, site: Site, small: cst.CSTNode) -> bool:
        if reports(site, small) or self._is_side_work(site, small):
            return True
        if not isinstance(small, cst.Expr) or not isinstance(small.value, cst.Call):
            return False
        call = small.value
        named = isinstance(call.func, cst.Attribute) and call.func.attr.value in WRITING
        return named and harmless(site, [a.value for a in call.args])
