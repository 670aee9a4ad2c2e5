"""Rules about what belongs to another optimizer: gradients that are clipped for it, a schedule that moves its rate."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...findings import Finding, rule
from ...program.objects import OPTIMIZERS
from ...program.program import Program
from ...program.syntax import last_name, line_of, source_of
from ...program.timeline import Cycle, Event

#: Words of names that say what kind of thing it is, not whose.
OF_OPTIMIZERS = ("opt", "optim", "optimizer", "optimiser")
OF_SCHEDULES = ("sched", "scheduler", "schedule", "lr", "schedulers", "sch", *OF_OPTIMIZERS)


def holdings(program: Program) -> dict[str, frozenset[str]]:
    """Which models each optimizer holds, by who made it; an optimizer whose models are not known is left out."""
    found = {}
    for call, target in program.objects.optimizers_made():
        held = program.objects.held(call)
        for each in program.objects.identity(target) if held else ():
            found[each] = held
    return found


@rule("code.clips-other-model")
def clips_other_model(program: Program) -> Iterator[Finding]:
    """clip_grad_norm_() of the parameters of one model, and the step that follows is of the optimizer of another."""
    held = holdings(program)
    if len(held) < 2:
        return
    for cycle in program.cycles:
        for at, event in enumerate(cycle.events):
            if event.kind != "clip" or not isinstance(event.node, ast.Call):
                continue
            given = [one for each in event.node.args[:1] for one in program.objects.parameters_in(each)]
            clipped = frozenset().union(*(program.objects.identity(each) for each in given)) if given else frozenset()
            steps = steps_behind(cycle, at)
            known = [held[one] for each in steps for one in each.subjects if one in held]
            if not clipped or not steps or len(known) != sum(len(each.subjects) for each in steps):
                continue
            owned = any(clipped <= each for each in held.values())
            if owned and not any(clipped & each for each in known):
                models = sorted({source_of(each) for each in given})
                text = program.line_text(event.line)
                yield Finding(event.line, text, {"clipped": ", ".join(models)}, also=[steps[0].line])
                return


def steps_behind(cycle: Cycle, at: int) -> list[Event]:
    """The steps before the next backward pass."""
    found = []
    for each in cycle.events[at + 1 :]:
        if each.kind == "backward":
            break
        if each.kind == "step":
            found.append(each)
    return found


@rule("code.schedule-of-other-optimizer")
def schedule_of_other_optimizer(program: Program) -> Iterator[Finding]:
    """A schedule was given an optimizer that is not the one that it is called after, or that is
    made anew behind it."""
    for call in program.calls:
        statement = program.statement_of(call)
        if not program.objects.class_is_schedule(call) or not call.args or not isinstance(statement, ast.Assign):
            continue
        target, given = statement.targets[0], call.args[0]
        if statement.value is not call or not isinstance(given, (ast.Name, ast.Attribute)):
            continue
        other = named_after(program, target, given) or remade_behind(program, statement, given)
        if other is not None:
            values = {"given": source_of(given), "schedule": source_of(target)}
            corrected = program.line_text(call.lineno).replace(source_of(given), source_of(other), 1)
            if source_of(other) == source_of(given):
                corrected = f"# behind line {line_of(other)}:\n{corrected}"
            yield Finding(call.lineno, corrected, values)


def named_after(program: Program, target: ast.expr, given: ast.expr) -> ast.AST | None:
    """The optimizer that has the schedule's own word, where the given one has another: `sched_d = StepLR(opt_g)`."""
    wanted, had = own_words(target, OF_SCHEDULES), own_words(given, OF_OPTIMIZERS)
    if not wanted or not had or wanted & had:
        return None
    others = [each for _, each in program.objects.optimizers_made() if own_words(each, OF_OPTIMIZERS) == wanted]
    return others[0] if others else None


def own_words(node: ast.AST, kinds: tuple[str, ...]) -> set[str]:
    """`g` of `opt_g`, `disc` of `self.disc_scheduler`."""
    words = last_name(node).lower().split("_")
    return {each for each in words if each and each not in kinds}


def remade_behind(program: Program, statement: ast.Assign, given: ast.expr) -> ast.expr | None:
    """The optimizer's name gets another optimizer behind the schedule, and the schedule is not made again."""
    place = program.nodes.place(statement)
    scope = program.function_of(statement)
    for binding in program.names.all_given(given):
        node, value = binding.node, binding.value
        if program.nodes.place(node) <= place or program.function_of(node) is not scope or binding.path:
            continue
        is_made = isinstance(value, ast.Call) and program.makers.class_name(value) in OPTIMIZERS
        if not is_made or program.loops_of(node) or program.is_conditional(node, scope) or not isinstance(node, ast.Assign):
            continue
        again = [
            each
            for each in program.names.all_given(statement.targets[0])
            if program.nodes.place(each.node) > program.nodes.place(node)
        ]
        stepped = any(
            program.nodes.place(each) > program.nodes.place(node)
            for each in program.calls_to("step")
            if source_of(each.func) == f"{source_of(statement.targets[0])}.step"
        )
        used = any(
            place < program.nodes.place(each) < program.nodes.place(node)
            for each in program.calls_to("step")
            if source_of(each.func).endswith(f"{source_of(statement.targets[0])}.step")
        )
        if stepped and not again and not used:
            return node.targets[0]
    return None
