"""The row that Dynamo names for a test: that of the jump behind it, which Python does not always give the test's own.

Up to Python 3.11 the jump carries the place of the statement (or conditional expression, or comprehension) that tests.
Only a comparison is left at its own place, and so are the operands that follow it. `a and b` that is used as a value is
left at its own start. Measured on the bytecode of CPython 3.10 to 3.12.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping

import libcst as cst

Parents = Mapping[cst.CSTNode, cst.CSTNode]


def jump_place(node: cst.CSTNode, parents: Parents, python: tuple[int, int]) -> cst.CSTNode:
    """The node at whose start the jump behind a test stands: the test itself, or what it is a condition of."""
    whole, above = node, parents.get(node)
    while above is not None and _hands_on(above):
        whole, above = above, parents.get(above)
    is_condition = isinstance(above, cst.CompIf) or (
        isinstance(above, cst.If | cst.While | cst.Assert | cst.IfExp) and above.test is whole
    )
    if above is None or not is_condition:
        return whole
    if python >= (3, 12) or isinstance(node, cst.Comparison):
        return node
    before = list(itertools.takewhile(lambda operand: operand is not node, _operands(whole)))
    compared = [operand for operand in before if isinstance(operand, cst.Comparison)]
    if compared:
        return compared[-1]
    while isinstance(above, cst.CompIf | cst.CompFor):
        above = parents[above]
    return above


def _operands(test: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """What is tested one after the other."""
    if isinstance(test, cst.BooleanOperation):
        yield from _operands(test.left)
        yield from _operands(test.right)
    elif isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        yield from _operands(test.expression)
    else:
        yield test


def _hands_on(node: cst.CSTNode) -> bool:
    """Whether the truth of an operand is that of the whole, as far as it goes."""
    if isinstance(node, cst.UnaryOperation):
        return isinstance(node.operator, cst.Not)
    return isinstance(node, cst.BooleanOperation)
