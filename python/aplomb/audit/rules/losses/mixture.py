"""Rules about samples that are mixed with each other: their labels have to be mixed as they are."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from ...findings import Finding, rule
from ...program.algebra import Form, averaged
from ...program.gradients import losses_of, name_of_call
from ...program.program import Program
from ...program.syntax import source_of
from .generative import interpolations

#: What a weight may go through on its way without being used: `lam = lam.view(-1, 1, 1, 1)`.
SHAPING = ("view", "reshape", "to", "float", "cuda", "unsqueeze", "tensor", "expand")
CLASSIFIES = ("cross_entropy", "binary_cross_entropy_with_logits", "nll_loss", "binary_cross_entropy")


@dataclass(frozen=True)
class Mixing:
    """`lam * x + (1 - lam) * x[perm]`."""

    node: ast.expr
    base: Form  # x
    other: Form  # x[perm]
    share: Form  # lam
    is_rest: bool  # x itself has the weight 1 - lam


def mixed(form: Form) -> Iterator[tuple[Form, Form, Form, bool]]:
    """The two ends of an interpolation, the share, and whether the first end has what is left of it."""
    is_lerp = name_of_call(form) == "lerp" and len(form.parts) == 3
    for start, end, share in [form.parts] if is_lerp else interpolations(form):
        yield end, start, share, False
        yield start, end, share, True


def mixings(program: Program) -> Iterator[Mixing]:
    """Sums in which a batch is mixed with itself in another order."""
    if not program.names_called & {"randperm", "permutation", "flip", "roll"}:
        return
    for node in [*program.nodes.of_kind(ast.BinOp), *program.calls_to("lerp")]:
        if isinstance(node, ast.BinOp) and not isinstance(node.op, ast.Add):
            continue
        form = program.algebra.of(node)
        if form.op not in ("add", "call") or form.node is not node:
            continue
        for base, other, share, is_rest in mixed(form):
            if is_reordered(other, base):
                yield Mixing(node, base, other, share, is_rest)
                break


def is_reordered(other: Form, base: Form) -> bool:
    """`x[perm]`, `x.flip(0)`."""
    is_index = other.op == "index" or (other.op == "call" and other.name in ("flip", "roll"))
    return is_index and bool(other.parts) and other.parts[0].key == base.key


@rule("code.mixed-labels-left")
def mixed_labels_left(program: Program) -> Iterator[Finding]:
    """Inputs are mixed with a share and an order that nothing else reads: the labels cannot have been mixed."""
    if not any(each.kind in CLASSIFIES for each in program.losses.all_criteria):
        return
    found = list(mixings(program))
    for each in found:
        scope = program.function_of(each.node)
        inside = [one for one in found if program.function_of(one.node) is scope]
        names = {one.id for one in ast.walk(each.node) if isinstance(one, ast.Name)}
        share = next((one for one in names if one.lower() in each.share.words), "")
        if share and len(inside) == 1 and is_read_there_alone(program, scope, share, each.node):
            yield Finding(
                each.node.lineno,
                f"{share} * criterion(out, y) + (1 - {share}) * criterion(out, y[order])  # for the loss",
                {"share": share},
            )


def is_read_there_alone(program: Program, scope: ast.AST, name: str, place: ast.AST) -> bool:
    for each in program.nodes.below(scope):
        if not isinstance(each, ast.Name) or each.id != name or not isinstance(each.ctx, ast.Load):
            continue
        if program.nodes.encloses(place, each):
            continue
        statement = program.statement_of(each)
        value = statement.value if isinstance(statement, ast.Assign) else None
        shapes = isinstance(value, ast.Call) and getattr(value.func, "attr", "") in SHAPING
        if not shapes or not isinstance(statement, ast.Assign) or source_of(statement.targets[0]) != name:
            return False
    return True


@rule("code.mixed-weights-swapped")
def mixed_weights_swapped(program: Program) -> Iterator[Finding]:
    """The sample weighs lam in the mixed input, and its label 1 - lam in the loss."""
    found = list(mixings(program))
    if not found:
        return
    for loss in losses_of(program):
        for form in loss.form.below():
            for one, other, share, is_rest in mixed(form) if form.op == "add" else ():
                label, permuted = target_of(one, other), target_of(other, one)
                if label is None or permuted is None or not is_reordered(permuted, label):
                    continue
                inputs = next((each for each in found if each.share.key == share.key), None)
                if inputs is not None and inputs.is_rest is not is_rest:
                    line = getattr(form.node, "lineno", loss.line)
                    yield Finding(line, "", also=sorted({inputs.node.lineno} - {line}))
                    return


def target_of(form: Form, other: Form) -> Form | None:
    """The target of one of two losses of the same prediction."""
    one, two = averaged(form), averaged(other)
    if one.op != "call" or two.op != "call" or len(one.parts) < 2 or len(two.parts) < 2:
        return None
    return one.parts[1] if one.parts[0].key == two.parts[0].key else None
