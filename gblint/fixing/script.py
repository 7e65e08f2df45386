"""Whether a file is a program of its own that shows everything that decides how its code runs."""

from __future__ import annotations

import ast
import re
import sys
from typing import TYPE_CHECKING

from gblint.fixing.site import Refusal

if TYPE_CHECKING:
    from gblint.fixing.site import Site

MOST_FILES = 600  # that are searched for an import of the file
_PACKAGES = frozenset({"torch", "numpy", "__future__"}) | sys.stdlib_module_names
# What changes how operations run, what modules do when called, or looks at frames and objects from outside. A match in
# a comment costs a proof and nothing else.
_MEDDLING = re.compile(
    r"inference_mode|enable_grad|set_grad_enabled|autocast|\bamp\b|vmap|functorch|torch\.func\b|functional_call|export"
    r"|\bjit\b|checkpoint|hook|parametri[sz]|_norm\(|prune|quantiz|fx\b|autograd|\bcond\b|while_loop|\bscan\b|DataParallel"
    r"|distributed|set_default|with torch\.device|__torch_|TorchDispatch|TorchFunction|overrides|_dynamo\.optimize"
    r"|locals|globals|\bexec\b|settrace|setprofile|_getframe|inspect|setattr|__getattr|__class__|__dict__|\bpatch\b"
    r"|reduce-overhead|max-autotune|cudagraph|threading|Thread|multiprocessing|signal|\basync\b|deterministic|\.data\b"
)
_RANDOM_STATE = re.compile(r"rng_state|initial_seed|fork_rng|default_generator|torch\.seed\b|random\.seed|Generator")


def stands_alone(site: Site, random: bool = False, any_backend: bool = False) -> None:
    """Raise Refusal unless the site's file is a script that no other file imports, imports nothing but torch, NumPy and
    the standard library, compiles with the backend "eager" alone, and has nothing that changes how operations run.

    random: neither may it look at the state of the random numbers. any_backend: other backends will do.
    """
    text = "\n".join(site.lines)
    if not site.module.is_script or _is_imported(site):
        raise Refusal("the file is no script of its own: who else calls it is not in view")
    tree = ast.parse(text)
    for name in _imports(tree):
        if name.partition(".")[0] not in _PACKAGES:
            raise Refusal(f"what `{name}` does with the file's functions is not in view")
    found = _MEDDLING.search(text) or (_RANDOM_STATE.search(text) if random else None)
    if found:
        raise Refusal(f"`{found.group()}` may change how the code runs")
    if not any_backend and not _runs_eagerly(tree):
        raise Refusal('not everything is compiled with `backend="eager"`')


def _is_imported(site: Site) -> bool:
    files = site.machine.project.files
    if len(files) > MOST_FILES:
        return True
    last = site.module.name.rpartition(".")[2]
    for path in files:
        if path == site.module.path:
            continue
        info = site.machine.project.info(path)
        imports = [b for bindings in info.bindings.values() for b in bindings if b.kind == "import"]
        names = {part for b in imports for part in (*b.target.split("."), b.attr)}
        if last in names | {part for star in info.stars for part in star.split(".")}:
            return True
    return False


def _imports(tree: ast.Module) -> list[str]:
    names = [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    froms = [n for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)]
    return names + ["." if n.level else n.module or "" for n in froms]


def _runs_eagerly(tree: ast.Module) -> bool:
    """Whether every mention of `compile` is a call, or the base of a partial one, with the backend "eager"."""
    eager = set()
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        if any(
            k.arg == "backend" and isinstance(k.value, ast.Constant) and k.value.value == "eager" for k in node.keywords
        ):
            eager |= {node.func, *node.args}
    mentions = [
        node
        for node in ast.walk(tree)
        if (isinstance(node, ast.Attribute) and node.attr == "compile")
        or (isinstance(node, ast.Name) and node.id == "compile")
    ]
    imported = any(isinstance(n, ast.alias) and n.name == "compile" for n in ast.walk(tree))
    return bool(mentions) and not imported and all(node in eager for node in mentions)
