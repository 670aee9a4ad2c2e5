"""Rules about train() and eval(), and about gradients in evaluation and in training."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...findings import Finding, rule
from ...program.data import is_of_held_out
from ...program.gradients import is_quiet
from ...program.program import Program
from ...program.syntax import Function, last_name, name_called, source_of
from ...program.timeline import LEAVES, Cycle, Event, Timeline

NO_GRADIENT = ("no_grad", "inference_mode")
def is_without_gradient(event: Event) -> bool:
    return any(each in NO_GRADIENT for each in event.at.contexts)


def trained_forwards(program: Program, cycle: Cycle) -> list[Event]:
    """The calls of trained models before the backward pass of a cycle, gradients on."""
    trained = program.objects.trained()
    passes = cycle.of("backward")
    found = []
    for each in cycle.of("forward"):
        if is_without_gradient(each) or (trained and not each.subjects & trained):
            continue
        if any(each.loops == one.loops for one in passes):
            found.append(each)
    return found


@rule("code.train-mode-missing")
def train_mode_missing(program: Program) -> Iterator[Finding]:
    """eval() for the evaluation, and no train() before the next step."""
    if not any(name_called(call) == "eval" for call in program.calls_to("eval")):
        return
    for cycle in program.cycles:
        if cycle.loop is None:
            continue
        for forward in trained_forwards(program, cycle)[:1]:
            mode = mode_at(cycle.timeline, forward)
            if mode is None or mode.kind != "eval":
                mode = mode_left(cycle, forward)
            if mode is None or mode.kind != "eval" or is_deliberate(program, cycle, mode):
                continue
            call = forward.node
            matters = program.makers.mode_matters(call.func) if isinstance(call, ast.Call) else None
            if matters is False:
                continue
            model = (
                source_of(mode.node.func.value)
                if isinstance(mode.node, ast.Call) and isinstance(mode.node.func, ast.Attribute)
                else "model"
            )
            yield Finding(
                mode.line,
                f"{model}.train()  # before the next step",
                {"model": model},
                sure=matters is True,
                also=sorted({forward.line, *called_at(cycle, mode), *train_before(cycle, forward)} - {mode.line}),
            )


def called_at(cycle: Cycle, mode: Event) -> list[int]:
    """Where the loop calls what puts the model into evaluation."""
    calls = [each for each in mode.at.callers if cycle.timeline.source.nodes.encloses(cycle.loop or each, each)]
    return [getattr(each, "lineno", mode.line) for each in (calls or mode.at.callers)[:1]]


def train_before(cycle: Cycle, forward: Event) -> list[int]:
    """The train() that comes too early: before the loop that evaluates."""
    events = cycle.timeline.events
    found = [each for each in events[: events.index(forward)] if each.kind == "train" and each.subjects & forward.subjects]
    return [each.line for each in found[-1:]]


def mode_left(cycle: Cycle, forward: Event) -> Event | None:
    """The mode that an evaluation within the pass leaves to the next step: the last one set in the innermost loop."""
    modes = [each for each in cycle.of("eval", "train") if each.subjects & forward.subjects]
    place = cycle.events.index(forward)
    before = [each for each in modes if each.loops == forward.loops and cycle.events.index(each) < place]
    left = modes[-1] if modes and not before else None
    return None if left is None or is_way_out(cycle, left) else left


def is_way_out(cycle: Cycle, mode: Event) -> bool:
    """The branch that evaluates leaves the loop."""
    for call in (*mode.at.callers, mode.node):
        for parent in cycle.timeline.source.enclosing(call):
            if parent is cycle.loop:
                break
            if isinstance(parent, ast.If) and any(isinstance(each, LEAVES) for each in parent.body):
                return True
    return False


def mode_at(timeline: Timeline, forward: Event) -> Event | None:
    """The mode that is in force at a forward pass: set before it in the outermost loop, in the round before, or before that
    loop."""
    outermost = forward.loops[0] if forward.loops else None
    inside = [each for each in timeline.events if outermost in each.loops]
    place = inside.index(forward)
    earlier = timeline.events[: timeline.events.index(inside[0])]
    for each in (*reversed(inside[:place]), *reversed(inside[place:]), *reversed(earlier)):
        if each.kind in ("eval", "train") and each.subjects & forward.subjects:
            return each
    return None


def is_deliberate(program: Program, cycle: Cycle, mode: Event) -> bool:
    """eval() at every step, right in the loop: batch statistics that are to stay, a network that is kept still."""
    return mode.loops[-1:] == (cycle.loop,) and not mode.at.callers and not mode.tests(cycle.loop, program)


@rule("code.evaluated-in-train-mode")
def evaluated_in_train_mode(program: Program) -> Iterator[Finding]:
    """Held-out data go through a model that drops units and takes the statistics of the batch."""
    trained = program.objects.trained()
    for timeline in program.timelines:
        if not timeline.of("backward"):
            continue
        for event in timeline.of("forward"):
            if not is_without_gradient(event) or not event.subjects & trained or not is_evaluation(program, event):
                continue
            call = event.node
            if not isinstance(call, ast.Call) or program.makers.mode_matters(call.func) is not True:
                continue
            mode = last_mode(timeline, event)
            if mode is not None and mode.kind == "eval":
                continue
            model = source_of(call.func)
            corrected = f"{model}.eval()  # before it, and {model}.train() behind it"
            yield Finding(event.line, corrected, {"model": model}, also=evaluation_begins(program, event))
            break


def evaluation_begins(program: Program, event: Event) -> list[int]:
    """The first statement of the function that evaluates, where eval() belongs."""
    function = program.function_of(event.node)
    if not isinstance(function, Function) or function.name in ("main", "run", "train") or not is_without_gradient(event):
        return []
    return [each.lineno for each in function.body[:1] if each.lineno < event.line]


def last_mode(timeline: Timeline, event: Event) -> Event | None:
    place = timeline.events.index(event)
    for each in reversed(timeline.events[:place]):
        if each.kind in ("eval", "train") and each.subjects & event.subjects:
            return each
    return None


def is_evaluation(program: Program, event: Event) -> bool:
    """By the name of the function or of what the loop goes over."""
    function = program.function_of(event.node)
    if isinstance(function, Function) and is_of_held_out(function.name):
        return True
    own = [each for each in event.loops if program.function_of(each) is function]
    made = next((each for each in program.enclosing(event.node) if isinstance(each, (ast.ListComp, ast.GeneratorExp))), None)
    over = [each.iter for each in made.generators] if made is not None else []
    if any(is_of_held_out(last_name(each)) for part in over for each in ast.walk(part)):
        return True
    texts = [last_name(each) for loop in own[-1:] if isinstance(loop, ast.For) for each in ast.walk(loop.iter)]
    given = [last_name(each) for each in ast.walk(event.node) if isinstance(each, (ast.Name, ast.Attribute))]
    texts += [each for each in given if each != "dev"]  # beside a model `dev` is mostly the device
    return any(is_of_held_out(text) for text in texts if text) or is_given_held_out(program, event)


def is_given_held_out(program: Program, event: Event) -> bool:
    """What the loop goes over is a parameter, and every call of its function gives it data that are not trained on:
    `check(net, val_loader)`."""
    function = program.function_of(event.node)
    loop = event.loops[-1] if event.loops else None
    if not isinstance(function, Function) or not isinstance(loop, ast.For) or program.function_of(loop) is not function:
        return False
    for each in ast.walk(loop.iter):
        binding = program.names.given(each) if isinstance(each, ast.Name) else None
        if binding is not None and binding.how == "parameter":
            values = program.names.values_of_parameter(binding)
            if values and all(is_of_held_out(last_name(value)) for value in values):
                return True
    return False


@rule("code.trains-without-grad")
def trains_without_grad(program: Program) -> Iterator[Finding]:
    """The forward pass of the training loop runs under no_grad(): nothing has a graph."""
    trained = program.objects.trained()
    for cycle in program.cycles:
        passes = cycle.of("backward")
        forwards = [
            each
            for each in cycle.of("forward")
            if each.subjects & trained and any(each.loops == one.loops for one in passes) and not each.at.callers
        ]
        inner = [each for each in cycle.of("forward") if each.subjects & trained and not is_without_gradient(each)]
        if any(each.loops[: len(one.loops)] == one.loops for each in inner for one in passes):
            continue  # a roll-out in a loop of its own holds the graph
        if forwards and all(is_without_gradient(each) for each in forwards) and not makes_other_loss(program, cycle):
            yield Finding(forwards[0].line, also=[passes[0].line])
            return
    yield from backward_without_graph(program)


def backward_without_graph(program: Program) -> Iterator[Finding]:
    """A step that stands in a function under no_grad() as a whole: the forward pass and the backward pass in it."""
    for timeline in program.timelines:
        for backward in timeline.of("backward"):
            contexts = [each for each in backward.at.contexts if each in (*NO_GRADIENT, "enable_grad")]
            if not contexts or contexts[-1] == "enable_grad" or "set_grad_enabled" in program.names_called:
                continue
            before = timeline.events[: timeline.events.index(backward)]
            own = [each for each in before if each.kind == "forward" and each.at.callers == backward.at.callers]
            if own and all(is_without_gradient(each) and "enable_grad" not in each.at.contexts for each in own):
                yield Finding(own[-1].line, also=sorted({backward.line} - {own[-1].line}))
                return


def makes_other_loss(program: Program, cycle: Cycle) -> bool:
    """The loss comes from something else that may hold the trained weights."""
    for backward in cycle.of("backward"):
        if not isinstance(backward.node, ast.Call):
            continue
        for term in program.losses.terms(backward.node):
            for each in ast.walk(term.node):
                if not isinstance(each, ast.Call) or program.losses.criterion(each) is not None:
                    continue
                known = program.name_of(each.func).startswith("torch.") or program.objects.event_of(each)[0] == "forward"
                if not known and not isinstance(each.func, ast.Attribute):
                    return True
    return False


@rule("code.eval-keeps-graph")
def evaluation_keeps_graph(program: Program) -> Iterator[Finding]:
    """An evaluation with gradients whose results are collected: the graphs of all batches stay."""
    for event, holder in evaluations_with_graph(program):
        loop = event.loops[-1]
        if keeps_results(program, loop):
            line = program.line_text(event.line)
            yield Finding(event.line, f"with torch.no_grad():\n    {line}", {"model": holder})


@rule("code.eval-with-graph")
def evaluation_with_graph(program: Program) -> Iterator[Finding]:
    """The same where nothing is kept: each graph goes with its batch."""
    for event, holder in evaluations_with_graph(program):
        if not keeps_results(program, event.loops[-1]):
            line = program.line_text(event.line)
            yield Finding(event.line, f"with torch.no_grad():\n    {line}", {"model": holder})


def evaluations_with_graph(program: Program) -> Iterator[tuple[Event, str]]:
    """Forward passes in a loop of an evaluation (eval() was called), gradients on, and no backward pass in that loop."""
    if "set_grad_enabled" in program.names_called:
        return
    seen = set()
    for timeline in program.timelines:
        wanted = {loop for each in timeline.events if each.kind in ("backward", "step") for loop in each.loops[-1:]}
        for event in timeline.of("forward"):
            if is_without_gradient(event) or not event.loops or event.loops[-1] in wanted or event.node in seen:
                continue
            mode = last_mode(timeline, event)
            if mode is None or mode.kind != "eval" or wants_gradients(program, event.loops[-1]):
                continue
            if program.function_of(mode.node) is not program.function_of(event.node):
                continue
            if called_without_gradient(program, event):
                continue
            seen.add(event.node)
            yield event, source_of(event.node.func) if isinstance(event.node, ast.Call) else ""
            break


def wants_gradients(program: Program, loop: ast.AST) -> bool:
    return any(name_called(each) in ("backward", "grad", "requires_grad_") for each in program.calls_in(loop))


def called_without_gradient(program: Program, event: Event) -> bool:
    """The function is decorated, or some caller in the file is under no_grad()."""
    function = program.function_of(event.node)
    if not isinstance(function, Function):
        return False
    if any(source_of(each).rsplit("(", 1)[0].rsplit(".", 1)[-1] in NO_GRADIENT for each in function.decorator_list):
        return True
    for call in program.calls_to(function.name):
        for parent in program.enclosing(call):
            if isinstance(parent, ast.With) and any(
                source_of(item.context_expr).split("(")[0].rsplit(".", 1)[-1] in NO_GRADIENT for item in parent.items
            ):
                return True
            if isinstance(parent, Function) and any(
                source_of(each).split("(")[0].rsplit(".", 1)[-1] in NO_GRADIENT for each in parent.decorator_list
            ):
                return True
    return False


@rule("code.predictions-kept")
def predictions_kept(program: Program) -> Iterator[Finding]:
    """An evaluation on a card that collects what the model gave, all of it, where it lies."""
    if not any(
        isinstance(each.value, str) and each.value.startswith("cuda") for each in program.nodes.of_kind(ast.Constant)
    ):
        return
    for timeline in program.timelines:
        for event in timeline.of("forward"):
            if not is_without_gradient(event) or not event.loops or not is_evaluation(program, event):
                continue
            for call in program.calls_in(event.loops[-1]):
                if (
                    name_called(call) != "append"
                    or len(call.args) != 1
                    or not isinstance(call.args[0], (ast.Name, ast.Attribute))
                ):
                    continue
                origin = program.names.origin(call.args[0]).node
                held = origin.value if isinstance(origin, ast.Attribute) and origin.attr == "logits" else origin
                if program.names.origin(held).node is event.node:
                    yield Finding(call.lineno, f"{source_of(call.func)}({source_of(call.args[0])}.cpu())", also=[event.line])


#: What makes a number, or a tensor without a graph, of a tensor.
FREE = (
    "item", "detach", "numpy", "tolist", "argmax", "float", "int", "eq", "round", "bool", "len", "shape", "size",
    "topk", "max", "decode", "batch_decode",
)  # fmt: skip


def keeps_results(program: Program, loop: ast.AST) -> bool:
    """Something with a graph is appended or added up in the loop: here, or in a small class of the file."""
    for each in program.nodes.below(loop):
        if isinstance(each, ast.AugAssign) and isinstance(each.op, ast.Add) and has_graph(program, each.value):
            return True
        if isinstance(each, ast.Assign) and isinstance(each.value, ast.BinOp) and isinstance(each.value.op, ast.Add):
            sides = (each.value.left, each.value.right)  # total = total + loss
            own = [source_of(side) == source_of(each.targets[0]) for side in sides]
            if own[0] != own[1] and has_graph(program, sides[0] if own[1] else sides[1]):
                return True
        if not isinstance(each, ast.Call) or not isinstance(each.func, ast.Attribute) or len(each.args) < 1:
            continue
        collects = each.func.attr in ("append", "extend") or collecting_method(program, each)
        if collects and has_graph(program, each.args[0]):
            return True
    return False


def collecting_method(program: Program, call: ast.Call) -> bool:
    """`meter.add(v)` where add() of this file appends what it is given."""
    function = program.objects.function_run(call)
    if function is None or len(function.args.args) < 2:
        return False
    given = function.args.args[1].arg
    for each in program.own_nodes(function):
        if name_called(each) == "append" and isinstance(each, ast.Call) and each.args and source_of(each.args[0]) == given:
            return True
        if isinstance(each, ast.AugAssign) and source_of(each.value) == given:
            return True
    return False


def has_graph(program: Program, node: ast.AST, depth: int = 0) -> bool:
    """What a model or a loss gave, and nothing has cut the graph off."""
    if depth > 16 or isinstance(node, (ast.Constant, ast.Compare)):
        return False
    if isinstance(node, ast.Call):
        name = name_called(node)
        if name in FREE:
            return False
        if program.objects.event_of(node)[0] == "forward" or program.losses.criterion(node) is not None:
            return not is_quiet(program, node)
        parts = [*node.args, *([node.func.value] if isinstance(node.func, ast.Attribute) else [])]
        return any(has_graph(program, each, depth + 1) for each in parts)
    if isinstance(node, ast.Name):
        binding = program.names.given(node)
        if binding is None or binding.value is None or binding.how in ("loop", "parameter"):
            return False
        given = part_returned(program, binding.value, binding.path)
        return has_graph(program, given if given is not None else binding.value, depth + 1)
    if isinstance(node, (ast.BinOp, ast.Attribute, ast.Subscript, ast.UnaryOp, ast.Tuple, ast.List)):
        if isinstance(node, ast.Attribute) and node.attr in ("data", "shape"):
            return False
        return any(has_graph(program, each, depth + 1) for each in ast.iter_child_nodes(node) if isinstance(each, ast.expr))
    return False


def part_returned(program: Program, value: ast.AST, path: tuple[int, ...]) -> ast.expr | None:
    """Of `loss, spread = model(x)` the expression that forward() of a class of this file, or a function, returns in that
    place."""
    owner = program.makers.definition(value.func) if isinstance(value, ast.Call) and len(path) == 1 else None
    forward = program.makers.method(owner, "forward") if owner is not None else None
    returned = program.returns_of(forward) if forward is not None else []
    if forward is None and isinstance(value, ast.Call) and len(path) == 1:
        returned = program.names.returned_by(value)
    whole = returned[0] if len(returned) == 1 else None
    return whole.elts[path[0]] if isinstance(whole, ast.Tuple) and 0 <= path[0] < len(whole.elts) else None


@rule("code.pretrained-left-in-eval")
def pretrained_left_in_eval(program: Program) -> Iterator[Finding]:
    """from_pretrained() gives a model in eval mode, and the loop that trains it never says train()."""
    if program.names_called & {"fit", "train_epoch"} or any(name.endswith("Trainer") for name in program.names_called):
        return
    if any(not call.args or program.values.is_true(call.args[0]) for call in program.calls_to("train")):
        return
    trained = program.objects.trained()
    for call in program.calls_to("from_pretrained"):
        full = program.name_of(call.func)
        holder = program.statement_of(call)
        target = holder.targets[0] if isinstance(holder, ast.Assign) else None
        if not full.startswith("transformers.") or target is None or not program.training_loops:
            continue
        if program.objects.is_model(target) and program.objects.identity(target) & trained:
            loop = program.training_loops[0]
            yield Finding(loop.lineno, f"{source_of(target)}.train()  # before it", {"model": source_of(target)},
                          also=[call.lineno])  # fmt: skip
            return
