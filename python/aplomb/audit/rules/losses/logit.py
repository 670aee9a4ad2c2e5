"""Rules about what a loss is given: logits, probabilities, logarithms of them, or its arguments the wrong way round."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...findings import Finding, rule
from ...program import keras
from ...program.losses import Criterion
from ...program.program import Program
from ...program.syntax import keyword_of, last_name, name_called, source_of
from .numeric import is_guarded, squashed, squashed_by

EXPECTS = {
    "cross_entropy": "logits",
    "binary_cross_entropy_with_logits": "logits",
    "binary_cross_entropy": "probabilities",
    "nll_loss": "log-probabilities",
    "kl_div": "log-probabilities",
}


def given_of(program: Program, kind: str) -> Iterator[tuple[Criterion, ast.expr, str]]:
    """Calls of one loss, with what the predictions last went through."""
    for criterion in program.losses.all_criteria:
        if criterion.kind != kind or criterion.given is None or is_guarded(criterion.given):
            continue
        squash = program.makers.squash(criterion.given)
        if squash is not None:
            yield criterion, criterion.given, squash


def place_of_squash(program: Program, node: ast.AST, names: tuple[str, ...]) -> int | None:
    """The line on which a model of this file ends in a softmax: its forward() or the last of its layers."""
    origin = program.names.origin(node).node
    if not isinstance(origin, ast.Call):
        return None
    if name_called(origin) in names:
        return origin.lineno
    made = program.makers.call_of(origin.func) if isinstance(origin.func, (ast.Name, ast.Attribute)) else None
    holder = program.makers.own_forward(origin)
    if made is not None:
        holder = program.makers.class_made(made) or made
    if holder is None:
        return None
    lines = [call.lineno for call in program.calls_in(holder) if name_called(call) in names]
    return lines[-1] if lines else None


def mended(program: Program, criterion: Criterion, node: ast.expr) -> str:
    """The call with the raw logits where they are at hand."""
    value = program.names.origin(node).node
    if isinstance(value, ast.Call) and squashed_by(program, value):
        rest = [source_of(each) for each in criterion.call.args[1:]]
        return f"{source_of(criterion.call.func)}({', '.join([source_of(squashed(program, value)), *rest])})"
    return ""


@rule("code.softmax-before-cross-entropy")
def softmax_before_cross_entropy(program: Program) -> Iterator[Finding]:
    for criterion, node, squash in given_of(program, "cross_entropy"):
        if squash in ("softmax", "sigmoid"):
            line = place_of_squash(program, node, ("softmax", "Softmax", "sigmoid", "Sigmoid")) or criterion.call.lineno
            also = [line] if line != criterion.call.lineno else []
            yield Finding(criterion.call.lineno, mended(program, criterion, node), {"function": squash}, also=also)


@rule("code.sigmoid-before-logit-loss")
def sigmoid_before_logit_loss(program: Program) -> Iterator[Finding]:
    for criterion, node, squash in given_of(program, "binary_cross_entropy_with_logits"):
        if squash in ("softmax", "sigmoid"):
            line = place_of_squash(program, node, ("softmax", "Softmax", "sigmoid", "Sigmoid")) or criterion.call.lineno
            also = [line] if line != criterion.call.lineno else []
            yield Finding(criterion.call.lineno, mended(program, criterion, node), {"function": squash}, also=also)


@rule("code.logits-for-probabilities")
def logits_for_probabilities(program: Program) -> Iterator[Finding]:
    """BCELoss on raw outputs; a cross-entropy of Keras that is not told of logits, on a head without an activation."""
    for criterion, node, squash in given_of(program, "binary_cross_entropy"):
        if squash in ("linear", "relu", "tanh", "log_softmax"):
            yield Finding(criterion.call.lineno, f"F.binary_cross_entropy_with_logits({source_of(node)}, ...)")
    for loss, model, activation in keras.losses_of_probabilities(program):
        layer = keras.last_layer(program, model)
        if layer is not None and keras.is_without_activation(program, layer):
            corrected = f'{source_of(layer.func)}(..., activation="{activation}")  # or from_logits=True in the loss'
            yield Finding(loss.lineno, corrected, also=[layer.lineno])


@rule("code.nll-without-log")
def nll_without_log(program: Program) -> Iterator[Finding]:
    """NLLLoss on logits or probabilities."""
    for criterion, node, squash in given_of(program, "nll_loss"):
        if squash in ("linear", "softmax", "sigmoid", "relu"):
            yield Finding(
                criterion.call.lineno, f"F.nll_loss(F.log_softmax({source_of(node)}, dim=-1), ...)", {"given": squash}
            )


@rule("code.kl-div-input")
def kl_div_input(program: Program) -> Iterator[Finding]:
    """kl_div() whose first argument is no logarithm."""
    for criterion, node, squash in given_of(program, "kl_div"):
        if squash in ("linear", "softmax", "sigmoid"):
            yield Finding(
                criterion.call.lineno, f"F.kl_div(F.log_softmax({source_of(node)}, dim=-1), ...)", {"given": squash}
            )


@rule("code.kl-div-target")
def kl_div_target(program: Program) -> Iterator[Finding]:
    """kl_div() is told that its target is a logarithm, and is given probabilities; or the other way round."""
    for criterion in program.losses.all_criteria:
        if criterion.kind != "kl_div" or criterion.target is None:
            continue
        given = keyword_of(criterion.maker, "log_target")
        is_log = given is not None and program.values.is_true(given)
        if given is not None and not is_log and not program.values.is_false(given):
            continue
        form = program.algebra.of(criterion.target)
        while form.op in ("detach", "index") and form.parts:
            form = form.parts[0]
        what = form.op if form.op != "call" else form.name.rsplit(".", 1)[-1]
        if (is_log and what == "softmax") or (not is_log and what == "log_softmax"):
            lines = {getattr(given, "lineno", 0), criterion.target.lineno} - {criterion.call.lineno, 0}
            yield Finding(
                criterion.call.lineno,
                f"F.kl_div(..., log_target={not is_log})",
                {"given": "probabilities" if is_log else "logarithms", "told": f"log_target={is_log}"},
                also=sorted(lines),
            )


@rule("code.relu-before-loss")
def relu_before_loss(program: Program) -> Iterator[Finding]:
    """The last layer is followed by a ReLU: no logit can be negative."""
    for kind in ("cross_entropy", "binary_cross_entropy_with_logits"):
        for criterion, node, squash in given_of(program, kind):
            if squash == "relu":
                line = place_of_squash(program, node, ("relu", "ReLU")) or criterion.call.lineno
                yield Finding(line, "", also=[criterion.call.lineno])


@rule("code.loss-arguments-swapped")
def loss_arguments_swapped(program: Program) -> Iterator[Finding]:
    """`criterion(labels, model(x))`."""
    for criterion in program.losses.all_criteria:
        first, second = criterion.given, criterion.target
        if first is None or second is None or criterion.kind not in (*EXPECTS, "ctc_loss"):
            continue
        named = last_name(first).lower()
        is_label = any(word in named.split("_") for word in ("label", "labels", "target", "targets", "y", "gt"))
        is_label = is_label or is_of_batch(program, first)
        if is_label and is_output(program, second) and not is_output(program, first):
            rest = [source_of(second), source_of(first), *map(source_of, criterion.call.args[2:])]
            yield Finding(criterion.call.lineno, f"{source_of(criterion.call.func)}({', '.join(rest)})")


def is_of_batch(program: Program, node: ast.AST) -> bool:
    """What a training loop takes from its loader, at most moved: `yb.cuda()`, `y`."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("to", "cuda", "long"):
        node = node.func.value
    binding = program.names.given(node) if isinstance(node, ast.Name) else None
    if binding is not None and binding.how == "assigned" and binding.value is not None:
        moved = binding.value
        same = isinstance(moved, ast.Call) and isinstance(moved.func, ast.Attribute) and moved.func.attr in ("to", "cuda")
        if same and isinstance(moved, ast.Call) and isinstance(moved.func, ast.Attribute):
            place = [each for each in program.names.all_given(node) if each.how == "loop"]
            return bool(place) and isinstance(moved.func.value, ast.Name)
    return binding is not None and binding.how == "loop" and binding.scope is program.function_of(node)


def is_output(program: Program, node: ast.AST) -> bool:
    origin = program.names.origin(node).node
    return isinstance(origin, ast.Call) and program.objects.event_of(origin)[0] == "forward"


@rule("code.kl-div-reversed")
def kl_div_reversed(program: Program) -> Iterator[Finding]:
    """kl_div(log_softmax(teacher), softmax(student)): the divergence of the student from the teacher the other way round."""
    for criterion in program.losses.all_criteria:
        if criterion.kind != "kl_div" or criterion.given is None or criterion.target is None:
            continue
        if keyword_of(criterion.maker, "log_target") is not None:
            continue  # whoever gives both as logarithms has read what the arguments are
        first, second = (players(program, each) for each in (criterion.given, criterion.target))
        if first == {"teacher"} and second == {"student"}:
            rest = "".join(f", {source_of(each)}" for each in criterion.call.keywords)
            corrected = f"F.kl_div(F.log_softmax(student_logits, dim=-1), F.softmax(teacher_logits, dim=-1){rest})"
            yield Finding(criterion.call.lineno, corrected, sure=False)


def players(program: Program, node: ast.expr) -> set[str]:
    """Which of teacher and student a value says that it is of, by all names on its way."""
    words = {word for each in program.algebra.of(node).below() for word in (*each.words, each.name.lower())}
    return {player for player in ("teacher", "student") if any(player in word for word in words)}
