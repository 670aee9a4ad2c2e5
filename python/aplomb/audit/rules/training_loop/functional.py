"""Rules about programs in JAX: keys that are used again, what a function returns beside its output, and the order in
which gradients are transformed."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...findings import Finding, rule
from ...program.program import Program
from ...program.syntax import Function, argument_given, keyword_of, last_name, name_called, names_in, source_of

KEYS = ("PRNGKey", "key", "split", "fold_in")
DIFFERENTIATES = ("grad", "value_and_grad")
#: Functions of jax.random that make keys, and draw nothing.
MAKES_KEYS = ("PRNGKey", "key", "split", "fold_in", "wrap_key_data", "key_data", "clone")
STATISTICS = "batch_stats"


@rule("code.key-reused-each-step")
def key_reused_each_step(program: Program) -> Iterator[Finding]:
    """One key for every step: each draws the same dropout masks and the same noise."""
    if not any(each.startswith("jax") for each in imported(program)):
        return
    for call in program.calls:
        loops = program.loops_of(call)
        if not loops or program.is_conditional(call, loops[-1]):
            continue
        for value in [*call.args, *(each.value for each in call.keywords)]:
            key = key_in(program, value)
            if key is None or is_renewed(program, key, loops[-1]) or not draws_for_training(program, call, value):
                continue
            corrected = f"{source_of(call)[:80]}  # with jax.random.fold_in({key.id}, step)"
            yield Finding(call.lineno, corrected, {"key": key.id}, also=made_at(program, key, call))
            return


def imported(program: Program) -> set[str]:
    nodes: list[ast.Import | ast.ImportFrom] = program.nodes.of_kind(ast.Import, ast.ImportFrom)
    plain = {each.name for node in nodes for each in node.names if isinstance(node, ast.Import)}
    return plain | {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}


def key_in(program: Program, value: ast.AST) -> ast.Name | None:
    """`key` itself, or that of `{"dropout": key}`."""
    value = value.values[0] if isinstance(value, ast.Dict) and len(value.values) == 1 else value
    if not isinstance(value, ast.Name):
        return None
    made = program.names.origin(value).node
    full = program.name_of(made.func) if isinstance(made, ast.Call) else ""
    return value if full.startswith("jax.random.") and full.rsplit(".", 1)[-1] in KEYS else None


def made_at(program: Program, key: ast.Name, call: ast.Call) -> list[int]:
    binding = program.names.given(key)
    return [binding.line] if binding is not None and binding.line not in (0, call.lineno) else []


def is_renewed(program: Program, key: ast.Name, loop: ast.AST) -> bool:
    """Something in the loop gives the name a value."""
    return any(program.nodes.encloses(loop, each.node) for each in program.names.all_given(key))


def draws_for_training(program: Program, call: ast.Call, value: ast.AST) -> bool:
    """The call differentiates, and draws with the key as it is: neither is it folded with anything inside."""
    function = function_behind(program, call)
    if function is None:
        return False
    below = program.calls_in(function)
    wider = [
        *below,
        *(each for one in below if (inner := function_behind(program, one)) for each in program.calls_in(inner)),
    ]
    names = {name_called(each) for each in wider} | {
        last_name(each.func.func) for each in wider if isinstance(each.func, ast.Call)
    }
    if not names & set(DIFFERENTIATES) or "fold_in" in names or "make_rng_key" in names:
        return False
    parameter = next((each.arg for each in function.args.args if argument_given(call, function, each.arg) is value), "")
    return bool(parameter) and any(parameter in names_in(each) for each in below)


def function_behind(program: Program, call: ast.Call) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    """The function of this file that a call runs, through `step = jax.jit(train_step)` too."""
    found = program.names.function_called(call)
    if found is not None or not isinstance(call.func, ast.Name):
        return found
    made = program.names.origin(call.func).node
    if name_called(made) in ("jit", "pmap", "partial") and isinstance(made, ast.Call) and made.args:
        named = program.functions_by_name.get(last_name(made.args[0]), [])
        return named[0] if len(named) == 1 and isinstance(named[0], Function) else None
    return None


@rule("code.running-statistics-dropped")
def running_statistics_dropped(program: Program) -> Iterator[Finding]:
    """apply(..., mutable=["batch_stats"]) gives the running statistics back, and nothing puts them into the state."""
    if not program.names_called & {*DIFFERENTIATES, "value_and_grad"} or puts_statistics(program):
        return
    for call in program.calls:
        if not asks_for_statistics(program, keyword_of(call, "mutable")):
            continue
        steps = program.calls_to("apply_gradients") or program.calls_to("apply_updates")
        place = steps[0] if steps else call
        corrected = program.line_text(place.lineno)
        if name_called(place) == "apply_gradients":
            corrected = f'{source_of(place)[:-1]}, batch_stats=updates["batch_stats"])'
        yield Finding(place.lineno, corrected, also=sorted({call.lineno} - {place.lineno}))
        return


def asks_for_statistics(program: Program, node: ast.AST | None) -> bool:
    value = program.values.of(node) if node is not None else None
    return value == STATISTICS or (isinstance(value, (list, tuple)) and STATISTICS in value)


def puts_statistics(program: Program) -> bool:
    """The program takes the statistics out of something that init() did not give, or hands them (or all that was given back)
    on: to replace(), to apply_gradients(), into a dictionary of variables."""
    given_back = {
        each.id
        for node in program.nodes.of_kind(ast.Assign)
        if isinstance(node.value, ast.Call) and keyword_of(node.value, "mutable") is not None
        for target in node.targets
        if isinstance(target, ast.Tuple) and len(target.elts) == 2
        for each in ast.walk(target.elts[1])
        if isinstance(each, ast.Name)
    }
    for call in program.calls:
        if name_called(call) != "create" and keyword_of(call, STATISTICS) is not None:
            return True
        if any(each.arg is None and names_in(each.value) & given_back for each in call.keywords):
            return True
        held = [*call.args, *(each.value for each in call.keywords)]
        if name_called(call) not in (*DIFFERENTIATES, "apply") and any(
            isinstance(each, ast.Name) and each.id in given_back for each in held
        ):
            return True
        is_taken = name_called(call) in ("get", "pop") and call.args and program.values.of(call.args[0]) == STATISTICS
        if is_taken and isinstance(call.func, ast.Attribute) and not is_from_init(program, call.func.value):
            return True
    for node in program.nodes.of_kind(ast.Subscript):
        if program.values.of(node.slice) == STATISTICS and not is_from_init(program, node.value):
            return True
    for written in program.nodes.of_kind(ast.Dict):
        if any(key is None and names_in(value) & given_back for key, value in zip(written.keys, written.values)):
            return True
    returned = {
        name
        for function in program.functions
        for value in program.returns_of(function)
        for name in names_in(value) & given_back
        if not is_differentiated(program, function)
    }
    stores = (each for each in program.nodes.of_kind(ast.Attribute) if isinstance(each.ctx, ast.Store))
    return bool(returned) or any(each.attr == STATISTICS for each in stores)


def is_differentiated(program: Program, function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """A loss function: what it returns beside the loss comes out of value_and_grad()."""
    return any(call.args and last_name(call.args[0]) == function.name for call in program.calls_to(*DIFFERENTIATES))


def is_from_init(program: Program, node: ast.AST) -> bool:
    return name_called(program.names.origin(node).node) in ("init", "init_with_output", "lazy_init")


# --- the order of transformations

CLIPS = ("clip_by_global_norm", "clip", "adaptive_grad_clip", "clip_by_block_rms", "zero_nans")
#: optax's optimizers: each ends with the learning rate, so that what stands behind takes steps and not gradients.
OPTIMIZERS = (
    "adam", "adamw", "sgd", "lion", "lamb", "lars", "adafactor", "adagrad", "adabelief", "nadam", "nadamw", "radam",
    "amsgrad", "rmsprop", "novograd", "yogi", "fromage", "noisy_sgd", "sm3", "adamax", "adamaxw", "adadelta",
)  # fmt: skip


@rule("code.clip-behind-optimizer")
def clip_behind_optimizer(program: Program) -> Iterator[Finding]:
    """`optax.chain(adamw(lr), clip_by_global_norm(1.0))`: what is clipped are the steps, not the gradients."""
    for call in program.calls_to("chain"):
        if not program.name_of(call.func).startswith("optax."):
            continue
        parts = [program.names.origin(each, through_calls=False).node for each in call.args]
        names = [program.name_of(each.func) if isinstance(each, ast.Call) else "" for each in parts]
        kinds = [each.rsplit(".", 1)[-1] if each.startswith("optax.") else "" for each in names]
        first = next((at for at, each in enumerate(kinds) if each in OPTIMIZERS), None)
        if first is None or any(each in CLIPS for each in kinds[:first]):
            continue
        clip = next((at for at, each in enumerate(kinds) if at > first and each == "clip_by_global_norm"), None)
        if clip is None:
            continue
        order = [source_of(call.args[clip]), *(source_of(each) for at, each in enumerate(call.args) if at != clip)]
        yield Finding(
            call.args[clip].lineno,
            f"optax.chain({', '.join(order)})"[:300],
            {"clip": source_of(call.args[clip])[:60], "optimizer": kinds[first]},
            also=sorted({call.args[first].lineno} - {call.args[clip].lineno}),
        )
