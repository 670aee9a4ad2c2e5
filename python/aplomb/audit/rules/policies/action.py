"""Rules about actions: the range that a policy gives them and the one that the environment takes."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...findings import Finding, rule
from ...program.program import Program
from ...program.syntax import keyword_of, last_name, name_called, receiver_of, source_of

#: What leaves an action where it is: changes of form, and a clip.
STAYS = (
    "numpy", "cpu", "detach", "item", "squeeze", "unsqueeze", "flatten", "ravel", "clip", "clamp", "tolist", "float", "to",
    "reshape", "array", "asarray", "as_tensor", "view", "clone",
)  # fmt: skip
DENSITIES = ("Normal", "MultivariateNormal", "Independent", "Laplace", "TruncatedNormal")
RESCALING = ("RescaleAction", "ActionWrapper", "NormalizeAction", "scale_action", "rescale", "rescale_action",
             "unscale_action", "ActionNormalizer", "TransformAction")  # fmt: skip
#: Gymnasium's environments whose action is a number of another range than [-1, 1].
#: https://gymnasium.farama.org/environments/classic_control/pendulum/
KNOWN = {"Pendulum": 2.0, "InvertedPendulum": 3.0}


@rule("code.action-range-missed")
def action_range_missed(program: Program) -> Iterator[Finding]:
    """A policy whose mean ends in tanh, and an environment that takes actions of another range than [-1, 1] as they come."""
    if program.names_called & set(RESCALING) or any(last_name(each) in RESCALING for each in bases(program)):
        return
    found = next(ranges(program), None)
    if found is None:
        return
    place, low, high = found
    for call in program.calls_to("step"):
        if len(call.args) != 1 or not isinstance(call.func, ast.Attribute) or program.objects.event_of(call)[0]:
            continue
        mean = bounded(program, call.args[0], 0)
        if mean is not None:
            corrected = f"low + (high - low) * (action + 1) / 2  # of [{low:g}, {high:g}], in {source_of(call)[:60]}"
            values = {"low": f"{low:g}", "high": f"{high:g}"}
            also = sorted({getattr(mean, "lineno", 0), place.lineno} - {call.lineno, 0})
            yield Finding(call.lineno, corrected, values, also=also)
            return


def bases(program: Program) -> list[ast.expr]:
    return [base for each in program.nodes.of_kind(ast.ClassDef) for base in each.bases]


def ranges(program: Program) -> Iterator[tuple[ast.Call, float, float]]:
    """Action spaces that reach beyond [-1, 1] or begin above -1, of environments that do not scale by themselves."""
    for call in program.calls_to("Box"):
        statement = program.statement_of(call)
        targets = statement.targets if isinstance(statement, ast.Assign) else []
        if not any("action_space" in source_of(each) for each in targets):
            continue
        low = program.values.number(keyword_of(call, "low") or (call.args[0] if call.args else None))
        high = program.values.number(keyword_of(call, "high") or (call.args[1] if len(call.args) > 1 else None))
        owner = program.names.class_of(call)
        if low is None or high is None or (high <= 1 and low <= -1):
            continue
        if owner is not None and takes_as_it_comes(program, owner, low, high):
            yield call, low, high
    for call in program.calls_to("make", "make_vec"):
        name = program.values.text(call.args[0] if call.args else None).split("-")[0]
        if name in KNOWN:
            yield call, -KNOWN[name], KNOWN[name]


def takes_as_it_comes(program: Program, owner: ast.ClassDef, low: float, high: float) -> bool:
    """step() clips the action to the very range, or does no arithmetic on it."""
    step = program.makers.method(owner, "step")
    if step is None or len(step.args.args) < 2:
        return False
    action = step.args.args[1].arg
    for call in program.calls_in(step):
        if name_called(call) in ("clip", "clamp") and any(each.id == action for each in names_below(call)):
            limits = [program.values.number(each) for each in call.args]
            return "action_space" in source_of(call) or (low in limits and high in limits)
    return not any(
        isinstance(each, (ast.BinOp, ast.AugAssign)) and any(one.id == action for one in names_below(each))
        for each in program.nodes.below(step)
    )


def names_below(node: ast.AST) -> list[ast.Name]:
    return [each for each in ast.walk(node) if isinstance(each, ast.Name)]


def bounded(program: Program, node: ast.AST, depth: int) -> ast.AST | None:
    """What ends in tanh on the way to an action, with nothing behind it that scales."""
    origins = program.names.origins(node)
    if depth > 8 or len(origins) != 1 or origins[0].path:
        return None
    inner = origins[0].node
    if isinstance(inner, (ast.Subscript, ast.Starred)):
        return bounded(program, inner.value, depth + 1)
    if isinstance(inner, ast.BinOp) and isinstance(inner.op, (ast.Add, ast.Sub)):
        return next((each for side in (inner.left, inner.right) if (each := bounded(program, side, depth + 1))), None)
    if not isinstance(inner, ast.Call):
        return None
    name = name_called(inner)
    if name in STAYS:
        library = program.name_of(inner.func).startswith(("numpy.", "np.", "torch."))
        plain = library or not isinstance(inner.func, ast.Attribute)
        held = (inner.args[0] if inner.args else None) if plain else receiver_of(inner)
        return bounded(program, held, depth + 1) if held is not None else None
    if name in ("sample", "rsample"):
        made = program.names.origin(receiver_of(inner)).node
        mean = made.args[0] if isinstance(made, ast.Call) and name_called(made) in DENSITIES and made.args else None
        if isinstance(mean, ast.Call) and name_called(mean) == "Normal" and mean.args:  # Independent(Normal(mean, std), 1)
            mean = mean.args[0]
        return mean if mean is not None and program.makers.squash(mean) == "tanh" else None
    return inner if program.makers.squash(inner) == "tanh" else None
