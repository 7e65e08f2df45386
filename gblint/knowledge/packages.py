"""Packages Dynamo never looks into: a call of one of their functions breaks the graph, whatever it does.

Source: `THIRDPARTY_SKIPLIST` in torch/_dynamo/trace_rules.py of torch 2.13, and SciPy, whose functions end in compiled
code (recorded breaks of libraries that call it, see corpus/truth).
"""

from __future__ import annotations

SKIPPED_PACKAGES = frozenset({
    "fx2trt_oss", "hypothesis", "networkx", "onnx", "onnxruntime", "onnx_tf", "pandas", "scipy", "sklearn", "tabulate",
    "tensorflow", "tensorrt", "torch2trt", "tqdm", "tree", "tvm", "xarray",
})  # fmt: skip
