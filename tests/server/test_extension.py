"""The extension for VS Code starts the server that the settings name."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

EXTENSION = Path(__file__).parents[2] / "editors" / "vscode"
STAND_IN = """
const Module = require("module");
const load = Module._load;
const started = [];
class LanguageClient { constructor(...given) { started.push(given); } async start() {} async stop() {} }
const settings = { get: () => ["${workspaceFolder}/.venv/bin/gblint", "server"] };
const vscode = {
  commands: { registerCommand: () => ({}) },
  window: {},
  workspace: { workspaceFolders: [{ uri: { fsPath: "/project" } }], getConfiguration: () => settings },
};
const known = { vscode, "vscode-languageclient/node": { LanguageClient } };
Module._load = (name, ...rest) => known[name] ?? load(name, ...rest);
require(process.argv[2]).activate({ subscriptions: [] }).then(() => console.log(JSON.stringify(started)));
"""


def test_it_starts_what_the_settings_name(tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("there is no node")
    stand_in = tmp_path / "stand_in.js"
    stand_in.write_text(STAND_IN, "utf-8")
    done = subprocess.run([node, stand_in, EXTENSION / "extension.js"], capture_output=True, text=True, check=True)
    ((name, _, server, client),) = json.loads(done.stdout)
    assert name == "gblint"
    assert (server["command"], server["args"]) == ("/project/.venv/bin/gblint", ["server"])
    assert client["documentSelector"] == [{"scheme": "file", "language": "python"}]


def test_its_settings_are_those_that_it_reads() -> None:
    described = json.loads((EXTENSION / "package.json").read_text("utf-8"))
    source = (EXTENSION / "extension.js").read_text("utf-8")
    assert list(described["contributes"]["configuration"]["properties"]) == ["gblint.command"]
    assert 'getConfiguration("gblint").get("command")' in source
    for command in described["contributes"]["commands"]:
        assert f'registerCommand("{command["command"]}"' in source
