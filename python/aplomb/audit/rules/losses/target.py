"""Rules about what a loss is asked for: labels that are smoothed twice, weights on another device, positives elsewhere."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...findings import Finding, rule
from ...program.algebra import Form, product, terms
from ...program.gradients import name_of_call
from ...program.losses import Criterion
from ...program.program import Program
from ...program.syntax import keyword_of, line_of, name_called, source_of
from .contrast import unturned

MAKES = ("tensor", "FloatTensor", "Tensor", "from_numpy", "as_tensor", "ones")
MOVES = ("to", "cuda", "to_device")
PLACES = ("Accelerator", "Fabric", "Trainer", "set_default_device", "set_default_tensor_type", "fit", "prepare")


@rule("code.smoothed-twice")
def smoothed_twice(program: Program) -> Iterator[Finding]:
    """Labels that are smoothed already go to a loss that smooths them again."""
    smoothing = [(each, smoothing_of(program, each)) for each in program.losses.all_criteria]
    for criterion, share in smoothing:
        if not share or criterion.target is None:
            continue
        if is_smoothed(program.algebra.of(criterion.target)):
            yield Finding(criterion.call.lineno, "", also=sorted({criterion.maker.lineno} - {criterion.call.lineno}))
            return
    for mixup in program.calls_to("Mixup"):
        given = keyword_of(mixup, "label_smoothing")
        own = program.values.number(given) if given is not None else 0.1  # what timm does unless it is told otherwise
        twice = next((each for each, share in smoothing if share), None)
        if program.name_of(mixup.func).startswith("timm.") and own and twice is not None:
            yield Finding(twice.maker.lineno, "", also=sorted({mixup.lineno} - {twice.maker.lineno}))
            return


def smoothing_of(program: Program, criterion: Criterion) -> float:
    given = keyword_of(criterion.maker, "label_smoothing") if criterion.kind == "cross_entropy" else None
    return program.values.number(given) or 0.0 if given is not None else 0.0


def is_smoothed(form: Form) -> bool:
    """`one_hot * 0.9 + 0.1 / k`."""
    found = terms(form) if form.op == "add" else []
    scaled = [product(each) for _, each in found]
    of_labels = [each for each in scaled if any(name_of_call(one) == "one_hot" for f in each.factors for one in f.below())]
    constant = [each for each in scaled if each not in of_labels]
    return len(found) == 2 and len(of_labels) == 1 and len(constant) == 1 and of_labels[0].coefficient < 1


@rule("code.weights-on-another-device")
def weights_on_another_device(program: Program) -> Iterator[Finding]:
    """The class weights are made on the CPU, and the model and its inputs are on the GPU."""
    if program.names_called & set(PLACES):
        return
    for criterion in program.losses.all_criteria:
        weight = keyword_of(criterion.maker, "weight") or keyword_of(criterion.maker, "pos_weight")
        if weight is None and criterion.maker is not criterion.call and criterion.maker.args:
            weight = criterion.maker.args[0]  # the first of every loss with weights
        if weight is None or criterion.given is None or not is_left_on_cpu(program, weight):
            continue
        if not is_on_card(program, criterion.given) or is_moved(program, criterion):
            continue
        made = program.names.origin(weight).node
        corrected = f"{source_of(weight)}.to(device)"
        yield Finding(criterion.maker.lineno, corrected, {"weight": source_of(weight)[:60]},
                      also=sorted({line_of(made), criterion.call.lineno} - {criterion.maker.lineno, 0}))  # fmt: skip
        return


def is_left_on_cpu(program: Program, weight: ast.expr) -> bool:
    """`torch.tensor([1.0, 5.0])`: no device, and nothing that moves it."""
    made = program.names.origin(weight).node
    if not isinstance(made, ast.Call) or not program.is_from_torch(made, *MAKES):
        return False
    if keyword_of(made, "device") is not None or not made.args:
        return False
    held = made.args[0]
    is_written = isinstance(held, (ast.List, ast.Tuple)) or name_called(made) == "from_numpy"
    assigned = {source_of(each) for each in [weight] if isinstance(each, (ast.Name, ast.Attribute))}
    moved = any(
        source_of(each.func.value) in assigned for each in program.calls_to(*MOVES) if isinstance(each.func, ast.Attribute)
    )
    return is_written and not moved


def is_on_card(program: Program, given: ast.expr) -> bool:
    """What the loss is given comes out of a model that was moved to a GPU."""
    call = program.names.origin(given).node
    if not isinstance(call, ast.Call) or program.objects.event_of(call)[0] != "forward":
        return False
    model = program.objects.identity(call.func)
    for move in program.calls_to("to", "cuda"):
        if isinstance(move.func, ast.Attribute) and program.objects.identity(move.func.value) & model:
            return name_called(move) == "cuda" or any(is_card(program, each) for each in move.args)
    return False


def is_card(program: Program, node: ast.expr) -> bool:
    """`"cuda"`, `torch.device("cuda:0")`, `"cuda" if available else "cpu"`."""
    made = program.names.origin(node).node
    texts = [each.value for each in ast.walk(made) if isinstance(each, ast.Constant) and isinstance(each.value, str)]
    return any(each.startswith("cuda") for each in texts)


def is_moved(program: Program, criterion: Criterion) -> bool:
    """The loss itself is moved, or is a part of a module that is."""
    statement = program.statement_of(criterion.maker)
    if any(name_called(each) in MOVES for each in program.enclosing(criterion.maker) if isinstance(each, ast.Call)):
        return True
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    if isinstance(target, ast.Attribute):
        return True
    names = {source_of(target)} if target is not None else set()
    return any(
        source_of(each.func.value) in names for each in program.calls_to(*MOVES) if isinstance(each.func, ast.Attribute)
    )


@rule("code.positives-misplaced")
def positives_misplaced(program: Program) -> Iterator[Finding]:
    """Two views are put one behind the other and compared all with all, and the labels are not those of the other view."""
    for criterion in program.losses.all_criteria:
        if criterion.kind != "cross_entropy" or criterion.given is None or criterion.target is None:
            continue
        stacked = views_stacked(program.algebra.of(criterion.given))
        labels = program.algebra.of(criterion.target)
        if stacked is None or name_of_call(labels) != "arange" or not isinstance(labels.node, ast.Call):
            continue
        asked = labels.node.args
        if len(asked) != 1:
            continue
        line, values = criterion.call.lineno, {"labels": source_of(labels.node)[:60]}
        corrected = "labels = torch.cat([torch.arange(n) + n, torch.arange(n)])"
        yield Finding(line, corrected, values, also=sorted({labels.line, stacked.line} - {line, 0}))
        return


def views_stacked(form: Form) -> Form | None:
    """`cat([z1, z2])` of `z @ z.T / t`, with z made so."""
    while form.op in ("div", "mul") or name_of_call(form) in ("fill_diagonal", "masked_fill"):
        if form.op == "call":
            form = form.parts[0]
            continue
        form = next((each for each in form.parts if each.op in ("matmul", "div", "mul")), form.parts[0])
    if form.op != "matmul":
        return None
    one, other = form.parts[0], unturned(form.parts[1])
    held = one
    while held.op == "normalize" and held.parts:
        held = held.parts[0]
    stacks = name_of_call(held) == "cat" and held.parts and held.parts[0].op == "list" and len(held.parts[0].parts) == 2
    return held if stacks and one.key == other.key else None
