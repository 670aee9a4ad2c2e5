"""Rules about two networks that are trained in turns: which of them a loss goes back through."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...findings import Finding, rule
from ...program.algebra import Form
from ...program.gradients import is_forward, is_quiet, reaching
from ...program.program import Program
from ...program.syntax import is_constant, keyword_of, source_of
from ...program.timeline import Cycle, Event
from .step import clears_model, identity_of, is_same, models_held


@rule("code.fakes-not-detached")
def fakes_not_detached(program: Program) -> Iterator[Finding]:
    """The discriminator's loss goes back into the generator, whose graph is gone then, or whose gradients are still there
    when it is stepped."""
    for cycle in program.cycles:
        for backward in cycle.of("backward"):
            if not isinstance(backward.node, ast.Call) or keyword_of(backward.node, "inputs") is not None:
                continue
            for made in made_by_others(program, cycle, backward):
                other = used_again(program, cycle, backward, made) or left_until(program, cycle, backward, made)
                if other is not None:
                    text = source_of(made.node)
                    yield Finding(made.line, f"{text}.detach()  # for the loss of line {backward.line}", {"made": text[:60]},
                                  also=sorted({backward.line, other.line} - {made.line}))  # fmt: skip
                    return


def made_by_others(program: Program, cycle: Cycle, backward: Event) -> Iterator[Form]:
    """Forward passes with gradients, of models that the next step does not hold; a model that it holds judges them."""
    steps = steps_after(cycle, backward)
    held = [models_held(program, each) for each in steps]
    source = program.losses.root(backward.node) if isinstance(backward.node, ast.Call) else None
    if source is None or not held or not all(held):
        return
    own = frozenset().union(*held)
    for judged in reaching(program.algebra.of(source)):
        if not is_forward(program, judged) or not identity_of(program, judged) & own:
            continue
        for part in judged.parts:
            for each in reaching(part):
                known = is_forward(program, each) and not is_quiet(program, each.node)
                if known and identity_of(program, each) <= program.objects.trained() - own:
                    yield each


def steps_after(cycle: Cycle, backward: Event) -> list[Event]:
    found = []
    for each in cycle.events[cycle.events.index(backward) + 1 :]:
        if each.kind == "backward":
            break
        if each.kind == "step":
            found.append(each)
    return found


def used_again(program: Program, cycle: Cycle, backward: Event, made: Form) -> Event | None:
    """A later backward pass through the same forward pass, whose graph the first one has freed."""
    call = backward.node
    keeps = keyword_of(call, "retain_graph") if isinstance(call, ast.Call) else None
    is_kept = keeps is not None and not is_constant(keeps, False)
    if is_kept or program.function_of(made.node) is not program.function_of(call):
        return None
    for each in cycle.events[cycle.events.index(backward) + 1 :]:
        source = program.losses.root(each.node) if each.kind == "backward" and isinstance(each.node, ast.Call) else None
        if source is None or each.loops != backward.loops:
            continue
        if any(one.node is made.node for one in through(program, program.algebra.of(source))):
            return each
    return None


def through(program: Program, form: Form) -> Iterator[Form]:
    """What a loss reaches, through models too."""
    for each in reaching(form):
        if not is_quiet(program, each.node):
            yield each


def left_until(program: Program, cycle: Cycle, backward: Event, made: Form) -> Event | None:
    """The step that uses the gradients which the other network's loss has left."""
    at = cycle.events.index(backward)
    owner = identity_of(program, made)
    waiting = [each for each in cycle.of("step") if models_held(program, each) & owner]
    if not waiting or cycle.loop is None or "requires_grad" in source_of(cycle.loop):
        return None
    for each in (*cycle.events[at + 1 :], *cycle.events[:at]):
        if each.kind == "zero_grad" and any(is_same(each, one) or clears_model(program, each, one) for one in waiting):
            return None
        if each in waiting:
            return each
    return None
