"""The action for GitHub and the snippets in docs/ci.md: valid by public schemas, and the steps of the action run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
ROOT = Path(__file__).parents[2]
MODEL = "import torch\n\n\n@torch.compile\ndef f(x):\n    print(x)\n    return x\n"


def snippets(system: str) -> list[str]:
    """The blocks of YAML in docs/ci.md below a comment that names a system."""
    page = (ROOT / "docs/ci.md").read_text("utf-8")
    return re.findall(rf"^```yaml\n# {system}\n(.*?)^```", page, re.DOTALL | re.MULTILINE)


def check_against(schema: str, file: Path) -> None:
    """Hold a file against a schema that check-jsonschema brings along."""
    pytest.importorskip("check_jsonschema", reason="check-jsonschema is not installed")
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_action_is_valid() -> None:
    check_against("github-actions", ROOT / "action.yml")


def run_action(project: Path, home: Path, variables: Mapping[str, str], **given: str) -> tuple[int, str]:
    """Run the steps as GitHub does; the exit code of the last one that ran, and what was printed."""
    action: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
    values = {f"inputs.{name}": given.get(name, each["default"]) for name, each in action["inputs"].items()}
    values["github.action_path"] = str(ROOT)

    def filled(text: str) -> str:
        return re.sub(r"\$\{\{ *(.*?) *\}\}", lambda found: values[found[1]], text)

    printed = ""
    for step in action["runs"]["steps"]:
        own = {name: filled(text) for name, text in step.get("env", {}).items()}
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=project / filled(step.get("working-directory", ".")),
            env={**os.environ, **variables, "RUNNER_TEMP": str(home), **own},
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        printed += done.stdout + done.stderr
        if done.returncode:
            return done.returncode, printed
    return 0, printed


def test_the_action_installs_gblint_and_annotates(tmp_path: Path, offline: Mapping[str, str]) -> None:
    project, home = tmp_path / "project", tmp_path / "runner"
    (project / "code").mkdir(parents=True)
    home.mkdir()
    (project / "code/model.py").write_text(MODEL)
    given = {"python": sys.executable, "working-directory": "code"}
    code, printed = run_action(project, home, offline, **given)
    assert code == 1, printed
    assert re.search(r"^::(warning|error) .*file=.*model.py,line=6", printed, re.MULTILINE), printed

    code, printed = run_action(project, home, offline, args="check --output-format concise --ignore GB0059", **given)
    assert code == 0, printed


def test_the_action_reads_the_libraries_that_were_installed(tmp_path: Path, offline: Mapping[str, str]) -> None:
    library = tmp_path / "python/lib/python3.11/site-packages/shouting"
    library.mkdir(parents=True)
    (library / "__init__.py").write_text("def shout(x):\n    print(x)\n")
    (tmp_path / "model.py").write_text(MODEL.replace("print(x)", "shout(x)").replace("torch\n", "torch, shouting\n", 1)
                                       .replace("shout(x)", "shouting.shout(x)"))  # fmt: skip
    (tmp_path / "runner").mkdir()
    variables = {**offline, "pythonLocation": str(tmp_path / "python")}
    code, printed = run_action(tmp_path, tmp_path / "runner", variables, python=sys.executable)
    assert code == 1, printed
    assert "GB0059" in printed


@pytest.mark.parametrize("number", range(len(snippets("GitHub Actions"))))
def test_workflows_in_the_docs_are_valid(number: int, tmp_path: Path) -> None:
    steps = yaml.safe_load(snippets("GitHub Actions")[number])
    workflow = {"on": "pull_request", "jobs": {"gblint": {"runs-on": "ubuntu-latest", "steps": steps}}}
    (tmp_path / "workflow.yml").write_text(yaml.safe_dump(workflow))
    check_against("github-workflows", tmp_path / "workflow.yml")
    inputs = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))["inputs"]
    for step in steps:
        if step.get("uses", "").startswith("OWNER/gblint"):
            assert set(step.get("with", {})) <= set(inputs)


@pytest.mark.parametrize("number", range(len(snippets("GitLab"))))
def test_snippets_for_gitlab_are_valid(number: int, tmp_path: Path) -> None:
    (tmp_path / ".gitlab-ci.yml").write_text(snippets("GitLab")[number])
    check_against("gitlab-ci", tmp_path / ".gitlab-ci.yml")


def test_the_docs_show_both_systems() -> None:
    assert len(snippets("GitHub Actions")) >= 2
    assert len(snippets("GitLab")) >= 2
