"""What small generated programs start from, beside the examples in the codemods' files: most of it in reach of safe
repairs.

`$word` stands for one of the texts in `PARTS`, `<<a // b>>` for one of its alternatives.
"""

# ruff: noqa: E501

from __future__ import annotations

import random
import re

CHOICE = re.compile(r"<<((?:(?!<<|>>).)*)>>", re.DOTALL)
PART = re.compile(r"^( *)(.*?)\$([a-z]+)", re.MULTILINE)

PARTS: dict[str, tuple[str, ...]] = {
    # inputs
    "floats": (
        "torch.tensor([1.0, -2.0, 3.0])", "torch.tensor([0.5, 2.0, 4.0])", "torch.ones(3)", "torch.zeros(3)",
        "torch.arange(3.0) - 1", "torch.tensor([1.0, float('nan'), -1.0])", "torch.full((3,), float('inf'))",
        "-torch.ones(3)", "torch.rand(3)", "torch.tensor([-0.0, 0.0, 9.0])", "torch.ones(3).double()",
        "torch.ones(3).half()", "torch.zeros(0)", "torch.ones(6)[::2]", "torch.tensor([2, -1, 0])", "torch.ones(2, 3)",
    ),
    "matrix": (
        "torch.arange(9.0).view(3, 3)", "torch.ones(3, 3)", "torch.randn(3, 3)", "torch.arange(9.0).view(3, 3).t() - 4",
        "torch.eye(3)", "torch.arange(9).view(3, 3)", "torch.zeros(3, 3, dtype=torch.float64)", "-torch.ones(3, 3).half()",
        "torch.arange(18.0).view(3, 6)[:, ::2]", "torch.randn(2, 3, 3)", "torch.full((3, 3), float('nan'))",
    ),
    "integers": (
        "torch.tensor([1, 2, 0])", "torch.arange(3)", "torch.zeros(3, dtype=torch.long)", "torch.tensor([2, 1, 1])",
        "torch.tensor([3, -1, 2], dtype=torch.int32)", "torch.tensor([1, 0, 1], dtype=torch.uint8)",
        "torch.tensor([], dtype=torch.long)", "torch.tensor([100, 100, 100], dtype=torch.int8)",
    ),
    "bools": (
        "torch.tensor([True, False, True])", "torch.zeros(3, dtype=torch.bool)", "torch.ones(3, dtype=torch.bool)",
        "torch.tensor([False, False, True])",
    ),
    "scalar": ("torch.tensor(2.0)", "torch.tensor(0.5)", "torch.tensor(3)", "torch.tensor(-1.0)", "torch.tensor(0)"),
    # tests of tensors
    "test": (
        "x.sum() > 0", "(x > 0).any()", "(x > 1).all()", "x.max() > 1", "x.mean() < 0.5", "not (x > 0).any()",
        "x[0] > 0", "torch.isnan(x).any()", "x.sum() > 0 and x.max() < 3", "x.sum() == 0 or flag", "x.norm() > 1",
        "x.sum().item() > 0", "bool((x > 0).all())", "0 < x.sum() < 3", "x.sum() in (0, 3)", "x.sum() != x.sum()",
        "(x > 0).sum() > 1", "torch.isfinite(x).all()", "not torch.isfinite(x).all()", "flag and x.sum() > 0",
        "x.min() < 0", "torch.any(x == 0)", "(x.abs() > 2).any() and flag", "x.sum() > 2 or (x < 0).any()",
        "x.sum()", "not x.sum()", "x.dim() == 1 and x.sum() > 0", "y.sum() > x.sum()", "y.max() >= 2", "float(x.sum()) > 1",
        "(x.isnan() | (x > 2)).any()", "x.sum() <= 0", "2 > x.max()", "x.argmax() == 0", "x.shape[0] > 1 and x[1] < 0",
    ),
    # expressions of x and y with the form of x
    "value": (
        "x * 2", "x + 1", "x - y", "y * y", "y + x", "-y", "x.abs()", "y.clamp(min=0)", "torch.clamp(y, max=1.0)",
        "y.clone()", "torch.zeros_like(y)", "y.relu()", "x.tanh()", "y * 0.5", "2 - y", "y.exp()", "x.sqrt()", "1 / y",
        "x / 2", "y.log()", "y", "x", "y + k", "y * k", "y.neg()", "torch.where(x > 0, x, y)", "x.masked_fill(x > 1, 0)",
        "y.pow(2)", "y ** 2", "torch.minimum(x, y)", "y.contiguous()", "torch.ones_like(x) * 3", "y.to(x.dtype)", "x.round()",
        "y.sum() * x", "x.flip(0)", "y - y.mean()", "y.detach()", "x.float()", "y.softmax(-1)", "x.sign()", "y.reciprocal()",
    ),
    "start": (
        "y = x * 2", "y = x + 1", "y = x.clone()", "y = x.abs()", "y = -x", "y = x", "y = x.tanh()", "y = x[:]", "y = x * k",
        "y = torch.zeros_like(x)", "y = x.view(-1)", "y = x.detach()", "y = torch.exp(x)", "y = x.float()",
    ),
    "arm": (
        "y = $value", "y = $value", "y = $value", "y = $value", "y = $value\nz = $value", "z = $value\ny = z + 1",
        "y += 1", "y *= 2", "y.mul_(2)", "y = y + 1\ny = y * 2", "y = y[:]", "y[0] = 1", "pass",
        "y = $value  # why", "y, z = x + 1, $value", "k = k + 1\ny = y * k", "y = y.add(1)", "y -= x", "y.zero_()",
        "y.copy_(x)", "y = y * 2; z = y", "y = z = $value", "y = (\n    $value\n)", "if flag:\n    y = $value",
    ),
    "end": (
        "return y", "return y", "return y * 2", "return y, x", "return [y, y.shape]", "return y.sum(), y",
        "y += 1\nreturn y", "y.add_(1)\nreturn y, x", "x.mul_(2)\nreturn y", "return {'y': y, 'x': x}", "return y + x",
        "events.append(y)\nreturn x", "y[:1] = 7\nreturn x, y", "return y is x, y", "return y.is_contiguous(), y.dtype, y",
    ),
    # masks and what is done through them
    "mask": (
        "x > 0", "x < 1", "torch.isnan(x)", "x != x", "(x > 0) & (x < 3)", "~(x > 0)", "x.abs() > 1", "x == 0", "m",
        "torch.isinf(x)", "x.isnan() | (x > 1)", "m & (x > 0)", "~m", "m.bool()", "torch.logical_not(m)", "x.ge(1)", "x > k",
    ),
    "masked": (
        "y[mask] = 0", "y[mask] = 1.5", "y[mask] *= 2", "y[mask] += 1", "y[mask] = x[mask]", "y[mask] = x[mask] * 2",
        "y[mask] = -y[mask]", "y[mask] = y[mask] + x[mask]", "y[mask] = x[mask].abs()", "y[mask] -= x[mask]",
        "y[mask] = torch.sqrt(x[mask])", "y[mask] = 1 / x[mask]", "y[~mask] = x[~mask]", "y[mask] = y[mask].clamp(max=1)",
        "y[mask] /= 2", "y[mask] **= 2", "y[mask] = k * x[mask]", "y[mask] = x[mask].float()", "y[mask] = x[mask].exp()",
        "part = x[mask]\ny[mask] = part + 1", "part = x[mask]\npart = part * 2\ny[mask] = part", "y[mask] //= 2",
        "y[mask] = x[mask]\ny[~mask] = -x[~mask]", "y[mask] = 1\ny[~mask] = x[~mask] * 2", "y[mask] = x[mask].round()",
        "y[mask] = torch.where(x[mask] > 1, x[mask], 0)", "y[mask] = x[mask] > 1", "y[mask] %= 2", "y[mask] = x[mask] / 3",
        "y[mask] = torch.zeros_like(x[mask])", "y[mask] += x[mask] * x[mask]", "x[mask] = y[mask]", "y[mask] = x[mask] * y[mask]",
    ),
    "into": (
        "y = x.clone()", "y = x * 2", "y = torch.zeros_like(x)", "y = torch.ones_like(x)", "y = x + 1", "y = x",
        "y = torch.zeros(x.shape)", "y = torch.empty_like(x).fill_(3)", "y = x.clone()\nz = y", "y = x.double()",
        "y = torch.zeros_like(x, dtype=torch.long)", "y = x.clone()\nz = y[:2]", "y = x.long()", "y = torch.full_like(x, 2)",
    ),
    # readings
    "number": (
        "x.sum().item()", "x.max().item()", "float(x.sum())", "x.mean().item()", "x[0].item()", "s.item()", "float(s)",
        "int(s)", "(x > 0).sum().item()", "x.norm().item()", "x.sum().tolist()", "bool((x > 0).any())", "x.prod().item()",
        "x.sum().double().item()", "x.abs().max().item()", "int(x.sum())", "x.sum().float().item()", "float(x.mean().item())",
        "x.argmax().item()", "0 in x", "2 in x", "s.sum().item()", "x.detach().sum().item()", "x.half().sum().item()",
    ),
    "use": (
        "x * n", "x + n", "n - x", "x / n", "x - n", "n / x", "x * -n", "x * (n + 1)", "x * n + n", "n * x + x", "(x + n) * n",
        "x * n * 2", "x + n / 2", "n + x", "x ** n", "x // n", "x % n", "torch.mul(x, n)", "x.add(n)", "x * max(n, 1)", "x > n",
        "x * float(n)", "x * abs(n)", "x.float() + n", "x.half() * n", "x * 2 - n", "(n - 1) * x", "x.sub(n)", "x * (n > 1)",
    ),
    "reduced": (
        "x[m].sum()", "x[m].mean()", "(x[m] > 0).any()", "(x[m] > 1).all()", "(x > 1)[m].sum()", "x[m].max()", "x[m].numel()",
        "i[m].sum()", "(i[m] == 1).sum()", "i[m].any()", "(i[m] * 2).sum()", "(i + 1)[m].sum()", "(x[m] == x[m]).sum()",
        "i[m].prod()", "i[m].float().sum()", "x[m].any()", "x[m].bool().all()", "(i[m] + i[m]).sum()", "i[m].sum(0)",
        "i[m].sum(dtype=torch.float32)", "(i[m] > i[m]).any()", "i[m].abs().sum()", "i[m].max()", "torch.sum(i[m])",
        "torch.any(x[m] > 0)", "i[m].count_nonzero()", "(i[m] - 1).sum()", "len(x[m])", "i[~m].sum()", "i[m].clamp(min=1).sum()",
        "i[x > 0].sum()", "(i[m] // 2).sum()", "(x[m] / x[m] > 0).all()", "i[m].sum(-1, keepdim=True)", "x[m].isnan().any()",
        "(1 / x[m] > 0).any()", "(i[m] ** 2).sum()", "i[m].min()", "(i[m] / 2).sum()", "i[m].bool().sum()", "x[m].long().sum()",
    ),
    "index": (
        "x.argmax()", "s", "x.argmin()", "i[0]", "m.sum()", "i.max()", "x.argmax() - 1", "i[1]", "-i[0]", "x.sum() > 0", "m.any()",
        "(i > 0).sum() - 1", "i[-1]", "torch.tensor(1)", "i.min()", "x[0] > 1",
    ),
    "indexed": (
        "a[j]", "a[:, j]", "a[j, :]", "a[..., j]", "a[j][0]", "a[j] * 2", "x[j] + 1", "x[j]", "a[1:, j]", "a[j, j]", "a[:, :, j]",
        "a[j, 0]", "a[None, j]", "(a + 1)[j] - 1", "a[j].sum()", "-a[:, j]", "a.t()[j] * 1", "a[j:, 0]", "x[j] * x", "a[::2, j] * 1",
        "a[:, j, None] + 0", "a[j, None] + 0", "a[j, 1:] * 1", "a[i, j] + 1", "a[:, j].sum() * 2", "torch.stack([a[j] * 1, a[0]])",
    ),
    "written": (
        "a[j] = 1.0", "a[:, j] = 0", "a[j] += 1", "a[j] *= 2", "a[:, j] -= 1", "a[j] = x", "a[j, :] = 2.5", "x[j] = 3",
        "x[j] += 1", "a[j, 0] = 1", "a[:, j] = x", "a[j] = a[0]", "a[..., j] = 4", "a[j] = True", "a[1:, j] = 9", "a[j, j] = 1",
        "a[j] /= 2", "a[j][0] = 5",
    ),
    "builtin": (
        "pow(x, 2)", "pow(2, x)", "pow(x, -1)", "pow(x, 0.5)", "pow(-x, 2)", "-pow(x, 2)", "pow(x + 1, 2) * 3", "2 ** pow(x, 2)",
        "pow(x, x)", "pow(x, 2) ** 2", "pow(k, x)", "pow(-2, x)", "pow(x[0], 2)", "pow(x.sum(), 3)", "pow(pow(x, 2), 2)",
        "x.clamp(0.0, s)", "torch.clamp(x, s, 2.0)", "x.clamp(s, 1.5)", "x.clamp(min=0, max=s)", "torch.clip(x, -1, s)",
        "x.clamp(max=s, min=-1.0)", "torch.full_like(x, s)", "x.new_full((2,), s)", "x.new_full((2, 2), s) * 2",
        "torch.full_like(x, s.sum()) + x", "torch.full_like(x, x.sum())", "x.new_full(x.shape, s) - 1", "x.clamp(s, x)",
        "torch.full_like(x, s, dtype=torch.float64)", "torch.full_like(x, s) * x", "x.clip(s, 1)", "x.clamp(0, s.abs())",
        "torch.full_like(input=x, fill_value=s)", "x.new_full(size=(3,), fill_value=s)", "x.new_full((3,), s, dtype=x.dtype)",
        "pow(x, 2).sum()", "pow(abs(x), 2)", "pow(2.0, -x)", "pow(base=x, exp=2)", "pow(True, x)", "(pow(x, 2))",
    ),
    "fact": ("flag", "k > 1", "x.dim() == 1", "x.shape[0] > 1", "not flag", "k", "x.dtype == torch.float32", "self_ok", "k is None"),
    "manager": (
        "torch.no_grad()", "contextlib.nullcontext(2)", "torch.enable_grad()", "Entered(1)", "Entered(note(2))", "torch.set_grad_enabled(flag)",
        "contextlib.nullcontext(note(k))", "contextlib.nullcontext()",
    ),
}  # fmt: skip

STARTS = (
    # branches
    """
import torch

@torch.compile
@torch.no_grad()
def f(x: torch.Tensor, flag: bool = <<True // False>>, k: <<int // float>> = <<2 // 0 // 3>>):
    $start
    if $test:
        $arm
    $end

f($floats)
f($floats)
""",
    """
import torch

@torch.compile
def f(x: torch.Tensor, flag: bool = <<True // False>>, k=<<2 // 0.5>>):
    with torch.no_grad():
        $start
        if $test:
            $arm
        else:
            $arm
        $end

f($floats)
f($floats, <<True // flag=False>>)
""",
    """
import torch

@torch.compile
@torch.no_grad()
def f(x: torch.Tensor, flag: bool = <<True // False>>, k: int = 2):
    $start
    if $test:
        $arm
    elif $test:
        $arm
    else:
        $arm
    $end

f($floats)
f($floats)
""",
    """
import torch

@torch.compile
@torch.no_grad()
def f(x: torch.Tensor, flag: bool = <<True // False>>, k: int = 2):
    $start
    if $test:
        return $value
    <<y = $value // pass // y = y + 1>>
    return $value

f($floats)
f($floats)
""",
    """
import torch

@torch.compile
@torch.no_grad()
def f(x: torch.Tensor, flag: bool = <<True // False>>, k: int = 2):
    $start
    if $test:
        return $value, <<x // y // k // 1>>
    elif flag:
        return <<y // x>>, <<y * 2 // x // 2>>
    return $value, $value

f($floats)
f($floats)
""",
    """
import torch

class Net(torch.nn.Module):
    def __init__(self, scale=2.0, flag=<<True // False>>):
        super().__init__()
        self.scale, self.flag = scale, flag
        self.linear = torch.nn.Linear(3, 3)

    <<@torch.no_grad() // @torch.inference_mode() // @torch.no_grad()>>
    def forward(self, x, k=2):
        flag = self.flag
        <<y = self.linear(x) // y = x * self.scale // y = torch.tanh(x)>>
        if $test:
            $arm
        $end

net = torch.compile(Net())
net($floats)
net($floats)
""",
    """
import torch

@torch.compile
@torch.no_grad()
def f(x: torch.Tensor, flag: bool = <<True // False>>, k: float = 0.5):
    $start
    y = <<y * // y + // y - // x + >> ($value if $test else $value)
    <<z = 1.0 if $test else y // y = y * (2 if $test else 1) // z = ($test) and flag // z = y>>
    return y, <<z // x>>

f($floats)
f($floats)
""",
    """
import torch

def scaled(x, k):
    if $test:
        return x * k
    return <<x // x / k // x.clone()>>

@torch.compile
@torch.no_grad()
def f(parts, flag: bool = True, k: float = 0.5):
    total = 0
    for x in parts:
        y = x * 2
        if $test:
            $arm
        total = total + y.sum()
    return total, <<parts // y // len(parts)>>

flag = True
f([$floats, $floats])
f([$floats])
""".replace("def scaled(x, k):", "def scaled(x, k, flag=True, y=1):"),
    """
import torch

@torch.compile
@torch.no_grad()
def clip(grads, most: float):
    norm = torch.stack([g.norm() for g in grads]).norm()
    <<if norm > most: // if most < norm: // if norm.item() > most: // if (norm > most).all(): // if not norm <= most:>>
        for g in grads:
            <<g.mul_(most / (norm + 1e-6)) // g *= most / norm // g.copy_(g / norm) // g.div_(norm) // g[0] = 0 // g.add_(1)>>
    return norm, <<grads // norm * 2>>

clip([$floats, $floats], <<1.0 // 0.0 // 100.0>>)
clip([$floats], <<1.0 // 0.0 // 100.0>>)
""",
    """
import torch

STOP = <<[0, 3] // (1, 2) // {2, 0} // [1.5]>>

@torch.compile
<<@torch.no_grad() // >>
def f(x: torch.Tensor):
    y = x * 2
    if <<x in STOP // x not in STOP // x[0] in STOP // x.sum() in STOP // x.sum() == 3>>:
        <<y = y * 0 // y = y + 1 // y = -y>>
    <<return y // y = y + 1; return y>>

f($scalar)
f($scalar)
f($integers)
""",
    # masks
    """
import torch

@torch.compile
<<@torch.no_grad() // >>
def f(x: torch.Tensor, m: torch.Tensor, k: float = 2.0):
    $into
    mask = $mask
    $masked
    $end

f($floats, $bools)
f($floats, $bools)
""",
    """
import torch

@torch.compile
<<@torch.no_grad() // @torch.no_grad() // >>
def f(x: torch.Tensor, m: torch.Tensor, k: float = 2.0):
    $into
    mask = $mask
    if <<mask.any() // mask.sum() > 0 // torch.any(mask) // mask.any().item() // not (~mask).all() // mask.sum() != 0>>:
        <<y = y.masked_fill(mask, 0.0) // y[mask] = 0 // y = torch.where(mask, x, y) // y.masked_fill_(mask, 1) // $masked>>
    $end

f($floats, $bools)
f($floats, $bools)
""",
    """
import torch

@torch.compile
<<@torch.no_grad() // @torch.no_grad() // >>
def f(x: torch.Tensor, m: torch.Tensor, k: float = 2.0):
    $into
    if not <<m.any() // m.sum() // torch.any(m)>>:
        return <<y // x>>
    <<y = torch.where(m, x + 1, y) // y = y.masked_fill(m, k) // y[m] = 2 // x = torch.where(m, x * 2, x)>>
    return <<y // x // y * 1>>

f($floats, $bools)
f($floats, $bools)
""",
    """
import torch

@torch.compile
def f(x: torch.Tensor, i: torch.Tensor, <<m // m: torch.Tensor>>):
    <<m = i > 0 // m = x > 0 // m = (i != 1) // i = i * 2 // pass>>
    a = $reduced
    return a, <<a + 1 // $reduced // a * x // a.dtype // -a>>

f($floats, $integers, $bools)
f($floats, $integers, $bools)
""",
    # readings
    """
import torch

@torch.compile
def f(x: torch.Tensor, s: torch.Tensor):
    n = $number
    <<y = $use // y = $use + $use // y = [$use, $use] // n = -n; y = $use // y = $use; x.add_(1)>>
    return <<y // y // y, n // (y, x)>>

f($floats, $scalar)
f($floats, $scalar)
""",
    """
import torch

@torch.compile
def f(rows, s: torch.Tensor):
    return <<torch.stack(// (// list(>>[<<x * $number // x / $number // x - $number // $number * x + 1>> for x in rows])

f([$floats, $floats], $scalar)
f([$floats, $floats], $scalar)
""",
    """
import torch

@torch.compile
def f(ids: torch.Tensor, x: torch.Tensor, k: int = 2):
    flag = <<0 in ids // k in ids // 2 in ids // 1.0 in ids // 0 not in ids // True in ids>>
    <<y = x * flag // y = x + flag // y = x - flag // y = x * flag + flag // y = x.float() * flag // y = flag * x>>
    return <<y // y, flag // y * 2>>

f($integers, $floats)
f($integers, $floats)
""",
    # indices
    """
import torch

@torch.compile
def f(a: torch.Tensor, x: torch.Tensor, i: torch.Tensor, s: torch.Tensor):
    j = $index
    <<y = $indexed * 2 // y = $indexed + $indexed // y = $indexed // y = -($indexed)>>
    <<return y // return y + 1 // y += 1; return y, a>>

f($matrix, $floats, $integers, <<torch.tensor(1) // torch.tensor(-1) // torch.tensor(2) // torch.tensor(True) // torch.tensor(0)>>)
f($matrix, $floats, $integers, torch.tensor(<<0 // 1 // False>>))
""",
    """
import torch

@torch.compile
def f(a: torch.Tensor, x: torch.Tensor, i: torch.Tensor, s: torch.Tensor, m: torch.Tensor):
    <<a = a.clone() // a = a * 1 // b = a; a = a.clone() // pass // b = a[0]>>
    <<j = $index // j = $index // pass; j = $index>>
    $written
    return a, <<x // j // a * 2>>

f($matrix, $floats, $integers, torch.tensor(<<1 // -1 // 2 // True>>), $bools)
f($matrix, $floats, $integers, torch.tensor(<<0 // 1 // False>>), $bools)
""",
    # builtins
    """
import torch

@torch.compile
def f(x: torch.Tensor, s: torch.Tensor, k: <<int // float>> = 2):
    y = $builtin
    return y, <<$builtin // y * 2 // -y // y + $builtin // $builtin ** 2 // y>>

f($floats, $scalar)
f($floats, $scalar, <<3 // -1 // 0>>)
""",
    # facts
    """
import torch

@torch.compile
def f(x: torch.Tensor, flag: bool = <<True // False>>, k: int = <<2 // 0>>):
    y = x + 1
    self_ok = <<True // False // k == 2>>
    if <<$test and $fact // $test or $fact // ($test and $fact) or $fact // not ($test and $fact) // $test and $test and $fact>>:
        <<y = y * 2 // return x // y = y + k>>
    <<while $test and $fact:
        break
    // pass>>
    return y

f($floats)
f($floats, <<True // False>>, <<1 // 0>>)
""".replace("<<while $test and $fact:\n        break\n    // pass>>\n", "<<z = y if $test or $fact else x // pass>>\n"),
    """
import torch
from torch import nn

class Head(nn.Module):
    def __init__(self, flag=<<False // True>>):
        super().__init__()
        self.flag, self.limit, self.k = flag, <<3 // None>>, 2
        self.linear = nn.Linear(3, 3)

    def forward(self, x, k=1):
        flag = self.flag
        if <<$test and self.flag // $test or self.k > 1 // $test and self.limit is not None // $test or not self.training>>:
            x = <<x.clamp(max=3) // x + 1 // self.linear(x)>>
        if <<$test and self.limit is not None and self.k > self.limit // $test and not self.training>>:
            x = x * 2
        return x

y = 1
head = torch.compile(Head())
head($floats)
head($floats)
""",
    # Python and NumPy
    """
import copy
import torch

@torch.compile
def f(items, x: torch.Tensor):
    <<other = copy.copy(items) // other = copy.copy(x=items) // other = [*copy.copy(items)] // other = copy.copy(note(items))>>
    <<other.append(x) // other[0] = x // items.append(1) // other += [x] // other.pop()>>
    return other, <<items // len(items) // other is items>>

f([torch.ones(2), 2], $floats)
f([$floats, $floats], $floats)
""",
    """
import copy
import collections
import torch

class Own(<<dict // collections.OrderedDict // list>>):
    pass

@torch.compile
def f(x: torch.Tensor):
    held = <<{'a': x} // [x, x] // {1, 2} // collections.deque([x, 1], maxlen=2) // collections.OrderedDict(a=x) // Own() // (x, x)
        // collections.defaultdict(list, a=x) // collections.Counter('aab')>>
    other = copy.copy(held)
    <<other['a'] = 1 // other['b'].append(2) // other.append(x) // other |= {3} // held.clear() // pass>>
    return <<list(other) // other // len(other), type(other).__name__>>, <<list(held) // len(held)>>

f($floats)
""",
    """
import math
import numpy as np
import torch

@torch.compile
def f(x: torch.Tensor, k: int = 2):
    n = int(np.prod(<<x.shape // x.shape[1:] // list(x.shape) // (k, 2) // x.size() // [k, k] // x.shape[:0] // (x.shape[0], 3) // [1.5, 2]>>))
    return <<x.reshape(-1, n) * n // x * n // x.view(n // 1) // x.sum() + n, n>>

f($matrix)
f($floats)
""".replace("x.view(n // 1)", "x.view(-1) * n"),
    """
import numpy as np
import torch

@torch.compile
def f(x: torch.Tensor, a: float, n: int):
    if <<a < 0 or not np.isfinite(a) // np.isnan(a) // np.isinf(a) and n > 0 // np.isfinite(n) // not np.isnan(float(n)) // np.isnan(a) or np.isinf(n)>>:
        return x * 2
    return x * <<a // n>> if <<np.isfinite(a) // not np.isnan(a * 2) // np.isinf(-a)>> else x

f($floats, <<2.0 // float('nan') // float('inf') // -1.0>>, <<3 // 0>>)
f($floats, <<float('nan') // float('inf') // 1e308>>, 1)
""",
    """
import torch
from typing import Dict, List, Optional, Tuple

@torch.compile
def f(x, other=None):
    if <<torch.jit.isinstance(other, torch.Tensor) // torch.jit.isinstance(other, int) // torch.jit.isinstance(other, (int, float))
        // torch.jit.isinstance(other, List[int]) // torch.jit.isinstance(other, Optional[int]) // torch.jit.isinstance(obj=other, target_type=float)
        // torch.jit.isinstance(other, List) // not torch.jit.isinstance(other, str) // torch.jit.isinstance(other, bool)
        // torch.jit.isinstance(other, (str, torch.Tensor))>>:
        x = x * 2
    <<return x + 1 // return x, torch.jit.isinstance(x, torch.Tensor)>>

f($floats, <<2 // 2.0 // None // torch.ones(3) // [1, 2] // 'a' // True // (1,)>>)
f($floats, <<2 // 2.0 // None // torch.ones(3) // [1, 2] // 'a' // True // []>>)
""",
    # managers
    """
import contextlib
import torch

class Entered:
    def __init__(self, value):
        self.value = value

    def __enter__(self):
        events.append(self.value)
        return self.value

    def __exit__(self, *exc):
        events.append(<<-1 // exc[0] is None>>)
        return <<False // True>>

@torch.compile
def f(x: torch.Tensor, flag: bool = True, k: int = 2):
    y = x
    with contextlib.ExitStack() as <<stack // held>>:
        <<a = stack.enter_context($manager) // stack.enter_context($manager) // stack.enter_context($manager); stack.enter_context($manager)>>
        <<b = stack.enter_context($manager) // stack.enter_context(contextlib.nullcontext(x)) // y = y + 1>>
        y = y * 2
        <<y = y + a // y = y + torch.ones(<<3 // 4>>) // return y // y.add_(1) // if flag:
            return y, a>>
    return y

f($floats)
f($floats)
""",
    """
import torch
from contextlib import closing

class Reader:
    def __init__(self, value=1):
        self.value = value
        events.append('open')

    def close(self):
        events.append('close')
        <<pass // raise ValueError // self.value = 0>>

def opened():
    return Reader(3)

@torch.compile
def f(x: torch.Tensor, flag: bool = True, k: int = 2):
    y = x
    <<reader = 1 // resource = 2 // pass>>
    with closing(<<Reader() // Reader(k) // opened() // Reader(value=note(2))>>)<< as reader // >>:
        $arm
        <<y = y * 2 // return y // y = y + torch.ones(<<3 // 4>>) // if flag:
            return y, k>>
    <<return y // return y, reader // return y + reader.value // return y, resource>>

f($floats)
f($floats)
""",
    """
import contextlib
import torch

modes = ['none']

class entered(contextlib.ContextDecorator):
    def __init__(self, mode<<='sure' // >>):
        self.mode = mode
        events.append('made')

    def __enter__(self):
        modes.append(self.mode)
        return self

    def __exit__(self, *exc):
        modes.pop()
        return False

<<@entered('sure') // @entered(mode='sure') // @entered('other')>>
<<@torch.no_grad() // >>
def act(x, k=2):
    <<"What to do." // events.append(modes[-1])>>
    if modes[-1] == 'sure':
        return x * 2
    <<def inner(t):
        return t + k
    // inner = abs>>
    return inner(x * 3)

run = torch.compile(act)
run($floats)
run($floats)
modes
""".replace(
        "<<def inner(t):\n        return t + k\n    // inner = abs>>", "<<inner = abs // inner = lambda t: t + k>>"
    ),
    # sizes, diagonals, messages, operators
    """
import torch

@torch.compile
def f(x: torch.Tensor, n: int = <<2 // 0 // 1>>):
    axes = <<torch.arange(n).tolist() // torch.arange(1, x.dim()).tolist() // torch.arange(0, 5, n + 1).tolist() // torch.arange(n, 0, -1).tolist()
        // torch.ones(n, dtype=torch.long).tolist() // torch.zeros(n + 1, dtype=torch.int32).tolist() // torch.arange(n * 1.0).tolist()
        // torch.ones(n).tolist() // torch.arange(end=n).tolist() // torch.zeros(n, dtype=torch.bool).tolist() // torch.arange(n - 2).tolist()
        // [9] + torch.arange(n).tolist() * 2 // torch.ones(n, dtype=torch.uint8).tolist() // torch.arange(3, n).tolist()>>
    <<axes.append(3) // axes = axes[::-1] // pass>>
    return x * len(axes), axes, <<sum(axes) // x.sum() // [x * a for a in axes]>>

f($floats)
f($floats, 3)
""",
    """
import torch

@torch.compile
def f(c: torch.Tensor, n: int = 3):
    eye = <<torch.eye(3).bool() // torch.eye(n, dtype=torch.bool) // torch.eye(c.shape[0], dtype=torch.bool) // torch.eye(c.size(-1)).bool()
        // torch.eye(n) == 1 // torch.eye(3, 3).bool() // torch.eye(n, n + 1).bool()>>
    away = ~eye
    <<y = c[..., away] // y = c[eye] // y = c[away].view(n, -1) // y = c[~eye] // y = c[..., ~eye] * 2 // y = c[..., eye] // y = (c + 1)[away]
        // y = c[torch.logical_not(eye)] // y = c[:, eye]>>
    <<return y.sum(-1) // return y * 1 // y += 1; return y, c // return y // return y.mean(), c>>

f($matrix)
f($matrix)
""",
    """
import functools
import logging
import torch

@functools.<<lru_cache(None) // cache // lru_cache(maxsize=None) // lru_cache>>
def warning_once(self, *args):
    events.append(args)

logging.Logger.warning_once = warning_once
logger = logging.getLogger('model')
NAME = 'model'

@torch.compile
def f(x: torch.Tensor, scale: int = 2, told=<<True // False>>):
    if <<told // scale > 1 // x.dim() == 1>>:
        logger.warning_once(<<'scale is %d', scale // f'used {NAME}' // 'plain' // NAME // 'at %s', x.shape[0] // f'{scale}' // 'at %s', None>>)
    <<logger.warning_once('plain') // pass>>
    return x * scale

f($floats)
f($floats, <<3 // 2>>)
f($floats, 3)
""",
    """
import torch

class Own(torch.autograd.Function):
    @classmethod
    def forward(<<cls // klass>>, ctx, x<<, k // >>):
        <<ctx.save_for_backward(x) // ctx.k = 2 // pass>>
        return x.round() * <<2 // cls.scale // 3>>

    <<@classmethod
    def backward(cls, ctx, grad):
        return grad * 2 // @staticmethod
    def backward(ctx, grad):
        return grad * 3>>

    scale = 2

@torch.compile
def f(x):
    return Own.apply(x * 2) / 2

x = torch.full((4,), 0.3, requires_grad=True)
f(x)
f(x).sum().backward()
x.grad
""",
    """
import torch

@torch.compile
<<@torch.no_grad() // >>
def group(scores: torch.Tensor, k: <<float // int>> = <<1 // 0.5>>):
    <<labels = torch.zeros_like(scores, dtype=torch.long) // labels = torch.zeros_like(scores) // labels = torch.zeros(scores.shape[0], dtype=torch.long)
        // labels = torch.ones(scores.shape, dtype=torch.bool)>>
    for i in range(scores.shape[0]):
        if scores[i] > <<0.5 // k // scores[0]>>:
            <<labels[i] = 1 // labels[i] = i // labels[i:] += 1 // labels = labels + 1 // scores[i] = 0>>
        <<elif scores[i] < 0:
            labels[0] = 2 // else:
            labels[i] = 3>>
    <<return labels + 1 // return labels // return labels, scores // return labels.sum()>>

group($floats)
group($floats<<, 0.5 // , 2 // >>)
""",
    """
import torch

@torch.compile
def count(x: torch.Tensor):
    <<ids = (x * 2).long() // ids = x.long().abs() // ids = x.int()>>
    <<seen = [] // found = torch.zeros(3, dtype=torch.long)>>
    values = ids.tolist()
    <<order = torch.tensor(sorted(values)) // order = torch.tensor(values[::-1]) // order = torch.tensor([v for v in values if v > 0])
        // order = torch.tensor(list(dict.fromkeys(values))) // order = torch.tensor(len(set(values)))>>
    return order<< * 2 // >>, <<x // ids>>

count($floats)
count($floats)
""",
)


def written(start: str, draw: random.Random) -> str:
    """A start with its parts and alternatives drawn, the innermost first."""
    while CHOICE.search(start):
        start = CHOICE.sub(lambda match: draw.choice(match[1].split("//")).strip(), start)
    while PART.search(start):
        start = PART.sub(lambda match: _part(match, draw), start, count=1)
    return start


def _part(match: re.Match[str], draw: random.Random) -> str:
    indent, before, word = match.groups()
    text = draw.choice(PARTS[word])
    return f"{indent}{before}" + text.replace("\n", f"\n{indent}")
