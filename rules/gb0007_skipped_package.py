"""A call into a package Dynamo never looks into: tqdm, pandas, SciPy, scikit-learn, networkx and others.

What breaks:
    A call of a function or class of fx2trt_oss, hypothesis, networkx, onnx, onnxruntime, pandas, scipy, sklearn,
    tabulate, tensorflow, tensorrt, tqdm, tree, tvm or xarray inside a compiled region.
Why Dynamo breaks:
    These packages are on its list of third-party code that is never traced, or end in compiled code at once.
Example:
    for step in tqdm(range(steps)):
        x = self.step(x)
Instead:
    for step in range(steps):
        x = self.step(x)
Fix:
    Move the call to the caller of the compiled function, or compile what the loop calls instead of the loop.
Torch versions:
    Every release.
Limits:
    Only packages on that list are known to be skipped; extension modules of others are not recognised.
"""

from __future__ import annotations

from gblint.rule_api import SKIPPED_PACKAGES, Break, Call, Context, Rule, RuleMeta


class SkippedPackage(Rule):
    """Calls into packages on Dynamo's skip list."""

    meta = RuleMeta(
        code="GB0007",
        slug="skipped-package",
        summary="a call into a package Dynamo never traces",
        category="supportable",
        advice="Move the call out of the compiled function, to its caller.",
    )
    calls = tuple(f"{package}.*" for package in sorted(SKIPPED_PACKAGES))
    BREAKS = (
        """
import networkx as nx
import torch

@torch.compile
def spread(x, edges: list[tuple[int, int]]):
    x = x * 2
    graph = nx.Graph(edges)  # GB0007
    return x * 3

spread(torch.ones(2), [(0, 1)])
""",
        """
import torch
from networkx import number_of_nodes, path_graph

line = path_graph(3)

@torch.compile
def scaled(x):
    return x / number_of_nodes(line)  # GB0007

scaled(torch.ones(2))
""",
    )
    CLEAN = (
        """
import networkx as nx
import torch

size = nx.path_graph(3).number_of_nodes()

@torch.compile
def scaled(x):
    return x / size

scaled(torch.ones(2))
""",
        """
import math
import torch

@torch.compile
def scaled(x):
    return x / math.sqrt(x.shape[-1])

scaled(torch.ones(2))
""",
    )

    def on_call(self, event: Call, context: Context) -> Break | None:
        return Break(
            f"`{context.text(event.node)}` calls into `{event.callee.partition('.')[0]}`, which Dynamo never traces"
        )
