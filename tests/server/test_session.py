"""The language server as an editor meets it: a real client, the real process between them."""

from __future__ import annotations

import ast
import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from lsprotocol import types

from tests.conftest import Write, spawn
from tests.server.editor import Editor

MODEL = """
    import torch
    from torch import nn


    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(4, 4)

        def forward(self, x):
            x = self.linear(x)
            print(x.shape)
            return self.pick(x)

        def pick(self, x):
            if x.sum() > 0:
                x = -x
            return x


    net = torch.compile(Net())
"""


def session(folder: Path, talk: Callable[[Editor], Awaitable[None]], server: list[str] | None = None) -> Editor:
    """Run a server in a folder, talk to it, and shut it down."""

    async def run() -> Editor:
        async with Editor(folder, server) as editor:
            await talk(editor)
        return editor

    editor = asyncio.run(run())
    assert editor.code == 0
    return editor


def codes(diagnostics: list[types.Diagnostic]) -> set[str]:
    return {str(diagnostic.code) for diagnostic in diagnostics}


def test_breaks_are_shown_in_the_text_as_it_is_typed(project: Write) -> None:
    folder = project({"pyproject.toml": "", "model.py": MODEL})

    async def talk(editor: Editor) -> None:
        uri = editor.open("model.py")
        found = await editor.diagnostics(uri)
        branch = next(d for d in found if d.code == "GB0170")
        assert branch.range.start.line == editor.place(uri, "if x.sum() > 0").line
        assert branch.source == "gblint"
        assert branch.code_description is not None
        assert branch.code_description.href.startswith("https://")
        assert branch.severity == types.DiagnosticSeverity.Warning

        editor.type(uri, "if x.sum() > 0:\n            x = -x\n        return x", "return x * 2")
        assert "GB0170" not in codes(await editor.diagnostics(uri))
        editor.type(uri, "return x * 2", "return x[x > 0]")
        assert "GB0036" in codes(await editor.diagnostics(uri))
        assert (folder / "model.py").read_text("utf-8") != editor.texts[uri]

    session(folder, talk)


def test_hover_says_why_how_sure_and_on_which_way(project: Write) -> None:
    folder = project({"pyproject.toml": "", "model.py": MODEL})

    async def talk(editor: Editor) -> None:
        uri = editor.open("model.py")
        await editor.diagnostics(uri)
        text = await editor.hover(uri, "x.sum() > 0")
        assert text is not None
        assert "GB0170 branch-on-tensor" in text
        assert "%" in text
        assert "*because*" in text
        assert "Net.forward:14 → Net.pick (here); the root is compiled" in text
        assert "*cost*" in text
        assert "(https://" in text
        assert await editor.hover(uri, "import torch") is None

    session(folder, talk)


def test_a_safe_repair_is_preferred_and_clears_its_finding(project: Write) -> None:
    folder = project({"pyproject.toml": "", "model.py": MODEL})

    async def talk(editor: Editor) -> None:
        uri = editor.open("model.py")
        found = await editor.diagnostics(uri)
        branch = next(d for d in found if d.code == "GB0170")
        actions = await editor.actions(uri, [branch])
        repairs = [a for a in actions if not a.title.startswith("Silence")]
        assert repairs
        for action in repairs:
            assert action.kind == types.CodeActionKind.QuickFix
            assert list(action.diagnostics or ()) == [branch]
            assert bool(action.is_preferred) == (not action.title.startswith("Unsafe: "))
        editor.apply(repairs[0])
        ast.parse(editor.texts[uri])
        assert "GB0170" not in codes(await editor.diagnostics(uri))

    session(folder, talk)


def test_all_safe_repairs_leave_unsafe_ones_alone(project: Write) -> None:
    folder = project({"pyproject.toml": "", "model.py": MODEL})

    async def talk(editor: Editor) -> None:
        uri = editor.open("model.py")
        before = codes(await editor.diagnostics(uri))
        everything = await editor.actions(uri, [], only=["source.fixAll"])
        assert all(action.kind == "source.fixAll.gblint" for action in everything)
        for action in everything:
            editor.apply(action)
        ast.parse(editor.texts[uri])
        after = codes(await editor.diagnostics(uri))
        assert after <= before
        assert "print(" in editor.texts[uri]  # taking it out is not safe

    session(folder, talk)


def test_a_comment_silences_a_finding(project: Write) -> None:
    folder = project({"pyproject.toml": "", "model.py": MODEL})

    async def talk(editor: Editor) -> None:
        uri = editor.open("model.py")
        branch = next(d for d in await editor.diagnostics(uri) if d.code == "GB0170")
        silence = next(a for a in await editor.actions(uri, [branch]) if a.title.startswith("Silence"))
        assert not silence.is_preferred
        editor.apply(silence)
        assert "# gblint: ignore[branch-on-tensor]" in editor.texts[uri]
        assert "GB0170" not in codes(await editor.diagnostics(uri))

    session(folder, talk)


def test_a_lens_over_each_root_counts_graphs(project: Write) -> None:
    folder = project({"pyproject.toml": "", "model.py": MODEL})

    async def talk(editor: Editor) -> None:
        uri = editor.open("model.py")
        row = editor.place(uri, "def forward").line + 1
        assert "2 graph breaks" in (await editor.lenses(uri))[row]
        assert "about 3 graphs per call" in (await editor.lenses(uri))[row]
        editor.type(uri, "print(x.shape)\n        return self.pick(x)", "return x")
        assert (await editor.lenses(uri))[row] == "compiled: one graph, no break predicted"

    session(folder, talk)


def test_roots_in_other_files_count_and_open_files_stand_in_for_those_on_disk(project: Write) -> None:
    folder = project(
        {
            "pyproject.toml": "",
            "helper.py": "def helper(x):\n    if x.sum() > 0:\n        x = -x\n    return x\n",
            "main.py": "import torch\nfrom helper import helper\n\nf = torch.compile(lambda x: x)\n",
        }
    )

    async def talk(editor: Editor) -> None:
        helper = editor.open("helper.py")
        assert await editor.diagnostics(helper) == []
        main = editor.open("main.py")
        await editor.diagnostics(main)
        assert codes(list(editor.published[helper][-1].diagnostics)) == set()
        editor.type(main, "lambda x: x", "helper")
        for _ in range(400):  # a report of before the edit may still be on its way
            await asyncio.sleep(0.05)
            if editor.published[helper][-1].diagnostics:
                break
        assert codes(list(editor.published[helper][-1].diagnostics)) == {"GB0170"}

    session(folder, talk)


def test_what_changes_on_disk_is_noticed(project: Write) -> None:
    folder = project(
        {
            "pyproject.toml": "",
            "helper.py": "def helper(x):\n    return x\n",
            "main.py": (
                "import torch\nfrom helper import helper\n\n\n@torch.compile\ndef f(x):\n    return helper(x)[0]\n"
            ),
        }
    )

    async def talk(editor: Editor) -> None:
        main = editor.open("main.py")
        assert await editor.diagnostics(main) == []
        row = editor.place(main, "def f").line
        (folder / "helper.py").write_text("def helper(x):\n    print(x)\n    return x\n", "utf-8")
        editor.type(main, "helper(x)[0]", "helper(x)[x > 0]")
        assert [d.code for d in await editor.diagnostics(main)]
        lens = await editor.lenses(main)
        assert "2 graph breaks" in lens[row]

    session(folder, talk)


def test_a_syntax_error_is_an_error_until_it_is_gone(project: Write) -> None:
    folder = project({"pyproject.toml": "", "model.py": MODEL})

    async def talk(editor: Editor) -> None:
        uri = editor.open("model.py")
        await editor.diagnostics(uri)
        editor.type(uri, "return self.pick(x)", "return self.pick(x")
        (error,) = await editor.diagnostics(uri)
        assert (error.code, error.severity) == ("GBL000", types.DiagnosticSeverity.Error)
        assert error.range.start.line >= editor.place(uri, "return self.pick").line
        editor.type(uri, "return self.pick(x", "return self.pick(x)")
        assert "GB0170" in codes(await editor.diagnostics(uri))

    session(folder, talk)


def test_wrong_settings_are_said_and_survived(project: Write) -> None:
    folder = project({"pyproject.toml": "[tool.gblint]\nselekt = ['GB0170']\n", "model.py": MODEL})

    async def talk(editor: Editor) -> None:
        uri = editor.open("model.py")
        assert await editor.diagnostics(uri) == []
        assert "unknown key `tool.gblint.selekt`" in await editor.message()
        (folder / "pyproject.toml").write_text("[tool.gblint]\nselect = ['GB0170']\n", "utf-8")
        editor.type(uri, "print(x.shape)", "print(x)")
        assert codes(await editor.diagnostics(uri)) == {"GB0170"}

    session(folder, talk)


def test_excluded_files_and_what_is_no_file_are_left_alone(project: Write) -> None:
    folder = project({"pyproject.toml": '[tool.gblint]\nextend-exclude = ["gen"]\n', "gen/model.py": MODEL})

    async def talk(editor: Editor) -> None:
        uri = editor.open("gen/model.py")
        assert await editor.diagnostics(uri) == []
        document = types.TextDocumentItem("untitled:Untitled-1", "python", 1, "print(")
        editor.text_document_did_open(types.DidOpenTextDocumentParams(document))
        assert await editor.hover(uri, "import torch") is None
        assert "untitled:Untitled-1" not in editor.published

    session(folder, talk)


def test_a_file_outside_of_the_workspace_is_checked(project: Write, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = project({"pyproject.toml": ""})
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "model.py"
    elsewhere.write_text("import torch\n\n\n@torch.compile\ndef f(x):\n    print(x)\n    return x\n", "utf-8")

    async def talk(editor: Editor) -> None:
        uri = editor.open(str(elsewhere))
        assert len(await editor.diagnostics(uri)) == 1

    session(folder, talk)


def test_places_are_counted_in_utf_16(project: Write) -> None:
    source = "import torch\n\n\n@torch.compile\ndef f(x):\n    y = {'😀😀': x}; print(y)\n    return x\n"
    folder = project({"pyproject.toml": "", "model.py": source})

    async def talk(editor: Editor) -> None:
        uri = editor.open("model.py")
        (found,) = await editor.diagnostics(uri)
        assert found.range.start == editor.place(uri, "print(y)")

    session(folder, talk)


def test_a_newer_edit_supersedes_an_older_check(project: Write) -> None:
    folder = project({"pyproject.toml": "", "model.py": MODEL})

    async def talk(editor: Editor) -> None:
        uri = editor.open("model.py")
        await editor.diagnostics(uri)
        for number in range(30):
            editor.type(uri, "return self.pick(x)", f"self.n = {number}\n        return self.pick(x)")
        assert "GB0170" in codes(await editor.diagnostics(uri))
        assert len(editor.published[uri]) < 15

    session(folder, talk)


def test_closing_takes_back_what_was_said(project: Write) -> None:
    folder = project({"pyproject.toml": "", "model.py": MODEL})

    async def talk(editor: Editor) -> None:
        uri = editor.open("model.py")
        assert await editor.diagnostics(uri)
        editor.text_document_did_close(types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(uri)))
        while editor.published[uri][-1].diagnostics:
            await asyncio.sleep(0.05)

    session(folder, talk)


def test_nothing_that_is_open_is_run_and_torch_is_not_imported(project: Write, tmp_path: Path) -> None:
    folder = project(
        {
            "pyproject.toml": "",
            "torch/__init__.py": "open('imported', 'w')\n",
            "model.py": "import pathlib\npathlib.Path('run').touch()\n" + MODEL.replace("\n    ", "\n"),
        }
    )

    async def talk(editor: Editor) -> None:
        uri = editor.open("model.py")
        found = await editor.diagnostics(uri)
        await editor.actions(uri, found[:1])
        await editor.lenses(uri)

    session(folder, talk)
    assert not (folder / "run").exists()
    assert not (folder / "imported").exists()


def test_without_its_library_the_server_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "pygls.py").write_text("raise ImportError('pygls')\n", "utf-8")
    result = spawn("server", cwd=tmp_path, PYTHONPATH=str(tmp_path))
    assert result.code == 2
    assert "the language server needs pygls, which is not installed" in result.err
    assert "pip install 'gblint[server]'" in result.err
