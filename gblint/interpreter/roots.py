"""Running the roots of one file: what it compiles by name, its modules' forwards, or every function in it."""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING

import libcst as cst

from gblint.interpreter import classes, modules
from gblint.interpreter.drafts import RootLabel
from gblint.interpreter.frame import Frame
from gblint.interpreter.functions import chunk_of, contains_yield, full_name, method_value, tree_of
from gblint.interpreter.globals import class_value
from gblint.interpreter.guesses import parameter_guess
from gblint.interpreter.machine import Machine, OutOfBudget
from gblint.interpreter.source import Chunk, Tree
from gblint.interpreter.statements import execute_statement
from gblint.interpreter.values import (
    Bound,
    Class,
    Compiled,
    External,
    Function,
    Instance,
    Partial,
    Union,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from gblint.index.model import FunctionInfo, ModuleInfo

MAX_CLOSURES = (
    8  # of one nested function that compiles itself: each run of what is around it, or of itself, makes another
)
_NOWHERE = cst.Name("_")
_EMPTY = Tree(cst.Module([]), 0, "")


class RootRun:
    """Runs roots on a machine and counts them.

    by_script: the file is a script, and what it compiles says what is compiled in its project. internal: errors of
    gblint itself, one message each; a root that fails loses only its own findings. cut: roots that ran out of budget.
    """

    def __init__(self, machine: Machine, module: ModuleInfo) -> None:
        self.machine = machine
        self.module = module
        machine.home = os.path.dirname(module.path)
        self.frame = Frame(module, Chunk(module, 1, _EMPTY), machine.global_env(module))
        self.internal: list[str] = []
        self.counts = {"explicit": 0, "assumed": 0, "guessed": 0}
        self.cut = 0
        self.unresolved_roots = 0
        self.by_script = False

    # -- explicit roots --------------------------------------------------------------------------------------------

    def explicit(self) -> None:
        """Everything the file compiles by name: run it as a program, then its compiling functions, then whatever was
        compiled but never called."""
        machine, module = self.machine, self.module
        if module.is_script or any(not s.function for s in module.compile_sites):
            machine.script = module.path
            self._guarded(module.name, self._run_program)
            self.by_script = any(self._speaks(c.target) for c, frame, _ in machine.compiled if frame is not None)
        for site in module.compile_sites:
            if site.function:
                self._guarded(
                    f"{module.name}.{site.function}", lambda name=site.function: self._compiling_function(name)
                )
        self._finish_compiled()

    def _speaks(self, target: Value) -> bool:
        """Whether compiling this says that other files' modules are not compiled. A module of a package that compiles
        a class of its own when it is run tries that out: it knows nothing of the rest of the package."""
        if not _resolved(target):
            return False
        of_package = "." in self.module.name or self.module.path.endswith("__init__.py")
        return not (of_package and _module_of(target) is self.module)

    def _run_program(self) -> None:
        for start, end, kind in self.module.statements:
            if kind != "code":
                continue
            chunk = chunk_of(self.machine, self.module, start, end)
            if chunk is None:
                continue
            self.frame.chunk = chunk
            for statement in chunk.body:
                execute_statement(self.machine, self.frame, statement)

    def _compiling_function(self, qualname: str) -> None:
        """Load a decorated function, or run (eagerly) the function that calls torch.compile."""
        info = self._function(qualname)
        if info is None:
            return
        value = self._value(info)
        if isinstance(value, Compiled) or (
            info.qualname in {q for p, q, _ in self.machine.executed if p == self.module.path}
        ):
            return
        self._enter(value, info, RootLabel("", "explicit"), eager=True)

    def _finish_compiled(self) -> None:
        """What was compiled and never called gets guessed arguments."""
        machine = self.machine
        done, counted = 0, set[int]()
        guessed: Counter[int] = Counter()
        while done < len(machine.compiled):
            compiled, _, _ = machine.compiled[done]
            done += 1
            if id(compiled) in machine.entered:
                counted.add(machine.number_of(compiled))
                continue
            machine.entered.add(id(compiled))
            if not _resolved(compiled.target):
                self.unresolved_roots += 1
                continue
            function = _plain_function(compiled.target)
            if function is not None and function.info is None:
                guessed[id(function.node)] += 1
                if guessed[id(function.node)] > MAX_CLOSURES:
                    continue
            counted.add(machine.number_of(compiled))
            label = RootLabel("", "explicit", compiled.fullgraph, compiled)
            self._guarded(
                self.module.name,
                lambda target=compiled.target, label=label: self.guessed_call(target, label),
            )
        self.counts["explicit"] += len(counted)

    def named(self, qualname: str) -> bool:
        """A root given by name in the configuration. False if the file has no such function."""
        info = self._function(qualname)
        if info is None and qualname in self.module.classes:
            self.counts["explicit"] += 1
            self._guarded(qualname, lambda: self._forward_of(qualname, RootLabel("", "explicit")))
            return True
        if info is None:
            return False
        self.counts["explicit"] += 1
        self._guarded(qualname, lambda: self._enter(self._value(info), info, RootLabel("", "explicit")))
        return True

    # -- assumed and guessed roots ---------------------------------------------------------------------------------

    def assumed(self) -> None:
        """The forward of every module class that no other root has reached, later classes (the whole models) first."""
        for qualname, info in sorted(self.module.classes.items(), key=lambda item: -item[1].start):
            if not info.methods and not info.bases:
                continue
            self._guarded(
                f"{self.module.name}.{qualname}", lambda name=qualname: self._forward_of(name, RootLabel("", "assumed"))
            )

    def _forward_of(self, qualname: str, label: RootLabel) -> None:
        machine = self.machine
        cls = class_value(machine, self.module, qualname)
        if cls is None or not classes.is_module_class(machine, cls):
            return
        forward = classes.class_attr(machine, cls, "forward")
        function = classes.undecorated(machine, cls, "forward") or _plain_function(forward)
        if forward is None or function is None:
            return
        if label.kind == "assumed":
            if (function.module.path, function.qualname) in machine.reached and "forward" in cls.info.methods:
                return
            if "forward" not in cls.info.methods and self._adds_little(cls, function):
                return
            self.counts["assumed"] += 1
        instance = modules.example(machine, cls, self.frame)
        self._run(Bound(forward, instance), function, label, skip=1)

    def _adds_little(self, cls: Class, forward: Function) -> bool:
        """Whether a class that inherits its forward is as good as run where that stands: it has no methods, or only a
        constructor (what that puts in has a forward of its own) and the other file is one of the project. A class that
        names the modules to be made of (`cell = nn.LSTM`) adds them."""
        if self._names_parts(cls):
            return False
        own = cls.info.methods.keys()
        elsewhere = forward.module is not self.module and self.machine.project.owns(forward.module.path)
        return not own or (elsewhere and own == {"__init__"})

    def _names_parts(self, cls: Class) -> bool:
        assigned = (name for name, found in cls.info.bindings.items() if found[-1].kind == "assign")
        return any(_is_module_class(self.machine, classes.class_attr(self.machine, cls, name)) for name in assigned)

    def guessed(self) -> None:
        """Every function and method that no other root has executed."""
        traced = {q for p, q in self.machine.reached if p == self.module.path}
        for info in self.module.functions:
            name = info.qualname.rpartition(".")[2]
            if info.is_generator:
                continue  # Dynamo skips the frame of a generator function: there is no root to speak of
            if info.qualname in traced or (name.startswith("__") and name != "__call__"):
                continue
            self.counts["guessed"] += 1
            self._guarded(f"{self.module.name}.{info.qualname}", lambda info=info: self._guess(info))
        for function in self._never_called():
            self.counts["guessed"] += 1
            self._guarded(full_name(function), lambda f=function: self._run(f, f, RootLabel("", "guessed"), skip=0))

    def _never_called(self) -> list[Function]:
        """Functions that others have made and handed on, and that nothing was seen to call."""
        called = {q for p, q, _ in self.machine.executed if p == self.module.path}
        return [
            function
            for function in self.machine.nested_functions.values()
            if function.module is self.module and function.qualname not in called and not _yields(function)
        ]

    def _guess(self, info: FunctionInfo) -> None:
        if (self.module.path, info.qualname) in self.machine.reached:
            self.counts["guessed"] -= 1
            return
        self._enter(self._value(info), info, RootLabel("", "guessed"))

    # -- helpers ---------------------------------------------------------------------------------------------------

    def _function(self, qualname: str) -> FunctionInfo | None:
        found = [f for f in self.module.functions if f.qualname == qualname]
        return found[-1] if found else None

    def _value(self, info: FunctionInfo) -> Value:
        owner = class_value(self.machine, self.module, info.owner) if info.owner else None
        return method_value(self.machine, owner, self.module, info)

    def _enter(self, value: Value, info: FunctionInfo, label: RootLabel, eager: bool = False) -> None:
        """Run a function or method with guessed arguments."""
        target = value.target if isinstance(value, Compiled) else value
        owner = class_value(self.machine, self.module, info.owner) if info.owner else None
        function = Function(self.module, info.qualname, info, owner=owner)
        if _plain_function(target) is None:
            target = function
        kind = classes._binding_kind(function)
        if info.owner and kind != "static":
            receiver = self._receiver(info, kind)
            self._run(Bound(target, receiver), function, label, skip=1, eager=eager)
        else:
            self._run(target, function, label, skip=0, eager=eager)

    def _receiver(self, info: FunctionInfo, kind: str) -> Value:
        cls = class_value(self.machine, self.module, info.owner)
        if cls is None:
            return Unknown("self")
        if kind == "class":
            return cls
        return modules.example(self.machine, cls, self.frame)

    def guessed_call(self, target: Value, label: RootLabel) -> None:
        """Call a compiled target nobody was seen to call."""
        if isinstance(target, Instance):
            method = classes.class_attr(self.machine, target.cls, "forward") if target.cls is not None else None
            function = _plain_function(method)
            if function is not None:
                self._run(target, function, label, skip=1)
            return
        if isinstance(target, Union):
            for member in target.members[:2]:
                self.guessed_call(member, label)
            return
        function = _plain_function(target)
        if function is not None:
            skip = 1 if isinstance(target, Bound) else 0
            if (
                isinstance(target, Bound)
                and isinstance(target.receiver, Instance)
                and target.receiver.cls is not None
                and function.name == "forward"
            ):
                target = target.receiver
            self._run(target, function, label, skip)

    def _run(self, target: Value, function: Function, label: RootLabel, skip: int, eager: bool = False) -> None:
        machine = self.machine
        tree = tree_of(machine, function)
        if tree is None:
            return
        label.name = full_name(function)
        names = tree.signature.positional[skip:]
        forward = function.name == "forward"
        kwargs = {n: parameter_guess(machine, function, tree, n, forward) for n in (*names, *tree.signature.keyword)}
        opaque = False
        machine.steps = 0
        if eager:
            machine.call(self.frame, target, [], kwargs, _NOWHERE, opaque)
            return
        machine.enter_root(self.frame, target, [], kwargs, _NOWHERE, label)

    def _guarded(self, what: str, action: object) -> None:
        machine = self.machine
        try:
            action()  # type: ignore[operator]
        except OutOfBudget:
            self.cut += 1
        except RecursionError:
            self.cut += 1
        except Exception as error:  # one broken root must not cost the others
            self.internal.append(f"{what}: {type(error).__name__}: {error}")
            if machine.debug:
                raise
        finally:
            machine.active.clear()
            machine.drafts.forget_logs()
            machine.steps = 0


def _is_module_class(machine: Machine, value: Value | None) -> bool:
    if isinstance(value, External):
        return machine.knowledge.what(value.dotted) == "module-class"
    return isinstance(value, Class) and classes.is_module_class(machine, value)


def _yields(function: Function) -> bool:
    return isinstance(function.node, cst.FunctionDef) and contains_yield(function.node.body)


def _plain_function(value: Value | None) -> Function | None:
    if isinstance(value, Function):
        return value
    if isinstance(value, Bound):
        return _plain_function(value.function)
    if isinstance(value, Compiled):
        return _plain_function(value.target)
    if isinstance(value, Partial):
        return _plain_function(value.function)
    return None


def _module_of(target: Value) -> ModuleInfo | None:
    """The file that a compiled thing is written in; None if it is torch's own or several."""
    if isinstance(target, Bound) and isinstance(target.receiver, Instance):
        return _module_of(target.receiver)
    if isinstance(target, Instance):
        return target.cls.module if target.cls is not None else None
    function = _plain_function(target)
    return function.module if function is not None else None


def _resolved(target: Value) -> bool:
    if isinstance(target, Union):
        return any(_resolved(m) for m in target.members)
    if isinstance(target, Instance):
        return target.cls is not None or target.base.startswith("torch.nn.")
    return _plain_function(target) is not None or isinstance(target, Bound)
