"""Timeline: what a training program does, in the order in which it does it.

Statements are followed through the functions and methods of the file, so that a step that stands in a helper counts where
the helper is called: forward, loss, backward, unscale, clip, step, schedule, zero_grad, train() and eval(), collectives,
ways out of a loop. Every event knows the loops around it (those of the callers too), the tests under which it runs, and
what it is done to.

    for timeline in program.timelines:
        for cycle in timeline.cycles:            # one a loop that holds an optimizer's step
            [event.kind for event in cycle.events]
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from .names import Names
from .objects import COLLECTIVES, COMMON, GATHERING, Objects
from .source import Source
from .syntax import Function, dotted

MOST_EVENTS = 4000
DEEP = 5  # calls into each other
CONTEXTS = ("no_grad", "inference_mode", "autocast", "join", "Join", "no_sync", "enable_grad", "main_process_first")
LEAVES = (ast.Continue, ast.Break, ast.Return, ast.Raise)


@dataclass(frozen=True)
class Guard:
    """A test under which something runs; `how`: an `if` around it, or an earlier `continue` or way out behind it."""

    test: ast.AST
    holds: bool
    how: str = "if"  # if | continue | exit | error


@dataclass(frozen=True)
class Surroundings:
    loops: tuple[ast.AST, ...] = ()  # the outermost first
    guards: tuple[Guard, ...] = ()
    contexts: tuple[str, ...] = ()
    callers: tuple[ast.AST, ...] = ()  # calls of functions of this file, the outermost first

    def inside(self, **more: object) -> Surroundings:
        held = {"loops": self.loops, "guards": self.guards, "contexts": self.contexts, "callers": self.callers}
        return Surroundings(**{name: (*value, *more.get(name, ())) for name, value in held.items()})  # type: ignore


@dataclass(frozen=True)
class Event:
    kind: str
    node: ast.AST
    at: Surroundings
    subjects: frozenset[str] = field(default_factory=frozenset)  # what it is done to, by who made it

    @property
    def line(self) -> int:
        return getattr(self.node, "lineno", 0)

    @property
    def loops(self) -> tuple[ast.AST, ...]:
        return self.at.loops

    def tests(self, loop: ast.AST | None, source: Source) -> frozenset[tuple[str, bool]]:
        """The tests inside a loop under which it runs, ways out of the loop left out."""
        found = set()
        for each in self.at.guards:
            within = loop is None or source.nodes.encloses(loop, each.test) or self._is_called_in(loop, each, source)
            if within and each.how in ("if", "continue", "error"):
                found.add((ast.unparse(each.test) if each.how != "error" else "except", each.holds))
        return frozenset(found)

    def _is_called_in(self, loop: ast.AST, guard: Guard, source: Source) -> bool:
        """Whether the test stands in a function that is called inside the loop."""
        calls = [call for call in self.at.callers if source.nodes.encloses(loop, call)]
        return bool(calls) and source.function_of(guard.test) is not source.function_of(loop)


@dataclass(frozen=True)
class Cycle:
    """A loop that an optimizer steps in, with its events in order. `loop` is None where a function is one step that
    something else repeats."""

    loop: ast.AST | None
    events: tuple[Event, ...]
    timeline: Timeline

    def of(self, *kinds: str) -> list[Event]:
        return [each for each in self.events if each.kind in kinds]


class Timeline:
    """The events of one root: the module, or a function that nothing in this file calls."""

    def __init__(self, source: Source, root: ast.AST, events: list[Event]):
        self.source = source
        self.root = root
        self.events = events

    @cached_property
    def cycles(self) -> list[Cycle]:
        found: list[Cycle] = []
        loops: list[ast.AST | None] = []
        for step in self.events:
            if step.kind != "step":
                continue
            loop = step.loops[-1] if step.loops else None
            if loop not in loops:
                loops.append(loop)
        for loop in loops:
            inside = [each for each in self.events if (loop in each.loops if loop is not None else not each.loops)]
            if any(each.kind == "backward" for each in inside):
                found.append(Cycle(loop, tuple(inside), self))
        return found

    def of(self, *kinds: str) -> list[Event]:
        return [each for each in self.events if each.kind in kinds]


class Walker:
    """Goes through the statements of one root."""

    def __init__(self, source: Source, names: Names, objects: Objects):
        self.source = source
        self.names = names
        self.objects = objects
        self.events: list[Event] = []
        self.entered: set[ast.AST] = set()

    def root(self, root: ast.AST) -> Timeline:
        self.events = []
        contexts = tuple(self._decorating(root)) if isinstance(root, Function) else ()
        self._block(getattr(root, "body", []), Surroundings(contexts=contexts))
        return Timeline(self.source, root, self.events)

    # --- statements

    def _block(self, statements: Iterable[ast.stmt], at: Surroundings) -> None:
        for statement in statements:
            if len(self.events) > MOST_EVENTS:
                return
            self._statement(statement, at)
            left = self._left_behind(statement)
            if left is not None:
                at = at.inside(guards=(left,))

    @staticmethod
    def _left_behind(statement: ast.stmt) -> Guard | None:
        """`if test: continue`: what stands behind it runs where the test does not hold."""
        if not isinstance(statement, ast.If) or statement.orelse or not isinstance(statement.body[-1], LEAVES):
            return None
        return Guard(statement.test, False, "continue" if isinstance(statement.body[-1], ast.Continue) else "exit")

    def _statement(self, node: ast.stmt, at: Surroundings) -> None:
        if isinstance(node, (*Function, ast.ClassDef)):
            return
        if isinstance(node, (ast.For, ast.AsyncFor)):
            self._expression(node.iter, at)
            self._block(node.body, at.inside(loops=(node,)))
            self._block(node.orelse, at)
        elif isinstance(node, ast.While):
            self._expression(node.test, at.inside(loops=(node,)))
            self._block(node.body, at.inside(loops=(node,)))
            self._block(node.orelse, at)
        elif isinstance(node, ast.If):
            self._expression(node.test, at)
            self._block(node.body, at.inside(guards=(Guard(node.test, True),)))
            self._block(node.orelse, at.inside(guards=(Guard(node.test, False),)))
        elif isinstance(node, (ast.With, ast.AsyncWith)):
            self._with(node, at)
        elif isinstance(node, ast.Try) or node.__class__.__name__ == "TryStar":
            self._try(node, at)  # type: ignore[arg-type]
        else:
            self._plain(node, at)

    def _plain(self, node: ast.stmt, at: Surroundings) -> None:
        for child in ast.iter_child_nodes(node):
            self._expression(child, at)
        if isinstance(node, (ast.Break, ast.Continue, ast.Return)):
            self._add(node.__class__.__name__.lower(), node, at)
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Attribute) and target.attr == "grad":
                    self._add("zero_grad", node, at, frozenset({"*"}))

    def _with(self, node: ast.With | ast.AsyncWith, at: Surroundings) -> None:
        contexts = []
        for item in node.items:
            self._expression(item.context_expr, at)
            called = item.context_expr.func if isinstance(item.context_expr, ast.Call) else item.context_expr
            name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
            name = self.source.aliases.get(name, name).rsplit(".", 1)[-1]
            if name in CONTEXTS:
                contexts.append(name)
        self._block(node.body, at.inside(contexts=tuple(contexts)))

    def _try(self, node: ast.Try, at: Surroundings) -> None:
        self._block(node.body, at)
        for handler in node.handlers:
            self._block(handler.body, at.inside(guards=(Guard(handler, True, "error"),)))
        self._block(node.orelse, at)
        self._block(node.finalbody, at)

    # --- expressions, in the order in which they are evaluated

    def _expression(self, node: ast.AST, at: Surroundings) -> None:
        if isinstance(node, (ast.Lambda, *Function, ast.ClassDef)) or len(self.events) > MOST_EVENTS:
            return
        for child in ast.iter_child_nodes(node):
            self._expression(child, at)
        if isinstance(node, ast.Call):
            self._call(node, at)

    def _call(self, call: ast.Call, at: Surroundings) -> None:
        kind, subjects = self.objects.event_of(call)
        if kind in ("step", "closure"):
            for argument in [*call.args, *(each.value for each in call.keywords)]:
                self._given_function(argument, at, call)
        if kind:
            self._add(kind, call, at, subjects)
            return
        function = self.objects.function_run(call)
        if function is not None and len(at.callers) < DEEP and not self._is_in(function, at):
            self.entered.add(function)
            inner = at.inside(callers=(call,), contexts=tuple(self._decorating(function)))
            self._block(function.body, inner)

    def _given_function(self, argument: ast.AST, at: Surroundings, call: ast.Call) -> None:
        """`optimizer.step(closure)`."""
        binding = self.names.given(argument) if isinstance(argument, ast.Name) else None
        if binding is not None and isinstance(binding.node, Function) and not self._is_in(binding.node, at):
            self.entered.add(binding.node)
            self._block(binding.node.body, at.inside(callers=(call,)))

    def _is_in(self, function: ast.AST, at: Surroundings) -> bool:
        return any(self.objects.function_run(call) is function for call in at.callers if isinstance(call, ast.Call))

    @staticmethod
    def _decorating(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[str]:
        for each in function.decorator_list:
            name = dotted(each.func if isinstance(each, ast.Call) else each).rsplit(".", 1)[-1]
            if name in CONTEXTS:
                yield name

    def _add(self, kind: str, node: ast.AST, at: Surroundings, subjects: frozenset[str] = frozenset()) -> None:
        self.events.append(Event(kind, node, at, subjects))


def timelines_of(source: Source, names: Names, objects: Objects) -> list[Timeline]:
    """That of the module, then one a function that nothing before it has entered; none where nothing trains, evaluates or
    meets other ranks."""
    if not source.names_called & {"backward", "manual_backward", "eval", *COLLECTIVES, *COMMON, *GATHERING}:
        return []
    walker = Walker(source, names, objects)
    found = [walker.root(source.tree)]
    for function in source.functions:
        if function in walker.entered:
            continue
        timeline = walker.root(function)
        if timeline.events:
            found.append(timeline)
    return found
