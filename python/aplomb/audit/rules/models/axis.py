"""Rules about the axis that something is normalised over: the batch, one number alone, other prompts."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...findings import Finding, rule
from ...program.algebra import Form
from ...program.program import Program
from ...program.syntax import keyword_of, last_name, name_called, receiver_of, source_of

REWARDED = re.compile(r"(^|_)(r|rew|reward|rewards|returns?|scores?)(_|\d|$)")
LIBRARIES = ("torch.", "F.", "jax.", "flax.")
GROUPS = re.compile(r"group|gener|sampl|rollout|complet|(^|_|\.)(n|k|g)$")


def axis_of(program: Program, call: ast.Call, place: int) -> object:
    """The axis that a call names; `place`: that of the argument behind the tensor."""
    library = program.name_of(call.func).startswith(LIBRARIES)
    given = call.args[1:] if library else call.args
    node = keyword_of(call, "dim") or keyword_of(call, "axis") or (given[place] if len(given) > place else None)
    return program.values.of(node) if node is not None else None


def tensor_of(program: Program, call: ast.Call) -> ast.expr | None:
    library = program.name_of(call.func).startswith(LIBRARIES)
    if library:
        return call.args[0] if call.args else None
    return call.func.value if isinstance(call.func, ast.Attribute) else None


@rule("code.normalised-over-batch")
def normalised_over_batch(program: Program) -> Iterator[Finding]:
    """`F.normalize(a, dim=0) @ F.normalize(b, dim=0).T`: products of rows whose columns were normalised."""
    if "normalize" not in program.names_called:
        return
    places: list[ast.expr] = program.nodes.in_order(
        [*program.nodes.of_kind(ast.BinOp), *program.calls_to("matmul", "mm", "einsum")]
    )
    for node in places:
        form = program.algebra.of(node)
        while form.op in ("div", "mul", "exp") and form.parts:
            form = form.parts[0]
        if form.op != "matmul" or form.parts[0].op != "normalize" or not is_turned(form.parts[1]):
            continue
        call = form.parts[0].node
        if isinstance(call, ast.Call) and axis_of(program, call, 1) == 0:
            yield Finding(call.lineno, source_of(call).replace("dim=0", "dim=-1"), also=sorted({form.line} - {call.lineno}))
            return


def is_turned(form: Form) -> bool:
    name = form.name.rsplit(".", 1)[-1] if form.op == "call" else ""
    return form.op == "transposed" or name in ("t", "transpose", "mT")


@rule("code.softmax-of-one")
def softmax_of_one(program: Program) -> Iterator[Finding]:
    """A softmax along an axis of one number is 1, whatever it is given."""
    for call in program.calls_to("softmax", "log_softmax"):
        tensor, axis = tensor_of(program, call), axis_of(program, call, 0)
        if tensor is not None and last_is_one(program, tensor, axis):
            yield Finding(call.lineno, "", {"given": source_of(tensor)[:60], "what": "The softmax"})
    yield from layers_of_one(program)
    for criterion in program.losses.all_criteria:
        given = criterion.given if criterion.kind == "cross_entropy" else None
        if given is None or program.shapes.width(given) != 1 or program.shapes.rank(given) not in (None, 2):
            continue
        yield Finding(
            criterion.call.lineno,
            "F.binary_cross_entropy_with_logits(output.squeeze(-1), y.float())",
            {"given": source_of(given)[:60], "what": "The softmax inside cross-entropy"},
        )


def layers_of_one(program: Program) -> Iterator[Finding]:
    """`nn.Softmax(dim=-1)` as a layer behind one of width 1, and `Dense(1, activation="softmax")` of Keras."""
    for call in program.calls_to("Softmax", "LogSoftmax"):
        if program.values.of(keyword_of(call, "dim") or (call.args[0] if call.args else None)) != -1:
            continue
        around = program.nodes.parents.get(call)
        before = around.args[: around.args.index(call)] if isinstance(around, ast.Call) and call in around.args else []
        if isinstance(around, ast.Call) and name_called(around) == "Sequential" and before:
            made = program.makers.call_of(before[-1]) if not isinstance(before[-1], ast.Starred) else None
            if made is not None and program.shapes.width_of_module(made, (), 0) == 1:
                yield Finding(call.lineno, "", {"given": source_of(made)[:60], "what": "The softmax"})
    for call in program.calls:
        made = call.func if isinstance(call.func, ast.Call) else program.makers.call_of(call.func)
        if made is None or program.makers.class_name(made) not in ("Softmax", "LogSoftmax") or len(call.args) != 1:
            continue
        dim = keyword_of(made, "dim") or (made.args[0] if made.args else None)
        if dim is not None and last_is_one(program, call.args[0], program.values.of(dim)):
            yield Finding(call.lineno, "", {"given": source_of(call.args[0])[:60], "what": "The softmax"})
    yield from dense_of_one(program)


def dense_of_one(program: Program) -> Iterator[Finding]:
    for call in program.calls_to("Dense"):
        units = keyword_of(call, "units") or (call.args[0] if call.args else None)
        if units is not None and program.values.of(units) == 1:
            activation = keyword_of(call, "activation")
            if activation is not None and program.values.of(activation) == "softmax":
                corrected = source_of(call).replace("softmax", "sigmoid")
                yield Finding(call.lineno, corrected, {"given": source_of(call)[:60], "what": "The softmax"})


def last_is_one(program: Program, tensor: ast.expr, axis: object) -> bool:
    if program.shapes.width(tensor) != 1:
        return False
    rank = program.shapes.rank(tensor)
    return axis == -1 or (type(axis) is int and rank is not None and axis == rank - 1 and rank > 1)


@rule("code.weights-summed-along-another-axis")
def weights_summed_elsewhere(program: Program) -> Iterator[Finding]:
    """`w = softmax(scores, dim=0)`, and `(w * h).sum(1)`: the weights of a row do not add up to 1."""
    for call in program.calls_to("softmax"):
        axis = axis_of(program, call, 0)
        if axis not in (0, 1):
            continue
        for total in program.calls_to("sum"):
            if program.function_of(total) is not program.function_of(call) or axis_of(program, total, 0) not in (0, 1):
                continue
            held = tensor_of(program, total)
            product = program.names.origin(held).node if isinstance(held, ast.Name) else held
            if not isinstance(product, ast.BinOp) or not isinstance(product.op, ast.Mult):
                continue
            sides = [program.names.origin(each).node if isinstance(each, ast.Name) else each for each in
                     (product.left, product.right)]  # fmt: skip
            if call in sides and axis_of(program, total, 0) != axis:
                over = axis_of(program, total, 0)
                yield Finding(
                    call.lineno,
                    re.sub(r"(dim=|, )[01]\)", rf"\g<1>{over})", source_of(call)),
                    {"over": str(axis), "sum": str(over)},
                    also=sorted({total.lineno} - {call.lineno}),
                )
                break


@rule("code.baseline-of-other-prompts")
def baseline_of_other_prompts(program: Program) -> Iterator[Finding]:
    """Rewards as (prompts, answers of one prompt), and the mean is taken over the prompts."""
    for call in program.calls_to("mean", "std"):
        held = tensor_of(program, call)
        if held is None or axis_of(program, call, 0) != 0 or not isinstance(held, ast.Name):
            continue
        view = program.names.origin(held).node
        if not isinstance(view, ast.Call) or name_called(view) not in ("view", "reshape") or len(view.args) != 2:
            continue
        rewarded = REWARDED.search(held.id.lower()) or REWARDED.search(last_name(receiver_of(view)).lower())
        if program.values.of(view.args[0]) == -1 and rewarded and GROUPS.search(source_of(view.args[1]).lower()):
            corrected = source_of(call).replace("dim=0", "dim=1").replace("(0", "(1", 1)
            yield Finding(call.lineno, corrected, {"size": source_of(view.args[1])[:40]}, also=[view.lineno])
            return
