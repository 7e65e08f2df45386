"""Rows found by `torch.where`, what is done with them, and the same done to all rows under the mask."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

import libcst as cst

from gblint.findings.finding import Edit
from gblint.fixing.elementwise import mixes_rows
from gblint.fixing.flow import depends, derived
from gblint.fixing.layout import flat_with, put
from gblint.interpreter.values import as_tensor
from gblint.interpreter.walk import walk

if TYPE_CHECKING:
    from gblint.fixing.site import Site

_CLOSED = (cst.Name, cst.Attribute, cst.Call, cst.Subscript)


class Routing:
    """The rows of one `torch.where(mask)` (or `nonzero`). Raises Refusal where a use of them has no form under the
    mask.

    rows: the variable that numbers the rows; slot: the one that numbers the places within a row, "" if there is none.
    """

    def __init__(self, site: Site, node: cst.Call) -> None:
        self.site = site
        self.node = node
        self.condition = self._condition()
        self.statement, names = self._targets()
        self.rows, self.slot = self._roles(names)
        self.swapped = bool(self.slot) and names[0] == self.slot
        self.picked = site.fresh("picked")
        self.texts: dict[cst.CSTNode, str] = {}
        self.removed: list[cst.If] = []
        # statements and calls that write: the value, the form of the write, that of the selection
        self.writes: dict[cst.CSTNode, tuple[cst.BaseExpression, str, str]] = {}
        for name in names:
            for use in site.loads(name):
                if self._is_ours(use):
                    self._use(use, name)
        self._require_row_by_row()
        if not self.writes:
            self.refuse("nothing is written through the rows")

    def refuse(self, reason: str) -> NoReturn:
        from gblint.fixing.site import Refusal

        raise Refusal(reason)

    def _require_row_by_row(self) -> None:
        """Refuses where something computed of the rows is known to look at several at once."""
        names = derived(self.site, self.node)
        for call in walk(self.site.function.body):
            inside = isinstance(call, cst.Call) and call is not self.node and depends(call, self.node, names)
            if inside and isinstance(call, cst.Call) and mixes_rows(self.site, call):
                self.refuse(f"`{self.site.flat(call)}` looks at several rows at once")

    # -- what the rows are ---------------------------------------------------------------------------------------------

    def _condition(self) -> cst.BaseExpression:
        call = self.node
        name = self.site.callee(call)
        plain = [a.value for a in call.args if a.keyword is None]
        if name in ("torch.where", "torch.nonzero", "torch.argwhere") and len(plain) == 1:
            return plain[0]
        if name in ("torch.Tensor.nonzero", "torch.Tensor.argwhere") and isinstance(call.func, cst.Attribute):
            return call.func.value
        return self.refuse("the rows are found in another way than by `where` or `nonzero`")

    def _targets(self) -> tuple[cst.Assign, list[str]]:
        """The assignment of the rows, and the variables in the order of the mask's dimensions."""
        site = self.site
        top: cst.CSTNode = self.node
        above = site.parent(top)
        while isinstance(above, cst.Subscript | cst.Attribute | cst.Call) and site.flat(above) in self._wrapped():
            top, above = above, site.parent(above)
        if not isinstance(above, cst.Assign) or len(above.targets) != 1:
            self.refuse("the rows are not assigned to variables")
        target = above.targets[0].target
        if isinstance(target, cst.Name) and top is not self.node:
            return above, [target.value]
        if isinstance(target, cst.Tuple) and len(target.elements) <= 2:
            names = [e.value.value for e in target.elements if isinstance(e.value, cst.Name)]
            if len(names) == len(target.elements):
                return above, names
        return self.refuse("the rows are not assigned to variables")

    def _wrapped(self) -> set[str]:
        """The forms that take the only column out: `where(m)[0]`, `nonzero().squeeze(1)`."""
        text = self.site.flat(self.node)
        tails = ("[0]", "[:, 0]", ".squeeze", ".squeeze()", ".squeeze(1)", ".squeeze(-1)", ".flatten", ".flatten()")
        return {text + tail for tail in (*tails, ".view", ".view(-1)", ".reshape", ".reshape(-1)")}

    def _roles(self, names: list[str]) -> tuple[str, str]:
        """Which variable numbers rows: the one that stands alone in an index."""
        mask = as_tensor(self.site.value(self.condition))
        rank = mask.rank if mask is not None else None
        if rank is not None and rank != len(names):
            self.refuse(f"the mask has {rank} dimensions, and there are {len(names)} variables")
        if len(names) == 1:
            return names[0], ""
        alone = [n for n in names if any(self._stands_alone(u) for u in self.site.loads(n) if self._is_ours(u))]
        if len(alone) != 1:
            self.refuse("which variable numbers the rows is not to be seen")
        other = names[1] if alone[0] == names[0] else names[0]
        return alone[0], other

    def _stands_alone(self, use: cst.Name) -> bool:
        subscript = self._subscript(use)
        return subscript is not None and len([e for e in subscript.slice if not _is_none(e)]) == 1

    def _is_ours(self, use: cst.Name) -> bool:
        """Whether a use comes behind the assignment and before the next one in the same block."""
        block = self.site.parent(self.site.statement(self.statement))
        return block in list(self.site.ancestors(use)) and use in self.site.after(self.site.statement(self.statement))

    def _subscript(self, use: cst.Name) -> cst.Subscript | None:
        index = self.site.parent(use)
        element = self.site.parent(index) if isinstance(index, cst.Index) else None
        subscript = self.site.parent(element) if element is not None else None
        return subscript if isinstance(subscript, cst.Subscript) and subscript.value is not use else None

    # -- what is done with them ----------------------------------------------------------------------------------------

    def _use(self, use: cst.Name, name: str) -> None:
        subscript = self._subscript(use)
        if subscript is not None:
            self._indexed(subscript)
            return
        call = self.site.parent(self.site.parent(use) or use)
        if isinstance(call, cst.Call) and name == self.rows:
            last = call.func.attr.value if isinstance(call.func, cst.Attribute) else ""
            if last == "index_select" and self._by_rows(call):
                assert isinstance(call.func, cst.Attribute)
                self.texts[call] = self.site.flat(call.func.value)
                return
            if last in ("index_add_", "index_copy_") and self._by_rows(call):
                self._added(call, last)
                return
        if self._guard(use):
            return
        self.refuse(f"`{self.site.flat(self.site.parent(use) or use)}` is no masked form of the rows")

    def _by_rows(self, call: cst.Call) -> bool:
        texts = [self.site.flat(a.value) for a in call.args[:2]]
        return texts == ["0", self.rows] and all(a.keyword is None for a in call.args[:2])

    def _indexed(self, subscript: cst.Subscript) -> None:
        site = self.site
        above = site.parent(subscript)
        texts = [site.flat(e.slice) for e in subscript.slice]
        if texts == [self.rows]:
            if isinstance(above, cst.AssignTarget):
                self._assigned(subscript, above)
            elif isinstance(above, cst.AugAssign) and above.target is subscript:
                self._increased(subscript, above)
            else:
                self.texts[subscript] = site.flat(subscript.value)
        elif texts == ["None", self.rows]:
            self.texts[subscript] = f"{site.operand(subscript.value)}[None]"
        elif self.slot and texts in ([self.rows, self.slot], [self.rows, self.slot, "None"]):
            tail = ", keepdim=True" if len(texts) == 3 else ""
            self.texts[subscript] = f"({site.operand(subscript.value)} * {self.picked}).sum(-1{tail})"
        else:
            self.refuse(f"`{site.flat(subscript)}` is no masked form of the rows")

    def _mask(self, value: cst.BaseExpression) -> str:
        """The mask of rows in the rank of what is computed of them."""
        tensor = as_tensor(self.site.value(value))
        extra = tensor.rank - 1 if tensor is not None and tensor.rank else 1
        if not self.slot:
            return f"{self.picked}[:{', None' * extra}]" if extra else self.picked
        if extra == 1:
            return f"{self.picked}.any(-1, keepdim=True)"
        return f"{self.picked}.any(-1)[:{', None' * extra}]" if extra else f"{self.picked}.any(-1)"

    def _added(self, call: cst.Call, last: str) -> None:
        assert isinstance(call.func, cst.Attribute)
        if len(call.args) != 3:
            self.refuse(f"`{self.site.flat(call)}` is given more than the rows")
        base, value = self.site.flat(call.func.value), call.args[2].value
        adds = last == "index_add_"
        self._write(call, value, f"{base}.{'add_' if adds else 'copy_'}(%s)", "0" if adds else base)

    def _assigned(self, subscript: cst.Subscript, target: cst.AssignTarget) -> None:
        statement = self.site.parent(target)
        if not isinstance(statement, cst.Assign) or len(statement.targets) != 1:
            self.refuse(f"`{self.site.flat(subscript)}` is one of several targets")
        base = self.site.flat(subscript.value)
        self._write(statement, statement.value, f"{base}.copy_(%s)", base)

    def _increased(self, subscript: cst.Subscript, statement: cst.AugAssign) -> None:
        if not isinstance(statement.operator, cst.AddAssign):
            self.refuse(f"`{self.site.flat(subscript)}` is changed in another way than by adding")
        self._write(statement, statement.value, f"{self.site.flat(subscript.value)}.add_(%s)", "0")

    def _write(self, node: cst.CSTNode, value: cst.BaseExpression, form: str, other: str) -> None:
        where, _ = self.site.refer("torch.where")
        self.writes[node] = (value, form, f"{where}({self._mask(value)}, %s, {other})")

    def _guard(self, use: cst.Name) -> bool:
        """`if rows.numel() == 0: continue` goes: no rows add nothing."""
        line = self.site.enclosing(use, cst.If)
        forms = {
            f"{size} {test}" if test else f"not {size}"
            for size in (f"{self.rows}.numel()", f"len({self.rows})", f"{self.rows}.shape[0]", f"{self.rows}.size(0)")
            for test in ("== 0", "< 1", "")
        }
        if line is None or line.orelse is not None or self.site.flat(line.test) not in forms:
            return False
        body = line.body.body if isinstance(line.body, cst.IndentedBlock) else ()
        small = [s for b in body if isinstance(b, cst.SimpleStatementLine) for s in b.body]
        if len(body) != 1 or len(small) != 1 or not isinstance(small[0], cst.Continue):
            return False
        self.removed.append(line)
        return True

    # -- writing it down -----------------------------------------------------------------------------------------------

    def edits(self) -> list[Edit]:
        """The edits that do it all under the mask."""
        site = self.site
        for node, (value, form, selection) in self.writes.items():
            inside = set(walk(value))
            inner = flat_with(site, value, {n: t for n, t in self.texts.items() if n in inside})
            self.texts[node] = form % (selection % inner)
        written = [n for n in self.texts if not any(a in self.writes for a in site.ancestors(n))]
        by_statement: dict[cst.CSTNode, dict[cst.CSTNode, str]] = {}
        for node in written:
            by_statement.setdefault(site.statement(node), {})[node] = self.texts[node]
        edits = [site.replace(self.statement, f"{self.picked} = {self._definition()}")]
        for statement, texts in by_statement.items():
            edits += put(site, statement, texts)
        return edits + [site.remove(line) for line in self.removed]

    def _definition(self) -> str:
        text = self.site.flat(self.condition)
        tensor = as_tensor(self.site.value(self.condition))
        closed = text if isinstance(self.condition, _CLOSED) or self.condition.lpar else f"({text})"
        if self.swapped:
            return f"{closed}.t()"
        if not self.slot and (tensor is None or tensor.dtype != "bool"):
            return f"{closed} != 0"
        return text


def _is_none(element: cst.SubscriptElement) -> bool:
    index = element.slice
    return isinstance(index, cst.Index) and isinstance(index.value, cst.Name) and index.value.value == "None"
