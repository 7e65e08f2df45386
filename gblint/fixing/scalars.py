"""A number read from a tensor that becomes a tensor: who reads it, and what has to be written for that."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NoReturn

import libcst as cst

from gblint.fixing.flow import plain_targets, reads
from gblint.fixing.layout import flat_with
from gblint.interpreter.values import Bound, Class, Function, Tensor, as_tensor, members
from gblint.interpreter.walk import walk

if TYPE_CHECKING:
    from gblint.fixing.site import Site

MATH = {
    name: name
    for name in "sqrt exp log log2 log10 log1p expm1 sin cos tan asin acos atan sinh cosh tanh floor ceil trunc erf "
    "isnan isinf isfinite".split()
} | {"fabs": "abs"}
LISTS = frozenset({"append", "extend", "insert", "add", "setdefault", "update", "put", "appendleft"})


@dataclass
class Readers:
    """Everything that reads a number once it is a tensor. Raises Refusal where a reader needs a number.

    kind: what the number is: "float", "int", "bool", or "" where unknown. texts: expressions to be written anew, such
    as `math.sqrt(n)`. doubts: what could differ, strongest first; where there is none, every reader computes the same
    as before.
    """

    site: Site
    kind: str = ""
    texts: dict[cst.CSTNode, str] = field(default_factory=dict)
    doubts: list[str] = field(default_factory=list)
    seen: set[cst.CSTNode] = field(default_factory=set)

    def follow(self, node: cst.BaseExpression) -> None:
        """Follow a number, through variables, to its readers."""
        for place in reads(self.site, node):
            if place not in self.seen:
                self.seen.add(place)
                self._reader(place)

    def follow_place(self, place: cst.BaseExpression) -> None:
        """Follow one place that reads the number."""
        if plain_targets(self.site, place):
            self.follow(place)
        else:
            self._reader(place)

    def handed_on(self, place: cst.BaseExpression) -> None:
        """A collection that holds the number goes somewhere."""
        self._handed_on(place, self.site.parent(place))

    def doubt(self, text: str) -> None:
        """Remember something that could differ."""
        if text not in self.doubts:
            self.doubts.append(text)

    def refuse(self, reason: str) -> NoReturn:
        from gblint.fixing.site import Refusal

        raise Refusal(reason)

    def _reader(self, node: cst.BaseExpression) -> None:
        site = self.site
        above = site.parent(node)
        if isinstance(above, cst.BinaryOperation | cst.UnaryOperation | cst.Comparison | cst.ComparisonTarget):
            self._operator(node, above)
        elif isinstance(above, cst.Arg):
            self._argument(node, above)
        elif isinstance(above, cst.Expr):
            return
        elif isinstance(above, cst.AugAssign) and above.value is node:
            self._accumulated(above)
        elif isinstance(above, cst.IfExp) and above.test is not node:
            self.doubt("one arm is a tensor, the other may be a number")
            self.follow(above)
        elif isinstance(above, cst.Attribute):
            self.refuse(f"`{site.flat(above)}` is an attribute of the number")
        elif isinstance(above, cst.ListComp | cst.GeneratorExp | cst.DictComp) and node is not above:
            self._collected(above)
        else:
            self._handed_on(node, above)

    def _operator(self, node: cst.BaseExpression, above: cst.CSTNode) -> None:
        site = self.site
        if isinstance(above, cst.ComparisonTarget):
            above = site.parent(above) or above
        if isinstance(above, cst.UnaryOperation):
            if isinstance(above.operator, cst.Not):
                self.refuse(f"`{site.flat(above)}` decides what runs")
            self.follow(above)
            return
        if isinstance(above, cst.Comparison):
            operator = above.comparisons[0].operator
            if len(above.comparisons) > 1 or isinstance(operator, cst.In | cst.NotIn | cst.Is | cst.IsNot):
                self.refuse(f"`{site.flat(above)}` decides what runs")
            others = [above.left if above.left is not node else above.comparisons[0].comparator]
        else:
            assert isinstance(above, cst.BinaryOperation)
            others = [above.right if above.left is node else above.left]
        self._with(node, above, others[0])

    def _with(self, node: cst.BaseExpression, above: cst.BaseExpression, other: cst.BaseExpression) -> None:
        """An operation of the number and something else."""
        value = self.site.value(other)
        tensor = self.site.tensor(other)
        if tensor is not None and tensor.rank:
            if not self._is_exact(above, other, tensor):
                self.doubt("the operation may be rounded in another way than with a Python number")
            return
        if tensor is not None or value is None or as_tensor(value) is not None:
            self.doubt("the kind of the result is that of the tensors, not of a Python number")
            if tensor is None or tensor.rank is None:
                self.doubt(f"takes `{self.site.flat(other)}` to be a tensor")
            return
        if isinstance(above, cst.BinaryOperation) and isinstance(other, cst.BaseString):
            self.refuse(f"`{self.site.flat(above)}` makes text of the number")
        self.doubt("what Python computed in double precision is computed in that of the tensor")
        self.follow(above)

    def _is_exact(self, above: cst.BaseExpression, other: cst.BaseExpression, tensor: Tensor) -> bool:
        """Whether torch computes the same with a tensor of no dimension as with a number (measured: `x * n`, `x / n`,
        sums and differences; `n * x` is rounded before in half precision, `n / x` goes another way)."""
        if not isinstance(above, cst.BinaryOperation) or tensor.dtype != "float" or tensor.subclass:
            return False
        if self.kind not in ("float", "int", "bool"):
            return False
        if self.kind == "bool":
            return isinstance(above.operator, cst.Multiply) and above.left is other
        if isinstance(above.operator, cst.Add | cst.Subtract):
            return True
        return isinstance(above.operator, cst.Multiply | cst.Divide) and above.left is other

    def _accumulated(self, statement: cst.AugAssign) -> None:
        target = statement.target
        self.doubt("a running total becomes a tensor")
        if isinstance(target, cst.Name):
            for use in self.site.loads(target.value):
                if use not in self.seen:
                    self.seen.add(use)
                    self._reader(use)

    def _collected(self, comprehension: cst.CSTNode) -> None:
        above = self.site.parent(comprehension)
        call = self.site.parent(above) if isinstance(above, cst.Arg) else None
        if isinstance(call, cst.Call) and self.site.callee(call) == "builtins.sum":
            self.doubt("what Python computed in double precision is computed in that of the tensor")
            self.follow(call)
            return
        self.doubt("who reads the collection sees tensors, not numbers")
        if isinstance(comprehension, cst.BaseExpression):
            for place in reads(self.site, comprehension):
                self._handed_on(place, self.site.parent(place))

    def _argument(self, node: cst.BaseExpression, arg: cst.Arg) -> None:
        site = self.site
        call = site.parent(arg)
        assert isinstance(call, cst.Call)
        name = site.callee(call)
        if name.startswith("math.") and name.removeprefix("math.") in MATH and len(call.args) == 1:
            self._becomes(call, f"torch.{MATH[name.removeprefix('math.')]}", node)
        elif (
            name in ("builtins.min", "builtins.max")
            and len(call.args) == 2
            and all(a.keyword is None for a in call.args)
        ):
            self._bounded(call, node, name.removeprefix("builtins."))
        elif name == "builtins.round":
            digits = call.args[1:]
            tail = f", decimals={site.flat(digits[0].value)}" if digits else ""
            self._becomes(call, "torch.round", node, tail)
        elif name == "builtins.abs":
            self.follow(call)
        elif name.startswith("torch.") and self._takes_tensor(call, arg, name):
            self.doubt("the function may treat a tensor in another way than a number")
        elif isinstance(call.func, cst.Attribute) and call.func.attr.value in LISTS and not name.startswith("torch."):
            self.doubt("who reads the collection sees tensors, not numbers")
        elif name == "builtins.dict":
            self.doubt("who reads the dictionary sees tensors, not numbers")
        elif not name and _is_of_project(site, call):
            self.doubt(f"`{site.flat(call.func)}` is given a tensor, not a number")
        else:
            self.refuse(f"`{site.flat(call.func)}` needs a number")

    def _takes_tensor(self, call: cst.Call, arg: cst.Arg, name: str) -> bool:
        return any("tensor" in kinds for kinds in self._kinds(call, arg, name))

    def sizes(self, call: cst.Call, arg: cst.Arg) -> bool:
        """Whether a function or method of torch takes sizes in the place of an argument, and nothing else."""
        kinds = self._kinds(call, arg, self.site.callee(call))
        return bool(kinds) and all(each and set(each) <= {"int", "size"} for each in kinds)

    def _kinds(self, call: cst.Call, arg: cst.Arg, name: str) -> list[tuple[str, ...]]:
        """What the parameters of a function of torch that an argument may be for take."""
        place = list(call.args).index(arg)
        name_of = arg.keyword.value if arg.keyword is not None else ""
        return [
            parameter.kinds
            for parameter in self.site.knowledge.parameters(name)
            if (parameter.name == name_of if name_of else parameter.position == place)
        ]

    def _becomes(self, call: cst.Call, function: str, node: cst.BaseExpression, tail: str = "") -> None:
        text, _ = self.site.refer(function)
        self.texts[call] = f"{text}({flat_with(self.site, node, self._inner(node))}{tail})"
        self.doubt("what Python computed in double precision is computed in that of the tensor")
        self.follow(call)

    def _bounded(self, call: cst.Call, node: cst.BaseExpression, word: str) -> None:
        other = next(a.value for a in call.args if a.value is not node)
        text = flat_with(self.site, node, self._inner(node))
        if self.site.tensor(other) is not None:
            torch, _ = self.site.refer(f"torch.{word}imum")
            self.texts[call] = f"{torch}({text}, {self.site.flat(other)})"
        else:
            torch, _ = self.site.refer("torch.clamp")
            self.texts[call] = f"{torch}({text}, {'max' if word == 'min' else 'min'}={self.site.flat(other)})"
        self.doubt("what Python computed in double precision is computed in that of the tensor")
        self.follow(call)

    def _inner(self, node: cst.CSTNode) -> dict[cst.CSTNode, str]:
        inside = set(walk(node))
        found = {n: t for n, t in self.texts.items() if n in inside}
        return {n: t for n, t in found.items() if not any(a in found for a in self.site.ancestors(n))}

    def _handed_on(self, node: cst.BaseExpression, above: cst.CSTNode | None) -> None:
        """Leaves the function, or goes into something that holds it."""
        site = self.site
        if isinstance(above, cst.Return | cst.Yield):
            self.doubt("callers see tensors, not numbers")
        elif isinstance(above, cst.DictElement | cst.Element | cst.StarredElement):
            holder = site.parent(above)
            if isinstance(above, cst.DictElement) and above.key is node:
                self.refuse(f"`{site.flat(node)}` is a key")
            self.doubt("who reads the collection sees tensors, not numbers")
            if isinstance(holder, cst.BaseExpression):
                for place in reads(site, holder):
                    self._handed_on(place, site.parent(place))
        elif isinstance(above, cst.Assign | cst.AnnAssign):
            self._stored(above)
        elif isinstance(above, cst.Dict | cst.DictComp | cst.ListComp):
            self._collected(above)
        elif isinstance(node, cst.Dict | cst.List | cst.Tuple | cst.Name | cst.DictComp | cst.ListComp) and (
            isinstance(above, cst.Subscript | cst.Attribute | cst.Arg | cst.For | cst.CompFor | cst.Expr)
        ):
            self._used_collection(node, above)
        else:
            self.refuse(_needs_number(site, node, above))

    def _used_collection(self, node: cst.BaseExpression, above: cst.CSTNode) -> None:
        """A list, tuple or dictionary that holds the number is read."""
        if self._is_number(node):
            self.refuse(_needs_number(self.site, node, above))

    def _is_number(self, node: cst.BaseExpression) -> bool:
        return self.site.is_plain(node)

    def _stored(self, statement: cst.Assign | cst.AnnAssign) -> None:
        targets = [t.target for t in statement.targets] if isinstance(statement, cst.Assign) else [statement.target]
        for target in targets:
            if isinstance(target, cst.Subscript):
                tensor = as_tensor(self.site.value(target.value))
                self.doubt("the number is stored as a tensor" if tensor else "who reads the entry sees a tensor")
            elif isinstance(target, cst.Attribute):
                self.doubt("who reads the attribute sees a tensor, not a number")
            elif isinstance(target, cst.Tuple | cst.List):
                self._unpacked(statement, target)

    def _unpacked(self, statement: cst.Assign | cst.AnnAssign, target: cst.Tuple | cst.List) -> None:
        """`a, b = f(x), t.item()`: the elements are taken to go over one by one."""
        for element in target.elements:
            name = element.value
            if isinstance(name, cst.Name):
                for use in self.site.after(statement):
                    if use.value == name.value and not self.site.is_store(use) and use not in self.seen:
                        self.seen.add(use)
                        self._reader(use)


def _is_of_project(site: Site, call: cst.Call) -> bool:
    value = site.value(call.func)
    return value is not None and any(isinstance(m, Function | Bound | Class) for m in members(value))


def _needs_number(site: Site, node: cst.BaseExpression, above: cst.CSTNode | None) -> str:
    text = site.flat(node)
    if isinstance(above, cst.If | cst.While | cst.IfExp | cst.BooleanOperation | cst.Assert | cst.CompIf):
        return f"`{text}` decides what runs"
    if isinstance(above, cst.FormattedStringExpression):
        return f"`{text}` is put into text"
    if isinstance(above, cst.Index | cst.Slice):
        return f"`{text}` is an index or a bound"
    return f"`{text}` is used where a number is needed"
