"""nn.Module and other objects: containers, buffers, hooks, fields, autograd Functions."""

from __future__ import annotations

from gblint.interpreter.values import Const, Tensor
from tests.interpreter.programs import Analyst, kinds


def test_members_of_containers_are_run(analyst: Analyst) -> None:
    analyst.check("""
        class Breaks(nn.Module):
            def forward(self, x):
                graph_break()  # falls
                return x

        class Once(nn.Module):
            def forward(self, x):
                graph_break()  # splits
                return x

        class Listed(nn.Module):
            def forward(self, x):
                graph_break()  # splits
                return x

        class Named(nn.Module):
            def forward(self, x):
                graph_break()  # splits
                return x

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.layers = nn.ModuleList([Breaks() for _ in range(3)])
                self.one = nn.ModuleList([nn.Linear(3, 3), Listed()])
                self.body = nn.Sequential(nn.Linear(3, 3), Once())
                self.heads = nn.ModuleDict({"a": Named(), "b": nn.Identity()})

            def forward(self, x):
                x = self.body(x)
                x = self.one[1](x)
                x = self.heads["a"](x)
                for layer in self.layers:
                    x = layer(x)
                return x

        net = torch.compile(Net())
        net(torch.rand(2, 3))
    """)


def test_a_module_list_filled_by_append(analyst: Analyst) -> None:
    result = analyst.run("""
        class Block(nn.Module):
            def forward(self, x):
                graph_break()
                return x

        class Net(nn.Module):
            def __init__(self, n):
                super().__init__()
                self.layers = nn.ModuleList()
                for _ in range(n):
                    self.layers.append(Block())

            def forward(self, x):
                for index, layer in enumerate(self.layers):
                    x = layer(x)
                return x

        torch.compile(Net(3))(torch.rand(2, 3))
    """)
    assert [(f.code, f.consequence) for f in result.findings] == [("GB0025", "frame-falls-back")]


def test_buffers_parameters_and_plain_attributes(analyst: Analyst) -> None:
    values = analyst.seen("""
        class Net(nn.Module):
            scale = 2.0

            def __init__(self, size, name=None):
                super().__init__()
                self.weight = nn.Parameter(torch.zeros(size))
                self.register_buffer("mean", torch.zeros(size))
                self.register_buffer("absent", None)
                self.size = size
                self.name = name
                self.linear = nn.Linear(size, size)

            def forward(self, x):
                probe.see(self.weight), probe.see(self.mean), probe.see(self.absent)
                probe.see(self.size), probe.see(self.name), probe.see(self.scale)
                probe.see(self.linear.weight), probe.see(self.training), probe.see(self.linear(x))
                return x

        torch.compile(Net(4))(torch.rand(2, 4))
    """)
    assert kinds(values) == [
        "tensor", "tensor", "Const",
        "Const", "Const", "Const",
        "tensor", "Plain", "tensor",
    ]  # fmt: skip
    assert [v.value for v in values if isinstance(v, Const)] == [None, 4, None, 2.0]
    assert [v.role for v in values if isinstance(v, Tensor)] == ["parameter", "buffer", "parameter", "result"]


def test_hooks_run_with_the_module(analyst: Analyst) -> None:
    analyst.check("""
        def before(module, args):
            graph_break()  # splits

        def after(module, args, output):
            if output.sum() > 0:  # splits
                return output

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = nn.Linear(3, 3)
                self.inner.register_forward_pre_hook(before)
                self.inner.register_forward_hook(after)

            def forward(self, x):
                return self.inner(x)

        torch.compile(Net())(torch.rand(2, 3))
    """)


def test_a_module_compiled_in_place_enters_a_region(analyst: Analyst) -> None:
    analyst.check("""
        class Part(nn.Module):
            def forward(self, x):
                graph_break()  # splits
                return x

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.part = Part()
                self.part.compile()

            def forward(self, x):
                graph_break()
                return self.part(x)

        net = Net()
        net(torch.rand(3))
    """)


def test_inherited_forward_runs_overridden_parts(analyst: Analyst) -> None:
    analyst.check("""
        class Base(nn.Module):
            def forward(self, x):
                return self.step(x)

            def step(self, x):
                graph_break()
                return x

        class Net(Base):
            def step(self, x):
                if x.sum() > 0:  # splits
                    return x
                return x

        torch.compile(Net())(torch.rand(3))
    """)


def test_fields_of_outputs_keep_their_values(analyst: Analyst) -> None:
    values = analyst.seen("""
        @dataclasses.dataclass
        class Output:
            hidden: Tensor
            state: Optional[Tensor] = None
            size: int = 3

        class Pair(NamedTuple):
            first: Tensor
            second: str = "b"

        def make(x):
            return Output(x), Output(hidden=x, state=x), Pair(x)

        @torch.compile
        def f(x: Tensor):
            a, b, pair = make(x)
            probe.see(a.hidden), probe.see(a.state), probe.see(a.size)
            probe.see(b.state)
            probe.see(pair.first), probe.see(pair.second), probe.see(pair[0])
            first, second = pair
            probe.see(first), probe.see(second)
            probe.see(pair._replace(second=x).second)
            probe.see(dataclasses.replace(a, state=x).state)
    """)
    assert kinds(values) == [
        "tensor", "Const", "Const",
        "tensor",
        "tensor", "Const", "tensor",
        "tensor", "Const",
        "tensor",
        "tensor",
    ]  # fmt: skip


def test_constructors_and_post_init_run_in_the_region(analyst: Analyst) -> None:
    analyst.check("""
        @dataclasses.dataclass
        class Output:
            x: Tensor

            def __post_init__(self):
                graph_break()  # splits

        class Plain:
            def __init__(self, x):
                self.x = x
                graph_break()  # splits

        @torch.compile
        def f(x: Tensor):
            Output(x)
            if Plain(x).x.sum() > 0:  # splits
                return x
            return x
    """)


def test_autograd_functions_trace_forward_and_where_needed_backward(analyst: Analyst) -> None:
    source = """
        class Scale(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, factor):
                ctx.save_for_backward(x)
                ctx.factor = factor
                probe.see(factor)
                return x * factor

            @staticmethod
            def backward(ctx, grad):
                (x,) = ctx.saved_tensors
                probe.see(x), probe.see(grad)
                return grad, None

        @torch.compile
        def f(x: Tensor):
            probe.see(Scale.apply(x, 2.0))
            return x

        f(torch.rand(3{}))
    """
    assert kinds(analyst.seen(source.format(""))) == ["Const", "tensor"]
    with_gradient = analyst.seen(source.format(", requires_grad=True"))
    assert kinds(with_gradient) == ["Const", "tensor", "tensor", "tensor"]


def test_numbers_that_eager_code_took_out_of_arrays_are_constants(analyst: Analyst) -> None:
    analyst.check("""
        STEP = float(np.linspace(0, 1, 5)[1])
        SIZES = [int(n) for n in np.arange(3)]

        class Net(nn.Module):
            def __init__(self, depth):
                super().__init__()
                self.rates = [r.item() for r in torch.linspace(0, 0.1, depth)]
                self.limit = np.sqrt(depth).item()

            def forward(self, x):
                if STEP > 0.5 or SIZES[0] > 1 or self.rates[0] > 0 or self.limit > 1:
                    return x
                return x + 1

        torch.compile(Net(3))(torch.rand(3))
    """)


def test_a_numpy_number_kept_from_eager_code_is_an_array(analyst: Analyst) -> None:
    """Dynamo wraps it as a 0-d tensor, whose value it does not know (measured)."""
    analyst.check("""
        ROOT = np.sqrt(16)

        class Net(nn.Module):
            def __init__(self, depth):
                super().__init__()
                self.level = np.log2(depth)

            def forward(self, x):
                if self.level > 1:  # splits
                    return x + 1
                if ROOT > 1:  # splits
                    return x
                if np.sqrt(3) > 1:
                    return x + 2
                return x

        torch.compile(Net(3))(torch.rand(3))
    """)


def test_what_numpy_answers_about_a_number_is_an_array(analyst: Analyst) -> None:
    """Unlike `math.isfinite`, which gives a bool (measured)."""
    analyst.check("""
        import math

        @torch.compile
        def f(x, n):
            if n < 0 or not np.isfinite(n):  # splits
                return x
            if np.logical_not(n > 1):  # splits
                return x + 2
            if math.isfinite(n):
                return x + 1
            return x

        f(torch.rand(3), 2)
    """)


def test_a_module_of_any_class_gives_anything(analyst: Analyst) -> None:
    """`nn.Module` as an annotation is no statement about `forward`; the class itself returns None there."""
    analyst.check("""
        @torch.compile
        def wrap(inner: nn.Module, x: torch.Tensor):
            out = inner(x)
            if out is None:
                return x
            if x.sum() > 0:  # splits
                return x + 1
            return x
    """)
