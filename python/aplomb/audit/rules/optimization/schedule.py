"""Rules about schedules: their unit, their length, and whether they are stepped at all."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ...findings import Finding, rule
from ...program.constants import is_number
from ...program.data import goes_over_data
from ...program.objects import SCHEDULES
from ...program.program import Program
from ...program.syntax import Function, keyword_of, name_called, receiver_of, source_of
from ...program.timeline import Event

#: Where each class says how long it goes on: (keyword, place).
LENGTHS = {
    "StepLR": ("step_size", 1),
    "MultiStepLR": ("milestones", 1),
    "CosineAnnealingLR": ("T_max", 1),
    "LinearLR": ("total_iters", 3),
    "PolynomialLR": ("total_iters", 1),
    "ConstantLR": ("total_iters", 2),
    "OneCycleLR": ("total_steps", 2),
    "get_linear_schedule_with_warmup": ("num_training_steps", 2),
    "get_cosine_schedule_with_warmup": ("num_training_steps", 2),
    "get_polynomial_decay_schedule_with_warmup": ("num_training_steps", 2),
    "get_cosine_with_hard_restarts_schedule_with_warmup": ("num_training_steps", 2),
    "get_scheduler": ("num_training_steps", 3),
}
#: What stands at rate 0 (or near it) behind its end, and what rises again.
ENDS_AT_ZERO = (
    "PolynomialLR", "get_linear_schedule_with_warmup", "get_cosine_schedule_with_warmup",
    "get_polynomial_decay_schedule_with_warmup", "get_scheduler",
)  # fmt: skip
RISES_AGAIN = ("CosineAnnealingLR",)
#: A rate below this share of its first is gone: the smallest decay of a usual run is 1/100.
GONE = 1e-3


@dataclass(frozen=True)
class Schedule:
    """One schedule as it is made and stepped."""

    call: ast.Call
    name: str  # of its class
    step: Event | None  # where it is stepped
    by: str  # batch | epoch | step (of a run without passes); empty where that is not known
    epochs: float | None  # passes of the loop around
    rounds: float | None  # of all its loops, where their numbers are known


def schedules(program: Program) -> Iterator[Schedule]:
    seen = set()
    for cycle in program.cycles:
        steps = [each for each in cycle.of("step") if cycle.loop is not None]
        for event in [each for each in cycle.timeline.of("schedule") if steps]:
            call = program.makers.call_of(receiver_of(event.node)) if isinstance(event.node, ast.Call) else None
            if call is None or call in seen or program.makers.class_name(call) not in SCHEDULES:
                continue
            seen.add(call)
            by = unit_of(program, event, steps[0])
            outer = steps[0].loops[0]
            epochs = passes_of(program, outer) if len(steps[0].loops) > 1 else None
            rounds = rounds_of(program, event.loops)
            yield Schedule(call, program.makers.class_name(call), event, by, epochs, rounds)


def unit_of(program: Program, event: Event, step: Event) -> str:
    """Whether the schedule is stepped with each batch or after each pass."""
    if event.tests(event.loops[-1] if event.loops else None, program) - step.tests(step.loops[-1], program):
        return ""
    if event.loops == step.loops:
        return "batch" if len(step.loops) > 1 and goes_over_data(program, step.loops[-1]) else "step"
    return "epoch" if event.loops == step.loops[: len(event.loops)] and event.loops else ""


def passes_of(program: Program, loop: ast.AST) -> float | None:
    """`for epoch in range(epochs)`: how many."""
    if not isinstance(loop, ast.For):
        return None
    call = loop.iter
    while name_called(call) in ("tqdm", "enumerate") and isinstance(call, ast.Call) and call.args:
        call = call.args[0]
    if not isinstance(call, ast.Call) or name_called(call) not in ("range", "trange"):
        return None
    bounds = [program.values.number(each) for each in call.args[:2]]
    if any(each is None for each in bounds) or not bounds:
        return None
    return (bounds[1] or 0) - (bounds[0] or 0) if len(bounds) > 1 else bounds[0]


def rounds_of(program: Program, loops: tuple[ast.AST, ...]) -> float | None:
    product = 1.0
    for loop in loops:
        passes = passes_of(program, loop)
        if passes is None:
            return None
        product *= passes
    return product if loops else None


def option(call: ast.Call, name: str, place: int) -> ast.expr | None:
    value = keyword_of(call, name)
    return value if value is not None or len(call.args) <= place else call.args[place]


def length_of(program: Program, call: ast.Call) -> tuple[ast.expr | None, float | None]:
    """What the schedule's length is written as, and its number."""
    where = LENGTHS.get(program.makers.class_name(call))
    node = option(call, *where) if where else None
    value = program.values.of(node)
    if isinstance(value, list) and value and all(map(is_number, value)):
        value = value[-1]
    return node, float(value) if is_number(value) else None


def written_in(program: Program, node: ast.AST | None) -> str:
    """`epochs` or `steps`, as the words of an expression say it; empty where they say neither."""
    if node is None:
        return ""
    factors = list(factors_of(program, node, 0))
    whole = " ".join(source_of(each).lower() for each in (node, program.names.origin(node).node, *factors))
    if "len(" in whole or any(word in whole for word in ("step", "iter", "batches", "updates")):
        return "steps"
    by_passes = [each for each in factors if "epoch" in source_of(each).lower()]
    if by_passes and any(each not in by_passes and not is_share(program, each) for each in factors):
        return "steps"  # passes times something: what else than the batches of one?
    return "epochs" if "epoch" in whole else ""


def is_share(program: Program, factor: ast.AST) -> bool:
    """`0.5`, `decay_share`: what a number of passes stays one under."""
    number = program.values.number(factor)
    return isinstance(factor, ast.Constant) or (number is not None and number <= 1)


def factors_of(program: Program, node: ast.AST, depth: int) -> Iterator[ast.AST]:
    """`epochs` and `len(x)` of `total`, which is `epochs * (len(x) // size)`: names of products and quotients followed."""
    inner = program.names.origin(node).node if isinstance(node, ast.Name) else node
    sides: list[ast.expr] = []
    if isinstance(inner, ast.Call) and name_called(inner) in ("int", "round", "ceil", "floor", "float"):
        sides = inner.args[:1]
    elif isinstance(inner, ast.BinOp) and isinstance(inner.op, (ast.Mult, ast.Div, ast.FloorDiv)):
        sides = [inner.left, inner.right] if isinstance(inner.op, ast.Mult) else [inner.left]
    if not sides or depth > 5:
        yield inner if isinstance(inner, ast.Call) else node
        return
    for each in sides:
        yield from factors_of(program, each, depth + 1)


@rule("code.schedule-runs-out")
def schedule_runs_out(program: Program) -> Iterator[Finding]:
    """A length in passes, stepped with each batch: the rate is gone (or rises again) within the first passes."""
    for schedule in schedules(program):
        if schedule.by != "batch" or schedule.step is None:
            continue
        if counts_passes(program, schedule.call, schedule.name, schedule.epochs):
            yield Finding(schedule.step.line, "", {"schedule": schedule.name}, also=[schedule.call.lineno])
        elif is_one_pass(program, schedule):
            node = length_of(program, schedule.call)[0]
            corrected = f"{source_of(node)} * epochs  # the batches of all passes" if node is not None else ""
            yield Finding(schedule.call.lineno, corrected, {"schedule": schedule.name}, also=[schedule.step.line])
    yield from lightning_by_step(program)
    yield from stepped_by_micro_batch(program)
    yield from counted_by_optax(program)


#: Schedules of optax and where each says how long it goes on. All of them count updates.
OF_OPTAX = {
    "warmup_cosine_decay_schedule": ("decay_steps", 3),
    "cosine_decay_schedule": ("decay_steps", 1),
    "linear_schedule": ("transition_steps", 2),
    "polynomial_schedule": ("transition_steps", 3),
}


def counted_by_optax(program: Program) -> Iterator[Finding]:
    """`optax.cosine_decay_schedule(lr, epochs)` in a program that updates with each batch of a pass."""
    loop = next((each for each in program.nodes.of_kind(ast.For) if "epoch" in source_of(each.iter) and updates(each)), None)
    for call in program.calls_to(*OF_OPTAX) if loop is not None else []:
        length = option(call, *OF_OPTAX[name_called(call)])
        if program.name_of(call.func).startswith("optax.") and written_in(program, length) == "epochs":
            corrected = f"{source_of(length)} * steps_per_epoch" if length is not None else ""
            also = sorted({loop.lineno if loop is not None else 0} - {call.lineno, 0})
            yield Finding(call.lineno, corrected, {"schedule": name_called(call)}, also=also)


def updates(loop: ast.For) -> bool:
    """A loop inside of it calls what steps."""
    return any(
        isinstance(call, ast.Call) and any(word in name_called(call) for word in ("step", "update", "apply_gradients"))
        for inner in ast.walk(loop)
        if isinstance(inner, (ast.For, ast.While)) and inner is not loop
        for call in ast.walk(inner)
        if "eval" not in name_called(call) and "valid" not in name_called(call)
    )


def is_one_pass(program: Program, schedule: Schedule) -> bool:
    """`num_training_steps=len(loader)` of the loader that several passes go over, stepped with each of its batches."""
    if schedule.step is None or schedule.name not in (*ENDS_AT_ZERO, *RISES_AGAIN):
        return False
    if schedule.epochs is None or schedule.epochs < 2:
        return False
    node = length_of(program, schedule.call)[0]
    origin = program.names.origin(node).node if node is not None else None
    if not isinstance(origin, ast.Call) or name_called(origin) != "len" or not origin.args:
        return False
    loop = schedule.step.loops[-1]
    return isinstance(loop, ast.For) and source_of(origin.args[0]) in {source_of(each) for each in ast.walk(loop.iter)}


def stepped_by_micro_batch(program: Program) -> Iterator[Finding]:
    """A length in updates, which is the number of batches divided by those that are accumulated, stepped with each batch."""
    for cycle in program.cycles:
        steps = cycle.of("step")
        for event in cycle.of("schedule"):
            call = program.makers.call_of(receiver_of(event.node)) if isinstance(event.node, ast.Call) else None
            if call is None or cycle.loop is None or event.loops != steps[0].loops:
                continue
            if not counts_updates(program, length_of(program, call)[0], 0):
                continue
            accumulated = [test for test, _ in steps[0].tests(cycle.loop, program) if "%" in test]
            tested = [test for test, _ in event.tests(cycle.loop, program) if "%" in test or "sync_gradients" in test]
            skipped = "accumulate" in program.names_called and not is_prepared(program, event)
            if not tested and (accumulated or skipped):
                corrected = (
                    f"if {accumulated[0] if accumulated else 'accelerator.sync_gradients'}:\n    {source_of(event.node)}"
                )
                values = {"schedule": program.makers.class_name(call)}
                yield Finding(event.line, corrected, values, also=[call.lineno])
                break


def counts_updates(program: Program, node: ast.AST | None, depth: int) -> bool:
    """Something on the way to the number is divided by the number of accumulated batches."""
    if node is None or depth > 5:
        return False
    for each in ast.walk(node):
        if isinstance(each, ast.BinOp) and isinstance(each.op, (ast.Div, ast.FloorDiv)) and "accum" in source_of(each.right):
            return True
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load):
            inner = program.names.origin(each).node
            if inner is not each and inner is not node and counts_updates(program, inner, depth + 1):
                return True
    return False


def is_prepared(program: Program, event: Event) -> bool:
    """accelerator.prepare(scheduler): it then steps only where the optimizer does."""
    name = source_of(receiver_of(event.node)) if isinstance(event.node, ast.Call) else ""
    return any(source_of(each) == name for call in program.calls_to("prepare") for each in call.args)


def counts_passes(program: Program, call: ast.Call, name: str, epochs: float | None) -> bool:
    """Whether the constants of a schedule are those of passes."""
    if name == "ExponentialLR":
        gamma = program.values.number(option(call, "gamma", 1))
        return gamma is not None and gamma <= 0.99  # 0.99^1000 = 4e-5
    if name == "OneCycleLR" or name not in LENGTHS:
        return False
    node, length = length_of(program, call)
    written = written_in(program, node)
    if written == "steps" and not is_plain_step_size(node, name):
        return False
    if name in ("StepLR", "MultiStepLR"):
        gamma = program.values.number(option(call, "gamma", 2))
        if (0.1 if gamma is None else gamma) > 0.9:
            return False
    if written == "epochs":
        return True
    return length is not None and epochs is not None and length <= epochs and epochs > 1


def is_plain_step_size(node: ast.AST | None, name: str) -> bool:
    """`step_size` is the name of the option itself and says nothing of the unit."""
    return name == "StepLR" and node is not None and "len(" not in source_of(node) and "step_size" in source_of(node)


def lightning_by_step(program: Program) -> Iterator[Finding]:
    """`{"scheduler": s, "interval": "step"}` around a schedule whose constants are those of passes."""
    epochs = next(
        (
            n
            for call in program.calls_to("Trainer")
            if (n := program.values.number(keyword_of(call, "max_epochs"))) is not None
        ),
        None,
    )
    for entry, interval in lightning_entries(program):
        call = program.makers.call_of(entry)
        if call is None or interval is None or program.values.of(interval) != "step":
            continue
        if counts_passes(program, call, program.makers.class_name(call), epochs):
            yield Finding(
                interval.lineno, '"interval": "epoch"', {"schedule": program.makers.class_name(call)}, also=[call.lineno]
            )


def lightning_entries(program: Program) -> Iterator[tuple[ast.expr, ast.expr | None]]:
    """The schedules that configure_optimizers() returns, each with its interval where one is said."""
    for node in program.nodes.of_kind(ast.Dict):
        keys = {key.value: value for key, value in zip(node.keys, node.values) if isinstance(key, ast.Constant)}
        if "scheduler" in keys:
            yield keys["scheduler"], keys.get("interval")
        elif isinstance(keys.get("lr_scheduler"), (ast.Name, ast.Call)):
            yield keys["lr_scheduler"], None
    for function in program.functions_by_name.get("configure_optimizers", []):
        for each_node in program.own_nodes(function):
            # `return [optimizer], [schedule]`
            returned = each_node.value if isinstance(each_node, ast.Return) else None
            if isinstance(returned, ast.Tuple) and len(returned.elts) == 2:
                given = returned.elts[1]
                for each in given.elts if isinstance(given, (ast.List, ast.Tuple)) else []:
                    if isinstance(each, (ast.Name, ast.Call)):
                        yield each, None


@rule("code.schedule-barely-moves")
def schedule_barely_moves(program: Program) -> Iterator[Finding]:
    """A length in steps, stepped once a pass: the rate stays at its beginning (with warm-up: near 0)."""
    for schedule in schedules(program):
        if schedule.by != "epoch" or schedule.step is None:
            continue
        if counts_steps(program, schedule.call, schedule.name, schedule.epochs):
            yield Finding(schedule.step.line, "", {"schedule": schedule.name}, also=[schedule.call.lineno])
    for entry, interval in lightning_entries(program):
        call = program.makers.call_of(entry)
        by_epoch = interval is None or program.values.of(interval) == "epoch"
        if call is not None and by_epoch and counts_steps(program, call, program.makers.class_name(call), None):
            yield Finding(
                entry.lineno, '"interval": "step"', {"schedule": program.makers.class_name(call)}, also=[call.lineno]
            )


def counts_steps(program: Program, call: ast.Call, name: str, epochs: float | None) -> bool:
    if name == "OneCycleLR":
        return (
            keyword_of(call, "steps_per_epoch") is not None or written_in(program, option(call, "total_steps", 2)) == "steps"
        )
    if name not in LENGTHS or name in ("StepLR", "MultiStepLR", "ConstantLR"):
        return False
    node, length = length_of(program, call)
    written = written_in(program, node)
    if length is not None and epochs is not None:
        return length >= 20 * epochs  # it has gone 5 % of its way when the run ends
    return written == "steps" and "len(" in source_of(program.names.origin(node).node if node is not None else call)


@rule("code.schedule-ends-early")
def schedule_ends_early(program: Program) -> Iterator[Finding]:
    """The steps of the loop go on where the schedule has come to rate 0, or to where a cosine rises again."""
    for schedule in schedules(program):
        _, length = length_of(program, schedule.call)
        if length is None or schedule.rounds is None or schedule.step is None or not schedule.by:
            continue
        if schedule.step.tests(schedule.step.loops[-1], program) or schedule.rounds < 1.2 * length:
            continue
        if schedule.name in RISES_AGAIN and schedule.rounds % (2 * length) == 0:
            continue  # whole waves, which may be meant
        if schedule.name in (*ENDS_AT_ZERO, *RISES_AGAIN) and not (schedule.by == "batch" and schedule.epochs == length):
            values = {"length": f"{length:g}", "rounds": f"{schedule.rounds:g}", "schedule": schedule.name}
            yield Finding(schedule.call.lineno, "", values, sure=schedule.name in ENDS_AT_ZERO, also=[schedule.step.line])


@rule("code.warmup-whole-run")
def warmup_whole_run(program: Program) -> Iterator[Finding]:
    """The rate rises until the run ends: as many steps of warm-up as there are steps."""
    for call in program.calls_to(*(name for name in LENGTHS if name.startswith("get_"))):
        warm = option(call, "num_warmup_steps", 2 if name_called(call) == "get_scheduler" else 1)
        _, length = length_of(program, call)
        steps = program.values.number(warm)
        if steps is not None and length is not None and steps >= length > 0:
            yield Finding(call.lineno, "", {"warmup": f"{steps:g}", "length": f"{length:g}"})


@rule("code.schedule-never-stepped")
def schedule_never_stepped(program: Program) -> Iterator[Finding]:
    """Made and kept under a name that nothing uses again."""
    if not program.trains or program.names_called & {"LightningModule", "Trainer", "Accelerator", "initialize"}:
        return
    for call in program.calls:
        if not program.objects.class_is_schedule(call) or program.makers.class_name(call) not in SCHEDULES:
            continue
        holder = program.nodes.parents.get(call)
        if not isinstance(holder, ast.Assign) or not isinstance(holder.targets[0], ast.Name):
            continue
        name = holder.targets[0].id
        uses = [
            each
            for each in program.nodes.of_kind(ast.Name)
            if each.id == name and isinstance(each.ctx, ast.Load) and program.names.scope_of(each) is not None
        ]
        if any(not is_only_read(program, each) for each in uses):
            continue
        if isinstance(program.function_of(call), Function) and name in returned_names(program, program.function_of(call)):
            continue
        yield Finding(call.lineno, f"{name}.step()  # behind optimizer.step()", {"schedule": name})


def is_only_read(program: Program, node: ast.Name) -> bool:
    """`scheduler.get_last_lr()`, `scheduler.state_dict()`."""
    parent = program.nodes.parents.get(node)
    return isinstance(parent, ast.Attribute) and parent.attr in (
        "get_last_lr",
        "get_lr",
        "state_dict",
        "load_state_dict",
        "last_epoch",
    )


def returned_names(program: Program, function: ast.AST) -> set[str]:
    found: set[str] = set()
    for node in program.own_nodes(function):
        if isinstance(node, ast.Return) and node.value is not None:
            found |= {each.id for each in ast.walk(node.value) if isinstance(each, ast.Name)}
    return found


@rule("code.lambda-rate-absolute")
def lambda_rate_absolute(program: Program) -> Iterator[Finding]:
    """LambdaLR multiplies the optimizer's rate: a function that gives a rate makes it the product of two."""
    for call in program.calls_to("LambdaLR"):
        made = program.makers.call_of(call.args[0]) if call.args else None
        rate = program.values.number(option(made, "lr", 1)) if made is not None else None
        factor = option(call, "lr_lambda", 1)
        if rate is None or factor is None or not 0 < rate <= 0.1:
            continue
        values = [factor_at(program, factor, at) for at in (0, 1, 10, 100, 1000, 10000)]
        numbers = [float(each) for each in values if is_number(each)]
        if (
            len(numbers) >= 3
            and 0 < max(numbers) <= 2 * rate
            and max(numbers) < 0.05
            and reaches(program, factor, rate, numbers)
        ):
            yield Finding(call.lineno, "", {"rate": f"{rate:g}", "factor": f"{max(numbers):g}"})


def factor_at(program: Program, factor: ast.expr, at: int) -> Any:
    """What a lambda, or a function of this file, gives at a step."""
    function = lambda_of(program, factor)
    if function is not None:
        return program.values.of(function.body, {function.args.args[0].arg: at})
    binding = program.names.given(factor)
    named = (
        binding.node if binding is not None and isinstance(binding.node, (ast.FunctionDef, ast.AsyncFunctionDef)) else None
    )
    if named is None or len(named.args.args) - len(named.args.defaults) != 1:
        return None
    return program.values.result(named, {named.args.args[0].arg: at})


def reaches(program: Program, factor: ast.expr, rate: float, numbers: list[float]) -> bool:
    """Where only the first steps are known: what they grow to is the rate itself, so that the warm-up is one of rates."""
    if len(numbers) == 6:
        return True
    function = lambda_of(program, factor)
    called = (
        program.names.function_called(function.body)
        if function is not None and isinstance(function.body, ast.Call)
        else None
    )
    body: ast.AST | None = called if called is not None else function
    held = (
        [program.values.number(each) for each in ast.walk(body) if isinstance(each, (ast.Name, ast.Attribute))]
        if body is not None
        else []
    )
    return any(each is not None and 0.5 * rate <= each <= 2 * rate for each in held)


def lambda_of(program: Program, node: ast.AST | None) -> ast.Lambda | None:
    if node is None:
        return None
    origin = program.names.origin(node).node
    if isinstance(origin, (ast.List, ast.Tuple)) and origin.elts:
        origin = origin.elts[0]
    return origin if isinstance(origin, ast.Lambda) and len(origin.args.args) == 1 else None


@rule("code.gamma-zero")
def gamma_zero(program: Program) -> Iterator[Finding]:
    """The first decay multiplies the rate by 0."""
    for name in ("StepLR", "MultiStepLR", "ExponentialLR"):
        for call in program.calls_to(name):
            gamma = program.values.number(option(call, "gamma", 1 if name == "ExponentialLR" else 2))
            if gamma == 0:
                yield Finding(call.lineno, source_of(call).replace("gamma=0", "gamma=0.1"))
