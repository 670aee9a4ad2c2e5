"""Rules about the loss scale of fp16: how often gradients are unscaled, and what is read of them before."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...findings import Finding, rule
from ...program.program import Program
from ...program.syntax import line_of, name_called, receiver_of, source_of
from ...program.timeline import Cycle, Event
from .step import by_scaler, counts_by_modulo, is_scaled

MEASURES = ("norm", "vector_norm", "_foreach_norm", "get_total_norm", "linalg_norm")


def unscaled(program: Program, event: Event) -> frozenset[str]:
    """The optimizer that is unscaled, with the scaler that does it, by who made them."""
    call = event.node
    if not isinstance(call, ast.Call) or not call.args or not program.objects.is_scaler(receiver_of(call)):
        return frozenset()
    scalers = program.objects.identity(receiver_of(call))
    return frozenset(f"{one} by {other}" for one in program.objects.identity(call.args[0]) for other in scalers)


@rule("code.unscaled-twice")
def unscaled_twice(program: Program) -> Iterator[Finding]:
    """A second `scaler.unscale_(optimizer)` before `scaler.update()`: PyTorch raises."""
    for cycle in program.cycles:
        passes = [each for each in cycle.of("unscale") if unscaled(program, each)]
        found = next(twice_in_one_step(program, cycle, passes), None) or next(each_pass(program, cycle, passes), None)
        if found is not None:
            yield found


def twice_in_one_step(program: Program, cycle: Cycle, passes: list[Event]) -> Iterator[Finding]:
    for place, second in enumerate(passes):
        for first in passes[:place]:
            between = cycle.events[cycle.events.index(first) + 1 : cycle.events.index(second)]
            if any(each.kind == "scaler_update" for each in between) or first.loops != second.loops:
                continue
            if unscaled(program, first) & unscaled(program, second) and both_run(program, cycle, first, second):
                yield Finding(second.line, "", {"how": f"line {first.line} has done it before"}, also=[first.line])


def both_run(program: Program, cycle: Cycle, first: Event, second: Event) -> bool:
    """Whether one step can meet both: none is the other branch of the other's test, and no test asks what was done."""
    one, other = first.tests(cycle.loop, program), second.tests(cycle.loop, program)
    if any((text, not holds) in other for text, holds in one):
        return False
    return not any("unscal" in text or text == "except" for text, _ in one | other)


def each_pass(program: Program, cycle: Cycle, passes: list[Event]) -> Iterator[Finding]:
    """Unscaled with each micro-batch, and the scale is updated every few of them."""
    updates = cycle.of("scaler_update")
    if cycle.loop is None or not updates:
        return
    for each in passes:
        tests = each.tests(cycle.loop, program)
        inner = [update for update in updates if len(update.loops) < len(each.loops)]
        rarer = [update for update in updates if is_rarer(program, cycle, update, tests)]
        if len(inner) == len(updates) or len(rarer) == len(updates):
            how = "it runs with each micro-batch, and update() every few of them"
            yield Finding(each.line, "", {"how": how}, also=[updates[0].line])


def is_rarer(program: Program, cycle: Cycle, update: Event, tests: frozenset[tuple[str, bool]]) -> bool:
    counted = any(
        each.how in ("if", "continue") and counts_by_modulo(each.test) and (ast.unparse(each.test), each.holds) not in tests
        for each in update.at.guards
    )
    return counted and update.tests(cycle.loop, program) > tests


@rule("code.scaled-norm-read")
def scaled_norm_read(program: Program) -> Iterator[Finding]:
    """A gradient norm is taken between `scaler.scale(loss).backward()` and `unscale_()`: it is the scale's size."""
    for cycle in program.cycles:
        steps = [each for each in cycle.of("step") if by_scaler(program, each)]
        scaled = [each for each in cycle.of("backward") if isinstance(each.node, ast.Call) and is_scaled(program, each.node)]
        if not steps or not scaled or "get_scale" in program.names_called or cycle.loop is None:
            continue
        last = scaled[-1]
        ends = [each for each in cycle.of("unscale", "step") if cycle.events.index(each) > cycle.events.index(last)]
        read = read_between(program, last, ends[0]) if ends else None
        if read is not None:
            scaler = source_of(receiver_of(steps[0].node)) if isinstance(steps[0].node, ast.Call) else "scaler"
            optimizer = source_of(steps[0].node.args[0]) if isinstance(steps[0].node, ast.Call) else "optimizer"
            corrected = f"{scaler}.unscale_({optimizer})\n{program.line_text(read)}"
            yield Finding(read, corrected, also=sorted({ends[0].line, last.line} - {read}))


def read_between(program: Program, backward: Event, end: Event) -> int | None:
    """The line between both, in the same block, that takes a norm of gradients."""
    if backward.at.callers != end.at.callers:
        return None
    first = program.statement_of(backward.node)
    holder = program.nodes.parents.get(first)
    held: list[list[ast.AST]] = [getattr(holder, name, []) for name in ("body", "orelse")]
    body = next((each for each in held if first in each), [])
    last = [place for place, each in enumerate(body) if each is end.node or program.nodes.encloses(each, end.node)]
    for statement in body[body.index(first) + 1 : last[0] if last else 0]:
        if takes_norm(program, statement):
            return line_of(statement)
        for call in program.calls_in(statement):
            run = program.objects.function_run(call)
            if run is not None and takes_norm(program, run) and "unscale_" not in source_of(run):
                return call.lineno
    return None


def takes_norm(program: Program, node: ast.AST) -> bool:
    reads = any(isinstance(each, ast.Attribute) and each.attr == "grad" for each in ast.walk(node))
    return reads and any(isinstance(each, ast.Call) and name_called(each) in MEASURES for each in ast.walk(node))
