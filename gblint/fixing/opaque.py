"""Whether statements that have become one opaque operation surely do what they did where they stood.

The operation runs the very statements as plain Python in the same place among the other operations. What is left to
prove: it only reads what it is given; what it gives is made in it, by a statement that the fake has word for word, and
only written into afterwards; nothing else it does can be seen; no gradient is wanted; and the file shows everybody who
can call it (`gblint.fixing.script`).
"""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING

import libcst as cst

from gblint.fixing.forms import without_gradients
from gblint.fixing.liveness import bound_before
from gblint.fixing.places import own_class
from gblint.fixing.purity import call_is_pure
from gblint.fixing.script import stands_alone
from gblint.fixing.site import SURE, Refusal
from gblint.interpreter.values import Const, Instance, Plain, Tensor, Value, members
from gblint.interpreter.walk import walk, walk_scope

if TYPE_CHECKING:
    from gblint.fixing.outline import Outline
    from gblint.fixing.site import Site

SEEDS = frozenset(
    {"torch.manual_seed", "torch.random.manual_seed", "torch.cuda.manual_seed", "torch.cuda.manual_seed_all"}
)
_MAKERS = frozenset(
    "zeros_like ones_like full_like empty_like zeros ones full empty new_zeros new_ones new_full new_empty "
    "clone".split()
)
_IN_PLACE = frozenset(
    "index_add_ index_copy_ index_fill_ scatter_ scatter_add_ masked_fill_ masked_scatter_ add_ sub_ mul_ div_ copy_ "
    "fill_ zero_ clamp_".split()
)
_STATEMENTS = (
    cst.SimpleStatementLine, cst.Assign, cst.AugAssign, cst.Expr, cst.Pass, cst.Continue, cst.Break, cst.Return, cst.If,
    cst.Else, cst.For, cst.While, cst.IndentedBlock, cst.SimpleStatementSuite,
)  # fmt: skip
_ODD = (cst.Await, cst.Yield, cst.NamedExpr, cst.Lambda, cst.FormattedString, cst.StarredElement)
_BUILTINS = frozenset(
    "abs bool divmod enumerate float int len list max min range reversed round sorted sum tuple zip".split()
)
_NUMPY = frozenset(
    "cumsum cumprod where argsort unique diff concatenate arange zeros ones array argmax argmin nonzero searchsorted "
    "bincount lexsort floor ceil sqrt abs maximum minimum sum max min mean any all stack repeat clip".split()
)
_ARRAY_METHODS = frozenset(
    "cumsum cumprod sum max min mean argmax argmin argsort astype tolist item copy nonzero any all searchsorted round "
    "clip".split()
)
_FUNCTIONAL = frozenset(
    "softmax log_softmax linear gelu sigmoid tanh softplus normalize one_hot cosine_similarity pad layer_norm".split()
)
_TORCH = frozenset(
    "abs add all allclose amax amin any arange argmax argmin argsort bincount bmm cat ceil clamp clone cos "
    "cumprod cumsum detach diff div dot einsum empty_like eq equal exp eye floor full full_like gather ge gt "
    "isclose isfinite isinf isnan item le linspace log logical_and logical_not logical_or long lt masked_fill "
    "masked_select matmul max maximum mean min minimum mm mul ne neg new_full new_ones new_zeros nonzero norm "
    "numel ones ones_like outer pow prod relu round rsqrt searchsorted sigmoid sign sin size softmax log_softmax "
    "sort sqrt square stack std sub sum take_along_dim tanh tensor tolist topk tril triu unique var where zeros "
    "zeros_like cpu numpy to float int bool double half index_select permute transpose t view reshape flatten "
    "unsqueeze squeeze expand repeat repeat_interleave roll flip unbind split chunk narrow masked_scatter "
    "index_add scatter scatter_add index_fill index_copy dim contiguous type_as".split()
)
_ATTRIBUTES = frozenset({"shape", "dtype", "device", "ndim", "T", "mT"})
_MODULES = frozenset(
    "Linear Conv1d Conv2d Conv3d LayerNorm GELU Sigmoid Tanh Softplus Identity Bilinear Flatten".split()
)


def doubt(site: Site, made: Outline, operator: bool = False) -> str:
    """What keeps the moved statements from being proved to do the same as before; "" if nothing does. operator: they
    become a custom operator, which every backend takes and which gives no gradients."""
    try:
        _Proof(site, made, operator).check()
    except Refusal as refusal:
        return str(refusal)
    return ""


class _Proof:
    """The proof for one outline; its methods raise Refusal."""

    def __init__(self, site: Site, made: Outline, operator: bool) -> None:
        self.site = site
        self.operator = operator
        self.made = made
        block = site.block(made.first)
        self.run = block[block.index(made.first) : block.index(made.last) + 1]
        self.inside = site.inside(self.run)
        self.outputs = made.outputs or self._returned()

    def _returned(self) -> list[str]:
        last = self.run[-1].body[-1] if isinstance(self.run[-1], cst.SimpleStatementLine) else None
        value = last.value if isinstance(last, cst.Return) else None
        parts = [e.value for e in value.elements] if isinstance(value, cst.Tuple) else [value]
        names = [p.value for p in parts if isinstance(p, cst.Name)]
        return names if len(names) == len(parts) else []

    def check(self) -> None:
        for given in self.made.inputs:
            self._input(given.passed, given.value)
        if not self.operator and self._is_seed():
            stands_alone(self.site, random=True)
            return
        self._no_effects_around()
        self._results()
        for node in walk_scope(list(self.run)):
            self._part(node)
        stands_alone(self.site, any_backend=self.operator)

    # -- seeding ---------------------------------------------------------------------------------------------------

    def _is_seed(self) -> bool:
        """Whether the run is a call that seeds with whole numbers, and no more."""
        (line, *more) = self.run
        small = line.body[0] if isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1 else None
        if more or not isinstance(small, cst.Expr) or self.site.callee(small.value) not in SEEDS:
            return False
        if not all(_is_whole(given.value) for given in self.made.inputs):
            raise Refusal("the seed is not surely a whole number")
        calls = [n for n in walk(small.value) if isinstance(n, cst.Call | cst.Subscript) and n is not small.value]
        if calls:
            raise Refusal("the seed is computed by another call")
        return True

    # -- what goes in and comes out --------------------------------------------------------------------------------

    def _input(self, passed: str, value: Value) -> None:
        if not all(_is_plain_input(m) for m in members(value)):
            raise Refusal(f"`{passed}` is not surely a tensor, a number or a module of torch")
        if self.operator and not all(isinstance(m, Tensor) or _is_whole(m) for m in members(value)):
            raise Refusal(f"`{passed}` may be converted on the way")
        name, dot, attribute = passed.partition(".")
        if not dot:
            if not bound_before(self.site, name, self.made.first):
                raise Refusal(f"`{name}` has no value on some way to the code")
            return
        _, _, info = own_class(self.site)
        if "." in attribute or attribute in info.methods:
            raise Refusal(f"`{passed}` is not read in the class alone")
        places = [n for n in self.inside if isinstance(n, cst.Attribute) and self.site.text(n) == passed]
        if not any(self._is_always_read(n) for n in places):
            raise Refusal(f"`{passed}` is not read in any case")

    def _is_always_read(self, node: cst.CSTNode) -> bool:
        below: cst.CSTNode = node
        for above in self.site.ancestors(node):
            if isinstance(above, cst.IfExp | cst.BooleanOperation | cst.Comparison | cst.BaseComp | cst.While):
                return False
            if isinstance(above, cst.If | cst.For) and below not in (
                getattr(above, "test", None),
                getattr(above, "iter", 0),
            ):
                return False
            if above in self.run:
                return True
            below = above
        return below in self.run

    def _results(self) -> None:
        """Results are made in the run, each by one statement that the fake repeats, and bound to no other variable."""
        if not self.outputs:
            raise Refusal("what comes out is not a variable")
        for name in self.outputs:
            stores = [s for s in self.site.stores(name) if s in self.inside]
            plain = [s for s in stores if not isinstance(self.site.parent(s), cst.AugAssign)]
            if len(plain) != 1 or self.site.statement(plain[0]) not in self.run or not self._is_made(plain[0]):
                raise Refusal(f"`{name}` is not made by one statement that surely gives a tensor of its own")
        fake, body = self.made.fake.splitlines(), self.made.body.splitlines()
        if not set(fake[:-1]) <= set(body) or fake[-1] != body[-1]:
            raise Refusal("the fake does not repeat what makes the results")
        whole = self.operator and all(value.dtype in ("int", "bool") for value in self.made.values)
        if not whole and not without_gradients(self.site):
            raise Refusal("a gradient may be wanted")

    def _is_made(self, name: cst.Name) -> bool:
        assign = self.site.parent(self.site.parent(name) or name)
        if not isinstance(assign, cst.Assign) or len(assign.targets) != 1:
            return False
        callee = self.site.callee(assign.value)
        return callee.startswith("torch.") and callee.rpartition(".")[2] in _MAKERS

    def _no_effects_around(self) -> None:
        """An error in the run must not undo what the function has done: Dynamo sets attributes after the graph."""
        if len(self.site.finding.path) > 1:
            raise Refusal("the code is in a function that others call while they are compiled")
        for node in walk(self.site.function.body):
            if isinstance(node, cst.Global | cst.Nonlocal | cst.Yield | cst.Try | cst.Raise):
                raise Refusal("the function has effects besides its result")
            if node in self.inside or not isinstance(node, cst.AssignTarget | cst.AugAssign | cst.Del | cst.Expr):
                continue
            text = isinstance(node, cst.Expr) and isinstance(node.value, cst.BaseString)
            named = isinstance(node, cst.AssignTarget) and isinstance(node.target, cst.Name | cst.Tuple)
            if not (text or named):
                raise Refusal("the function has effects besides its result")

    # -- what happens inside ---------------------------------------------------------------------------------------

    def _part(self, node: cst.CSTNode) -> None:
        if isinstance(node, cst.BaseSmallStatement | cst.BaseCompoundStatement | cst.BaseSuite):
            if not isinstance(node, _STATEMENTS):
                raise Refusal(f"`{self.site.text(node).split()[0]}` may have an effect")
        elif isinstance(node, _ODD):
            raise Refusal("the code has an expression that is not followed")
        if isinstance(node, cst.Call):
            self._call(node)
        elif isinstance(node, cst.AssignTarget | cst.AugAssign):
            self._write(node)
        elif isinstance(node, cst.Attribute):
            self._attribute(node)
        elif isinstance(node, cst.Name) and node in self.site.names:
            self._name(node)

    def _call(self, call: cst.Call) -> None:
        if call_is_pure(self.site, call) and _is_known(self.site, call):
            return
        func = call.func
        if isinstance(func, cst.Attribute) and isinstance(func.value, cst.Name):
            alone = isinstance(self.site.parent(call), cst.Expr)
            if func.value.value in self.outputs and func.attr.value in _IN_PLACE and alone:
                return
        value = self.site.value(func)
        if value is None or not all(_is_module(m, _MODULES) for m in members(value)):
            raise Refusal(f"`{self.site.text(func)}` may have an effect")

    def _write(self, node: cst.AssignTarget | cst.AugAssign) -> None:
        target = node.target
        if isinstance(target, cst.Subscript) and isinstance(target.value, cst.Name):
            if target.value.value in self.outputs:
                return
        elif isinstance(node, cst.AssignTarget):
            if isinstance(target, cst.Name | cst.Tuple):
                return
        elif isinstance(target, cst.Name) and (target.value in self.outputs or self.site.is_plain(target)):
            return
        raise Refusal(f"`{self.site.text(target)}` is written to, and may belong to something else")

    def _attribute(self, node: cst.Attribute) -> None:
        above = self.site.parent(node)
        if isinstance(above, cst.Call) and above.func is node:
            return
        known = node.attr.value in _ATTRIBUTES and self.site.tensor(node.value) is not None
        dotted = self.site.dotted(node)
        known = known or (dotted.startswith(("torch.", "math.", "numpy.")) and not dotted.startswith("torch.Tensor."))
        if not known and self.site.text(node) not in {i.passed for i in self.made.inputs}:
            raise Refusal(f"`{self.site.text(node)}` is not known to be the same when the code runs")

    def _name(self, name: cst.Name) -> None:
        if self.site.binds(name.value):
            return
        bindings = self.site.module.bindings.get(name.value)
        imported = bindings and all(b.kind == "import" for b in bindings)
        if not imported and (bindings or not hasattr(builtins, name.value)):
            raise Refusal(f"`{name.value}` may have another value when the code runs")


def _is_known(site: Site, call: cst.Call) -> bool:
    """Whether a call is one of those known to keep to themselves, whatever they are given."""
    callee = site.callee(call)
    space, _, last = callee.rpartition(".")
    if any(a.star for a in call.args):
        return False
    if space == "torch.Tensor" and isinstance(call.func, cst.Attribute):
        tensor = site.tensor(call.func.value)
        return tensor is not None and last in (_TORCH if tensor.subclass == "" else _ARRAY_METHODS)
    names = {"builtins": _BUILTINS, "torch": _TORCH, "torch.nn.functional": _FUNCTIONAL, "numpy": _NUMPY}
    return last in names.get(space, ()) or space == "math"


def _is_whole(value: Value) -> bool:
    return all(
        (isinstance(m, Const) and type(m.value) is int) or (isinstance(m, Plain) and m.type == "int")
        for m in members(value)
    )


def _is_plain_input(value: Value) -> bool:
    if isinstance(value, Tensor):
        return value.c >= SURE and value.subclass == ""
    if isinstance(value, Const):
        return type(value.value) in (int, float, bool, str)
    if isinstance(value, Plain):
        return value.type in ("int", "float", "bool", "str")
    return _is_module(value, _MODULES | {"ModuleList", "Sequential"})


def _is_module(value: Value, names: frozenset[str]) -> bool:
    """Whether a value is a module of torch's own that was made outside of the compiled code."""
    if not isinstance(value, Instance) or value.cls is not None or value.born != "outside":
        return False
    space, _, last = value.base.rpartition(".")
    return space.startswith("torch.nn") and last in names
