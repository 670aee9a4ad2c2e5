"""Rules about updates that are values (optax, Flax): what a step gives back has to be kept, averaged over the devices, and
worked out in the right mode."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...findings import Finding, rule
from ...program.data import is_of_held_out
from ...program.program import Program
from ...program.syntax import Function, FunctionNode, dotted, keyword_of, last_name, name_called, names_in, source_of
from .functional import DIFFERENTIATES, function_behind, imported

PARAMETERS = ("params", "parameters", "weights", "theta", "variables")
GIVES_BACK = ("apply_updates", "apply_gradients")
COLLECTING = ("pmean", "psum", "all_gather", "psum_scatter", "all_to_all")
#: What says that dropout is on and that the batch's own statistics are taken.
TRAINS = {"train": True, "training": True, "is_training": True, "deterministic": False, "use_running_average": False}


def is_functional(program: Program) -> bool:
    return any(each.split(".")[0] in ("jax", "optax", "flax") for each in imported(program))


def updates_made(program: Program) -> Iterator[tuple[ast.Call, ast.expr, ast.expr]]:
    """`updates, state = opt.update(grads, state, params)`: the call and both targets."""
    for call in program.calls_to("update"):
        statement = program.statement_of(call)
        if len(call.args) < 2 or not isinstance(statement, ast.Assign) or statement.value is not call:
            continue
        target = statement.targets[0]
        if isinstance(target, ast.Tuple) and len(target.elts) == 2:
            yield call, target.elts[0], target.elts[1]


def is_read(program: Program, target: ast.expr) -> bool:
    """Whether the name that a target gives a value is read anywhere in its scope (of an attribute: it is)."""
    if not isinstance(target, ast.Name):
        return True
    scope = program.function_of(target)
    return any(
        each.id == target.id and isinstance(each.ctx, ast.Load)
        for each in program.nodes.below(scope)
        if isinstance(each, ast.Name)
    )


@rule("code.updates-for-parameters")
def updates_for_parameters(program: Program) -> Iterator[Finding]:
    """`params, state = opt.update(grads, state, params)`: the steps are taken for the weights that they are to be added
    to."""
    if not is_functional(program):
        return
    for call, first, _ in updates_made(program):
        given = call.args[2] if len(call.args) > 2 else keyword_of(call, "params")
        same = given is not None and dotted(first) and dotted(first) == dotted(given)
        if not same and last_name(first).lower() not in PARAMETERS:
            continue
        scope = program.function_of(call)
        added = any(
            last_name(first) in names_in(each.args[1]) for each in program.calls_to("apply_updates") if len(each.args) > 1
        )
        if not added and not any(name_called(each) in ("tree_map", "map") for each in program.calls_in(scope)):
            held = source_of(first)
            state = source_of(call.args[1])
            corrected = f"updates, {state} = {source_of(call)}\n{held} = optax.apply_updates({held}, updates)"
            yield Finding(call.lineno, corrected, {"params": held})


@rule("code.optimizer-state-dropped")
def optimizer_state_dropped(program: Program) -> Iterator[Finding]:
    """The state that update() gives back is not kept: momentum and counts begin anew with each step."""
    if not is_functional(program):
        return
    for call, first, second in updates_made(program):
        state = call.args[1]
        if not dotted(state) or is_stateless(program, call):
            continue
        dropped = isinstance(second, ast.Name) and (second.id.startswith("_") or not is_read(program, second))
        if dropped and dotted(second) != dotted(state) and goes_on(program, call, state):
            yield Finding(
                call.lineno, f"{source_of(first)}, {source_of(state)} = {source_of(call)}", {"state": source_of(state)}
            )
    yield from dropped_by_the_loop(program)


def is_stateless(program: Program, call: ast.Call) -> bool:
    """Plain gradient descent keeps nothing."""
    made = program.names.origin(call.func.value).node if isinstance(call.func, ast.Attribute) else None
    return (
        isinstance(made, ast.Call)
        and name_called(made) in ("sgd", "scale")
        and keyword_of(made, "momentum") is None
        and len(made.args) < 2
    )


def goes_on(program: Program, call: ast.Call, state: ast.expr) -> bool:
    """The same state is used for the next step: the loop around the call gives it no value, or the function returns it."""
    loops = program.loops_of(call)
    if loops and isinstance(state, (ast.Name, ast.Attribute)):
        return not any(program.nodes.encloses(loops[-1], each.node) for each in program.names.all_given(state))
    function = program.function_of(call)
    return isinstance(function, Function) and any(
        last_name(each) == last_name(state) for value in program.returns_of(function) for each in ast.walk(value)
    )


def dropped_by_the_loop(program: Program) -> Iterator[Finding]:
    """`params, _, loss = step(params, state, batch)` where the second of what step() returns is the optimizer's state."""
    states = {(program.function_of(call), last_name(second)) for call, _, second in updates_made(program)}
    for node in program.nodes.of_kind(ast.Assign):
        target, call = node.targets[0], node.value
        if not isinstance(target, ast.Tuple) or not isinstance(call, ast.Call) or not program.loops_of(node):
            continue
        function = function_behind(program, call)
        returned = program.returns_of(function) if function is not None else []
        if len(returned) != 1 or not isinstance(returned[0], ast.Tuple) or len(returned[0].elts) != len(target.elts):
            continue
        for held, given in zip(target.elts, returned[0].elts):
            is_state = (function, last_name(given)) in states and last_name(given) != ""
            if is_state and isinstance(held, ast.Name) and held.id.startswith("_") and function is not None:
                name = next((source_of(each) for each in call.args if "state" in source_of(each)), last_name(given))
                corrected = program.line_text(node.lineno).replace(f"{held.id},", f"{name},", 1)
                yield Finding(node.lineno, corrected, {"state": name})


@rule("code.update-dropped")
def update_dropped(program: Program) -> Iterator[Finding]:
    """`state.apply_gradients(grads=grads)` as a statement: it gives a new state back and changes nothing."""
    if not is_functional(program):
        return
    for call in program.calls_to(*GIVES_BACK):
        if name_called(call) == "apply_gradients" and keyword_of(call, "grads") is None:
            continue  # Keras changes the weights in place
        if name_called(call) == "apply_updates" and not program.name_of(call.func).startswith("optax."):
            continue
        statement = program.statement_of(call)
        if getattr(statement, "value", None) is not call:
            continue
        is_alone = isinstance(statement, ast.Expr)
        if is_alone or (isinstance(statement, ast.Assign) and not is_read(program, statement.targets[0])):
            held = call.args[0] if call.args else getattr(call.func, "value", call)
            yield Finding(call.lineno, f"{source_of(held)} = {source_of(call)}", {"call": name_called(call)})
    for call in program.calls:
        if isinstance(program.statement_of(call), ast.Expr) and program.loops_of(call) and is_statement(program, call):
            function = function_behind(program, call)
            if function is not None and returns_new_state(program, function):
                held = source_of(call.args[0]) if call.args else "state"
                yield Finding(call.lineno, f"{held} = {source_of(call)}", {"call": source_of(call.func)})


def is_statement(program: Program, call: ast.Call) -> bool:
    return isinstance(call.func, ast.Name) and getattr(program.statement_of(call), "value", None) is call


def returns_new_state(program: Program, function: FunctionNode) -> bool:
    """What it returns is what apply_gradients() or apply_updates() gave, and it keeps nothing anywhere else."""
    keeps = any(
        isinstance(each, (ast.Global, ast.Nonlocal))
        or (isinstance(each, (ast.Attribute, ast.Subscript)) and isinstance(each.ctx, ast.Store))
        for each in program.nodes.below(function)
    )
    if keeps:
        return False
    for value in program.returns_of(function):
        for part in value.elts if isinstance(value, ast.Tuple) else [value]:
            if name_called(program.names.origin(part).node) in GIVES_BACK:
                return True
    return False


@rule("code.gradients-not-averaged")
def gradients_not_averaged(program: Program) -> Iterator[Finding]:
    """A step that pmap() runs on every device under a named axis applies the gradients of its own part of the batch."""
    if "pmap" not in program.names_called and not any("pmap" in line for line in program.lines):
        return
    for function in program.functions:
        if not is_mapped(program, function):
            continue
        below = reached(program, function)
        grads = [each for each in below if name_called(each) in DIFFERENTIATES]
        applied = next((each for each in below if name_called(each) in GIVES_BACK), None)
        if applied is None or not grads or collects_gradients(program, below):
            continue
        yield Finding(applied.lineno, "grads = jax.lax.pmean(grads, axis_name=...)  # before it", also=[function.lineno])


def is_mapped(program: Program, function: FunctionNode) -> bool:
    """`@partial(jax.pmap, axis_name="i")`, `jax.pmap(step, axis_name="i")`. Without a named axis each device may be meant to
    learn for itself."""
    for each in function.decorator_list:
        if isinstance(each, ast.Call) and "pmap" in source_of(each) and keyword_of(each, "axis_name") is not None:
            return True
    return any(
        call.args and last_name(call.args[0]) == function.name and keyword_of(call, "axis_name") is not None
        for call in program.calls_to("pmap")
    )


def reached(program: Program, function: FunctionNode) -> list[ast.Call]:
    """The calls in a function and in those of this file that it calls, two deep."""
    found = program.calls_in(function)
    for _ in range(2):
        inner = [program.names.function_called(each) for each in found]
        found = [*found, *(call for each in set(inner) if each is not None for call in program.calls_in(each))]
    return found


def collects_gradients(program: Program, below: list[ast.Call]) -> bool:
    """Something of the gradients goes over the devices: pmean() of them, or of what is differentiated or mapped."""
    for call in below:
        if name_called(call) not in COLLECTING or not call.args:
            continue
        if not isinstance(call.args[0], ast.Name) or not is_loss_alone(program, call.args[0]):
            return True
    return any(last_name(each) in COLLECTING for call in below for each in call.args)  # partial(lax.pmean, ...)


def is_loss_alone(program: Program, node: ast.Name) -> bool:
    """A number to show: `loss` of `loss, grads = value_and_grad(...)`, `metrics`; what has no gradients in it."""
    word = node.id.lower()
    return "grad" not in word and any(each in word for each in ("loss", "metric", "acc", "aux", "stats"))


@rule("code.applied-in-train-mode")
def applied_in_train_mode(program: Program) -> Iterator[Finding]:
    """`model.apply(variables, x, train=True)` in the function that evaluates: dropout is on, and batches are normalised by
    their own statistics."""
    if not is_functional(program):
        return
    for call in program.calls_to("apply", "apply_fn"):
        word = next((each for each in call.keywords if each.arg in TRAINS and is_told(each)), None)
        function = program.function_of(call)
        if word is None or not isinstance(function, Function) or not evaluates(program, function):
            continue
        name = word.arg or ""
        corrected = source_of(call).replace(f"{name}={TRAINS[name]}", f"{name}={not TRAINS[name]}")
        yield Finding(call.lineno, corrected, {"told": f"{name}={TRAINS[name]}", "function": function.name})


def is_told(word: ast.keyword) -> bool:
    return isinstance(word.value, ast.Constant) and word.value.value is TRAINS[word.arg or ""]


def evaluates(program: Program, function: FunctionNode) -> bool:
    """By its name; tests of a library, and what draws several answers on purpose, are none."""
    words = function.name.lower().split("_")
    if not is_of_held_out(function.name) or set(words) & {"train", "mc", "dropout", "mode", "loss"}:
        return False
    if words[0] == "test" and function.name not in ("test", "test_step", "test_epoch", "test_fn", "test_model"):
        return False
    below = program.calls_in(function)
    differentiates = any(name_called(each) in DIFFERENTIATES or name_called(each) in GIVES_BACK for each in below)
    return not differentiates and not any(isinstance(each, ast.Assert) for each in program.nodes.below(function))
