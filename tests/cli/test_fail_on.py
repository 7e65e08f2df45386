"""Which findings make `gblint check` exit with 1."""

from __future__ import annotations

import pytest

from tests.conftest import finding


@pytest.fixture
def check(project, analyzer, gblint):
    """Check three findings: hot and sure, hot and doubtful, cold and sure."""
    root = project({"model.py": ""})
    path = root / "model.py"
    analyzer.findings = [
        finding(path, 1, hot=True, confidence=0.95),
        finding(path, 2, hot=True, confidence=0.7),
        finding(path, 3, hot=False, confidence=0.95),
    ]

    def run(settings: str = "", *arguments: str):
        project({"gblint.toml": settings})
        return gblint("check", *arguments)

    return run


@pytest.mark.parametrize(
    ("settings", "code", "said"),
    [
        ("", 1, ""),
        ("fail-on = { hot = 0.8 }", 1, "1 do not make the check fail, by `fail-on`."),
        ("fail-on = { hot = 0.96, cold = 0.96 }", 0, "None of them makes the check fail, by `fail-on`."),
        ("fail-on = { hot = false, cold = false }", 0, "None of them makes"),
        ("fail-on = { hot = false }", 1, "2 do not make the check fail"),
        ("fail-on = { cold = false }", 1, "1 do not make the check fail"),
    ],
)
def test_settings_say_what_fails(settings, code, said, check) -> None:
    result = check(settings)
    assert result.code == code
    assert "Found 3 graph breaks" in result.out
    assert said in result.out
    assert ("fail-on" in result.out) == bool(said)


@pytest.mark.parametrize(
    ("option", "code"),
    [("hot", 1), ("hot:0.95", 1), ("hot:0.96", 0), ("cold", 1), ("cold:0.96", 0), ("hot:1,cold:0.9", 1), ("none", 0)],
)
def test_the_option_goes_before_the_settings(option, code, check) -> None:
    assert check("fail-on = { hot = 0, cold = 0 }", "--fail-on", option).code == code


def test_a_file_that_cannot_be_analysed_fails_whatever_fails(check, project) -> None:
    from gblint.analysis import Diagnostic
    from gblint.checking import analyze  # the recorded one

    root = project({})
    analyze.diagnostics = [Diagnostic(str(root / "model.py"), 1, 1, "invalid-syntax", "it is no Python")]
    assert check("", "--fail-on", "none").code == 1
    assert check("", "--fail-on", "none", "--exit-zero").code == 0


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ("fail-on = 3", "expected a table"),
        ("fail-on = { hto = 1 }", "unknown key `hto`; did you mean `hot`?"),
        ("fail-on = { hot = 2 }", "`hot`: expected a number from 0 to 1, or false"),
        ("fail-on = { hot = true }", "`hot`: expected a number from 0 to 1, or false"),
    ],
)
def test_a_wrong_setting_is_an_error(settings, said, check) -> None:
    result = check(settings)
    assert result.code == 2
    assert said in result.err


@pytest.mark.parametrize("option", ["warm", "hot:", "hot:2", "none:1"])
def test_a_wrong_option_is_an_error(option, check) -> None:
    result = check("", "--fail-on", option)
    assert result.code == 2
    assert "'--fail-on'" in result.err


def test_the_settings_are_shown(check, gblint) -> None:
    check("fail-on = { cold = false }")
    assert "fail-on = { hot = 0.0, cold = false }" in gblint("config").out


@pytest.mark.parametrize("beside", ["--diff", "--compare-torch=2.14", "--verify=true"])
def test_it_does_not_go_with_other_exit_codes(beside, check) -> None:
    result = check("", "--fail-on", "hot", beside)
    assert result.code == 2
    assert "--fail-on excludes" in result.err
