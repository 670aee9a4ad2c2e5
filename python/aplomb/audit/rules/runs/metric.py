"""Rules about metrics that keep a state of their own: torchmetrics, torcheval."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from ...findings import Finding, rule
from ...program.program import Program
from ...program.syntax import Function, last_name, name_called, receiver_of, source_of

LIBRARIES = ("torchmetrics", "torcheval", "pytorch_lightning.metrics", "lightning.pytorch.metrics", "ignite.metrics")
STEPS = ("training_step", "validation_step", "test_step", "predict_step")
LIFE = ("to", "cuda", "cpu", "clone")


def metric_made(program: Program, node: ast.AST) -> ast.Call | None:
    """The call that made a metric with a state, moves to a device left out."""
    made = program.makers.call_of(node)
    while (
        made is not None
        and name_called(made) in LIFE
        and isinstance(made.func, ast.Attribute)
        and isinstance(made.func.value, (ast.Call, ast.Name, ast.Attribute))
    ):
        inner = made.func.value
        made = inner if isinstance(inner, ast.Call) else program.makers.call_of(inner)
    if made is None:
        return None
    full = program.name_of(made.func)
    return made if full.startswith(LIBRARIES) and ".functional." not in full and full.split(".")[-1][:1].isupper() else None


# --- never emptied


@rule("code.metric-never-reset")
def metric_never_reset(program: Program) -> Iterator[Finding]:
    """compute() in every pass of a metric that is made once and never reset: it is of all passes so far."""
    emptied = {source_of(receiver_of(call)) for call in program.calls_to("reset")}
    for call in program.calls_to("compute"):
        if not isinstance(call.func, ast.Attribute) or call.args:
            continue
        holder = call.func.value
        made = metric_made(program, holder)
        if made is None or source_of(holder) in emptied or is_emptied_otherwise(program, emptied, made):
            continue
        loop = repeated_in(program, call, made)
        if loop is None:
            continue
        fed = [
            each
            for each in program.calls
            if isinstance(each.func, ast.Attribute)
            and each.func.attr in ("update", "forward")
            and source_of(each.func.value) == source_of(holder)
        ]
        yield Finding(
            call.lineno,
            f"{source_of(holder)}.reset()  # behind compute(), in every pass",
            {"metric": source_of(holder)},
            also=sorted({each.lineno for each in fed[:1]} - {call.lineno}),
        )
        return


def is_emptied_otherwise(program: Program, emptied: set[str], made: ast.Call) -> bool:
    """Something is reset that is no metric of its own name: the item of a loop over metrics, a collection; Lightning resets
    a metric that is logged itself."""
    for call in program.calls_to("log", "log_dict"):
        if any(metric_made(program, each) is made for each in call.args[1:2]):
            return True
    for call in program.calls_to("reset"):
        holder = receiver_of(call)
        one = metric_made(program, holder)
        if one is made or one is None and not is_known_otherwise(program, holder):
            return True
    return False


def is_known_otherwise(program: Program, holder: ast.expr) -> bool:
    """An environment, a progress bar: made by something that is no metric."""
    word = last_name(holder).lower()
    return "env" in word.split("_") or word.startswith("env") or word in ("bar", "pbar", "timer", "progress")


def repeated_in(program: Program, call: ast.Call, made: ast.Call) -> ast.AST | None:
    """The loop over passes in which compute() comes again, with the metric made outside; a hook of Lightning at the end of
    each pass."""
    function = program.function_of(call)
    if isinstance(function, Function) and function.name in (
        "on_train_epoch_end",
        "on_validation_epoch_end",
        "validation_epoch_end",
        "training_epoch_end",
    ):
        return function if program.function_of(made) is not function else None
    for loop in program.loops_of(call):
        if isinstance(loop, ast.For) and is_of_passes(program, loop) and not program.nodes.encloses(loop, made):
            return loop
    return None


def is_of_passes(program: Program, loop: ast.For) -> bool:
    """`for epoch in range(n)` with a loop over batches in it."""
    if "ep" not in source_of(loop.target).lower() and name_called(loop.iter) not in ("range", "trange", "tqdm", "count"):
        return False
    return any(isinstance(each, ast.For) for statement in loop.body for each in ast.walk(statement))


# --- one for two


@rule("code.metric-shared")
def metric_shared(program: Program) -> Iterator[Finding]:
    """One metric is fed in training_step() and in validation_step(), and its state is what is told of the pass."""
    for owner in program.nodes.of_kind(ast.ClassDef):
        steps = {each.name: each for each in owner.body if isinstance(each, Function)}
        training, validation = steps.get("training_step"), steps.get("validation_step")
        if training is None or validation is None:
            continue
        one, other = fed_in(program, training), fed_in(program, validation)
        for name in one:
            is_metric = name in other and metric_made(program, one[name].holder) is not None
            if is_metric and tells_state(program, owner, name):
                yield Finding(
                    one[name].line,
                    f"self.train_{name.split('.')[-1]} = {name}.clone()  # in __init__, one metric for each",
                    {"metric": name},
                    also=sorted({other[name].line} - {one[name].line}),
                )
                break


class Feeding(NamedTuple):
    line: int
    holder: ast.expr


def fed_in(program: Program, function: ast.AST) -> dict[str, Feeding]:
    """`self.f1(out, y)`, `self.f1.update(out, y)`."""
    found: dict[str, Feeding] = {}
    for call in program.own_nodes(function):
        if not isinstance(call, ast.Call) or len(call.args) < 2 or not isinstance(call.func, ast.Attribute):
            continue
        holder: ast.expr = call.func.value if call.func.attr == "update" else call.func
        if source_of(holder).startswith("self.") and isinstance(holder, ast.Attribute):
            found.setdefault(source_of(holder), Feeding(call.lineno, holder))
    return found


def tells_state(program: Program, owner: ast.ClassDef, name: str) -> bool:
    """compute() of it, or the metric itself is logged: values of single batches do no harm."""
    for call in program.calls_in(owner):
        if name_called(call) == "compute" and source_of(receiver_of(call)) == name:
            return True
        if name_called(call) in ("log", "log_dict") and any(source_of(each) == name for each in call.args):
            return True
    return False
