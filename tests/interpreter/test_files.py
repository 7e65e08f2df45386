"""Calls into other files: of the project, and of installed libraries whose source is read."""

from __future__ import annotations

from pathlib import Path

from gblint.analysis import Settings, analyze
from tests.interpreter.programs import Analyst, text_of


def test_breaks_in_other_files_are_reported_there(analyst: Analyst) -> None:
    result = analyst.check(
        """
        from pkg import layers
        from pkg.tools import pick as choose

        @torch.compile
        def f(x: Tensor):
            return choose(layers.Block()(x))
        """,
        files={
            "pkg/__init__.py": "",
            "pkg/layers.py": """
                from .tools import pick

                class Block(nn.Module):
                    def forward(self, x):
                        graph_break()  # splits
                        return pick(x)
            """,
            "pkg/tools.py": """
                LIMIT = 3

                def pick(x):
                    if LIMIT > 5:
                        graph_break()
                    if x.sum() > LIMIT:  # splits
                        return x
                    return x
            """,
        },
    )
    (broken,) = (f for f in result.findings if f.code == "GB0025")
    assert [step.function for step in broken.path] == ["program.f", "pkg.layers.Block.forward"]
    assert {Path(path).name for path, _ in result.files} >= {"program.py", "layers.py", "tools.py"}


def test_a_name_bound_under_an_import_guard(analyst: Analyst) -> None:
    analyst.check(
        """
        try:
            from fast import helper
        except ImportError:
            from slow import helper

        @torch.compile
        def f(x: Tensor):
            return helper(x)
        """,
        files={"slow.py": "def helper(x):\n    graph_break()  # splits\n    return x\n"},
    )


def test_a_break_in_a_library_is_reported_at_the_projects_call(analyst: Analyst, tmp_path: Path) -> None:
    site = tmp_path / "site"
    for name, text in {"__init__": "from .deep import entry\n", "deep": text_of(LIBRARY)}.items():
        (site / "lib").mkdir(parents=True, exist_ok=True)
        (site / "lib" / f"{name}.py").write_text(text)
    path = analyst.write("""
        import lib

        def own(x):
            return lib.entry(x)

        @torch.compile
        def f(x: Tensor):
            return own(x)
    """)
    settings = Settings(search_paths=(str(site),))
    (found,) = analyze([path], [path], settings).findings
    assert (found.code, found.owner, Path(found.filename).name) == ("GB0025", "library", "program.py")
    assert path.read_text().splitlines()[found.row - 1].strip() == "return lib.entry(x)"
    assert found.function == "program.own"
    assert found.library is not None
    assert found.library.function == "lib.deep.inner"
    assert analyze([path], [path], Settings()).findings == []


LIBRARY = """
    def entry(x):
        return inner(x)

    def inner(x):
        graph_break()
        return x
"""


def test_a_result_rests_on_the_files_it_read_and_the_names_it_looked_for(analyst: Analyst) -> None:
    result = analyst.run(
        """
        from helper import used
        from absent import gone
        import unused

        @torch.compile
        def f(x: Tensor):
            return gone(used(x))
        """,
        files={"helper.py": "def used(x):\n    return x\n", "unused.py": "x = 1\n"},
    )
    names = {Path(path).name for path, _ in result.files}
    assert "helper.py" in names
    assert "unused.py" not in names
    assert "absent" in {name for _, name in result.asked}
