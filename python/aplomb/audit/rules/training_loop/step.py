"""Rules about the order of one step: zero_grad, backward, unscale, clip, step, schedule, and what accumulates."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...findings import Finding, rule
from ...program.algebra import Form
from ...program.gradients import is_forward, is_quiet, reaching
from ...program.objects import PROPORTIONAL
from ...program.program import Program
from ...program.syntax import keyword_of, name_called, receiver_of, source_of
from ...program.timeline import Cycle, Event

SEES_GRADIENTS = ("backward", "step", "zero_grad")
def stepped(event: Event) -> str:
    """The text of the optimizer whose step this is: of `scaler.step(optimizer)` too."""
    call = event.node
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return "optimizer"
    holder = call.func.value
    return source_of(call.args[0]) if call.args and "scaler" in source_of(holder).lower() else source_of(holder)


def is_same(one: Event, other: Event) -> bool:
    return bool(one.subjects & other.subjects) or "*" in one.subjects | other.subjects


def before(events: tuple[Event, ...], event: Event, kinds: tuple[str, ...], repeats: bool) -> Event | None:
    """The nearest earlier event of these kinds; in a loop the last of the round before counts as well."""
    place = events.index(event)
    behind = events[place + 1 :] if repeats else ()
    for each in (*reversed(events[:place]), *reversed(behind)):
        if each.kind in kinds:
            return each
    return None


@rule("code.no-zero-grad")
def no_zero_grad(program: Program) -> Iterator[Finding]:
    for cycle in program.cycles:
        if cycle.loop is None:
            continue
        for step in each_optimizer(cycle):
            outermost = step.loops[0]
            clears = cycle.timeline.of("zero_grad")
            if any(
                outermost in each.loops and (is_same(each, step) or clears_model(program, each, step)) for each in clears
            ):
                continue
            if cleared_by_hand(program, outermost) or given_away(program, outermost, step):
                continue
            if any(is_same(each, step) for each in clears):
                continue  # outside the loop: another rule says more
            text = stepped(step)
            corrected = f"{program.line_text(step.line)}\n{text}.zero_grad(set_to_none=True)"
            yield Finding(step.line, corrected, {"optimizer": text})
    yield from never_cleared_by_hand(program)


#: What Lightning is given an optimizer for, none of which clears its gradients.
TOGGLES = ("toggle_optimizer", "untoggle_optimizer", "toggled_optimizer", "clip_gradients", "append")


def never_cleared_by_hand(program: Program) -> Iterator[Finding]:
    """Manual optimization of Lightning: `opt_a, opt_b = self.optimizers()`, and zero_grad() is called for one of them."""
    for node in program.nodes.of_kind(ast.Attribute):
        owner = program.names.class_of(node)
        if node.attr != "automatic_optimization" or not isinstance(node.ctx, ast.Store) or owner is None:
            continue
        given = program.statement_of(node)
        if not isinstance(given, ast.Assign) or not program.values.is_false(given.value):
            continue
        inside = program.calls_in(owner)
        taken = optimizers_taken(program, owner)
        clears = {source_of(receiver_of(each)) for each in inside if name_called(each) == "zero_grad"}
        if not taken or clears - taken or cleared_by_hand(program, owner):
            continue
        handed = {
            source_of(value)
            for each in inside
            if name_called(each) not in TOGGLES
            for value in [*each.args, *(one.value for one in each.keywords)]
        }
        for name in sorted(taken - clears - handed):
            steps = [each for each in inside if name_called(each) == "step" and source_of(receiver_of(each)) == name]
            if steps and not steps[0].args and not steps[0].keywords:
                corrected = f"{program.line_text(steps[0].lineno)}\n{name}.zero_grad()"
                yield Finding(steps[0].lineno, corrected, {"optimizer": name})


def optimizers_taken(program: Program, owner: ast.ClassDef) -> set[str]:
    """`opt_a`, `opt_b` of `opt_a, opt_b = self.optimizers()`."""
    found = set()
    for node in program.nodes.below(owner):
        if isinstance(node, ast.Assign) and name_called(node.value) == "optimizers":
            for target in node.targets:
                elements = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
                found |= {each.id for each in elements if isinstance(each, ast.Name)}
    return found


def each_optimizer(cycle: Cycle) -> list[Event]:
    """The first step of each optimizer of a cycle."""
    found: list[Event] = []
    for step in cycle.of("step"):
        if not any(each.subjects == step.subjects for each in found):
            found.append(step)
    return found


def clears_model(program: Program, clear: Event, step: Event) -> bool:
    """`model.zero_grad()` where the optimizer holds that model, or nothing is known of what it holds."""
    if "*" not in clear.subjects:
        return False
    call = program.makers.call_of(receiver_of(step.node)) if isinstance(step.node, ast.Call) else None
    held = program.objects.held(call) if call is not None else frozenset()
    holder = program.objects.identity(receiver_of(clear.node)) if isinstance(clear.node, ast.Call) else frozenset()
    return not held or not holder or bool(held & holder)


@rule("code.zero-grad-outside-loop")
def zero_grad_outside_loop(program: Program) -> Iterator[Finding]:
    """In the loop over epochs, or before all loops, and the steps are taken batch by batch."""
    for cycle in program.cycles:
        if cycle.loop is None:
            continue
        for step in cycle.of("step")[:1]:
            clears = [each for each in cycle.timeline.of("zero_grad") if is_same(each, step)]
            if not clears or cleared_by_hand(program, step.loops[0]) or given_away(program, step.loops[0], step):
                continue
            if any(cycle.loop in each.loops for each in clears):
                continue
            if program.is_conditional(step.node, cycle.loop) and not counts_passes(program, cycle, step):
                continue
            text = stepped(step)
            yield Finding(
                step.line,
                f"{program.line_text(step.line)}\n{text}.zero_grad(set_to_none=True)",
                {"optimizer": text},
                also=[clears[0].line],
            )


def cleared_by_hand(program: Program, loop: ast.AST) -> bool:
    """`p.grad = None`, `p.grad.zero_()`, or something of another name that says so."""
    for each in program.nodes.below(loop):
        if isinstance(each, ast.Attribute) and each.attr == "grad" and isinstance(each.ctx, ast.Store):
            return True
        if isinstance(each, ast.Call):
            name = name_called(each)
            other = "zero_grad" in name and program.objects.event_of(each)[0] != "zero_grad"
            if other or (name in ("zero_", "fill_") and "grad" in source_of(each.func)):
                return True
    return False


def given_away(program: Program, loop: ast.AST, step: Event) -> bool:
    """The optimizer is handed to a function that is not seen here, which may clear the gradients."""
    for call in program.calls_in(loop):
        if call is step.node or program.objects.function_run(call) is not None or program.objects.event_of(call)[0]:
            continue
        for argument in [*call.args, *(each.value for each in call.keywords)]:
            if isinstance(argument, (ast.Name, ast.Attribute)) and program.objects.identity(argument) & step.subjects:
                return True
    return False


@rule("code.step-on-cleared-gradients")
def step_on_cleared_gradients(program: Program) -> Iterator[Finding]:
    """zero_grad() between the backward pass and the step, or a backward pass that comes behind the step."""
    for cycle in program.cycles:
        for step in cycle.of("step"):
            last = before(cycle.events, step, ("backward", "zero_grad"), cycle.loop is not None)
            if last is None or last.kind != "zero_grad" or not is_same(last, step) or takes_closure(step):
                continue
            if last.tests(cycle.loop, program) != step.tests(cycle.loop, program) and last.tests(cycle.loop, program):
                continue
            if last.loops != step.loops:
                continue
            yield Finding(step.line, also=[last.line])


@rule("code.opponents-gradients-kept")
def opponents_gradients_kept(program: Program) -> Iterator[Finding]:
    """A network is cleared behind its own step, and then the loss of the network that plays against it goes back through
    it: those gradients are still there at its next step, and push it the other way."""
    seen = set()
    for cycle in program.cycles:
        if cycle.loop is None or "requires_grad" in source_of(cycle.loop):
            continue
        for step in each_optimizer(cycle):
            found = left_by_opponent(program, cycle, step)
            if found is not None and found[0].line not in seen:
                clear, other = found
                seen.add(clear.line)
                own = before(cycle.events, step, ("backward",), True)
                line = own.line if own is not None else step.line
                corrected = f"{stepped(step)}.zero_grad()  # right before {program.line_text(line)}"
                yield Finding(clear.line, corrected, {"optimizer": stepped(step)}, also=sorted({other.line, step.line}))


def left_by_opponent(program: Program, cycle: Cycle, step: Event) -> tuple[Event, Event] | None:
    """Where the gradients are cleared, and the backward pass of another optimizer's loss that stands between there and the
    own one."""
    held = models_held(program, step)
    own: Event | None = None
    others: list[Event] = []  # steps of other optimizers that stand between the own pass and the place
    place = cycle.events.index(step)
    for each in (*reversed(cycle.events[:place]), *reversed(cycle.events[place + 1 :])):
        if each.kind == "zero_grad" and (is_same(each, step) or clears_model(program, each, step)):
            return None
        if each.kind == "step" and each.subjects != step.subjects and own is not None:
            others.append(each)
        if each.kind != "backward" or not isinstance(each.node, ast.Call):
            continue
        if own is None:
            own = each
        elif others and goes_through(program, each.node, held, models_held(program, others[-1])):
            at = cycle.events.index(each)
            for clear in (*reversed(cycle.events[:at]), *reversed(cycle.events[at + 1 :])):
                if clear.kind == "zero_grad" and (is_same(clear, step) or clears_model(program, clear, step)):
                    return clear, each
            return None
    return None


def models_held(program: Program, step: Event) -> frozenset[str]:
    if not isinstance(step.node, ast.Call):
        return frozenset()
    scaled = by_scaler(program, step) and step.node.args
    call = program.makers.call_of(step.node.args[0] if scaled else receiver_of(step.node))
    return program.objects.held(call) if call is not None else frozenset()


def goes_through(program: Program, call: ast.Call, held: frozenset[str], trained: frozenset[str]) -> bool:
    """The loss is of what a held model says to what a trained one made: `bce(disc(gen(z)), ones)`."""
    source = program.losses.root(call)
    if source is None or not held or not trained or held & trained or keyword_of(call, "inputs") is not None:
        return False
    for form in reaching(program.algebra.of(source)):
        if is_forward(program, form) and identity_of(program, form) & held and not is_quiet(program, form.node):
            inner = (each for part in form.parts for each in reaching(part))
            if any(is_forward(program, each) and identity_of(program, each) & trained for each in inner):
                return True
    return False


def identity_of(program: Program, form: Form) -> frozenset[str]:
    return program.objects.identity(form.node.func) if isinstance(form.node, ast.Call) else frozenset()


def takes_closure(step: Event) -> bool:
    call = step.node
    return isinstance(call, ast.Call) and bool(call.args) and "scaler" not in source_of(receiver_of(call)).lower()


def overwrites_gradient(event: Event) -> bool:
    """`p.grad = unscaled`: a gradient that is still to be used, and no clearing."""
    return isinstance(event.node, ast.Assign) and not isinstance(event.node.value, ast.Constant)


@rule("code.clip-after-step")
def clip_after_step(program: Program) -> Iterator[Finding]:
    for cycle in program.cycles:
        events = tuple(each for each in cycle.events if not overwrites_gradient(each))
        for clip in cycle.of("clip"):
            last = before(events, clip, ("backward", "step", "zero_grad"), cycle.loop is not None)
            if last is None or last.kind == "backward" or last.at.callers != clip.at.callers:
                continue
            step = last if last.kind == "step" else before(events, last, ("step",), cycle.loop is not None)
            if step is None or step.loops != clip.loops:
                continue
            if not step.tests(cycle.loop, program) <= clip.tests(cycle.loop, program):
                continue
            if clipped_in_time(program, cycle, step, clip):
                continue
            yield Finding(
                clip.line,
                f"{program.line_text(clip.line)}\n{source_of(step.node)}",
                {"clip": name_called(clip.node)},
                also=[step.line],
            )


def clipped_in_time(program: Program, cycle: Cycle, step: Event, clip: Event) -> bool:
    """Another clipping stands between the backward pass and the step: that one counts, this one only measures."""
    last = before(cycle.events, step, ("clip", "backward"), False)
    return last is not None and last is not clip and last.kind == "clip"


@rule("code.accumulation-cleared")
def accumulation_cleared(program: Program) -> Iterator[Finding]:
    """`if (i + 1) % n == 0: optimizer.step()`, and zero_grad() at every pass."""
    for cycle in program.cycles:
        if cycle.loop is None:
            continue
        for step in cycle.of("step"):
            tests = step.tests(cycle.loop, program)
            if not counts_passes(program, cycle, step):
                continue
            clears = [each for each in cycle.of("zero_grad") if is_same(each, step) and each.loops == step.loops]
            if any(each.tests(cycle.loop, program) >= tests for each in clears):
                continue
            at_every_pass = [each for each in clears if not each.tests(cycle.loop, program)]
            passes = [each for each in cycle.of("backward") if not each.tests(cycle.loop, program)]
            if at_every_pass and passes:
                yield Finding(
                    at_every_pass[0].line,
                    f"{source_of(step.node)}\n{stepped(step)}.zero_grad(set_to_none=True)  # both under the same test",
                    also=[step.line],
                )


def counts_passes(program: Program, cycle: Cycle, step: Event) -> bool:
    """The step is taken every few passes: under a test that counts them."""
    for each in step.at.guards:
        inside = cycle.loop is not None and program.nodes.encloses(cycle.loop, each.test)
        if inside and each.how in ("if", "continue") and counts_by_modulo(each.test):
            return True
    return False


def counts_by_modulo(test: ast.AST) -> bool:
    return any(isinstance(each, ast.BinOp) and isinstance(each.op, ast.Mod) for each in ast.walk(test))


@rule("code.accumulation-summed")
def accumulation_summed(program: Program) -> Iterator[Finding]:
    """Several backward passes to one step, and no division by their number."""
    for cycle in program.cycles:
        for backward in cycle.of("backward"):
            step = accumulated_to(program, cycle, backward)
            if step is None or not isinstance(backward.node, ast.Call):
                continue
            holder = source_of(receiver_of(backward.node)).lower()
            if "accelerator" in holder or "engine" in holder or divided(program, backward.node):
                continue
            loss = program.losses.root(backward.node)
            name = source_of(loss) if loss is not None else "loss"
            optimizer = program.objects.optimizer_class(receiver_of(step.node)) if isinstance(step.node, ast.Call) else ""
            yield Finding(
                backward.line,
                program.line_text(backward.line).replace(name, f"({name} / accumulation_steps)", 1),
                {"loss": name},
                sure=optimizer in PROPORTIONAL,
                also=[step.line],
            )


def accumulated_to(program: Program, cycle: Cycle, backward: Event) -> Event | None:
    """The step that takes the gradients of several passes: under a test that counts them, or behind an inner loop."""
    for step in cycle.of("step"):
        if cycle.loop is not None and step.loops == backward.loops:
            if counts_passes(program, cycle, step) and not backward.tests(cycle.loop, program):
                return step
        elif step.loops == backward.loops[:-1] and backward.loops and is_count(program, backward.loops[-1]):
            return step
    return None


def is_count(program: Program, loop: ast.AST) -> bool:
    """`for micro in range(accumulation_steps)`: passes of one step, not tasks or time."""
    if not isinstance(loop, ast.For) or name_called(loop.iter) not in ("range", "trange"):
        return False
    text = source_of(loop).split(":", 1)[0].lower()
    return any(word in text for word in ("accum", "micro"))


def divided(program: Program, call: ast.Call) -> bool:
    """By anything, anywhere on the loss's way; also a gradient that is divided afterwards, or a sum over tokens."""
    terms = program.losses.terms(call)
    if any(each.divided or each.scaled or each.weight != 1.0 for each in terms):
        return True
    source = program.losses.root(call)
    if any(isinstance(each, (ast.Div, ast.FloorDiv)) for each in ast.walk(call)):
        return True
    names = {each.id for each in ast.walk(source) if isinstance(each, ast.Name)} if source is not None else set()
    for node in program.own_nodes(program.function_of(call)):
        if (
            isinstance(node, ast.Assign)
            and isinstance(node.value, ast.BinOp)
            and isinstance(node.value.op, (ast.Div, ast.Mult))
        ) and any(isinstance(each, ast.Name) and each.id in names for each in node.targets):
            return True
        if isinstance(node, ast.Call) and name_called(node) in ("div_", "mul_") and "grad" in source_of(node.func):
            return True
        if isinstance(node, ast.AugAssign) and "grad" in source_of(node.target):
            return True
    return False


@rule("code.scaled-gradients-stepped")
def scaled_gradients_stepped(program: Program) -> Iterator[Finding]:
    """`scaler.scale(loss).backward()` and then `optimizer.step()`, not `scaler.step(optimizer)`."""
    for cycle in program.cycles:
        scaled = [each for each in cycle.of("backward") if isinstance(each.node, ast.Call) and is_scaled(program, each.node)]
        steps = cycle.of("step")
        if not scaled or cycle.of("unscale") or any(by_scaler(program, each) for each in steps):
            continue
        for step in steps[:1]:
            scaler = source_of(receiver_of(receiver_of(scaled[0].node)))  # type: ignore[arg-type]
            yield Finding(step.line, f"{scaler}.step({stepped(step)})\n{scaler}.update()", also=[scaled[0].line])


@rule("code.scaler-passed-by")
def scaler_passed_by(program: Program) -> Iterator[Finding]:
    """`scaler.unscale_(optimizer)` and then `optimizer.step()`: what is not finite is stepped on."""
    for cycle in program.cycles:
        steps = cycle.of("step")
        if not steps or not cycle.of("unscale") or any(by_scaler(program, each) for each in steps):
            continue
        scaled = [each for each in cycle.of("backward") if isinstance(each.node, ast.Call) and is_scaled(program, each.node)]
        for step in steps[:1] if scaled else []:
            scaler = source_of(receiver_of(receiver_of(scaled[0].node)))  # type: ignore[arg-type]
            yield Finding(step.line, f"{scaler}.step({stepped(step)})", also=[cycle.of("unscale")[0].line])


def is_scaled(program: Program, call: ast.Call) -> bool:
    holder = receiver_of(call)
    return isinstance(holder, ast.Call) and name_called(holder) == "scale" and program.objects.is_scaler(receiver_of(holder))


def by_scaler(program: Program, step: Event) -> bool:
    return isinstance(step.node, ast.Call) and program.objects.is_scaler(receiver_of(step.node))


@rule("code.scaler-never-updated")
def scaler_never_updated(program: Program) -> Iterator[Finding]:
    for timeline in program.timelines:
        steps = [each for each in timeline.of("step") if by_scaler(program, each)]
        if steps and not timeline.of("scaler_update") and "update" not in program.names_called:
            scaler = source_of(receiver_of(steps[0].node))  # type: ignore[arg-type]
            yield Finding(steps[0].line, f"{program.line_text(steps[0].line)}\n{scaler}.update()")


@rule("code.step-missing")
def step_missing(program: Program) -> Iterator[Finding]:
    """A backward pass in a loop, an optimizer that was made for it, and nothing that steps it."""
    if program.objects.somebody_steps():
        return
    for timeline in program.timelines:
        passes = [each for each in timeline.of("backward") if each.loops]
        made = program.objects.optimizers_made()
        if not passes or timeline.of("step") or not made:
            continue
        name = source_of(made[0][1])
        if any(is_handed_on(program, target) for _, target in made):
            continue
        yield Finding(passes[0].line, f"{program.line_text(passes[0].line)}\n{name}.step()", {"optimizer": name})


def is_handed_on(program: Program, target: ast.AST) -> bool:
    """The optimizer is given to something, or returned: it may be stepped elsewhere."""
    identity = program.objects.identity(target)
    for call in program.calls:
        if program.objects.class_is_schedule(call) or name_called(call) in ("zero_grad", "state_dict", "load_state_dict"):
            continue
        given = [*call.args, *(each.value for each in call.keywords)]
        if any(isinstance(each, (ast.Name, ast.Attribute)) and program.objects.identity(each) & identity for each in given):
            return True
    for node in program.nodes.of_kind(ast.Return):
        if node.value is None:
            continue
        parts = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
        if any(isinstance(each, (ast.Name, ast.Attribute, ast.Dict)) and _holds(program, each, identity) for each in parts):
            return True
    return False


def _holds(program: Program, node: ast.AST, identity: frozenset[str]) -> bool:
    inner = [each for each in ast.walk(node) if isinstance(each, (ast.Name, ast.Attribute))]
    return any(program.objects.identity(each) & identity for each in inner)


@rule("code.scheduler-first")
def scheduler_before_optimizer(program: Program) -> Iterator[Finding]:
    for cycle in program.cycles:
        steps = [each for each in cycle.of("step") if not each.tests(cycle.loop, program)]
        schedules = [
            each
            for each in cycle.of("schedule")
            if not each.tests(cycle.loop, program) and steps and each.loops == steps[0].loops
        ]
        if not steps or not schedules or len(steps) > 1:
            continue
        if cycle.events.index(schedules[0]) < cycle.events.index(steps[0]):
            yield Finding(
                schedules[0].line, f"{source_of(steps[0].node)}\n{source_of(schedules[0].node)}", also=[steps[0].line]
            )


@rule("code.clip-before-unscale")
def clip_before_unscale(program: Program) -> Iterator[Finding]:
    for cycle in program.cycles:
        scaled = [each for each in cycle.of("backward") if isinstance(each.node, ast.Call) and is_scaled(program, each.node)]
        steps = [each for each in cycle.of("step") if by_scaler(program, each)]
        for clip in cycle.of("clip") if scaled and steps else []:
            last = before(cycle.events, clip, ("backward", "step", "unscale"), cycle.loop is not None)
            if last is None or last.kind != "backward" or not isinstance(steps[0].node, ast.Call):
                continue
            scaler = source_of(receiver_of(steps[0].node))
            yield Finding(
                clip.line, f"{scaler}.unscale_({stepped(steps[0])})\n{program.line_text(clip.line)}", also=[steps[0].line]
            )


@rule("code.graph-retained")
def graph_retained(program: Program) -> Iterator[Finding]:
    """`loss.backward(retain_graph=True)`, and nothing goes back through the graph a second time."""
    if program.calls_to("grad") or "autograd" in " ".join(program.names_called):
        return
    for cycle in program.cycles:
        passes = cycle.of("backward")
        for each in passes if len(passes) == 1 else []:
            if not isinstance(each.node, ast.Call) or not program.values.is_true(keyword_of(each.node, "retain_graph")):
                continue
            yield Finding(each.line, program.line_text(each.line).replace("retain_graph=True", ""))
