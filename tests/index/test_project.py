"""Module names, imports and the definitions they lead to."""

from __future__ import annotations

from pathlib import Path

import pytest

from gblint.index.project import Project, Resolved


def make(root: Path, **files: str) -> list[Path]:
    """Write files; `__` in a keyword is a folder separator, `INIT` an `__init__`."""
    paths = []
    for name, text in files.items():
        path = root / (name.replace("__", "/").replace("INIT", "__init__") + ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        paths.append(path)
    return paths


def resolve(project: Project, path: Path, name: str) -> Resolved | None:
    return project.resolve(project.info(path), name)


def where(project: Project, path: Path, name: str) -> tuple[str, str, str]:
    """(kind, file, qualified name) of a name, or its dotted name where it cannot be read."""
    found = resolve(project, path, name)
    if found is None:
        return ("none", "", "")
    return (found.kind, Path(found.info.path).name if found.info else "", found.qualname or found.dotted)


def test_module_names(tmp_path: Path) -> None:
    files = make(
        tmp_path,
        src__pkg__INIT="",
        src__pkg__sub__INIT="",
        src__pkg__sub__m="",
        src__pkg__plain__n="",
        scripts__run="",
        other__run="",
    )
    project = Project(files, [])
    named = [(project.info(path).name, project.info(path).package) for path in files]
    assert named[:4] == [
        ("pkg", "pkg"),
        ("pkg.sub", "pkg.sub"),
        ("pkg.sub.m", "pkg.sub"),
        ("pkg.plain.n", "pkg.plain"),
    ]
    assert [name for name, _ in named[4:]] == ["run", "run"]
    assert project.info(files[4]) is not project.info(files[5])


def test_a_package_above_site_packages_does_not_leak_into_it(tmp_path: Path) -> None:
    site = tmp_path / ".venv" / "site-packages"
    files = make(tmp_path, INIT="", m="import lib")
    make(site, lib__INIT="x = 1")
    project = Project(files, [site])
    found = project.find("lib", project.info(files[1]))
    assert found is not None
    assert found.name == "lib"


def test_scripts_see_their_own_folder_first(tmp_path: Path) -> None:
    one = make(tmp_path / "one", run="import utils, types", utils="def f(): pass", types="def g(): pass")
    two = make(tmp_path / "two", run="import utils", utils="def f(): pass\ndef f2(): pass")
    project = Project(one + two, [])
    assert resolve(project, one[0], "utils.f").info.path == str(one[1])  # type: ignore[union-attr]
    assert resolve(project, two[0], "utils.f").info.path == str(two[1])  # type: ignore[union-attr]
    assert where(project, one[0], "types.g") == ("function", "types.py", "g")


def test_import_from_the_folder_the_program_is_run_from(tmp_path: Path) -> None:
    files = make(
        tmp_path,
        tools__deep__run="from helpers.text import f\nfrom .near import g\nimport helpers.text",
        tools__deep__near="def g(): pass",
        helpers__text="def f(): pass",
    )
    project = Project(files, [])
    assert where(project, files[0], "f") == ("function", "text.py", "f")
    assert where(project, files[0], "g") == ("function", "near.py", "g")
    assert where(project, files[0], "helpers.text.f") == ("function", "text.py", "f")


def test_a_script_elsewhere_does_not_hide_a_library(tmp_path: Path) -> None:
    files = make(tmp_path / "p", app__INIT="", app__m="import lib, stray", misc__lib="x = 1", misc__stray="x = 1")
    make(tmp_path / "site", lib__INIT="y = 1")
    project = Project(files, [tmp_path / "site"])
    assert where(project, files[1], "lib.y") == ("assign", "__init__.py", "y")
    assert where(project, files[1], "stray.x") == ("assign", "stray.py", "x")


def test_re_exports_aliases_and_stars(tmp_path: Path) -> None:
    files = make(
        tmp_path,
        use="import pkg as p\nfrom pkg import Net as N, helper, _hidden, public\nfrom pkg import sub",
        pkg__INIT="from .nets import Net\nfrom .tools import *\nfrom . import sub",
        pkg__nets="class Base:\n    def run(self): pass\n    size = 1\nclass Net(Base):\n    def forward(self): pass",
        pkg__tools="__all__ = ['helper']\ndef helper(): pass\ndef _hidden(): pass\ndef public(): pass",
        pkg__sub__INIT="from ..nets import Net as Again",
    )
    project = Project(files, [])
    use = files[0]
    assert where(project, use, "N") == ("class", "nets.py", "Net")
    assert where(project, use, "p.Net.forward") == ("function", "nets.py", "Net.forward")
    assert where(project, use, "N.run") == ("function", "nets.py", "Base.run")
    assert where(project, use, "N.size") == ("assign", "nets.py", "Base.size")
    assert where(project, use, "helper") == ("function", "tools.py", "helper")
    assert where(project, use, "public") == ("external", "", "pkg.public")
    assert where(project, use, "sub.Again") == ("class", "nets.py", "Net")
    assert where(project, use, "p.sub") == ("module", "__init__.py", "pkg.sub")
    assert where(project, use, "p.nets") == ("module", "nets.py", "pkg.nets")
    assert where(project, use, "nothing") == ("none", "", "")


def test_what_leaves_the_source(tmp_path: Path) -> None:
    text = """
import torch.nn.functional as F
from torch import nn
import logging, absent.sub
log = logging.getLogger()
"""
    files = make(tmp_path, m=text, torch__INIT="")
    project = Project(files, [tmp_path])
    names = {"F.relu": "torch.nn.functional.relu", "nn.Module": "torch.nn.Module", "absent.sub.f": "absent.sub.f"}
    for name, dotted in names.items():
        assert where(project, files[0], name) == ("external", "", dotted)
    assert where(project, files[0], "logging.getLogger") == ("external", "", "logging.getLogger")
    assert where(project, files[0], "log") == ("assign", "m.py", "log")
    assert where(project, files[0], "log.info") == ("none", "", "")
    assert where(project, files[0], "print") == ("none", "", "")


def test_fallbacks_count_when_the_library_is_not_there(tmp_path: Path) -> None:
    text = """
try:
    from {lib} import f
except ImportError:
    def f(): pass
"""
    files = make(tmp_path / "p", absent=text.format(lib="absent"), present=text.format(lib="lib"))
    files += make(tmp_path / "p", torchy=text.format(lib="torch.special"))
    make(tmp_path / "site", lib__INIT="def f(): pass")
    project = Project(files, [tmp_path / "site"])
    assert where(project, files[0], "f") == ("function", "absent.py", "f")
    assert where(project, files[1], "f") == ("function", "__init__.py", "f")
    assert where(project, files[2], "f") == ("external", "", "torch.special.f")


def test_else_and_typing_come_last(tmp_path: Path) -> None:
    text = """
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    from other import A, B
else:
    A = object
if flag:
    def c(): pass
else:
    c = None
d = 1
def d(): pass
"""
    files = make(tmp_path, m=text, other="class A: pass\nclass B: pass")
    project = Project(files, [])
    assert where(project, files[0], "A") == ("assign", "m.py", "A")
    assert where(project, files[0], "B") == ("class", "other.py", "B")
    assert where(project, files[0], "c") == ("function", "m.py", "c")
    assert where(project, files[0], "d") == ("function", "m.py", "d")


def test_second_names(tmp_path: Path) -> None:
    text = """
from other import New
import torch.nn.functional as F
Old = New
Older = Old.Part
act = F.gelu
size = int
loop = pool
pool = loop
both = twice = New
"""
    files = make(tmp_path, m=text, other="class New:\n    class Part: pass")
    project = Project(files, [])
    assert where(project, files[0], "Old") == ("class", "other.py", "New")
    assert where(project, files[0], "Older") == ("class", "other.py", "New.Part")
    assert where(project, files[0], "act") == ("external", "", "torch.nn.functional.gelu")
    for name in ("size", "loop", "both"):
        assert where(project, files[0], name) == ("assign", "m.py", name)


def test_lazy_packages(tmp_path: Path) -> None:
    defined = """
if TYPE_CHECKING:
    from .modeling_a import *
    from .unrelated import *
else:
    sys.modules[__name__] = _LazyModule(__name__, define_import_structure({where}))
"""
    files = make(
        tmp_path,
        use="from lib import A, B, C, D, E\nfrom lib.models.a import A as Direct",
        lib__INIT="""
_import_structure = {"parts.b": ["B"]}
_import_structure["c"] = []
_import_structure["c"].append("C")
_LAZY = {"D": ("lib.c", "C")}
"""
        + defined.format(where='Path(__file__).parent / "models"'),
        lib__parts__INIT="",
        lib__parts__b="class B: pass",
        lib__c="class C: pass",
        lib__models__INIT=defined.format(where="_file"),
        lib__models__a__INIT=defined.format(where="_file"),
        lib__models__a__modeling_a="class A: pass\n@requires(backends=('x',))\nclass E: pass\n__all__ = [\n    'A',\n]",
        lib__models__a__modular_a="class A: pass\n__all__ = ['A']",
    )
    project = Project(files, [])
    use = files[0]
    for name in ("A", "Direct", "B", "C", "E"):
        assert resolve(project, use, name).kind == "class"  # type: ignore[union-attr]
    assert where(project, use, "A") == where(project, use, "Direct") == ("class", "modeling_a.py", "A")
    assert where(project, use, "D") == ("class", "c.py", "C")


def test_cycles_end(tmp_path: Path) -> None:
    files = make(
        tmp_path,
        p__INIT="from .a import x\nfrom . import p\nfrom .a import *",
        p__a="from .b import x, y\nfrom .b import *\nfrom . import *",
        p__b="from .a import x, y\nfrom .a import *",
        c="class A(A.B, C): pass\nclass C(A, C.D): pass\nfrom c import z",
    )
    project = Project(files, [])
    assert where(project, files[0], "x")[0] == "external"
    assert where(project, files[0], "unknown") == ("none", "", "")
    assert where(project, files[3], "A.B") == ("none", "", "")
    assert where(project, files[3], "C.nothing") == ("none", "", "")
    assert where(project, files[3], "z")[0] == "external"


def test_a_long_chain_of_imports_is_given_up(tmp_path: Path) -> None:
    files = make(tmp_path, **{f"m{i}": f"from m{i + 1} import f" for i in range(300)}, m300="def f(): pass")
    project = Project(files, [])
    assert where(project, files[290], "f") == ("function", "m300.py", "f")
    assert where(project, files[0], "f")[0] == "external"


def test_track_records_what_an_answer_rests_on(tmp_path: Path) -> None:
    files = make(tmp_path, a="from b import f\nimport absent, torch, logging", b="from c import f", c="def f(): pass")
    a, b, c = map(str, files)
    project = Project(files, [])
    info = project.info(a)
    for _ in range(2):  # the second time from memory
        with project.track() as outer:
            with project.track() as inner:
                project.resolve(info, "f")
            project.resolve(info, "absent.g")
            project.resolve(info, "torch.nn")
            project.resolve(info, "logging.info")
        assert inner.files == {b, c}
        assert inner.asked == {(str(tmp_path), "b"), (str(tmp_path), "c")}
        assert outer.files == {b, c}
        assert outer.asked == inner.asked | {(str(tmp_path), "absent"), (str(tmp_path), "absent.g")}
    before, signature = project.places(sorted(outer.asked)), project.signature
    (tmp_path / "absent.py").write_text("")
    after = Project(files, [])
    assert after.places(sorted(outer.asked)) != before
    assert after.signature != signature


def test_lines(tmp_path: Path) -> None:
    path = tmp_path / "m.py"
    path.write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\nthree\x0cx\n")
    project = Project([path], [])
    info = project.info(path)
    assert project.lines(info, 1, 2) == "one\ntwo"
    assert project.lines(info, 3, 9) == "three\x0cx\n"
    path.unlink()
    assert project.lines(info, 2, 2) == "two"
    assert Project([path], []).lines(info, 1, 1) == ""


def test_bad_files_are_told_and_do_not_stop_anything(tmp_path: Path) -> None:
    files = make(tmp_path, good="from bad import x", bad="def f(:")
    nul = tmp_path / "nul.py"
    nul.write_bytes(b"a\nb\0")
    gone = tmp_path / "gone.py"
    project = Project([*files, nul, gone], [])
    kinds = [(project.info(path).error_kind, project.info(path).error_row) for path in (*files, nul, gone)]
    assert kinds == [("", 0), ("invalid-syntax", 1), ("bad-encoding", 2), ("unreadable", 1)]
    assert where(project, files[0], "x") == ("external", "", "bad.x")
    assert project.digest(str(gone)) == ""
    assert len(project.digest(str(files[0]))) == 32


def test_overlay_stands_in_for_the_disk(tmp_path: Path) -> None:
    files = make(tmp_path, m="x = 1")
    project = Project(files, [], overlay={files[0]: b"def f(): pass\n"})
    assert where(project, files[0], "f") == ("function", "m.py", "f")
    assert project.lines(project.info(files[0]), 1, 1) == "def f(): pass"


@pytest.mark.parametrize("name", ["", ".", "a..b", "os", "sys.path", "torch", "torch.nn"])
def test_what_is_never_found(tmp_path: Path, name: str) -> None:
    files = make(tmp_path, pkg__INIT="", pkg__m="")
    project = Project(files, [tmp_path])
    assert project.find(name, project.info(files[1])) is None
