"""The grammar of generated programs, as templates of source text.

A hole in braces stands for text of some kind:

    {T}     an expression of type T (see `TYPES`)
    {$T}    a variable of type T, which may be assigned to: the same one throughout a template
    {=T}    the name of a new variable of type T: known from the next statement on, or in the block of its own statement
    {if}    a condition; {test} one that asks about the contents of a tensor; {return} what the function returns
    {block} statements, indented like the hole; {loop} the same within a loop
    {{ }}   braces

Every program made of them runs to its end but for rare errors that depend on values (an empty index, say); it
terminates, since loops are over short ranges. Tensors are small and stay bounded.
"""

from __future__ import annotations

TYPES = {
    "T": "float tensor, 4 × 8",
    "V": "float tensor of 8",
    "R": "float tensor of 4, one number a row",
    "S": "float tensor without a dimension",
    "I": "integer tensor of 4, each 0 to 3",
    "M": "boolean tensor, 4 × 8",
    "Q": "boolean tensor of 4",
    "B": "boolean tensor without a dimension",
    "O": "a 4 × 8 tensor or None",
    "L": "non-empty list of 4 × 8 tensors",
    "K": "dictionary of 4 × 8 tensors with keys a and b",
    "P": "tuple of a 4 × 8 tensor and one without a dimension",
    "n": "small int",
    "f": "float",
    "b": "bool",
    "s": "str",
    "N": "list of ints",
}

# What an expression of a type may be. The first ones (up to LEAVES) have no expression inside.
LEAVES = {
    "T": ("torch.ones(4, 8)", "torch.arange(32.0).reshape(4, 8) / 32"),
    "V": ("torch.linspace(-1, 1, 8)", "torch.full((8,), 0.25)"),
    "R": ("torch.linspace(-1, 1, 4)", "torch.zeros(4)"),
    "S": ("torch.tensor(0.5)", "torch.zeros(())"),
    "I": ("torch.arange(4)", "torch.tensor([3, 1, 0, 2])"),
    "M": ("torch.ones(4, 8, dtype=torch.bool)",),
    "Q": ("torch.tensor([True, False, True, True])",),
    "B": ("torch.tensor(True)",),
    "O": ("None",),
    "L": ("[torch.ones(4, 8)]", "[torch.zeros(4, 8), torch.ones(4, 8)]"),
    "K": ("{{'a': torch.ones(4, 8), 'b': torch.zeros(4, 8)}}",),
    "P": ("(torch.ones(4, 8), torch.tensor(2.0))",),
    "n": ("1", "2", "3"),
    "f": ("0.5", "2.0", "-0.25", "LIMIT"),
    "b": ("True", "False", "VERBOSE", "DEBUG"),
    "s": ("'relu'", "'gelu'", "'none'", "MODE"),
    "N": ("[1, 2]", "[0, 3, 1]"),
}

EXPRESSIONS = {
    "T": (
        "{T} + {T}", "{T} * {f}", "{T} - {V}", "{T} / ({T}.abs() + 1)", "torch.relu({T})", "torch.tanh({T})", "F.gelu({T})",
        "{T}.sigmoid()", "torch.where({M}, {T}, {T})", "torch.where({M}, {T}, {f})", "{T}.masked_fill({M}, {f})",
        "F.softmax({T}, dim=-1)", "{T}.clamp(-1, 1)", "{T}.clamp(max={f})", "torch.maximum({T}, {T})", "{T} @ torch.eye(8)",
        "{T}[{I}]", "{T}.index_select(0, {I})", "{T}.t().t()", "{T}.reshape(2, 16).view(4, 8)", "{T}.flip(0)",
        "{T}.roll(1, dims=1)", "torch.cat([{T}[:2], {T}[2:]])", "torch.stack({L}).mean(0)", "sum({L}) / len({L})",
        "torch.stack([{V}] * 4)", "{V}.expand(4, 8)", "{V}.unsqueeze(0).repeat(4, 1)", "{R}[:, None] * {T}", "{K}['a']",
        "{K}.get('b')", "{P}[0]", "{L}[0]", "{L}[-1]", "({T} if {b} else {T})", "{T}.cumsum(dim=1).tanh()", "{T}.detach()",
        "{T}.clone()", "{T}.to(torch.float64).float()", "F.layer_norm({T}, (8,))", "F.dropout({T}, 0.5, training=False)",
        "torch.zeros_like({T})", "{T}.new_ones({T}.shape)", "torch.full_like({T}, {f})", "F.one_hot({I} + {n}, 8).float()",
        "{M}.float()", "{M} * {T}", "F.linear({T}, torch.ones(8, 8) / 8)", "torch.einsum('ij,j->ij', {T}, {V})",
        "reduce(torch.add, {L}) * 0.5", "torch.outer({R}, {V}).tanh()", "{T}.where({T} > {S}, {T})",
        "{T}.scatter(1, {I}.unsqueeze(1), {f})", "{T}.tril()", "({T} ** 2).sqrt()", "{T}.sort(dim=1).values",
        "{T}.topk(8, dim=1)[0]", "{T}.chunk(2)[0].repeat(2, 1)", "torch.lerp({T}, {T}, {S})", "ACTIVATIONS[{s}]({T})",
        "(lambda t, k={f}: t * k)({T})", "{T}.norm(dim=1, keepdim=True) + {T}", "{T}.to({T}.device)", "copy.copy({T})",
    ),
    "V": (
        "{T}.sum(0)", "{T}.mean(dim=0)", "{T}[{n}]", "{T}[0]", "{T}.amax(0)", "{V} * {f}", "{V} + {V}", "{T}.max(dim=0).values",
        "torch.stack([{S}] * 8)", "{V}.softmax(0)", "{T}.unbind(0)[1]", "{T}[{n} - 1, :]", "{T}.std(0)", "{T}.select(0, 2)",
    ),
    "R": (
        "{T}.sum(1)", "{T}.mean(-1)", "{T}[:, {n}]", "{T}[:, 0]", "{R}.tanh()", "{R} * {f}", "{Q}.float()", "{I}.float()",
        "torch.where({Q}, {R}, 0.0)", "{T}.gather(1, {I}[:, None]).squeeze(1)", "{T}.logsumexp(1)", "{R} + {S}", "{T}.norm(dim=1)",
    ),
    "S": (
        "{T}.sum()", "{T}.mean()", "{V}.max()", "{T}.norm()", "{S} * {f}", "{S} + {S}", "{T}[0, {n}]", "{V}[1]", "{R}[0]",
        "{P}[1]", "F.mse_loss({T}, {T})", "{V} @ {V}", "{S}.tanh()", "{T}.abs().amax()", "{M}.sum() / 32", "{R}.sum()",
        "{B}.float()", "{T}.std()", "F.cross_entropy({T}, {I})", "torch.dot({V}, {V})", "{S}.clamp(min=0)", "{V}.squeeze()[0]",
    ),
    "I": (
        "{T}.argmax(1) % 4", "{R}.argsort()", "{I}.flip(0)", "({I} + 1) % 4", "{T}.long()[:, 0] % 4", "{I}[{I}]", "{I} // 2",
        "({T} > 0).sum(1) % 4", "torch.randperm(4) * 0 + {n}", "{I}.clamp(0, 2)", "torch.full((4,), {n})", "{Q}.long()",
        "torch.arange({T}.size(0))", "{I}.clone()",
    ),
    "M": (
        "{T} > 0", "{T} > {T}", "{T} != {f}", "{M} & {M}", "~{M}", "{M} | {M}", "{T}.isnan()", "({T} > {S})", "{T}.bool()",
        "{Q}[:, None] & {M}", "torch.ones_like({T}, dtype=torch.bool)", "torch.isfinite({T})", "{T}.le({f})", "{T}.gt(0).tril()",
    ),
    "Q": (
        "{R} > 0", "{I} == {n}", "{M}.any(1)", "{M}.all(dim=-1)", "~{Q}", "{I}.ne(0)", "torch.isin({I}, torch.tensor([1, 2]))",
        "{I} < {n}", "{Q} & {Q}",
    ),
    "B": ("{T}.sum() > 0", "{M}.any()", "{M}.all()", "{S} > {f}", "{S} < {S}", "{Q}.any()", "{I}.max() > 2", "{B} & {B}"),
    "O": ("{T}", "None", "{T}", "({T} if {b} else None)", "{K}.get('c')", "{K}.get('a', None)", "getattr({T}, 'extra', None)"),
    "L": (
        "[{T}, {T}]", "[{T}]", "{L} + [{T}]", "[t * {f} for t in {L}]", "[t + i for i, t in enumerate({L})]",
        "list({K}.values())", "[{T} for _ in range({n})]", "{L}[::-1]", "list(reversed({L}))", "{L}[:1]", "list(map(torch.relu, {L}))",
        "[t for t in {L} if t.dim() == 2]", "[a + b for a, b in zip({L}, {L})]", "[*{L}, {T}]", "sorted({L}, key=lambda t: t.dim())",
        "list(filter(lambda t: t is not None, {L}))", "list({T}.split(4))", "[*itertools.chain({L}, {L})]", "list(scaled({L}, {f}))",
        "{L} * 2", "list({L})",
    ),
    "K": (
        "{{'a': {T}, 'b': {T}}}", "dict(a={T}, b={T})", "{{k: v * {f} for k, v in {K}.items()}}", "{{**{K}, 'a': {T}}}",
        "{{k: v for k, v in zip('ab', ({T}, {T}))}}", "{K} | {{'b': {T}}}", "dict({K})", "OrderedDict(a={T}, b={T})",
    ),
    "P": ("({T}, {S})", "({T}, {V}.sum())", "Pair({T}, {S})", "tuple([{T}, {S}])", "pair_of({T})", "Pair(score={S}, hidden={T})"),
    "n": (
        "{n} + 1 - 1", "len({L}) % 3 + 1", "{T}.dim()", "{T}.shape[0] - {n}", "{T}.size(1) // 4", "int({b})", "len({s}) % 3 + 1",
        "min({n}, 2)", "max({n}, {n})", "len({K})", "{N}[0]", "sum({N}) % 3 + 1", "({n} if {b} else {n})", "{T}.numel() // 16",
        "len({T})", "(4 - {n})", "abs({n})", "int({f} * 2) % 3 + 1", "{V}.ndim", "len(set({N}))", "math.prod((1, {n}))",
        "STEPS.get({s}, 1)", "{n} % 2 + 1",
    ),
    "f": (
        "{f} * 0.5", "{n} / 4", "float({n})", "math.sqrt(abs({f}))", "max({f}, 0.1)", "min({f}, {f})", "round({f}, 1)",
        "({f} if {b} else {f})", "1 / {T}.shape[-1]", "{T}.size(1) ** -0.5", "np.pi / 4", "math.exp(-{n})", "options['scale']",
        "config.scale", "abs({f}) % 1", "len({L}) * 0.25",
    ),
    "b": (
        "not {b}", "{n} > 1", "{n} == {n}", "{f} > 0", "{s} == 'relu'", "{T}.shape[0] > {n}", "{O} is None", "{O} is not None",
        "isinstance({O}, torch.Tensor)", "len({L}) > 1", "'a' in {K}", "{T}.dim() == 2", "{T}.dtype == torch.float32",
        "{b} and {b}", "{b} or {b}", "hasattr({T}, 'shape')", "{T}.requires_grad", "{T}.is_floating_point()", "{s}.startswith('re')",
        "{n} in {N}", "torch.is_grad_enabled()", "{s} in ('relu', 'gelu')", "{T}.ndim > {n}", "{T}.is_contiguous()", "bool({n} - 1)",
        "{T}.device.type == 'cpu'", "{T}.shape == {T}.shape", "any(n > 2 for n in {N})", "all(t.dim() == 2 for t in {L})",
        "torch.is_tensor({O})", "config.enabled", "callable(ACTIVATIONS.get({s}))", "{n} % 2 == 0", "0 < {n} < 3",
        "torch.compiler.is_compiling() or {b}", "id({T}) == 0", "{T} is {T}", "options.get('deep', False)", "bool({L})",
    ),
    "s": (
        "{s}.lower()", "f'{{{$n}}}-{{{$s}}}'", "'none' + {s}", "str({n})", "('relu' if {b} else 'gelu')", "{s}.replace('e', '')",
        "'%s' % {s}", "'_'.join([{s}, {s}])", "{s}[:3]", "str({T}.dtype)", "type({T}).__name__", "config.name", "f'{{{$f}:.1f}}'",
    ),
    "N": (
        "[{n}, {n}]", "list(range({n}))+ [1]", "[n + 1 for n in {N}]", "sorted({N})", "{N} + [{n}]", "list({T}.shape)",
        "[len(t) for t in {L}]", "{N}[:2]", "[n for n in {N} if n > 0] + [1]", "[*{T}.size()]", "sorted({N}, reverse=True)",
    ),
}

# Expressions at which Dynamo breaks, or which look as if it did.
DOUBTFUL = {
    "n": (
        "int({S}) % 3 + 1", "{I}.max().item()", "{I}[0].item()", "int({T}.argmax() % 3)", "{I}.tolist()[0]", "len({T}[{M}]) % 3 + 1",
        "{M}.sum().item() % 3 + 1", "int({M}.sum()) % 3", "{I}.unique().numel() % 3 + 1", "{Q}.nonzero().shape[0] % 3 + 1",
        "random.randint(1, 3)", "int({I}.sum().numpy()) % 3", "np.random.randint(1, 3)", "len(str({n}))", "{T}.stride(0) % 3",
        "int(time.time()) % 2 + 1", "os.getpid() % 2 + 1", "sum({I}.tolist()) % 3 + 1", "int(torch.tensor({n}))", "{I}.amax().tolist()",
        "len({I}.unique()) % 3 + 1", "random.choice([1, 2])",
    ),
    "f": (
        "{S}.item()", "float({S})", "{T}.mean().item()", "random.random()", "{V}.tolist()[0]", "float({T}[0, 0])", "time.time() * 0",
        "time.perf_counter() * 0", "float({S}.detach())", "np.random.rand()", "float({S}.detach().numpy())", "random.uniform(0, 1)",
        "round({S}.item(), 2)", "torch.rand(()).item()", "float(os.environ.get('SCALE', '0.5'))", "max({V}.tolist())",
        "float(np.mean({V}.detach().numpy()))", "math.sqrt({S}.abs().item())", "torch.tensor({f}).item()", "float(np.float64({f}))",
    ),
    "b": (
        "bool({B})", "{B}.item()", "torch.equal({T}, {T})", "torch.allclose({T}, {T})", "bool({S} > 0)", "{S} in [0.0, 1.0]",
        "{T} in {L}[:1]", "random.random() > 2", "bool({M}.any())", "{S}.item() > 0.5", "os.path.exists('/nowhere')", "{I}[0] in {N}",
        "not {M}.any()", "{B} and {b}", "{n} in {I}", "all({Q})", "any({Q})", "len({Q}.nonzero()) > 1", "'DEBUG' in os.environ",
        "logger.isEnabledFor(10)", "{b} or {B}", "{T}.requires_grad_().requires_grad", "{T}.is_inference()", "{S} == {f} or {b}",
    ),
    "T": (
        "({T} if {B} else {T})", "({T} if {S} > {f} else {T})", "{T} * {S}.item()", "{T}[{Q}].sum(0).expand(4, 8)", "torch.zeros(4, 8)",
        "{T}[{M}].sum() + {T}", "torch.from_numpy({T}.detach().numpy())", "torch.tensor({T}.tolist())", "copy.deepcopy({T}.detach())",
        "torch.masked_select({T}, {M}).mean() + {T}", "torch.as_tensor(np.ones((4, 8), dtype=np.float32)) * {T}", "{T}[int({I}[0])] + {T}",
        "max({L}, key=lambda t: t.sum())", "max({L}, key=id)", "min({L}, key=lambda t: t.dim())", "{T} * random.random()", "torch.nonzero({M}).float().mean() + {T}", "{T}[:int({n})].sum(0) + {T}",
        "torch.Tensor([[{f}] * 8] * 4)", "torch.tensor([[{f}] * 8] * 4)", "torch.randn(4, 8) * 0 + {T}", "{T}.data", "{T}.apply_(abs) if {b} else {T}",
        "torch.from_numpy(np.tanh({T}.detach().numpy()))", "torch.nn.Parameter({T}.detach())", "{T}[{I}.tolist()]", "{L}[{n} % len({L})]",
        "{T}.to(torch.device('cpu'))", "torch.utils.checkpoint.checkpoint(torch.tanh, {T}, use_reentrant=False)", "{T}.cpu()",
        "torch.ones(4, 8, requires_grad=True)", "disabled({T})", "listing({T})[0]", "next(iter({L}))",
        "next(scaled({L}, {f}))", "{T}[{n} > 1 or None].reshape(-1, 8).mean(0).expand(4, 8)", "max({T}.sum(), {S}) + {T}",
        "min({f}, {S}) + {T}", "{T}.new_tensor({f}).expand(4, 8)", "sum({T}.unbind(0)).expand(4, 8)",
    ),
    "S": ("torch.tensor({S}.item())", "{T}[{M}].mean()", "{T}.masked_select({M}).sum()", "torch.tensor({f})", "max({S}, {S})", "min({S}, {f}) + {S}",
          "torch.as_tensor({f})", "sum({R})", "torch.tensor(len({L}) * 1.0)", "abs({S})", "sum(t.sum() for t in {L})"),
    "I": ("torch.tensor({I}.tolist())", "{T}.argmax(1).numpy() * 0 + {I}", "torch.randint(0, 3, (4,)) * 0", "{I}.numpy().copy() * 0 + {I}",
          "torch.tensor({N}[:1] * 4) % 4", "torch.multinomial({T}.softmax(1), 1).squeeze(1) % 4"),
    "s": ("str({S})", "f'{{{$S}}}'", "f'{{{$S}.item():.1f}}'", "repr({n})", "'%d' % {n}", "str({T}.shape)", "f'{{{$T}.shape}}'", "os.getcwd()[:0]",
          "time.strftime('%Y')[:0]", "f'{{{$V}.sum():.2f}}'", "'{{}}'.format({S})", "os.environ.get('HOME', '')[:0]"),
    "N": ("{I}.tolist()", "[int(i) for i in {I}]", "[i.item() for i in {I}]", "[i for i, q in enumerate({Q}) if q]+ [1]",
          "{Q}.nonzero().flatten().tolist() + [1]", "list({I}.numpy())[:0] + {N}"),
    "L": ("[t for t in {L} if t.sum() > 0] + [{T}]", "list({T}.unbind(0))[:0] + {L}", "sorted({L}, key=lambda t: t.sum().item())",
          "[{T}[i] * {T} for i in {I}]", "[row.expand(4, 8) for row in {T}]", "list(itertools.accumulate({L}))"),
    "P": ("Pair({T}, torch.tensor({S}.item()))", "torch.compiler.disable(pair_of)({T})", "({T}, max({S}, {S}))", "Pair(*({T}, {S}))._replace(score={S})"),
    "B": ("torch.tensor(bool({B}))", "torch.tensor({b})", "{B} if {b} else {B}", "{B} and {B}", "not_tensor({B})"),
    "Q": ("torch.tensor([bool(q) for q in {Q}])", "torch.tensor({Q}.tolist())"),
    "O": ("({T} if {B} else None)", "next((t for t in {L} if t.sum() > 5), None)", "disabled({T})"),
    "K": ("{{k: v for k, v in {K}.items() if v.sum() > -99}}", "{{k: v / v.norm().item() for k, v in {K}.items()}}", "copy.copy({K})",
          "copy.deepcopy({{k: v.detach() for k, v in {K}.items()}})", "defaultdict(lambda: {T}, {K})"),
}  # fmt: skip

# Conditions of an if or a while, beside a Python bool.
CONDITIONS = (
    "{b}", "{b}", "{b}", "{b}", "{O} is not None and {b}", "{n} > 1 and {s} != 'none'", "not {L}", "{n}", "len({N})",
    "isinstance({O}, (torch.Tensor, nn.Parameter))", "{s}",
)  # fmt: skip
DOUBTFUL_CONDITIONS = (
    "{B}", "{S} > {f}", "{M}.any()", "not {M}.all()", "{S}", "{B} and {b}", "{b} and {B}", "{R}.sum() > 0 or {b}", "{S}.item() > {f}",
    "({S} > {S}).item()", "torch.isnan({T}).any()", "{I}[0] == {n}", "{R}[0] < {f} < {R}[1]", "(total := {S}) > 0", "{T}.sum() == 0",
    "{O} is not None and {S} > 0", "{T}.norm() > {f} and not DEBUG", "{I}.max() >= {T}.shape[0]",
)  # fmt: skip

STATEMENTS = (
    "{=T} = {T}", "{=T} = {T}", "{$T} = {T}", "{$T} = {T}", "{$T} = {T}", "{$T} += {T}", "{$T} = {$T} * {f}", "{=V} = {V}", "{=R} = {R}",
    "{=S} = {S}", "{=S} = {S}", "{=I} = {I}", "{=M} = {M}", "{=Q} = {Q}", "{=B} = {B}", "{=O} = {O}", "{=L} = {L}", "{=K} = {K}",
    "{=P} = {P}", "{=n} = {n}", "{=n} = {n}", "{=f} = {f}", "{=b} = {b}", "{=s} = {s}", "{=N} = {N}", "{=T}, {=S} = {P}", "{=T}, *_ = {L}",
    "{$n} = {n}", "{$f} = {f}", "{$b} = {b}", "{=T}: torch.Tensor = {T}", "{=T} = {=O} = {T}", "{$L}.append({T})", "{$K}['a'] = {T}",
    "{$L}[0] = {T}", "{$K}.update(b={T})", "{$L}.extend({L}[:1])", "{=T} = {$K}.pop('a', {T})\n{$K}['a'] = {=T}", "del_me = {T}\ndel del_me",
    "{=V}, {=I} = {T}.max(dim=0).values, {T}.argmax(1) % 4", "{=T} = torch.zeros(4, 8)\n{=T}[{n}] = {V}", "{$T} = {$T}.clone()\n{$T}.mul_({f})",
    "{=T} = {T}.clone()\n{=T}[:, {n}] = {f}", "{=T} = {T}.clone()\n{=T}[{Q}] = {f}", "{=T} = {T}.clone()\n{=T}[{M}] = 0.0",
    "{=T} = {T}.clone()\n{=T} += {V}", "{=R}, {=R2} = {R}, {T}.sum(1)", "assert {T}.shape[0] == 4", "assert {T}.dim() == 2, 'two dimensions'",
    "assert {b} or True, f'{{{$n}}}'", "pass", "{=s} = {s}\n{=f} = {{'relu': {f}, 'gelu': {f}}}.get({=s}, 1.0)", "{=n} = 0\n{=n} += {n}",
    "if {b}:\n    {$T} = {T}\nelse:\n    {$T} = {T}", "{=T} = {T} if {O} is None else {T}", "if {$O} is None:\n    {$O} = {T}\n{=T} = {$O} + 1",
    "if {$O} is not None:\n    {$T} = {$T} + {$O}", "{=T} = nested = {T}\nnested = None", "{=S} = {S}\n{=P} = ({T}, {=S})",
    "{=T} = (lambda t: t + {V})({T})", "{=T} = partial(torch.add, alpha={n})({T}, {T})", "{=T} = torch.add(input={T}, other={T}, alpha={f})",
    "{=T} = getattr(torch, 'relu')({T})", "{=T} = {T}\nfor {=T} in {L}:\n    {loop}", "{=T} = F.dropout({T}, p=0.1, training={b})",
    "count_call()", "STATE['calls'] = STATE.get('calls', 0) + 1", "options['scale'] = 0.5", "config.scale = {f}", "HISTORY.append({n})",
    "{=T}, {=T2} = {T}.chunk(2, dim=0)[0].repeat(2, 1), {T}",
)  # fmt: skip

DOUBTFUL_STATEMENTS = (
    "print({s})", "print('value', {S})", "print(f'{{{$n}}}', {T}.shape)", "logger.info('step %d', {n})", "logger.debug({s})", "warnings.warn({s})",
    "logging.info('here')", "{=f} = {f}\nHISTORY.append({=f})", "HISTORY.append({S}.item())", "HISTORY.append(float({S}))",
    "assert {B}, 'holds'", "assert {T}.isfinite().all()", "assert not {M}.all(), f'value {{{$S}}}'", "random.seed(0)", "torch.manual_seed(0)",
    "np.random.seed(0)", "time.sleep(0)", "torch._dynamo.graph_break()", "{=T} = {T}.detach()\n{=T}.resize_(4, 8)", "import bisect",
    "{=T} = torch.ones(4, 8)\n{=T}.requires_grad_(True)", "{=T} = {T}.detach().requires_grad_()\n({=T} * 2).sum().backward()",
    "torch.set_grad_enabled(True)", "logger.warning(f'size {{{$T}.shape}}')", "print(*{N})", "print({T}.sum().item())", "os.environ['SEEN'] = '1'",
    "{=T} = {T}\n{=T}.grad = None", "sys.stdout.write('')", "{=s} = {s}\nlogger.info({=s})", "if DEBUG:\n    print({S})", "if VERBOSE:\n    logger.info({s})",
    "if not torch.compiler.is_compiling():\n    print({S})", "{=N} = []\nfor i in {I}:\n    {=N}.append(int(i))\n{=N}.append(1)", "note({T})", "note({S}, loud=True)",
    "if {S} < -1000:\n    raise ValueError({s})", "if {T}.shape[0] > 100:\n    raise ValueError(f'too many: {{{$T}.shape[0]}}')", "SEEN.add({n})",
    "{=T} = {T}\nif {=T}.isnan().any():\n    print('nan')", "CACHE[{n}] = {T}", "{=T} = CACHE.get({n}, {T})", "STATE['last'] = {T}",
    "{=T} = torch.empty(4, 8).uniform_(0, 1) * 0", "{=T} = torch.empty(4, 8).fill_({f})", "traceback.format_exc()", "{=S} = {T}.sum()\n{=S}.retain_grad() if False else None",
    "hook = {T}.register_hook(lambda g: g) if False else None", "torch.save({T}, os.devnull) if DEBUG else None", "gc.collect()", "setattr(config, 'scale', {f})",
)  # fmt: skip

BLOCKS = (
    "if {if}:\n    {block}", "if {if}:\n    {block}\nelse:\n    {block}", "if {if}:\n    {block}\nelif {if}:\n    {block}\nelse:\n    {block}",
    "if {if}:\n    return {return}", "if {if}:\n    {block}\n    return {return}", "for {=n} in range({n}):\n    {loop}", "for _ in range({n}):\n    {loop}",
    "for i, {=T} in enumerate({L}):\n    {loop}", "for {=T}, {=n} in zip({L}, {N}):\n    {loop}", "for k, {=T} in {K}.items():\n    {loop}",
    "for {=T} in {L}:\n    {loop}", "for {=n} in {N}:\n    {loop}", "for k in {K}:\n    {loop}", "count = 0\nwhile count < {n}:\n    count += 1\n    {loop}",
    "with torch.no_grad():\n    {block}", "with torch.enable_grad():\n    {block}", "with torch.autocast('cpu', enabled=False):\n    {block}", "with section({s}):\n    {block}",
    "with Timer() as timer:\n    {block}", "with contextlib.nullcontext():\n    {block}", "with torch.set_grad_enabled({b}):\n    {block}", "with contextlib.suppress(KeyError):\n    {block}",
    "try:\n    {block}\nexcept ValueError:\n    pass", "try:\n    {block}\nfinally:\n    STATE['done'] = True", "try:\n    {block}\nexcept (KeyError, RuntimeError) as error:\n    print(error)",
    "try:\n    raise KeyError({s})\nexcept KeyError:\n    {block}", "match {s}:\n    case 'relu':\n        {block}\n    case 'gelu' | 'tanh':\n        {block}\n    case _:\n        {block}",
    "match {n}:\n    case 1:\n        {block}\n    case n if n > 2:\n        {block}", "if ({=n} := {n}) > 1:\n    {block}", "for {=T} in {L}:\n    {loop}\nelse:\n    STATE['all'] = True",
    "with torch.profiler.record_function('part'):\n    {block}", "with torch.inference_mode():\n    pass\n{=T} = {T}", "with lock:\n    STATE['locked'] = True", "for {=n} in itertools.count(1):\n    if {=n} > 2:\n        break\n    {loop}",
)  # fmt: skip

DOUBTFUL_BLOCKS = (
    "if {test}:\n    {block}", "if {test}:\n    {block}\nelse:\n    {block}", "if {test}:\n    return {return}", "while {S} > 1000:\n    {loop}", "for {=S} in {V}:\n    {loop}", "for {=V} in {T}:\n    {loop}",
    "for i in range(int({I}.max()) + 1):\n    {loop}", "for i in {I}.tolist():\n    {loop}", "count = 0\nwhile True:\n    count += 1\n    if count > 2 or {test}:\n        break\n    {loop}",
    "for {=T} in {L}:\n    if {test}:\n        continue\n    {loop}", "for {=T} in {L}:\n    if {test}:\n        break\n    {loop}", "if {test}:\n    {$T} = {T}\nelse:\n    {$T} = {T}", "if {test}:\n    {$T} = {T}",
    "try:\n    {=n} = {I}[0].item()\nexcept RuntimeError:\n    pass", "with warnings.catch_warnings():\n    {block}", "for {=T} in scaled({L}, {f}):\n    {loop}", "for i in range({I}.shape[0]):\n    {loop}",
    "with section({s}):\n    print({s})", "with Timer():\n    {=f} = {S}.item()", "for i, {=B} in enumerate({Q}):\n    {loop}", "with torch.random.fork_rng():\n    {block}", "with torch.autograd.set_detect_anomaly(False):\n    {block}",
)  # fmt: skip
