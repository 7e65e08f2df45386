"""The documentation is true to the code: generated parts are up to date, what it names exists, examples work."""

from __future__ import annotations

import importlib
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import click
import libcst
import pytest
import tomli

from gblint import codemod_api, config, rule_api
from gblint.checking import check_selectors
from gblint.cli.main import cli
from gblint.config import KEYS, Config, read_config
from gblint.devtools import docs
from gblint.interpreter import events, values
from gblint.registry import documentation, load_codemods, load_rules
from gblint.report import FORMATS
from gblint.report.page import markdown
from tests.conftest import spawn

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
RULE_PAGES = sorted((ROOT / "docs/rules").glob("*.md"))


def name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def text(page: str) -> str:
    return (ROOT / page).read_text("utf-8")


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text("utf-8"), re.DOTALL | re.MULTILINE)


def settings_blocks(page: Path) -> list[str]:
    return [block for block in blocks(page, "toml") if "[tool.gblint" in block]


# -------------------------------------------------------------------------------------------------------- generated


def test_generated_pages_are_up_to_date() -> None:
    assert docs.stale() == [], "run python -m gblint.devtools.docs"


def test_the_excerpt_in_the_readme_is_what_gblint_prints() -> None:
    (excerpt,) = blocks(ROOT / "README.md", "text")
    printed = spawn("check", docs.MODELS, "-n", cwd=ROOT)
    assert printed.code == 1
    parts = excerpt.strip().split("\n\n")
    assert len(parts) >= 4
    found = printed.out.split("\n\n")
    for part in parts[:-1]:
        assert part in (*found, "…")
    assert found[-1].startswith(parts[-1])


def test_the_picture_shows_what_the_excerpt_says_and_fetches_nothing() -> None:
    svg = text(docs.PICTURE)
    (excerpt,) = blocks(ROOT / "README.md", "text")
    start, _, rest = excerpt.partition("…\n")
    shown = "".join("".join(ElementTree.fromstring(svg).itertext()).split())
    lines = [*start.splitlines(), rest.splitlines()[-1]]
    assert len(lines) > 10
    assert [line for line in lines if "".join(line.split()) not in shown] == []
    assert not re.search(r"https?://(?!www\.w3\.org|meta-pytorch\.org|www\.textualize\.io)|url\((?!#)", svg)


def test_a_report_needs_its_place() -> None:
    with pytest.raises(ValueError, match="has no lines <!-- report"):
        docs.with_report("# gblint\n", "report")
    readme = f"before\n{docs.BEGIN}old\n{docs.END}\nafter\n"
    assert docs.with_report(readme, "new \\1\n") == f"before\n{docs.BEGIN}```text\nnew \\1\n```\n{docs.END}\nafter\n"


def test_docstrings_become_markdown() -> None:
    written = "One line.\n\nWhat breaks:\n    This,\n    and that.\nExample:\n    if x:\n        y\nLimits:\n    None."
    example = "**Example**\n\n```python\nif x:\n    y\n```"
    page = f"One line.\n\n**What breaks.** This,\nand that.\n\n{example}\n\n**Limits.** None.\n"
    assert markdown(written) == page


@pytest.mark.parametrize("rule", load_rules(), ids=lambda rule: f"{rule.meta.code}-{rule.meta.slug}")
def test_rules_have_an_example_and_say_what_to_do_instead(rule: type[rule_api.Rule]) -> None:
    page = markdown(documentation(rule))
    examples = re.findall(r"\*\*Example\*\*\n\n```python\n(.+?)\n```", page, re.DOTALL)
    assert len(examples) == 1
    assert re.search(r"\*\*Instead(\.\*\* \S|\*\*\n\n```python\n\S)", page)
    for heading in ("What breaks", "Why Dynamo breaks", "Fix", "Torch versions", "Limits"):
        assert f"**{heading}.** " in page


# ---------------------------------------------------------------------------------------------------- what is named


@pytest.mark.parametrize("page", [*PAGES, *RULE_PAGES, ROOT / "corpus/README.md"], ids=name)
def test_links_lead_somewhere(page: Path) -> None:
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text("utf-8")):
        if link.startswith("https://"):
            continue
        file, _, anchor = link.partition("#")
        target = page.parent / file if file else page
        assert target.exists(), link
        if anchor:
            headings = re.findall(r"^#+ (.*)$", target.read_text("utf-8"), re.MULTILINE)
            assert anchor in {heading.lower().replace(" ", "-") for heading in headings}, link


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_files_that_are_named_exist(page: Path) -> None:
    folders = "gblint|rules|codemods|corpus|tests|benchmarks|docs"
    for path in re.findall(rf"`((?:{folders})/[\w./-]*)`", page.read_text("utf-8")):
        assert (ROOT / path).exists(), path


def test_every_stage_is_in_the_pipeline() -> None:
    page = text("docs/pipeline.md")
    for package in sorted(p.parent for p in (ROOT / "gblint").glob("*/__init__.py")):
        assert f"gblint/{package.name}/" in page or package.name == "devtools"
    for stage in ("engine", "units", "parallel", "merge", "callgraph", "checking", "discovery"):
        assert f"gblint/{stage}.py" in page


def test_how_gblint_thinks_names_every_value_and_event() -> None:
    page = text("docs/how-gblint-thinks.md")
    for module, base in ((values, values.Value), (events, events.Event)):
        classes = [c for c in vars(module).values() if isinstance(c, type) and issubclass(c, base) and c is not base]
        assert [c.__name__ for c in classes if c.__module__ == module.__name__ and f"`{c.__name__}`" not in page] == []


def shell_lines() -> Iterator[str]:
    for page in PAGES:
        for block in blocks(page, "sh"):
            for line in block.splitlines():
                yield from (part.partition("  #")[0].strip() for part in line.split("&&") if part.strip()[0] != "#")


def _script(words: list[str]) -> Path | None:
    """The file of a harness of the repository that a command runs: what is no part of the package."""
    if words[1].startswith("benchmarks/"):
        return ROOT / words[1]
    return ROOT / "tests" / "fuzz" / "__main__.py" if words[1:3] == ["-m", "tests.fuzz"] else None


@pytest.mark.parametrize("line", sorted(set(shell_lines())))
def test_commands_exist_with_the_options_they_are_given(line: str) -> None:
    words = [word.removeprefix(".venv/bin/") for word in shlex.split(line)]
    own = words[: words.index("--")] if "--" in words else words  # what follows is a command of the user's
    options = {word for word in own if word.startswith("--")}
    if words[0] == "gblint":
        command = cli.get_command(click.Context(cli), words[1])
        assert command is not None
    elif words[:2] == ["python", "-m"] and words[2].startswith("gblint."):
        if words[2].startswith("gblint.knowledge.generate"):
            pytest.importorskip("torch")
            words[2] = "gblint.knowledge.generate.command"
        module = importlib.import_module(words[2])
        if hasattr(module, "__path__"):  # a package that is run
            module = importlib.import_module(f"{words[2]}.__main__")
        command = module.main
    elif words[0] == "python" and (script := _script(words)) is not None:
        assert all(f'"{option}"' in script.read_text("utf-8") for option in options)
        return
    elif words[0] == "sh":
        assert (ROOT / words[1]).is_file()
        return
    else:
        assert words[:3] in (
            ["python", "-m", "venv"],
            ["python", "-m", "mkdocs"],
            ["python", "-m", "pytest"],
            ["pip", "install", "-e"],
        )
        return
    assert options <= {option for parameter in command.params for option in parameter.opts}


def test_every_output_format_is_listed() -> None:
    rows = re.findall(r"^\| (`.+?`) \|", text("docs/output.md"), re.MULTILINE)
    assert re.findall(r"`([\w-]+)`", "".join(rows)) == list(FORMATS)


def test_the_checks_that_the_page_on_output_shows_write_what_they_name(project, analyzer, gblint) -> None:
    project({"a.py": ""})
    lines = re.findall(r"gblint check .*", text("docs/output.md"))
    assert len(lines) >= 6
    for line in lines:
        words = shlex.split(line.partition(" | ")[0])
        assert gblint(*words[1:]).code == 0
        files = [word.partition(":")[2] for word in words if ":" in word]
        assert [file for file in files if not Path(file).is_file()] == []


def test_the_hook_that_is_shown_exists() -> None:
    (shown,) = blocks(ROOT / "README.md", "yaml")
    ids = re.findall(r"- id: (\S+)", shown)
    assert ids
    assert set(ids) <= set(re.findall(r"^- id: (\S+)$", text(".pre-commit-hooks.yaml"), re.MULTILINE))


# --------------------------------------------------------------------------------------------------------- settings


@pytest.mark.parametrize("page", [page for page in PAGES if settings_blocks(page)], ids=name)
def test_settings_that_are_shown_are_valid(page: Path, tmp_path: Path) -> None:
    for block in settings_blocks(page):
        file = tmp_path / "pyproject.toml"
        file.write_text(block, "utf-8")
        settings = read_config(file)
        assert settings is not None
        check_selectors(settings, settings.per_file_ignores, "")


def test_every_setting_is_described_with_its_default(tmp_path: Path) -> None:
    rows = re.findall(r"^\| `([\w-]+)` \|(.*?)\|", text("docs/configuration.md"), re.MULTILINE)
    described = {key: default.strip(" `") for key, default in rows if key in KEYS}
    assert tuple(key for key, _ in rows[: len(KEYS)]) == KEYS
    default = Config(root=ROOT)
    for key, shown in described.items():
        if key == "exclude":
            (block,) = [b for b in blocks(ROOT / "docs/configuration.md", "toml") if "\nexclude" in b]
            assert tuple(tomli.loads(block)["tool"]["gblint"]["exclude"]) == config.DEFAULT_EXCLUDE
        elif shown:
            file = tmp_path / "gblint.toml"
            file.write_text(f"{key} = {shown}", "utf-8")
            settings = read_config(file)
            assert settings is not None
            assert value(settings, key) == value(default, key), key
        else:
            assert value(default, key) is None, key


def value(settings: Config, key: str) -> object:
    if key == "fix":
        return None  # a table, described on its own
    return (settings.roots_mode, settings.roots) if key == "roots" else getattr(settings, key.replace("-", "_"))


def test_the_readme_names_every_setting_and_exit_code() -> None:
    readme = text("README.md")
    assert [key for key in KEYS if f"`{key}`" not in readme] == []
    assert re.findall(r"^\| (\d) \|", readme, re.MULTILINE) == ["0", "1", "2"]


# -------------------------------------------------------------------------------------------------------- examples


def test_the_rule_that_is_shown_is_a_rule() -> None:
    shown, _ = blocks(ROOT / "CONTRIBUTING.md", "python")
    space = {exported: getattr(rule_api, exported) for exported in rule_api.__all__}
    exec(shown, space)
    classes = [v for v in space.values() if isinstance(v, type) and issubclass(v, rule_api.Rule)]
    (rule,) = [c for c in classes if c is not rule_api.Rule]
    known = {r.meta.code: r for r in load_rules()}
    assert rule.calls == known[rule.meta.code].calls
    assert rule.meta.slug == known[rule.meta.code].meta.slug


def test_the_codemod_that_is_shown_is_a_codemod() -> None:
    _, shown = blocks(ROOT / "CONTRIBUTING.md", "python")
    space = {exported: getattr(codemod_api, exported) for exported in codemod_api.__all__} | {"cst": libcst}
    exec(shown, space)
    classes = [v for v in space.values() if isinstance(v, type) and issubclass(v, codemod_api.Codemod)]
    (codemod,) = [c for c in classes if c is not codemod_api.Codemod]
    known = {word for c in load_codemods() for word in c.meta.fixes}
    assert set(codemod.meta.fixes) <= known
