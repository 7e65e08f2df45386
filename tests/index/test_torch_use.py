"""Compile sites, torch settings and lazy packages."""

from __future__ import annotations

import textwrap

import pytest

from gblint.index.build import build_index
from gblint.index.model import ModuleInfo


def index(text: str) -> ModuleInfo:
    return build_index(textwrap.dedent(text), "/p/m.py", "m", "", "")


def sites(text: str) -> list[tuple[int, str, str]]:
    return [(site.row, site.kind, site.function) for site in index(text).compile_sites]


def test_calls_and_methods() -> None:
    found = sites(
        """
        import torch as th
        from torch import compile as tc
        class Trainer:
            def setup(self):
                self.model.compile(mode="max-autotune")
                return th.compile(self.step)
        quick = tc(f)
        """
    )
    assert found == [(6, "method", "Trainer.setup"), (7, "call", "Trainer.setup"), (8, "call", "")]


def test_decorators_and_partials() -> None:
    found = sites(
        """
        import torch
        from functools import partial
        fast = partial(torch.compile, fullgraph=True)
        alias = torch.compile
        @torch.compile
        def a(): pass
        @torch.compile(dynamic=True)
        def b(): pass
        @partial(torch.compile, mode="x")
        def c(): pass
        @fast
        def d(): pass
        @torch._dynamo.optimize("eager")
        def e(): pass
        g = alias(a)
        """
    )
    decorators = [(row, "decorator", name) for row, name in ((6, "a"), (8, "b"), (10, "c"), (12, "d"), (14, "e"))]
    assert found == [(4, "partial", ""), *decorators, (16, "call", "")]


def test_import_inside_a_function_counts_there() -> None:
    assert sites("def f(m):\n    import torch\n    return torch.compile(m)\n") == [(3, "call", "f")]


def test_other_names_of_compile_inside_functions() -> None:
    found = sites(
        """
        import torch, functools
        fast = functools.partial(torch.compile, dynamic=True)
        def f(m):
            from torch import compile as tc
            return tc(m)
        def g(m):
            return fast(m)
        """
    )
    assert found == [(3, "partial", ""), (6, "call", "f"), (8, "call", "g")]


@pytest.mark.parametrize(
    "text",
    [
        "import torch, re\nx = re.compile('a')",
        "import torch\nimport regex as r\nx = r.compile(p)",
        "import torch\nmodel.compile(optimizer='adam', loss=f)",
        "import torch\nrules.compile('a.*')",
        "import numba\nx = model.compile()",
        "import torch\nx = compile(source, name, 'exec')",
        "import torch\n'''torch.compile(f)'''",
    ],
)
def test_what_is_no_compile_site(text: str) -> None:
    assert sites(text) == []


def test_settings() -> None:
    info = index(
        """
        import torch, logging
        import torch._dynamo.config as cfg
        from torch._dynamo import config
        torch._dynamo.config.capture_scalar_outputs = True
        cfg.cache_size_limit = 2 * n
        config.suppress_errors: bool = False
        config.reorderable_logging_functions.add(print)
        config.ignore_logger_methods |= {logging.Logger.info, warn}
        torch._inductor.config.patch({"max_autotune": True})
        setattr(config, "verbose", 1)
        @config.patch(capture_dynamic_output_shape_ops=True)
        def f():
            with torch._dynamo.config.patch("assume_static_by_default", False): pass
        """
    )
    dynamo = "torch._dynamo.config."
    assert info.torch_settings == [
        (dynamo + "capture_scalar_outputs", "True", 5),
        (dynamo + "cache_size_limit", "2 * n", 6),
        (dynamo + "suppress_errors", "False", 7),
        (dynamo + "reorderable_logging_functions", "print", 8),
        (dynamo + "ignore_logger_methods", "logging.Logger.info", 9),
        (dynamo + "ignore_logger_methods", "warn", 9),
        ("torch._inductor.config.max_autotune", "True", 10),
        (dynamo + "verbose", "1", 11),
        (dynamo + "capture_dynamic_output_shape_ops", "True", 12),
        (dynamo + "assume_static_by_default", "False", 14),
    ]


def test_defaults_of_torch_types_are_no_settings() -> None:
    assert index("import torch\ndef f(x: torch.Tensor = None, y=torch.float32): pass\n").torch_settings == []


def test_import_structure() -> None:
    info = index(
        """
        _import_structure = {"one": ["A", "B"], "two.deep": ("C",), "computed": [n for n in names]}
        if available():
            _import_structure["three"] = ["D"]
            _import_structure["three"].extend(["E"])
            _import_structure["four"] += ["F"]
            _import_structure.update({"five": ["G"]})
        """
    )
    assert info.lazy == {
        "A": "one",
        "B": "one",
        "C": "two.deep",
        "D": "three",
        "E": "three",
        "F": "four",
        "G": "five",
    }


def test_tables_behind_module_getattr() -> None:
    info = index(
        """
        import lazy_loader
        _WHERE = {"A": ".a", "B": ("pkg.b", "B"), "C": ("pkg.c", "Other"), ".d": ["D", "E"]}
        NUMBERS = {"x": 1}
        __getattr__, __dir__, __all__ = lazy_loader.attach(__name__, submod_attrs={"sub": ["F"]})
        def __getattr__(name): ...
        """
    )
    assert info.lazy == {"A": ".a", "B": "pkg.b", "C": "pkg.c:Other", "D": ".d", "E": ".d", "F": "sub"}


@pytest.mark.parametrize(("argument", "folder"), [("__file__", "."), ('Path(__file__).parent / "models"', "models")])
def test_define_import_structure(argument: str, folder: str) -> None:
    info = index(f"import sys\nsys.modules[__name__] = _LazyModule(define_import_structure({argument}))")
    assert info.lazy_folder == folder
