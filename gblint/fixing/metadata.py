"""Shapes and types of what statements compute, as code that runs on tensors without contents."""

from __future__ import annotations

import libcst as cst

from gblint.fixing.purity import changed_in_place, changed_names
from gblint.fixing.site import Refusal, Site, Statement
from gblint.interpreter.functions import full_name
from gblint.interpreter.values import Const, Function, Plain, members
from gblint.interpreter.walk import walk, walk_scope

_ELEMENTWISE = frozenset(
    "abs sin cos tanh exp log sqrt rsqrt relu sigmoid clamp clip clamp_min clamp_max neg square round floor ceil "
    "softmax log_softmax masked_fill detach clone contiguous nan_to_num gelu silu fill_ add sub mul pow where "
    "zeros_like ones_like empty_like rand_like randn_like full_like softplus elu leaky_relu dropout "
    "masked_scatter index_add scatter_add index_fill index_copy scatter roll flip tril triu".split()
)
_SAME_TYPE = (cst.Add, cst.Subtract, cst.Multiply, cst.Power, cst.Modulo)
_PRINTER = cst.Module([])


def breaking_functions(site: Site) -> set[str]:
    """Full names of the functions that hold a break, or call one that does."""
    machine = site.machine
    found = {draft.function for draft in machine.drafts.by_place.values()}
    for draft in machine.drafts.by_place.values():
        found.update(name for name, _, _ in draft.path)
    return found


def reads_contents(site: Site, nodes: list[cst.CSTNode]) -> bool:
    """Whether evaluating code needs the contents of tensors, or anything else that breaks the graph; calls that the
    fake has a dense form of do not count."""
    broken = {draft.node for draft in site.machine.drafts.by_place.values()}
    broken = {n for n in broken if not (isinstance(n, cst.Call) and has_dense_form(site, n))}
    inside = [n for node in nodes for n in walk(node)]
    if any(site.seen(n) in broken for n in inside):
        return True
    breaking = breaking_functions(site)
    for node in inside:
        if isinstance(node, cst.Call):
            value = site.value(node.func)
            functions = [m for m in members(value) if isinstance(m, Function)] if value is not None else []
            if any(full_name(f) in breaking for f in functions):
                return True
    return False


class Metadata:
    """The fake of a run of statements. inputs: names of its parameters. renamed: attributes that are parameters."""

    def __init__(self, site: Site, run: list[Statement], inputs: set[str], renamed: dict[cst.CSTNode, str]) -> None:
        self.site = site
        self.run = run
        self.inputs = inputs
        self.renamed = renamed

    def fake(self, outputs: list[str], returned: cst.BaseExpression | None) -> str:
        """The lines of the fake, which end in a `return`. Raises Refusal where metadata cannot be told."""
        if returned is None and not outputs:
            return "return None\n"
        steps: list[str] = []
        if returned is not None:
            result, needed = self._expression(returned)
            run = self.run[:-1]
        else:
            result, needed = "", set(outputs)
            run = self.run
        set_names: set[str] = set()
        for statement in reversed(run):
            self._check_parts(statement, needed)
            changed = changed_names([statement]) & needed
            if not changed:
                continue
            step = self._step(statement, changed, needed)
            if step:
                steps.insert(0, step)
                set_names |= changed
        unknown = needed - self.inputs - set_names - self._globals(needed)
        if unknown:
            raise Refusal(f"the shape of `{min(unknown)}` cannot be told")
        if returned is None:
            result = ", ".join(n if n in set_names else f"torch.empty_like({n})" for n in outputs)
        return "".join(steps) + f"return {result}\n"

    def _check_parts(self, statement: Statement, needed: set[str]) -> None:
        """Refuse where an object that the fake needs, which is no tensor, is changed."""
        for node in walk_scope([statement]):
            whole = isinstance(node, cst.AugAssign) and isinstance(node.target, cst.Name)
            changed = None if whole else changed_in_place(self.site, node)
            if changed is not None and changed.value in needed and self.site.tensor(changed) is None:
                raise Refusal(f"what `{changed.value}` holds cannot be told without contents")

    def _globals(self, names: set[str]) -> set[str]:
        return {n for n in names if not self.site.binds(n)}

    def unchanged(self, outputs: list[str]) -> list[str]:
        """Outputs that may be inputs themselves: an operator must not give back what it got."""
        return [n for n in outputs if n in self.inputs]

    def _step(self, statement: Statement, changed: set[str], needed: set[str]) -> str:
        """What a statement adds to the fake; adds to what is needed before it."""
        if isinstance(statement, cst.SimpleStatementLine) and len(statement.body) == 1:
            small = statement.body[0]
            if isinstance(small, cst.AugAssign):
                return ""
            if isinstance(small, cst.Assign) and len(small.targets) == 1:
                target = small.targets[0].target
                if (
                    isinstance(target, cst.Name)
                    and self.keeps(small.value, target.value)
                    and target.value in self.inputs
                ):
                    return ""
                text, reads = self._expression(small.value)
                needed -= changed
                needed |= reads
                return f"{self.site.text(target)} = {text}\n"
        for name in sorted(changed):
            for node in walk_scope([statement]):
                if isinstance(node, cst.Assign) and name in changed_names([node]):
                    target = node.targets[0].target
                    if len(node.targets) > 1 or not isinstance(target, cst.Name) or not self.keeps(node.value, name):
                        raise Refusal(
                            f"the shape of `{name}` is not surely the same after `{_first_line(self.site, node)}`"
                        )
                elif isinstance(node, cst.For | cst.With | cst.Import | cst.ImportFrom | cst.AnnAssign):
                    if name in changed_names([node]) and node is not statement:
                        raise Refusal(f"the shape of `{name}` cannot be told")
        return ""

    def _expression(self, node: cst.BaseExpression) -> tuple[str, set[str]]:
        """An expression as the fake has it, and the variables that reads."""
        known = self._known(node)
        if known is not None:
            return known
        if reads_contents(self.site, [node]):
            raise Refusal(f"the shape of `{_short(self.site, node)}` depends on what cannot be traced")
        text = self.site.flat(node)
        dense = any(isinstance(n, cst.Call) and _dense(self.site, n) for n in walk(node))
        if dense or any(n in self.renamed for n in walk(node)):
            text = _PRINTER.code_for_node(node.visit(_Attributes(self.site, self.renamed)))  # type: ignore[arg-type]
        return text, self._reads(node)

    def _reads(self, node: cst.CSTNode) -> set[str]:
        names = set(self.site.names)
        own = {
            n.value for c in walk(node) if isinstance(c, cst.CompFor) for n in walk(c.target) if isinstance(n, cst.Name)
        }
        found = {n.value for n in walk(node) if isinstance(n, cst.Name) and n in names}
        return {n for n in found - own if self.site.binds(n) and n not in self._receivers(node)}

    def _receivers(self, node: cst.CSTNode) -> set[str]:
        parts = (n for n in walk(node) if n in self.renamed and isinstance(n, cst.Attribute))
        return {self.site.text(p.value) for p in parts}

    def _known(self, node: cst.BaseExpression) -> tuple[str, set[str]] | None:
        """Results whose shape is known though it takes contents to compute them."""
        if isinstance(node, cst.Attribute) and node.attr.value == "solution" and isinstance(node.value, cst.Call):
            call = node.value
            if self.site.callee(call) == "torch.linalg.lstsq" and len(call.args) >= 2:
                return self._solution(call.args[0].value, call.args[1].value)
        if isinstance(node, cst.BinaryOperation):
            return self._arithmetic(node)
        return None

    def _solution(self, a: cst.BaseExpression, b: cst.BaseExpression) -> tuple[str, set[str]] | None:
        (left, reads), (right, more) = self._expression(a), self._expression(b)
        rank = getattr(self.site.tensor(b), "rank", None)
        if rank is not None and rank < 2:
            return None
        return f"{left}.new_empty(({left}.mT @ {right}).shape)", reads | more

    def _arithmetic(self, node: cst.BinaryOperation) -> tuple[str, set[str]] | None:
        """A tensor and a number: the number, which may be read from contents, is left out."""
        for tensor, number in ((node.left, node.right), (node.right, node.left)):
            known = self.site.tensor(tensor)
            if known is not None and known.dtype == "float" and self._is_number(number):
                text, reads = self._expression(tensor)
                return f"torch.empty_like({text})", reads
        return None

    def _is_number(self, node: cst.BaseExpression) -> bool:
        value = self.site.value(node)
        return value is not None and all(
            isinstance(m, Plain | Const) and (not isinstance(m, Plain) or m.type in ("int", "float", "number", "bool"))
            for m in members(value)
        )

    # -- keeping shape and type ------------------------------------------------------------------------------------

    def keeps(self, node: cst.BaseExpression, name: str) -> bool:
        """Whether an expression surely has the shape and type that a variable has."""
        if isinstance(node, cst.Name):
            return node.value == name
        if isinstance(node, cst.IfExp):
            return self.keeps(node.body, name) and self.keeps(node.orelse, name)
        if isinstance(node, cst.UnaryOperation):
            return isinstance(node.operator, cst.Minus) and self.keeps(node.expression, name)
        if isinstance(node, cst.BinaryOperation):
            return self._keeps_arithmetic(node, name)
        if isinstance(node, cst.Call):
            return self._keeps_call(node, name)
        return False

    def _keeps_arithmetic(self, node: cst.BinaryOperation, name: str) -> bool:
        same = isinstance(node.operator, _SAME_TYPE)
        for one, other in ((node.left, node.right), (node.right, node.left)):
            if not self.keeps(one, name):
                continue
            tensor = self.site.tensor(one)
            if not same and (tensor is None or tensor.dtype != "float"):
                return False
            if tensor is not None and tensor.dtype == "float" and isinstance(node.operator, (*_SAME_TYPE, cst.Divide)):
                return self.keeps(other, name) or self._scalar(other)
            return self.keeps(other, name) or self._is_integer(other)
        return False

    def _keeps_call(self, node: cst.Call, name: str) -> bool:
        if isinstance(node.func, cst.Attribute) and self.site.tensor(node.func.value) is not None:
            operation, subject = node.func.attr.value, node.func.value
            rest = [a.value for a in node.args]
        elif self.site.callee(node).startswith("torch.") and node.args:
            operation = self.site.callee(node).rpartition(".")[2]
            arguments = [a.value for a in node.args]
            if operation == "where" and len(arguments) == 3:
                return all(self.keeps(a, name) or self._scalar(a) for a in arguments[1:]) and any(
                    self.keeps(a, name) for a in arguments[1:]
                )
            subject, rest = arguments[0], arguments[1:]
        else:
            return False
        typed = any(a.keyword is not None and a.keyword.value in ("dtype", "out") for a in node.args)
        if operation not in _ELEMENTWISE or typed or not self.keeps(subject, name):
            return False
        plain = operation not in ("add", "sub", "mul", "pow", "where")
        return plain or all(self.keeps(a, name) or self._scalar(a) for a in rest)

    def _scalar(self, node: cst.BaseExpression) -> bool:
        """A number, or a tensor of one value that cannot widen the other."""
        if isinstance(node, cst.BaseNumber) or self._is_number(node):
            return True
        tensor = self.site.tensor(node)
        return tensor is not None and tensor.rank == 0

    def _is_integer(self, node: cst.BaseExpression) -> bool:
        value = self.site.value(node)
        return isinstance(node, cst.Integer) or (
            value is not None and all(isinstance(m, Const) and type(m.value) is int for m in members(value))
        )


def _dense(site: Site, node: cst.Call) -> str:
    """The sparse operation that a call is, of those with a dense form of the same shape and type."""
    name = site.callee(node).removeprefix("torch.")
    count = len([a for a in node.args if a.keyword is None and not a.star])
    if count != len(node.args) and name != "sparse_coo_tensor":
        return ""
    if (name, count) in (("sparse.mm", 2), ("sparse_coo_tensor", 3), ("Tensor.to_sparse", 0), ("Tensor.to_dense", 0)):
        return name
    return ""


def has_dense_form(site: Site, node: cst.Call) -> bool:
    """Whether a call is a sparse operation with a dense form, or a torch function of one."""
    if _dense(site, node):
        return True
    return site.callee(node).startswith("torch.") and any(
        isinstance(a.value, cst.Call) and has_dense_form(site, a.value) for a in node.args
    )


class _Attributes(cst.CSTTransformer):
    """Puts parameters in the place of attributes, and dense operations in that of sparse ones."""

    def __init__(self, site: Site, renamed: dict[cst.CSTNode, str]) -> None:
        self.site = site
        self.renamed = renamed

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.BaseExpression:  # noqa: N802
        name = _dense(self.site, original_node)
        parts = [_PRINTER.code_for_node(a.value) for a in updated_node.args]
        if name == "sparse.mm":
            return cst.parse_expression(f"({parts[0]} @ {parts[1]})")
        if name == "sparse_coo_tensor":
            return cst.parse_expression(f"{parts[1]}.new_empty({parts[2]})")
        if name and isinstance(updated_node.func, cst.Attribute):
            return updated_node.func.value
        return updated_node

    def leave_Attribute(  # noqa: N802
        self, original_node: cst.Attribute, updated_node: cst.Attribute
    ) -> cst.BaseExpression:
        name = self.renamed.get(original_node)
        return cst.Name(name) if name is not None else updated_node


def _first_line(site: Site, node: cst.CSTNode) -> str:
    return site.text(node).split("\n")[0][:60]


def _short(site: Site, node: cst.CSTNode) -> str:
    return " ".join(site.text(node).split())[:60]
