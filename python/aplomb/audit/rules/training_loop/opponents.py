"""Rules about two networks that are trained in turns: which of them a loss goes back through."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...findings import Finding, rule
from ...program.algebra import Form
from ...program.gradients import is_forward, is_quiet, reaching
from ...program.objects import OPTIMIZERS
from ...program.program import Program
from ...program.syntax import is_constant, keyword_of, last_name, receiver_of, source_of
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


# --- whose weights


@rule("code.optimizer-of-other-model")
def optimizer_of_other_model(program: Program) -> Iterator[Finding]:
    """Two optimizers are given the weights of one model, and another model that runs in the loop is in none."""
    made = [each for each in program.objects.optimizers_made() if program.objects.held(each[0])]
    if "add_param_group" in program.names_called or len(made) < 2:
        return
    forgotten = untrained(program)
    for at, (call, target) in enumerate(made):
        twins = [
            each
            for each in made[at + 1 :]
            if program.objects.held(each[0]) == program.objects.held(call) and source_of(each[1]) != source_of(target)
        ]
        if not twins or not forgotten or program.is_conditional(twins[0][0], program.function_of(twins[0][0])):
            continue
        model = min(forgotten, key=lambda each: each.lineno)
        pair = ((call, target), twins[0])
        wrong, holder = max(pair, key=lambda each: (alike(last_name(each[1]), last_name(model)), each[0].lineno))
        held = source_of(program.objects.parameters_in(wrong)[0])
        corrected = source_of(program.statement_of(wrong)).replace(f"{held}.", f"{source_of(model)}.")
        values = {"optimizer": source_of(holder), "held": held, "model": source_of(model)}
        also = sorted({pair[0][0].lineno, pair[1][0].lineno, model.lineno} - {wrong.lineno})
        yield Finding(wrong.lineno, corrected, values, also=also)
        return


def untrained(program: Program) -> list[ast.expr]:
    """Models made here that run beside a backward pass and that no optimizer holds; what is frozen or copied left out."""
    trained = program.objects.trained()
    trained |= frozenset().union(*(program.objects.held(call) for call in program.calls if is_optimizer(program, call)))
    frozen: frozenset[str] = frozenset()
    for call in program.calls_to("requires_grad_", "load_state_dict", "deepcopy", "freeze"):
        held = call.args[0] if call.args and "state_dict" not in source_of(call.func) else receiver_of(call)
        frozen |= program.objects.identity(held) | program.objects.identity(receiver_of(call))
    found = []
    for cycle in program.cycles:
        for event in cycle.of("forward") if cycle.of("backward") else []:
            ran = event.node
            if not isinstance(ran, ast.Call) or event.subjects & (trained | frozen) or event.at.callers:
                continue
            parts = program.makers.parts_of(ran.func) or []
            if any(program.makers.is_layer(each) for each in parts) and not any("grad" in one for one in event.at.contexts):
                found.append(ran.func)
    return found


def is_optimizer(program: Program, call: ast.Call) -> bool:
    return program.makers.class_name(call) in OPTIMIZERS


def alike(one: str, other: str) -> int:
    """How many letters two names begin or end with in common: `optimizerG` and `netG`, `gen_opt` and `gen`."""

    def begun(first: str, second: str) -> int:
        return next((at for at, (a, b) in enumerate(zip(first, second)) if a != b), min(len(first), len(second)))

    one, other = one.lower(), other.lower()
    return max(begun(one, other), begun(one[::-1], other[::-1]))
