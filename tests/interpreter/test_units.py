"""A unit as a whole: budgets, rules at fault, settings of torch, and results that depend on nothing else."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gblint.interpreter.machine import MAX_DEPTH
from gblint.rule_api import Break, Call, Context, Iterate, Rule
from gblint.units import Plan, UnitResult
from tests.interpreter.programs import META, Analyst, add_rule, plain, text_of

# -- budgets ---------------------------------------------------------------------------------------------------------


def test_recursion_ends(analyst: Analyst) -> None:
    result = analyst.check("""
        def down(x, n):
            if n == 0:
                graph_break()  # splits
                return x
            return down(x, n - 1)

        def ping(x):
            return pong(x)

        def pong(x):
            return ping(x)

        class Tree:
            def __init__(self):
                self.me = self

            def walk(self, x):
                return self.me.walk(x)

        @torch.compile
        def f(x: Tensor, n: int):
            ping(x)
            Tree().walk(x)
            (lambda g: g(g))(lambda g: g(g))
            return down(x, n)
    """)
    assert result.cut == 0


def test_definitions_that_need_themselves_end(analyst: Analyst) -> None:
    analyst.run("""
        A = B
        B = A

        class C(D):
            pass

        class D(C):
            x = x

        def dec(f):
            return dec(f)

        @dec
        def g(x):
            return x

        @torch.compile
        def f(x: Tensor):
            return g(A), C().x, D().y
    """)


def test_a_chain_of_calls_deeper_than_the_stack_ends(analyst: Analyst) -> None:
    chain = "\n".join(f"def f{n}(x):\n    return f{n + 1}(x)" for n in range(MAX_DEPTH + 10))
    end = f"def f{MAX_DEPTH + 10}(x):\n    graph_break()\n"
    result = analyst.run(f"{chain}\n{end}\ncompiled = torch.compile(f0)\nnear = torch.compile(f{MAX_DEPTH})\n")
    assert [f.root for f in result.findings] == [f"program.f{MAX_DEPTH}"]


def test_a_root_out_of_budget_is_counted_and_the_others_are_run(analyst: Analyst) -> None:
    path = analyst.write("""
        @torch.compile
        def long(x: Tensor):
            x = x + 1
            x = x + 1
            x = x + 1
            x = x + 1
            graph_break()

        @torch.compile
        def short(x: Tensor):
            graph_break()
    """)
    worker = analyst.worker(path)
    whole = worker.run(Plan(worker.project.info(path), "explicit"))
    assert (whole.cut, len(whole.findings)) == (0, 2)
    machine = worker.machine()
    reset = machine.reset

    def poorer() -> None:
        reset()
        machine.budget = 4

    machine.reset = poorer  # type: ignore[method-assign]
    result = worker.run(Plan(worker.project.info(path), "explicit"))
    assert (result.cut, result.internal) == (1, [])
    assert [f.function for f in result.findings] == ["program.short"]


def test_code_too_deep_for_a_rule_counts_as_out_of_budget(analyst: Analyst) -> None:
    class Deep(Rule):
        meta = META
        calls = ("*",)

        def on_call(self, event: Call, context: Context) -> Break | None:
            return self.on_call(event, context)

    path = analyst.write("""
        @torch.compile
        def step(x: Tensor):
            graph_break()
    """)
    worker = analyst.worker(path)
    add_rule(worker, Deep())
    result = worker.run(Plan(worker.project.info(path), "explicit"))
    assert (result.cut, result.internal) == (1, [])


def test_a_function_that_compiles_itself_anew_ends(analyst: Analyst) -> None:
    result = analyst.run("""
        def timed(fn):
            def inner(*args):
                @torch.compile
                @timed
                def again(x):
                    return x
                graph_break()
                return fn(*args)
            return inner

        @torch.compile
        @timed
        def step(x):
            return x
    """)
    assert [f.function.rpartition(".")[2] for f in result.findings] == ["inner"]


# -- rules at fault --------------------------------------------------------------------------------------------------


def test_a_rule_that_fails_loses_its_own_answers_only(analyst: Analyst) -> None:
    class Broken(Rule):
        meta = META
        calls = ("*",)

        def on_call(self, event: Call, context: Context) -> Break | None:
            raise ValueError("no luck")

        def on_iterate(self, event: Iterate, context: Context) -> Break | None:
            raise KeyError("none")

    path = analyst.write("""
        @torch.compile
        def f(x: Tensor):
            graph_break()
            for row in x:
                pass
    """)
    worker = analyst.worker(path)
    add_rule(worker, Broken())
    result = worker.run(Plan(worker.project.info(path), "explicit"))
    assert [f.code for f in result.findings] == ["GB0025"]
    assert result.internal == ["rule GB0000 probe: KeyError: 'none'", "rule GB0000 probe: ValueError: no luck"]


# -- settings of torch -----------------------------------------------------------------------------------------------

READS = "\n@torch.compile\ndef f(x):\n    return x.sum().item()\n\nf(torch.rand(3))\n"
SETS = "torch._dynamo.config.capture_scalar_outputs = True\n"


def test_settings_of_torch_hold_in_the_file_that_sets_them(analyst: Analyst) -> None:
    assert [f.code for f in analyst.run(READS).findings] == ["GB0124"]
    assert analyst.run(SETS + READS).findings == []


@pytest.mark.parametrize(
    ("name", "other", "breaks"),
    [
        ("one.py", "two.py", True),  # scripts side by side are programs of their own
        ("pkg/one.py", "pkg/two.py", False),
        ("pkg/one.py", "other/two.py", True),
    ],
)
def test_settings_of_torch_hold_in_their_package(analyst: Analyst, name: str, other: str, breaks: bool) -> None:
    paths = [analyst.write(READS, name), analyst.write(SETS, other)]
    paths += [analyst.write("", f"{folder}/__init__.py") for folder in ("pkg", "other")]
    worker = analyst.worker(*paths)
    result = worker.run(Plan(worker.project.info(paths[0]), "explicit"))
    assert bool(result.findings) is breaks


def test_settings_made_by_a_function_do_not_reach_other_files(analyst: Analyst) -> None:
    setter = "def fast():\n    torch._dynamo.config.capture_scalar_outputs = True\n"
    paths = [
        analyst.write(READS, "pkg/one.py"),
        analyst.write(setter, "pkg/two.py"),
        analyst.write("", "pkg/__init__.py"),
    ]
    worker = analyst.worker(*paths)
    assert worker.run(Plan(worker.project.info(paths[0]), "explicit")).findings != []


# -- independence ----------------------------------------------------------------------------------------------------

SHARED = """
    LIMITS = []
    STATE = {"mode": None}

    def remember(function):
        @functools.wraps(function)
        def wrapper(*args):
            return function(*args)
        return wrapper

    class Base(nn.Module):
        factor = None

        def __init__(self, size=3):
            super().__init__()
            self.size = size
            self.act = nn.ReLU()
            self.setup()

        def setup(self):
            self.extra = None

        @remember
        def forward(self, x):
            if self.factor is not None or LIMITS or STATE["mode"]:
                graph_break()
            if self.extra is not None:
                if x.sum() > 0:
                    return x
            return self.act(x)
"""
FIRST = """
    import lib.shared
    from lib.shared import Base, LIMITS, STATE

    class Net(Base):
        def setup(self):
            self.extra = 1

    Base.factor = 2
    LIMITS.append(1)
    STATE["mode"] = "a"
    lib.shared.remember = None
    torch._dynamo.config.capture_scalar_outputs = True
    torch.compile(Net(5))(torch.rand(3))
"""
SECOND = """
    from lib.shared import Base

    class Net(Base):
        def forward(self, x):
            x = super().forward(x)
            return x * x.sum().item()

    torch.compile(Net())(torch.rand(3))
"""


def test_a_unit_gives_the_same_alone_after_another_and_twice(analyst: Analyst) -> None:
    sources = {"lib/__init__.py": "", "lib/shared.py": SHARED, "first.py": FIRST, "app/second.py": SECOND}
    paths = [analyst.write(text, name) for name, text in sources.items()]

    def run(*order: int) -> list[UnitResult]:
        worker = analyst.worker(*paths)
        return [worker.run(Plan(worker.project.info(paths[n]), "explicit")) for n in order]

    first, second = run(2)[0], run(3)[0]
    assert [(f.code, f.guards) for f in first.findings] == [("GB0025", 0), ("GB0170", 0)]
    assert [(f.code, f.guards) for f in second.findings] == [("GB0124", 0), ("GB0025", 1)]
    for order in ((2, 3), (3, 2), (2, 2, 3, 3), (3, 2, 3)):
        for n, result in zip(order, run(*order), strict=True):
            assert plain(result) == plain(first if n == 2 else second)


# -- any program -----------------------------------------------------------------------------------------------------

NAMES = st.sampled_from(["x", "y", "z", "n", "items", "table", "flag", "obj"])
ATOMS = st.one_of(
    NAMES,
    st.sampled_from(
        [
            "None",
            "True",
            "0",
            "1.5",
            "'a'",
            "[]",
            "()",
            "{}",
            "...",
            "x.shape",
            "x.T",
            "obj.value",
            "obj.other",
            "self",
            "unheard_of",
        ]
    ),
)
EXPRESSIONS = st.recursive(
    ATOMS,
    lambda e: st.one_of(
        st.builds(
            "({} {} {})".format,
            e,
            st.sampled_from(["+", "*", "@", "%", "**", "<<", "|", "<", "==", "is", "in", "not in", "and", "or"]),
            e,
        ),
        st.builds("({} if {} else {})".format, e, e, e),
        st.builds("{}[{}]".format, NAMES, e),
        st.builds("{}[{}:{}, ...]".format, NAMES, e, e),
        st.builds("[{}, *{}]".format, e, NAMES),
        st.builds("{{{}: {}, **{}}}".format, e, e, NAMES),
        st.builds("[{} for {} in {} if {}]".format, e, NAMES, e, e),
        st.builds("{{{}: {} for {} in {}}}".format, e, e, NAMES, e),
        st.builds("(lambda {}, *a, k={}: {})({})".format, NAMES, e, e, e),
        st.builds(
            "{}.{}({})".format,
            NAMES,
            st.sampled_from(["sum", "item", "append", "get", "update", "method", "view", "format"]),
            e,
        ),
        st.builds(
            "{}({}, {})".format,
            st.sampled_from(
                [
                    "helper",
                    "Thing",
                    "getattr",
                    "isinstance",
                    "zip",
                    "map",
                    "max",
                    "print",
                    "torch.where",
                    "np.sqrt",
                    "functools.partial",
                ]
            ),
            e,
            e,
        ),
        st.builds("helper(*{}, **{})".format, e, e),
        st.builds("(not {})".format, e),
        st.builds("(-{})".format, e),
        st.builds("f'{{{}}}'".format, NAMES),
        st.builds("({} := {})".format, st.sampled_from(["w", "y"]), e),
    ),
    max_leaves=5,
)
SIMPLE = st.one_of(
    st.builds("{} = {}".format, NAMES, EXPRESSIONS),
    st.builds("{}, *{} = {}".format, NAMES, NAMES, EXPRESSIONS),
    st.builds("({}, {}), {} = {}".format, NAMES, NAMES, NAMES, EXPRESSIONS),
    st.builds("{} += {}".format, NAMES, EXPRESSIONS),
    st.builds("{}.value = {}".format, NAMES, EXPRESSIONS),
    st.builds("{}[{}] = {}".format, NAMES, EXPRESSIONS, EXPRESSIONS),
    st.builds("del {}".format, NAMES),
    st.builds("assert {}, {}".format, EXPRESSIONS, EXPRESSIONS),
    st.builds("return {}".format, EXPRESSIONS),
    st.builds("raise {}".format, EXPRESSIONS),
    st.builds("{}".format, EXPRESSIONS),
    st.sampled_from(
        ["pass", "graph_break()", "import absent.thing as y", "yield x", "raise", "import torch.nn.functional as z"]
    ),
)


def indented(body: list[str]) -> str:
    return "\n".join("    " + line for statement in body for line in statement.splitlines())


def compound(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    body = st.lists(inner, min_size=1, max_size=3).map(indented)

    def made(template: str, *parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        build: Callable[..., str] = template.format
        return st.builds(build, *parts)

    return st.one_of(
        made("if {}:\n{}\nelif {}:\n{}\nelse:\n{}", EXPRESSIONS, body, EXPRESSIONS, body, body),
        made("for {} in {}:\n{}\n    if {}: break\nelse:\n{}", NAMES, EXPRESSIONS, body, EXPRESSIONS, body),
        made("while {}:\n{}\n    continue", EXPRESSIONS, body),
        made("try:\n{}\nexcept (ValueError, KeyError) as y:\n{}\nfinally:\n{}", body, body, body),
        made("with {} as {}, torch.no_grad():\n{}", EXPRESSIONS, NAMES, body),
        made("match {}:\n    case [{}, *_]:\n        pass\n    case Thing(value=y) | {{'a': y}}:\n"
            "        pass\n    case _:\n        y = {}",
             EXPRESSIONS, st.sampled_from(["a", "_", "1", "None"]), EXPRESSIONS),
        made("def inner(x=None, *y, **z):\n    nonlocal n\n{}\ny = inner({})", body, EXPRESSIONS),
        made("class Local(Thing):\n    a = {}\n    def method(self, x):\n        return super().method({})\n"
            "obj = Local({})", ATOMS, ATOMS, ATOMS),
    )  # fmt: skip


STATEMENTS = st.recursive(SIMPLE, compound, max_leaves=6)
PROGRAM = """
class Thing:
    def __init__(self, value=None):
        self.value = value

    def method(self, x):
        return self.value if x is None else x

def helper(x=None, n=0, *rest, **more):
    return x if n else rest

class Net(nn.Module):
    def forward(self, x, n: int, items: list[Tensor], table: dict, flag=False):
        y = z = None
        obj = Thing(x)
{}
        return y

torch.compile(Net())
"""


def parses(text: str) -> bool:
    try:
        compile(ast.parse(text), "program", "exec")
    except (SyntaxError, ValueError):
        return False
    return True


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(body=st.lists(STATEMENTS, min_size=1, max_size=5))
def test_no_program_makes_the_interpreter_fail(body: list[str], tmp_path_factory: pytest.TempPathFactory) -> None:
    lines = "\n".join("        " + line for statement in body for line in statement.splitlines())
    text = text_of(PROGRAM.format(lines))
    if not parses(text):
        return
    path = Path(tmp_path_factory.mktemp("any")) / "program.py"
    path.write_text(text, encoding="utf8")
    analyst = Analyst(path.parent)
    worker = analyst.worker(path)
    for mode in ("explicit", "all"):
        result = worker.run(Plan(worker.project.info(path), mode))
        assert result.internal == [], text
        assert sum(result.roots.values()) >= 1
