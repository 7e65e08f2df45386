"""Writes random programs: `program(seed)` is the text of one, the same for the same seed.

What may stand in a program is in `templates` and `prelude`; this module fills their holes, with regard to which
variables there are and of which type.
"""

from __future__ import annotations

import ast
import random
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from gblint.devtools.generated import templates
from gblint.devtools.generated.prelude import PRELUDE

HOLE = re.compile(r"\{\{|\}\}|\{([$=]?)(\w+)\}")
DEPTH = 3  # of expressions within expressions
DOUBTS = (0.02, 0.05, 0.1)  # share of expressions and statements that are taken from the doubtful ones
RESULTS = ("T", "T", "T", "S", "S", "R", "V", "O", "L", "P", "K", "n", "f", "b")
PARAMETERS = ("T", "T", "V", "S", "I", "M", "O", "L", "K", "n", "n", "f", "b", "s", "N")
DEFAULTS = {"n": "2", "f": "0.5", "b": "False", "s": "'relu'", "O": "None"}
INPUTS = {
    "T": "torch.randn(4, 8)",
    "V": "torch.randn(8)",
    "S": "torch.randn(())",
    "I": "torch.randint(0, 4, (4,))",
    "M": "torch.rand(4, 8) > 0.5",
    "L": "[torch.randn(4, 8), torch.randn(4, 8)]",
    "R": "torch.randn(4)",
    "K": "{'a': torch.randn(4, 8), 'b': torch.randn(4, 8)}",
    "N": "[1, 2]",
    "Q": "torch.rand(4) > 0.5",
    "B": "torch.rand(()) > 0.5",
    "P": "(torch.randn(4, 8), torch.randn(()))",
}


class Missing(Exception):
    """A template asks for a variable of a type of which there is none."""


class Scope:
    """What can be used where the next statement stands. atoms, forms: templates of expressions by type, and of
    statements, that hold in this function only (calls of helpers, attributes of self)."""

    def __init__(self, result: str, atoms: dict[str, list[str]], forms: Sequence[str] = ()) -> None:
        self.result = result
        self.atoms = atoms
        self.forms = tuple(forms)
        self.variables: list[tuple[str, str]] = []
        self.count = 0

    def fresh(self, kind: str) -> str:
        self.count += 1
        return f"{kind.lower()}{self.count}"

    def names(self, kind: str) -> list[str]:
        return [name for of, name in self.variables if of == kind]

    @contextmanager
    def block(self) -> Iterator[None]:
        """What is declared within is unknown after it."""
        known = len(self.variables)
        yield
        del self.variables[known:]


class Writer:
    """Fills templates, by chance."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.doubt = self.random.choice(DOUBTS)

    # ------------------------------------------------------------------------------------------------ expressions

    def expression(self, kind: str, scope: Scope, depth: int = DEPTH) -> str:
        chance = self.random.random()
        if chance < self.doubt and depth and kind in templates.DOUBTFUL:
            return self.filled(templates.DOUBTFUL[kind], scope, depth - 1)
        names = scope.names(kind)
        if names and chance < (0.45 if depth else 1):
            return self.random.choice(names[-4:])
        if not depth or (chance < 0.5 and kind not in "TVRSL"):
            return self.filled(templates.LEAVES[kind], scope, 0)
        if chance < 0.65 and scope.atoms.get(kind):
            return self.filled(scope.atoms[kind], scope, depth - 1)
        return self.filled(templates.EXPRESSIONS[kind], scope, depth - 1)

    def filled(self, choices: Sequence[str], scope: Scope, depth: int) -> str:
        """One of the templates, filled: the first drawn that asks for no missing variable. Templates of one line."""
        while True:
            try:
                return self.line(self.random.choice(choices), scope, depth, {})
            except Missing:
                continue

    def line(self, template: str, scope: Scope, depth: int, chosen: dict[str, str]) -> str:
        return HOLE.sub(lambda match: self.hole(match, scope, depth, chosen), template)

    def hole(self, match: re.Match[str], scope: Scope, depth: int, chosen: dict[str, str]) -> str:
        """The text of one hole. chosen: the variables that the template has named so far."""
        mark, word = match[1], match[2]
        if word is None:
            return match[0][0]
        if mark and match[0] not in chosen:
            chosen[match[0]] = self.variable(word[0], scope) if mark == "$" else scope.fresh(word[0])
        if mark:
            return chosen[match[0]]
        if word == "if":
            text = self.filled(templates.DOUBTFUL_CONDITIONS if self.is_doubtful() else templates.CONDITIONS, scope, 1)
        elif word == "test":
            text = self.filled(templates.DOUBTFUL_CONDITIONS, scope, 1)
        else:
            text = self.expression(scope.result if word == "return" else word, scope, depth)
        return text if text.isidentifier() else f"({text})"

    def variable(self, kind: str, scope: Scope) -> str:
        names = [name for name in scope.names(kind) if "." not in name]
        if not names:
            raise Missing
        return self.random.choice(names)

    def is_doubtful(self) -> bool:
        return self.random.random() < 2 * self.doubt

    # ------------------------------------------------------------------------------------------------- statements

    def block(self, scope: Scope, size: int, nesting: int, in_loop: bool = False) -> list[str]:
        """A few statements, one list item a line."""
        lines: list[str] = []
        with scope.block():
            for _ in range(self.random.randint(1, size)):
                lines += self.statement(scope, nesting)
            if in_loop and self.random.random() < 0.15:
                word = self.random.choice(("break", "continue"))
                lines += [f"if {self.filled(templates.CONDITIONS, scope, 1)}:", f"    {word}"]
        return lines

    def body(self, scope: Scope, size: int, nesting: int = 2) -> list[str]:
        """The statements of a function, with its return."""
        lines: list[str] = []
        for _ in range(self.random.randint(2, size)):
            lines += self.statement(scope, nesting)
        return [*lines, f"return {self.expression(scope.result, scope)}"]

    def statement(self, scope: Scope, nesting: int) -> list[str]:
        while True:
            try:
                return self.lines(self.random.choice(self.choices(scope, nesting)), scope, nesting)
            except Missing:
                continue

    def choices(self, scope: Scope, nesting: int) -> Sequence[str]:
        if scope.forms and self.random.random() < 0.2:
            return scope.forms
        if nesting and self.random.random() < 0.35:
            return templates.DOUBTFUL_BLOCKS if self.is_doubtful() else templates.BLOCKS
        return templates.DOUBTFUL_STATEMENTS if self.is_doubtful() else templates.STATEMENTS

    def lines(self, template: str, scope: Scope, nesting: int) -> list[str]:
        """The lines of a statement, and of the blocks in it; its new variables are declared in their block, or after
        it."""
        if ("{block}" in template or "{loop}" in template) and not nesting:
            raise Missing
        chosen: dict[str, str] = {}
        lines: list[str] = []
        for line in template.split("\n"):
            text = line.lstrip()
            indent = line[: len(line) - len(text)]
            if text in ("{block}", "{loop}"):
                with scope.block():
                    self.declare(chosen, scope)
                    inner = self.block(scope, 2, nesting - 1, text == "{loop}")
                lines += [indent + one for one in inner]
            else:
                lines.append(indent + self.line(text, scope, 2, chosen))
        if "{block}" not in template and "{loop}" not in template and "except" not in template:
            self.declare(chosen, scope)
        return lines

    @staticmethod
    def declare(chosen: dict[str, str], scope: Scope) -> None:
        for hole, name in chosen.items():
            if hole[1] == "=":
                scope.variables.append((hole[2], name))

    # -------------------------------------------------------------------------------------------------- functions

    def parameters(self, least: int) -> list[tuple[str, str, str]]:
        """Parameters as (type, name, default), those with a default last."""
        kinds = ["T"] + [self.random.choice(PARAMETERS) for _ in range(self.random.randint(least, 3))]
        given = [(kind, f"p{i}" if i else "x", "") for i, kind in enumerate(kinds)]
        free = [k for k in DEFAULTS if self.random.random() < 0.15]
        return given + [(kind, f"opt{i}", DEFAULTS[kind]) for i, kind in enumerate(free)]

    def signature(self, parameters: list[tuple[str, str, str]]) -> str:
        annotated = self.random.random() < 0.3
        hints = {"T": ": torch.Tensor", "n": ": int", "f": ": float", "b": ": bool", "s": ": str"} if annotated else {}
        words = [name + hints.get(kind, "") + (f"={default}" if default else "") for kind, name, default in parameters]
        if parameters[-1][2] and self.random.random() < 0.3:
            words.insert(-1, "*")
        return ", ".join(words)

    def call(self, name: str, parameters: list[tuple[str, str, str]]) -> str:
        """The template of a call: what has a default is given by keyword, or not at all."""
        words = [f"{{{kind}}}" for kind, _, default in parameters if not default]
        words += [
            f"{param}={{{kind}}}" for kind, param, default in parameters if default and self.random.random() < 0.6
        ]
        return f"{name}({', '.join(words)})"

    def function(
        self,
        name: str,
        result: str,
        atoms: dict[str, list[str]],
        size: int,
        forms: Sequence[str] = (),
        method: bool = False,
        least: int = 0,
    ) -> tuple[list[str], str, list[tuple[str, str, str]]]:
        """A function or method: its lines, the template of a call of it, its parameters."""
        parameters = self.parameters(least)
        scope = Scope(result, atoms, forms)
        scope.variables += [(kind, param) for kind, param, _ in parameters]
        first = "self, " if method else ""
        lines = [f"def {name}({first}{self.signature(parameters)}):"]
        lines += ["    " + line for line in self.closure(scope) + self.body(scope, size)]
        return lines, self.call(f"self.{name}" if method else name, parameters), parameters

    def closure(self, scope: Scope) -> list[str]:
        """Sometimes a function within the function, which sees its variables."""
        if self.random.random() > 0.15:
            return []
        kind = self.random.choice(("T", "S", "n", "b"))
        inner = Scope(kind, scope.atoms)
        inner.variables = [*scope.variables, ("T", "t")]
        inner.count = 50
        lines = ["def inner(t):", *("    " + line for line in self.body(inner, 3, 1))]
        scope.atoms = {**scope.atoms, kind: [*scope.atoms.get(kind, []), "inner({T})"]}
        return rebinding(lines, [name for _, name in scope.variables])

    def module(self, name: str, atoms: dict[str, list[str]], known: list[str]) -> list[str]:
        """A class of modules, with some of what modules have; its forward takes and gives a 4 × 8 tensor."""
        atoms = {kind: list(texts) for kind, texts in atoms.items()}
        forms: list[str] = []
        init = ["super().__init__()"]
        blocks: list[list[str]] = []
        for text, kind, use in self.random.sample(MEMBERS, self.random.randint(2, 6)):
            init.append(text.replace("BLOCK", self.random.choice([*known, "nn.Linear(8, 8)"])))
            if kind:
                atoms.setdefault(kind, []).append(use)
            else:
                forms.append(use)
        if self.random.random() < 0.5:
            kind = self.random.choice(("T", "S", "n", "b"))
            lines, call, _ = self.function("part", kind, atoms, 4, forms, method=True)
            blocks.append(lines)
            atoms.setdefault(kind, []).append(call)
        if self.random.random() < 0.25:
            scope = Scope("f", atoms)
            blocks.append(["@property", "def ratio(self):", f"    return {self.expression('f', scope)}"])
            atoms.setdefault("f", []).append("self.ratio")
        scope = Scope("T", atoms, forms)
        scope.variables.append(("T", "x"))
        body = self.closure(scope) + self.body(scope, 6)
        blocks = [["def __init__(self):", *("    " + line for line in init)], *blocks]
        blocks.append(["def forward(self, x):", *("    " + line for line in body)])
        return [f"class {name}(nn.Module):", *("    " + line for block in blocks for line in (*block, ""))]


# What a module may have: the line of its __init__, the type and template of an expression that uses it (or no type and
# a statement).
MEMBERS = (
    ("self.fc = nn.Linear(8, 8)", "T", "self.fc({T})"),
    ("self.norm = nn.LayerNorm(8)", "T", "self.norm({T})"),
    ("self.act = nn.GELU()", "T", "self.act({T})"),
    ("self.drop = nn.Dropout(0.0)", "T", "self.drop({T})"),
    ("self.blocks = nn.ModuleList([BLOCK for _ in range(2)])", "", "for block in self.blocks:\n    {$T} = block({$T})"),
    (
        "self.layers = nn.ModuleList([BLOCK])",
        "",
        "for i, layer in enumerate(self.layers):\n    {$T} = layer({$T})\n    {loop}",
    ),
    ("self.heads = nn.ModuleDict({'one': BLOCK})", "T", "self.heads['one']({T})"),
    ("self.seq = nn.Sequential(nn.Linear(8, 8), nn.ReLU())", "T", "self.seq({T})"),
    ("self.block = BLOCK", "T", "self.block({T})"),
    ("self.register_buffer('bias', torch.ones(8))", "V", "self.bias"),
    ("self.weight = nn.Parameter(torch.ones(8))", "V", "self.weight"),
    ("self.register_buffer('steps_done', torch.zeros(()))", "", "self.steps_done += 1"),
    ("self.register_buffer('limit', torch.tensor(3.0))", "S", "self.limit"),
    ("self.scale = 0.5", "f", "self.scale"),
    ("self.steps = 2", "n", "self.steps"),
    ("self.deep = True", "b", "self.deep"),
    ("self.mode = 'gelu'", "s", "self.mode"),
    ("self.last = None", "", "self.last = {T}"),
    ("self.calls = 0", "", "self.calls += 1"),
    ("self.cache = {}", "", "self.cache['x'] = {T}"),
    ("self.extra = None", "O", "self.extra"),
    ("self.sizes = [1, 2]", "N", "self.sizes"),
    ("self.activation = torch.tanh", "T", "self.activation({T})"),
    ("self.log = []", "", "self.log.append({n})"),
    ("self.seen = None", "", "self.seen = {n}"),
    ("self.hits = 0", "", "if self.training:\n    self.hits += 1"),
    ("self.training_only = True", "b", "self.training"),
    ("self.window = torch.zeros(4, 8)", "T", "self.window"),
    ("self.register_buffer('best', torch.tensor(0.0))", "", "self.best = torch.maximum(self.best, {S}.detach())"),
    ("self.total = 0.0", "", "self.total = self.total + {S}.detach()"),
    ("self.table = nn.Embedding(4, 8)", "T", "self.table({I})"),
    ("self.conv = nn.Conv1d(4, 4, 1)", "T", "self.conv({T})"),
    ("self.bn = nn.BatchNorm1d(8)", "T", "self.bn({T})"),
    ("self.rnn = nn.GRUCell(8, 8)", "T", "self.rnn({T})"),
    ("self.config = config", "f", "self.config.scale"),
    ("self.tail = nn.Identity()", "T", "self.tail({T})"),
    ("self.gates = nn.ParameterList([torch.ones(8)])", "V", "self.gates[0]"),
    (
        "self.hooked = nn.Linear(8, 8)\n        self.hooked.register_forward_hook(lambda m, i, o: o * 2)",
        "T",
        "self.hooked({T})",
    ),
)


def rebinding(lines: list[str], outer: list[str]) -> list[str]:
    """The lines of an inner function; what it assigns of the outer variables is `nonlocal`."""
    stored = {m[1] for line in lines for m in re.finditer(r"(?:^|\s)(\w+) (?:[-+*/]?=|:=) ", line)}
    mine = sorted(stored & set(outer))
    return [lines[0], f"    nonlocal {', '.join(mine)}", *lines[1:]] if mine else lines


def program(seed: int) -> str:
    """The text of the program of a seed."""
    writer = Writer(seed)
    draw = writer.random
    atoms: dict[str, list[str]] = {}
    parts: list[list[str]] = []
    for index in range(draw.randint(0, 2)):
        result = draw.choice(RESULTS)
        lines, call, _ = writer.function(f"helper{index}", result, {k: list(v) for k, v in atoms.items()}, 4)
        parts.append(lines)
        atoms.setdefault(result, []).append(call)
    classes: list[str] = []
    for index in range(draw.choice((0, 1, 1, 2))):
        name = ("Block", "Model")[index]
        parts.append(writer.module(name, atoms, classes))
        classes.append(f"{name}()")
    parts.append(module_root(classes[-1], writer) if classes and draw.random() < 0.8 else function_root(writer, atoms))
    text = "\n".join(line for part in parts for line in part)
    return PRELUDE + ast.unparse(ast.parse(text)) + "\n"  # without superfluous parentheses


def module_root(construction: str, writer: Writer) -> list[str]:
    compiled = writer.random.choice(
        (
            ["model = {new}", "compiled = torch.compile(model)"],
            ["model = {new}.eval()", "compiled = torch.compile(model)"],
            ["compiled = {new}", "compiled.compile()"],
            ["model = {new}", "compiled = torch.compile(model.forward)"],
            ["compiled = torch.compile({new}.eval())"],
        )
    )
    lines = ["torch.manual_seed(0)", *(line.replace("{new}", construction) for line in compiled)]
    return [*lines, *calls([("T", "x", "")], writer)]


def function_root(writer: Writer, atoms: dict[str, list[str]]) -> list[str]:
    result = writer.random.choice(("T", "T", "S", "P", "L", "K"))
    lines, _, parameters = writer.function("step", result, atoms, 7, least=1)
    if writer.random.random() < 0.5:
        lines = ["@torch.compile", *lines, "", "", "compiled = step"]
    else:
        lines = [*lines, "", "", "compiled = torch.compile(step)"]
    return [*lines, "torch.manual_seed(0)", *calls(parameters, writer)]


def calls(parameters: list[tuple[str, str, str]], writer: Writer) -> list[str]:
    """Calls what is compiled, once or twice, and prints a checksum of what it gives."""
    lines = []
    for _ in range(writer.random.choice((1, 1, 2))):
        given = [
            INPUTS.get(kind) or writer.filled(templates.LEAVES[kind], Scope("T", {}), 0)
            for kind, _, default in parameters
            if not default
        ]
        given = [text if text != "None" or writer.random.random() < 0.5 else INPUTS["T"] for text in given]
        lines.append(f"print('checksum', total(compiled({', '.join(given)})))")
    return lines
