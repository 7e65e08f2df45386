"""Whether a function still has to be disabled: what is said of it, held against what Dynamo does when it traces it.

Each labelled program that compiles one function by a decorator is taken as it is, except that the function is disabled
and called from another one that is compiled. Its labels say what Dynamo does without `disable`.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

from gblint.analysis import Settings, analyze
from gblint.devtools.labels import header
from gblint.devtools.programs import corpus_programs
from gblint.findings.finding import Finding

CORPUS = Path(__file__).parents[2] / "corpus"
DISABLED = ("GB0098", "GB0099")


def test_a_disabled_function_is_told_from_one_that_need_not_be(tmp_path: Path) -> None:
    said: Counter[tuple[str, str]] = Counter()
    wrong = []
    file = tmp_path / "example.py"
    for path in filter(Path.is_file, corpus_programs(CORPUS)):
        text = path.read_text(encoding="utf8")
        changed = disabled(text)
        if not changed:
            continue
        file.write_text(changed, encoding="utf8")
        found = [f for f in analyze([file], [file], Settings()).findings if f.code in DISABLED]
        labels = header(text)
        truth = "breaks" if labels.expect or labels.also or labels.silent else "clean"
        verdict = verdict_of(found)
        said[truth, verdict] += 1
        if verdict not in (truth, "unknown"):
            wrong.append(f"{path.name}: {verdict}, but it is {truth}")
    assert said["breaks", "breaks"] >= 130
    assert said["clean", "clean"] >= 90
    assert len(wrong) <= 0.01 * (said["breaks", "breaks"] + said["clean", "clean"]), wrong


def disabled(text: str) -> str:
    """The program with its one compiled function disabled; "" if it is not of that kind."""
    functions = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    compiled = [(f, d) for f in functions for d in f.decorator_list if "torch.compile" in ast.unparse(d)]
    if len(compiled) != 1 or text.count("torch.compile") != 1 or "fullgraph" in text:
        return ""
    function, decorator = compiled[0]
    lines = text.split("\n")
    lines[decorator.lineno - 1 : decorator.end_lineno] = ["@torch.compiler.disable"]
    called = re.compile(rf"(?<![\w.]){function.name}\(")
    head, definition, rest = "\n".join(lines).partition(f"def {function.name}(")
    outside = f"torch.compile(lambda *args, **kwargs: {function.name}(*args, **kwargs))("
    return head + definition + called.sub(outside, rest)


def verdict_of(findings: list[Finding]) -> str:
    if any("would break the graph itself" in reason.text for f in findings for reason in f.why):
        return "breaks"
    return "clean" if any("need not be disabled" in f.advice for f in findings) else "unknown"
