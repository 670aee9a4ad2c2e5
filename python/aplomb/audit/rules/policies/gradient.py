"""Rules about the gradient of a policy: whether its log-probabilities have one."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...findings import Finding, rule
from ...program.gradients import Loss, attached, is_forward, is_quiet, losses_of
from ...program.program import Program
from ...program.syntax import name_called

LOG_PROBABILITY = re.compile(r"(^|_)(log_?probs?|log_?ps?|lps?|log_?pis?)($|_)")
CUTS = ("detach", "item", "numpy", "tolist")
#: What passes a value on as it is.
CARRIES = ("cpu", "sum", "mean", "squeeze", "unsqueeze", "view", "reshape", "to", "float")


@rule("code.log-probability-without-gradient")
def log_probability_without_gradient(program: Program) -> Iterator[Finding]:
    """REINFORCE on log-probabilities that were detached, turned into numbers or taken under no_grad(): nothing leads back to
    the policy."""
    calls = program.calls_to("log_prob")
    if not calls or program.names_called & {"log_softmax", "rsample", "cross_entropy", "nll_loss", "evaluate_actions"}:
        return
    cuts = [cut_of(program, each) for each in calls]
    if any(each is None for each in cuts):
        return
    for loss in losses_of(program):
        if climbs_log_probability(loss):
            place = cuts[0]
            assert place is not None
            text = program.line_text(place.lineno)
            corrected = re.sub(r"\.(detach|item|numpy|tolist)\(\)", "", text)
            how = "no_grad()" if text == corrected else next(each for each in CUTS if f".{each}()" in text) + "()"
            fix = corrected if text != corrected else f"{text}  # outside of no_grad()"
            yield Finding(place.lineno, fix, {"how": how}, also=sorted({loss.line} - {place.lineno}))
            return


def climbs_log_probability(loss: Loss) -> bool:
    """The loss is a product with what is called a log-probability (or is one)."""
    return any(
        (each.op == "call" and "log_prob" in each.name) or any(LOG_PROBABILITY.search(word) for word in each.words)
        for each in loss.form.below()
    )


def cut_of(program: Program, call: ast.Call) -> ast.expr | None:
    """Where the gradient of a log-probability ends: under no_grad(), or in `.detach()`, `.item()` behind it; of a name,
    where every use of it ends so. None where it has one."""
    form = program.algebra.of(call)
    asked = [each for each in form.below() if is_forward(program, each)]
    if is_quiet(program, call) or (asked and not any(True for _ in attached(program, form))):
        return call
    node: ast.AST = call
    while True:
        parent = program.nodes.parents.get(node)
        method = program.nodes.parents.get(parent) if isinstance(parent, ast.Attribute) else None
        if isinstance(method, ast.Call) and method.func is parent:
            if name_called(method) in CUTS:
                return method
            if name_called(method) not in CARRIES:
                return None
            node = method
            continue
        if isinstance(parent, ast.Call) and name_called(parent) == "float" and isinstance(parent.func, ast.Name):
            return parent
        break
    if not isinstance(parent, ast.Assign) or parent.value is not node or not isinstance(parent.targets[0], ast.Name):
        return None
    name, scope = parent.targets[0].id, program.function_of(parent)
    uses = [
        each
        for each in program.nodes.below(scope)
        if isinstance(each, ast.Name) and each.id == name and isinstance(each.ctx, ast.Load)
    ]
    ends = [end_of(program, each) for each in uses]
    return ends[0] if ends and all(each is not None for each in ends) else None


def end_of(program: Program, node: ast.AST) -> ast.expr | None:
    """`logp.detach()`, `logp.cpu().item()`."""
    parent = program.nodes.parents.get(node)
    method = program.nodes.parents.get(parent) if isinstance(parent, ast.Attribute) else None
    if not isinstance(method, ast.Call) or method.func is not parent:
        return None
    if name_called(method) in CUTS:
        return method
    return end_of(program, method) if name_called(method) in CARRIES else None
