"""Rules about what a policy's estimates are made of: targets of values, densities of actions that were squashed."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...findings import Finding, rule
from ...program.program import Program
from ...program.syntax import Function, last_name, name_called, receiver_of, source_of

ADVANTAGES = re.compile(r"(^|_)(adv|advs|advantage|advantages|gae|gaes)(_|\d|$)")
VALUES = re.compile(r"(^|_)b?(v|vs|val|vals|value|values|baseline|baselines)(_|\d|$)")
NORMALISING = re.compile(r"normali[sz]e|standardi[sz]e|whiten")
#: What a density is corrected with where its sample is squashed: log(1 - tanh(u)^2), 2 (log 2 - u - softplus(-2u)).
CORRECTING = ("log", "log1p", "softplus", "log_abs_det_jacobian", "logsigmoid")
SQUASHED = ("TanhTransform", "TanhNormal", "SquashedNormal", "TanhBijector", "TransformedDistribution", "SigmoidTransform")


@rule("code.returns-of-normalised-advantages")
def returns_of_normalised_advantages(program: Program) -> Iterator[Finding]:
    """`adv = (adv - adv.mean()) / adv.std()`, then `returns = adv + values`: the target of the values has lost its scale."""
    for node in program.nodes.of_kind(ast.BinOp):
        if not isinstance(node.op, ast.Add):
            continue
        for one, other in ((node.left, node.right), (node.right, node.left)):
            if not named(one, ADVANTAGES) or not named(other, VALUES):
                continue
            binding = program.names.given(one)
            made = binding.value if binding is not None and binding.how == "assigned" and not binding.path else None
            if made is not None and is_normalised(made):
                yield Finding(
                    node.lineno,
                    f"{source_of(program.statement_of(node))}  # before the advantages are normalised",
                    {"advantages": source_of(one), "values": source_of(other)},
                    also=[made.lineno],
                )
                return


def named(node: ast.expr, pattern: re.Pattern[str]) -> bool:
    return isinstance(node, (ast.Name, ast.Attribute)) and pattern.search(last_name(node).lower()) is not None


def is_normalised(made: ast.expr) -> bool:
    """`(a - a.mean()) / (a.std() + eps)`, `normalize(a)`."""
    if isinstance(made, ast.Call):
        return NORMALISING.search(name_called(made).lower()) is not None
    if not isinstance(made, ast.BinOp) or not isinstance(made.op, ast.Div):
        return False
    above = {name_called(each) for each in ast.walk(made.left)} | {last_name(each) for each in ast.walk(made.left)}
    below = {name_called(each) for each in ast.walk(made.right)} | {last_name(each).lower() for each in ast.walk(made.right)}
    return bool(above & {"mean", "mu"} or any("mean" in each for each in above)) and any("std" in each for each in below)


@rule("code.squashed-density-uncorrected")
def squashed_density_uncorrected(program: Program) -> Iterator[Finding]:
    """`u = dist.rsample(); action = tanh(u); logp = dist.log_prob(u)`: the density is that of u, not of the action. Where
    an action is only drawn by sample() the term has no gradient and leaves a ratio, and is none of this."""
    if any(each in SQUASHED for each in program.names_called):
        return
    for call in program.calls_to("log_prob"):
        function = program.function_of(call)
        if not isinstance(function, Function) or len(call.args) != 1 or not isinstance(call.args[0], ast.Name):
            continue
        drawn = program.names.origin(call.args[0], through_calls=False).node
        if not isinstance(drawn, ast.Call) or name_called(drawn) != "rsample":
            continue
        if source_of(receiver_of(drawn)) != source_of(receiver_of(call)):
            continue
        squash = next((each for each in program.calls_in(function) if is_squash(each, call.args[0].id)), None)
        if squash is not None and not is_corrected(program, function):
            yield Finding(
                call.lineno,
                f"{source_of(call)} - torch.log(1 - torch.tanh({source_of(call.args[0])}) ** 2 + 1e-6)",
                {"drawn": source_of(call.args[0]), "squash": source_of(squash)},
                also=[squash.lineno],
            )
            return


def is_squash(call: ast.Call, name: str) -> bool:
    """`torch.tanh(u)`, `u.tanh()`, `sigmoid(u)`."""
    given = call.args[0] if call.args else receiver_of(call)
    return name_called(call) in ("tanh", "sigmoid") and source_of(given) == name


def is_corrected(program: Program, function: ast.AST) -> bool:
    """A logarithm that corrects it: here, or in what is called from here or calls it."""
    owner = program.names.class_of(function)
    reached = [function, *(program.names.function_called(each) for each in program.calls_in(function))]
    name = getattr(function, "name", "")
    reached += [program.function_of(each) for each in program.calls_to(name)] if name != "forward" else []
    if owner is not None:
        reached.append(owner)
    for each in reached:
        if each is None:
            continue
        for call in program.calls_in(each):
            named_so = name_called(call) in CORRECTING or "correct" in name_called(call).lower()
            if named_so and not source_of(call).startswith("math."):
                return True
    return False
