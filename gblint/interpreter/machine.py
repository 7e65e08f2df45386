"""The abstract Dynamo: runs functions on abstract values, reports events to rules, and keeps what they answer."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import libcst as cst

from gblint.analysis import Interrupted
from gblint.callgraph import ROOT_KINDS, Site
from gblint.interpreter import classes, declared, externals, functions, guesses
from gblint.interpreter.dispatch import Entry, RuleTable
from gblint.interpreter.drafts import SURE, Draft, Drafts, RootLabel
from gblint.interpreter.events import Break, Call, Event
from gblint.interpreter.frame import Frame
from gblint.interpreter.functions import FunctionTree, Signature
from gblint.interpreter.handing import mark_input
from gblint.interpreter.source import Chunk, Forest
from gblint.interpreter.values import (
    CALLABLE,
    MAX_MEMBERS,
    NONE,
    Bound,
    Class,
    Compiled,
    Const,
    Environment,
    External,
    Function,
    Instance,
    Partial,
    PyModule,
    Union,
    Unknown,
    Value,
    as_tensor,
    join_all,
)
from gblint.knowledge import Knowledge
from gblint.rule_api import Context, Rule

if TYPE_CHECKING:
    from gblint.index.model import ModuleInfo
    from gblint.index.project import Dependencies, Project
    from gblint.interpreter.summaries import Summaries
    from gblint.interpreter.trials import KeptOut, Left, Trial

MAX_DEPTH = 48  # frames on the abstract stack
MAX_CONTEXTS = 4  # argument shapes a function is run with; what stands for more says `_nearest`
ROOT_BUDGET = 40_000  # statements one root may execute
EAGER_DEPTH = 14  # frames of code that Dynamo never sees (constructors, scripts)
HELPER_DEPTH = 2  # frames below the constructor of a module that nobody is seen to make


class OutOfBudget(Exception):
    """A root executed more statements than its budget; what is left of it is not analysed."""


# What follows from a break, at the same place: a break of its own.
AFTER_A_BREAK = ("mark:loop_iterator", "mark:comprehension_iterator", "mark:lost_manager", "mark:waiting_method")


class Memo:
    """What one run of a function with one shape of arguments gave.

    inputs: the function and its arguments; kept, too, because keys name objects by their addresses, which must not be
    used again.
    """

    __slots__ = ("breaks", "drafts", "inputs", "value")

    def __init__(
        self,
        value: Value,
        drafts: list[tuple[Draft, int, int]],
        breaks: Draft | None,
        inputs: tuple[Function, list[Value], dict[str, Value]],
    ) -> None:
        self.value = value
        self.drafts = drafts  # with guards and loops relative to the call
        self.breaks = breaks
        self.inputs = inputs

    @property
    def kinds(self) -> tuple[object, ...]:
        """The kinds of the arguments: few calls need them."""
        return functions.kinds(self.inputs[1], self.inputs[2])


class Machine:
    """Interprets one unit (the roots of one file) at a time.

    project: resolves names; knowledge: what torch does; table: the rules; context: what rules may ask; summaries: what
    constructors of base classes leave, kept for all units.
    passing: what is known of decorators that hand back what they get; it holds for every unit. All other state is per
    unit and dropped by `reset`.
    """

    def __init__(
        self,
        project: Project,
        knowledge: Knowledge,
        table: RuleTable,
        context: Context,
        forest: Forest,
        summaries: Summaries | None = None,
    ) -> None:
        self.project = project
        self.knowledge = knowledge
        self.table = table
        self.context = context
        self.declared = context.declared
        self.forest = forest
        self.summaries = summaries
        self.debug = False
        self.interrupted = False
        self.passing: dict[tuple[str, int], tuple[frozenset[str], Dependencies]] = {}
        self.reset()

    def reset(self) -> None:
        """Forget everything about the unit before."""
        self.drafts = Drafts()
        self.root = RootLabel("", "explicit")
        self.memo: dict[Any, dict[Any, Memo]] = {}
        self.active: list[Any] = []
        self.trees: dict[tuple[str, int], FunctionTree] = {}
        self.nested: dict[int, FunctionTree] = {}
        self.chunks: dict[tuple[str, int], Chunk] = {}
        self.signatures: dict[int, Signature] = {}
        self.globals: dict[str, Environment] = {}
        self.pending_globals: set[tuple[str, str]] = set()
        self.set_on_classes: set[str] = set()  # names of class attributes that code has set
        self.absent_globals: set[tuple[str, str]] = set()  # looked for in vain
        self.nested_functions: dict[int, Function] = {}  # functions that traced code has defined, by node
        self.closures: list[Environment] = []  # environments that hold functions which hold them
        self.class_values: dict[tuple[str, str], Class] = {}
        self.function_values: dict[tuple[str, int], Value] = {}
        self.instances: dict[Any, Instance] = {}
        self.samples: dict[Any, classes.Sample] = {}  # what constructors of modules left, by class and arguments
        self.values: dict[int, list[Value]] = {}  # of traced expressions, over all runs: what codemods go by
        self.marked: dict[cst.CSTNode, Function] = {}  # what has a mark, by the node that calls it
        self.left_out: dict[Any, list[Left]] = {}  # calls of functions that Dynamo leaves out, by function
        self.trials: dict[Any, Trial] = {}  # what they would do if it did not
        self.kept_out: dict[cst.CSTNode, list[KeptOut]] = {}  # what tests of whether it compiles keep out, by test
        self.reached: set[tuple[str, str]] = set()
        self.executed: set[tuple[str, str, int]] = set()
        self.sites: dict[tuple[str, str, cst.CSTNode], Site] = {}
        # calls of the listed functions by path and row: what codemods rewrite together with a signature; a call goes by
        # file and row as well, as chunks of the same text share their tree
        self.callers: dict[tuple[str, int], dict[tuple[str, int, cst.CSTNode], Chunk]] = {}
        self.entries: dict[str, str] = {}  # kinds of the roots by name
        self.places: dict[str, tuple[str, int]] = {}  # of functions by name
        self.unresolved: set[str] = set()
        self.rule_errors: set[str] = set()
        self.home = ""  # the folder of the unit
        self.guessing = False  # modules are being made that nobody is seen to make
        self.watched: Class | None = None
        self.looked_up: set[str] = set()  # attributes of the watched class that were read
        self.script = ""  # the file that is run as the main program
        self.compiled: list[tuple[Compiled, Frame, cst.CSTNode | None]] = []
        self.entered: set[int] = set()
        self.numbered: dict[object, tuple[int, object]] = {}  # the roots by what they are, each with its number
        self.dirty: dict[int, bool] = {}  # mark_dirty calls that are traced outside of `apply`, by node
        self.gradients = False  # something that needs a gradient was made
        self.no_grad = 0  # `no_grad` blocks around the current statement
        self.steps = 0
        self.budget = ROOT_BUDGET

    def release(self) -> None:
        """Break the cycles between the unit's values. The collector is off, and what they hold on to is large."""
        for cls in self.class_values.values():
            cls.mro = None
            cls.attrs.clear()
        for instance in self.instances.values():
            instance.attrs.clear()
        for env in (*self.globals.values(), *self.closures):
            env.names.clear()
        self.reset()

    def forget(self, touched: Callable[[str, Dependencies], bool]) -> None:
        """Drop what is known for every unit where the file that it is about, or something it rests on, was touched."""
        self.passing = {key: known for key, known in self.passing.items() if not touched(key[0], known[1])}
        if self.summaries is not None:
            self.summaries.forget(touched)

    # -- events ------------------------------------------------------------------------------------------------

    def emit(self, frame: Frame, kind: str, event: Event) -> Break | None:
        """Tell the rules of an event; record the likeliest break among their answers and return it."""
        if not frame.traced:
            return None
        return self._ask(frame, kind, self.table.by_kind[kind], event)

    def emit_call(self, frame: Frame, event: Call) -> Break | None:
        """Like `emit`, for calls (which are filtered by callee)."""
        if not frame.traced:
            return None
        entries = self.table.for_callee(event.callee)
        kind = event.callee if event.callee in AFTER_A_BREAK else "call"
        return self._ask(frame, kind, entries, event) if entries else None

    def listens(self, frame: Frame, kind: str) -> bool:
        """False if no rule would hear such an event, so that it need not be made."""
        return frame.traced and bool(self.table.by_kind[kind])

    def _ask(self, frame: Frame, kind: str, entries: list[Entry], event: Event) -> Break | None:
        best: Break | None = None
        chosen: Rule | None = None
        for rule, handler in entries:
            try:
                answer = handler(event, self.context)
            except RecursionError:  # it is the code that is nested too deeply; who runs the function knows what to do
                raise
            except Exception as error:  # a rule at fault loses its own answer, nothing else
                self.rule_errors.add(f"rule {rule.meta.code} {rule.meta.slug}: {type(error).__name__}: {error}")
                if self.debug:
                    raise
                continue
            if answer is None or answer.certainty <= 0.05:
                continue
            if answer.consequence:
                self.drafts.note(self, frame, rule, answer, answer.node or event.node, kind)
                continue
            if (
                best is None
                or chosen is None
                or answer.certainty * rule.meta.confidence > best.certainty * chosen.meta.confidence
            ):
                best, chosen = answer, rule
        if best is not None and chosen is not None:
            draft = self.drafts.record(self, frame, chosen, best, best.node or event.node, kind)
            if draft.consequence == "splits-graph" and draft.certainty >= SURE:
                if frame.iterated:
                    self._hand_over(frame, draft.node)
                self.emit_lost_manager(frame, draft.node)
        return best

    def _hand_over(self, frame: Frame, node: cst.CSTNode) -> None:
        """Dynamo resumes within a loop: tell the rules of the iterator that goes to the code that follows."""
        source = frame.iterated[-1]
        if source is not None:
            self.emit_call(frame, Call(node, "mark:loop_iterator", [source]))

    def emit_waiting(self, frame: Frame, callee: Value, node: cst.CSTNode) -> None:
        """Tell the rules of a method of a tensor in whose arguments the frame was split: it waits to be called."""
        if isinstance(callee, Bound) and isinstance(callee.function, External) and as_tensor(callee.receiver):
            name = self.knowledge.canonical(callee.function.dotted)
            if name.startswith("torch.Tensor."):
                self.emit_call(frame, Call(node, "mark:waiting_method", [], {}, callee.receiver, name=name))

    def emit_lost_manager(self, frame: Frame, node: cst.CSTNode) -> None:
        """Tell the rules that the frame was split within a manager that Dynamo cannot make anew."""
        if "lost-with" in frame.blocks and frame.fallen is None:
            self.emit_call(frame, Call(node, "mark:lost_manager"))

    # -- calling -----------------------------------------------------------------------------------------------

    def call(
        self,
        frame: Frame,
        callee: Value,
        args: list[Value],
        kwargs: dict[str, Value],
        node: cst.CSTNode,
        opaque: bool = False,
    ) -> Value:
        """The value of calling `callee`; user code is run, everything else is answered by models."""
        if isinstance(callee, Function):
            return self.call_function(frame, callee, args, kwargs, node, opaque)
        if isinstance(callee, Bound):
            if isinstance(callee.function, External):
                return externals.call(self, frame, callee.function.dotted, args, kwargs, node, callee.receiver, opaque)
            return self.call(frame, callee.function, [callee.receiver, *args], kwargs, node, opaque)
        if isinstance(callee, External):
            return externals.call(self, frame, callee.dotted, args, kwargs, node, None, opaque)
        if isinstance(callee, Class):
            return classes.construct(self, frame, callee, args, kwargs, node, opaque)
        if isinstance(callee, Instance):
            return classes.call_instance(self, frame, callee, args, kwargs, node, opaque)
        if isinstance(callee, Partial):
            return self.call(frame, callee.function, [*callee.args, *args], {**callee.kwargs, **kwargs}, node, opaque)
        if isinstance(callee, Compiled):
            return self.call_compiled(frame, callee, args, kwargs, node, opaque)
        if isinstance(callee, Union):
            return self._call_union(frame, callee, args, kwargs, node, opaque)
        from gblint.interpreter.expressions import unknown_call

        return unknown_call(self, frame, callee, args, kwargs, node)

    def _call_union(
        self, frame: Frame, callee: Union, args: list[Value], kwargs: dict[str, Value], node: cst.CSTNode, opaque: bool
    ) -> Value:
        """Modules are all tried (a ModuleList holds several kinds), so are the entries of a wide table and what a
        computed name can mean. Of a few other callables, most often backends of one operation, the first stands for
        all: following each made a check of transformers a fifth slower."""
        known = [m for m in callee.members if isinstance(m, CALLABLE)]
        modules = [m for m in known if isinstance(m, Instance)]
        if len(modules) > 1:
            known = [*modules[:4]]
        elif not callee.all and len(known) <= MAX_MEMBERS:
            known = known[:1]
        if not known:
            return Unknown("call of an unknown value")
        if len(known) == 1:
            return self.call(frame, known[0], args, kwargs, node, opaque)
        frame.guards += 1
        try:
            return join_all(self.call(frame, m, args, kwargs, node, opaque) for m in known)
        finally:
            frame.guards -= 1

    def call_compiled(
        self,
        frame: Frame,
        callee: Compiled,
        args: list[Value],
        kwargs: dict[str, Value],
        node: cst.CSTNode,
        opaque: bool,
    ) -> Value:
        """Calling a compiled callable from eager code enters a region; inside a region it is inlined."""
        self.entered.add(id(callee))
        if frame.traced and not frame.fallen:
            return self.call(frame, callee.target, args, kwargs, node, opaque)
        label = RootLabel("", "explicit", callee.fullgraph, callee)
        return self.enter_root(frame, callee.target, args, kwargs, node, label, opaque)

    def enter_root(
        self,
        frame: Frame,
        target: Value,
        args: list[Value],
        kwargs: dict[str, Value],
        node: cst.CSTNode,
        label: RootLabel,
        opaque: bool = False,
    ) -> Value:
        """Run `target` as a compiled root with these arguments; the caller's frame stays eager."""
        region = Frame(frame.module, frame.chunk, frame.env, frame.function, None, node, traced=True)
        region.fallen = self  # calls from here start frames of their own
        region.depth = frame.depth
        label.number = self.number_of(label.compiled or label)
        outer, self.root = self.root, label
        self.context.fullgraph = label.fullgraph
        try:
            return self.call(
                region,
                target,
                [mark_input(a) for a in args],
                {k: mark_input(v) for k, v in kwargs.items()},
                node,
                opaque,
            )
        finally:
            self.root = outer
            self.context.fullgraph = outer.fullgraph

    def number_of(self, root: Compiled | RootLabel) -> int:
        """Which root of the unit this is. What one line compiles is one, however often it is called or evaluated,
        unless it compiles several things."""
        key = (id(root.node), _compiled_thing(root.target)) if isinstance(root, Compiled) else id(root)
        return self.numbered.setdefault(key, (len(self.numbered), root))[0]

    def call_function(
        self,
        frame: Frame,
        function: Function,
        args: list[Value],
        kwargs: dict[str, Value],
        node: cst.CSTNode,
        opaque: bool = False,
    ) -> Value:
        """Run a function whose source is at hand, or answer from an earlier run with like arguments."""
        said = self.declared.find(functions.full_name(function)) if self.declared else None
        if said is None:
            return self._call_function(frame, function, args, kwargs, node, opaque)
        if frame.traced and declared.is_closed(said):
            declared.tell(self, frame, said, functions.full_name(function), args, kwargs, node)
            return declared.result(frame, said, node, guesses.return_guess(self, function, args))
        return declared.result(frame, said, node, self._call_function(frame, function, args, kwargs, node, opaque))

    def _call_function(
        self,
        frame: Frame,
        function: Function,
        args: list[Value],
        kwargs: dict[str, Value],
        node: cst.CSTNode,
        opaque: bool,
    ) -> Value:
        if function.mark:
            answered = functions.marked_call(self, frame, function, args, kwargs, node)
            if answered is not None:
                return answered
        identity = functions.identity(function)
        if frame.depth > MAX_DEPTH or self.active.count(identity) > 1:
            return Unknown("recursion")
        if not frame.traced and frame.eager > EAGER_DEPTH:
            return Unknown("call too deep in code that is not compiled")
        if self.guessing and not frame.traced:
            if function.name != "__init__" and frame.helpers >= self._helper_depth(frame.function):
                return Unknown("call too deep in the making of a module")
            if (
                function.name == "__init__"
                and self.summaries is not None
                and self.summaries.apply(self, function, args, kwargs)
            ):
                return NONE
        tree = functions.tree_of(self, function)
        if tree is None:
            return Unknown("source could not be parsed")
        self._note_call(frame, function, node)
        starts = frame.traced and frame.fallen is not None
        if starts:  # called by code that runs eagerly: its tensors come from outside, as those of a root do
            args, kwargs = [mark_input(a) for a in args], {k: mark_input(v) for k, v in kwargs.items()}
        key = functions.call_key(args, kwargs, frame.traced, starts)
        if opaque:
            key = (key, "opaque")
        if frame.pure:
            key = (key, "pure", frame.optional > 0)
        if frame.unlikely:
            key = (key, "unlikely")
        if self.root.fullgraph:
            key = (key, "fullgraph")
        contexts = self.memo.setdefault(functions.family(identity, args, kwargs), {})
        memo = contexts.get(key)
        if memo is None and len(contexts) >= MAX_CONTEXTS:
            memo, value = self._nearest(list(contexts.values()), functions.kinds(args, kwargs))
            self.drafts.replay(self.root, frame, node, memo.drafts, memo.breaks)
            return value
        if memo is not None:
            self.drafts.replay(self.root, frame, node, memo.drafts, memo.breaks)
            return memo.value
        self.active.append(identity)
        self.drafts.open_log(frame)
        try:
            value, _ = functions.run(self, frame, function, tree, args, kwargs, node, opaque, starts)
        finally:
            self.active.pop()
            log, breaks = self.drafts.close_log()
        contexts[key] = Memo(value, log, breaks, (function, args, kwargs))
        return value

    def _nearest(self, contexts: list[Memo], kinds: object) -> tuple[Memo, Value]:
        """The earlier run that stands for one more, and what it gives: that of a run with arguments of the same kinds,
        else nothing unless all runs gave alike."""
        for memo in contexts:
            if memo.kinds == kinds:
                return memo, memo.value
        alike = len({functions.kind(memo.value) for memo in contexts}) == 1
        return contexts[0], contexts[0].value if alike else Unknown("called in too many ways")

    def _helper_depth(self, function: Function | None) -> int:
        """How many frames below a guessed constructor are followed; a framework's own methods do little that is
        seen."""
        if function is None or function.owner is None or os.path.dirname(function.module.path) == self.home:
            return HELPER_DEPTH
        return 1

    def _note_call(self, frame: Frame, function: Function, node: cst.CSTNode) -> None:
        """Keep the root or the call for the call graph: of a call seen several times, at its least guarded."""
        if function.info is not None and not self.guessing:
            place = frame.chunk.module.path, frame.chunk.first, node
            self.callers.setdefault((function.module.path, function.info.start), {})[place] = frame.chunk
        if not frame.traced:
            return
        name = functions.full_name(function)
        if name not in self.places:
            start = function.info.start if function.info is not None else function.chunk.first  # type: ignore[union-attr]
            self.places[name] = (function.module.path, start)
        if frame.function is None or frame.fallen is self:
            self.entries[name] = min(self.root.kind, self.entries.get(name, self.root.kind), key=ROOT_KINDS.index)
            return
        if function.info is not None and name != self.root.name:  # a root in a decorator's wrapper is called by that
            self.reached.add((function.module.path, function.qualname))
        caller = functions.full_name(frame.function)
        loops, guards = frame.loops, frame.guards
        if frame.caller is not None:
            loops, guards = loops - frame.caller.loops, guards - frame.caller.guards
        old = self.sites.get((caller, name, node))
        if old is not None:
            loops, guards = max(old.loops, loops), min(old.guards, guards)
        self.sites[caller, name, node] = Site(caller, name, loops, guards)

    # -- names -------------------------------------------------------------------------------------------------

    def global_env(self, module: ModuleInfo) -> Environment:
        """The global variables of a module evaluated so far."""
        env = self.globals.get(module.path)
        if env is None:
            env = self.globals[module.path] = Environment({})
        return env

    def load_global(self, module: ModuleInfo, name: str) -> Value | None:
        """The value of a module-level name, evaluated on first use; None if the module has no such name."""
        env = self.global_env(module)
        if name in env.names:
            return env.names[name]
        if name == "__name__":
            return Const("__main__" if module.path == self.script else module.name)
        key = (module.path, name)
        if key in self.absent_globals:
            self.project.note_missing(name)
            return None
        if key in self.pending_globals:
            return Unknown(f"{name} refers to itself")
        self.pending_globals.add(key)
        try:
            value = self._evaluate_global(module, name)
        finally:
            self.pending_globals.discard(key)
        if value is None:
            self.absent_globals.add(key)
            self.project.note_missing(name)
        if value is not None:
            env.names[name] = value
        return value

    def _evaluate_global(self, module: ModuleInfo, name: str) -> Value | None:
        from gblint.interpreter.globals import evaluate

        return evaluate(self, module, name)

    def module_attr(self, module: ModuleInfo, name: str) -> Value | None:
        """An attribute of a Python module: a global of it, or one of its submodules."""
        value = self.load_global(module, name)
        if value is not None:
            return value
        found = self.project.find(f"{module.name}.{name}", module)
        return PyModule(found) if found is not None else None

    def wants_gradient(self) -> bool:
        """Whether autograd records what runs now; of a root nobody calls it is assumed."""
        return not self.no_grad and (self.gradients or self.root.kind != "explicit")

    # -- budget ------------------------------------------------------------------------------------------------

    def step(self) -> None:
        """Count one statement. Raises OutOfBudget when the root has used up its share, Interrupted if another thread
        has said so."""
        self.steps += 1
        if self.steps > self.budget:
            raise OutOfBudget
        if self.interrupted:
            raise Interrupted


def _compiled_thing(target: Value) -> object:
    """What is the same of a compiled target each time its line is evaluated."""
    if isinstance(target, Bound):
        return _compiled_thing(target.receiver), _compiled_thing(target.function)
    if isinstance(target, Function):
        return functions.identity(target)
    if isinstance(target, Instance):
        return (target.cls.module.path, target.cls.qualname) if target.cls is not None else target.base
    return type(target)
