"""Settings files: what they may say, which one holds, and how errors in them read."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gblint.config import DEFAULT_EXCLUDE, MIN_CONFIDENCE, SIZE_LIMIT, Config, ConfigFinder, read_config
from gblint.errors import GblintError

EVERYTHING = """
select = ["GB00", "branch-on-tensor"]
ignore = ["GB0059"]
extend-select = ["GBL001"]
per-file-ignores = {"tests/**" = ["GB0170"]}
exclude = ["vendored"]
extend-exclude = ["old/*.py"]
roots = ["explicit", "pkg.model:Net.forward"]
target-torch = "2.12.1"
min-confidence = 1
python = "env"
src = ["lib"]
cache-dir = "cache"
"""


def config_of(project, text: str, name: str = "gblint.toml") -> Config | None:
    return read_config(project({name: text}) / name)


def message_of(path: Path) -> str | None:
    """What is wrong with a settings file; None if nothing is, and its values are the plain ones promised."""
    try:
        hash(read_config(path))
    except GblintError as error:
        return error.message
    return None


def test_every_key_is_read(project) -> None:
    config = config_of(project, EVERYTHING)
    assert config == Config(
        root=Path.cwd(),
        source=Path.cwd() / "gblint.toml",
        select=("GB00", "branch-on-tensor"),
        ignore=("GB0059",),
        extend_select=("GBL001",),
        per_file_ignores=(("tests/**", ("GB0170",)),),
        exclude=("vendored",),
        extend_exclude=("old/*.py",),
        roots=("pkg.model:Net.forward",),
        roots_mode="explicit",
        target_torch="2.12",
        min_confidence=1.0,
        python="env",
        src=("lib",),
        cache_dir="cache",
    )


def test_pyproject_holds_the_same_keys_in_a_table(project) -> None:
    as_table = "[tool.gblint]\n" + EVERYTHING
    config = config_of(project, as_table, "pyproject.toml")
    assert config is not None
    assert config.select == ("GB00", "branch-on-tensor")


def test_pyproject_without_a_table_says_nothing(project) -> None:
    assert config_of(project, "[tool.ruff]\nselect = 3\n", "pyproject.toml") is None


def test_defaults(project) -> None:
    project({})
    config = ConfigFinder().for_folder(Path.cwd())
    assert config.source is None
    assert config.select is None
    assert config.exclude == DEFAULT_EXCLUDE
    assert config.min_confidence == MIN_CONFIDENCE
    assert (config.roots_mode, config.roots) == ("auto", ())


@pytest.mark.parametrize("text", ['roots = "all"', 'roots = ["all"]'])
def test_roots_may_be_a_mode(project, text: str) -> None:
    config = config_of(project, text)
    assert config is not None
    assert (config.roots_mode, config.roots) == ("all", ())


def test_a_name_among_the_roots_leaves_the_mode_at_auto(project) -> None:
    config = config_of(project, 'roots = ["pkg:Net"]')
    assert config is not None
    assert (config.roots_mode, config.roots) == ("auto", ("pkg:Net",))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('slect = ["GB"]', "unknown key `slect`"),
        ('select = "GB"', "`select`: expected a list of strings"),
        ("select = [1]", "`select`: expected a list of strings"),
        ('ignore = ["E501"]', "`E501` is neither a code"),
        ('roots = "everything"', "`everything` is neither one of auto, explicit, modules, all"),
        ('roots = ["auto", "all"]', "`auto` and `all` exclude each other"),
        ("roots = 3", "`roots`: expected a list of strings"),
        ("target-torch = 2.13", 'expected a torch release in quotes, such as "2.13"'),
        ('target-torch = "newest"', "expected a torch release"),
        ("min-confidence = 35", "`min-confidence`: expected a number from 0 to 1"),
        ("min-confidence = nan", "`min-confidence`: expected a number from 0 to 1"),
        ("min-confidence = true", "`min-confidence`: expected a number from 0 to 1"),
        ('min-confidence = "high"', "`min-confidence`: expected a number from 0 to 1"),
        ("python = 3.11", "`python`: expected a string"),
        ('python = ""', "`python`: expected a string"),
        ('per-file-ignores = ["a"]', "`per-file-ignores`: expected a table"),
        ('per-file-ignores = {"a" = ["E1"]}', "`E1` is neither a code"),
        ('exclude = ["["]', ""),
        ("exclude = {}", "`exclude`: expected a list of strings"),
        ("select =", "is not valid TOML"),
        ("[" * 5000, "is not valid TOML"),
        ("x = " + "[" * 50_000, "is not valid TOML"),
        ("x = " + "9" * 10_000, "is not valid TOML"),
        ("# " + "x" * SIZE_LIMIT, "too large"),
    ],
)
def test_what_is_wrong_is_said_with_file_and_key(project, text: str, says: str) -> None:
    if not says:  # not an error: gitignore takes a lone bracket for itself
        assert config_of(project, text)
        return
    with pytest.raises(GblintError) as caught:
        config_of(project, text)
    assert says in caught.value.message
    assert "gblint.toml" in caught.value.message


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("gblint.toml", b"\x00\x01\xff\xfe", "not UTF-8 at byte 2"),
        ("gblint.toml", b"select = ['GB\x00']", "is not valid TOML"),
        ("pyproject.toml", b"tool = 3", "`tool` is not a table"),
        ("pyproject.toml", b"[tool]\ngblint = []", "`tool.gblint` is not a table"),
        ("pyproject.toml", b"[tool.gblint]\nmin-confidense = 1", "unknown key `tool.gblint.min-confidense`"),
    ],
)
def test_hostile_files(project, name: str, content: bytes, says: str) -> None:
    path = project({name: content}) / name
    with pytest.raises(GblintError) as caught:
        read_config(path)
    assert says in caught.value.message


def test_a_byte_order_mark_is_no_error(project) -> None:
    config = read_config(project({"gblint.toml": b"\xef\xbb\xbfmin-confidence = 0.5"}) / "gblint.toml")
    assert config is not None
    assert config.min_confidence == 0.5


def test_a_misspelt_key_gets_the_near_one(project) -> None:
    with pytest.raises(GblintError) as caught:
        config_of(project, "min-confidense = 1")
    assert caught.value.hint == "did you mean `min-confidence`?"


def test_a_settings_file_that_is_a_folder(project) -> None:
    folder = project({"gblint.toml/x": ""})
    with pytest.raises(GblintError, match="not a regular file"):
        read_config(folder / "gblint.toml")


def test_the_nearest_file_holds_alone(project) -> None:
    root = project(
        {
            "pyproject.toml": "[tool.gblint]\nmin-confidence = 0.1\nignore = ['GB0059']\n",
            "inner/gblint.toml": "min-confidence = 0.2\n",
            "inner/deep/pyproject.toml": "[project]\nname = 'x'\n",
            "both/gblint.toml": "min-confidence = 0.3\n",
            "both/pyproject.toml": "[tool.gblint]\nmin-confidence = 0.4\n",
        }
    )
    finder = ConfigFinder()
    assert finder.for_folder(root).min_confidence == 0.1
    inner = finder.for_folder(root / "inner" / "deep")
    assert (inner.min_confidence, inner.ignore) == (0.2, ())
    assert finder.for_folder(root / "both").min_confidence == 0.3
    assert ConfigFinder(isolated=True).for_folder(root).min_confidence == MIN_CONFIDENCE


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.binary(max_size=60) | st.text(max_size=60).map(str.encode))
def test_no_content_gives_anything_but_settings_or_a_clear_error(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "gblint.toml"
    path.write_bytes(content)
    assert str(path) in (message_of(path) or str(path))


VALUES = ('"x"', "1", "1.5", "true", "[]", "{}", '["GB0059"]', "[[1]]", "1979-05-27", '{a = ["GB"]}')


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.sampled_from([line.split(" = ")[0] for line in EVERYTHING.strip().splitlines()]), st.sampled_from(VALUES))
def test_no_value_of_the_wrong_type_gets_through(tmp_path: Path, key: str, value: str) -> None:
    path = tmp_path / "gblint.toml"
    path.write_text(f"{key} = {value}\n")
    message = message_of(path)
    assert message is None or f"`{key}`" in message
