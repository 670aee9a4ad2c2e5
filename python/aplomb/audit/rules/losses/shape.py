"""Rules about shapes: a column against a row, and targets of another size than a network begins with."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...findings import Finding, rule
from ...program.gradients import passes
from ...program.losses import REGRESSIONS
from ...program.program import Program
from ...program.syntax import name_called, source_of

#: A layer that begins as frameworks begin it gives numbers of about 1: from here on a target is far from what it can say.
LARGE = 1000.0


def differences(program: Program) -> Iterator[tuple[ast.AST, ast.expr, ast.expr, str]]:
    """(place, prediction, target, kind) of every regression loss that a backward pass goes through: those of torch, and
    `(prediction - target)` in a loss that is written out."""
    seen = set()
    for _, _, terms in passes(program):
        for term in terms:
            for node, one, other, kind in compared(program, term.node, 0):
                if node not in seen:
                    seen.add(node)
                    yield node, one, other, kind
    for node, one, other, kind in returned_by_steps(program):
        if node not in seen:
            seen.add(node)
            yield node, one, other, kind


def compared(program: Program, node: ast.AST, depth: int) -> Iterator[tuple[ast.AST, ast.expr, ast.expr, str]]:
    if depth > 5:
        return
    criterion = program.losses.criterion(node) if isinstance(node, ast.Call) else None
    if criterion is not None:
        if criterion.kind in REGRESSIONS and criterion.given is not None and criterion.target is not None:
            yield node, criterion.given, criterion.target, criterion.kind
        return
    if isinstance(node, ast.Call) and depth < 3:
        for returned in returned_by_loss(program, node):
            yield from compared(program, returned, depth + 1)
    for each in ast.walk(node):
        if isinstance(each, ast.BinOp) and isinstance(each.op, ast.Sub):
            yield each, each.left, each.right, "difference"
        elif isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load):
            value = given_expression(program, each, node)
            if value is not None and depth < 2:
                yield from compared(program, value, depth + 1)


def returned_by_loss(program: Program, call: ast.Call) -> list[ast.expr]:
    """What the forward() of a loss written as a module returns: one without layers of its own."""
    forward = program.makers.forward_run(call)
    if forward is None or len(call.args) < 2:
        return []
    owner = program.names.class_of(forward)
    layers = [each for each in program.calls_in(owner) if program.makers.is_layer(each)] if owner is not None else []
    return [] if owner is None or layers else program.returns_of(forward)


def given_expression(program: Program, name: ast.Name, around: ast.AST) -> ast.expr | None:
    """The arithmetic or call that a name was given, outside of the statement that it is used in."""
    binding = program.names.given(name)
    if binding is None or binding.how != "assigned" or binding.path or program.nodes.encloses(binding.node, around):
        return None
    return binding.value if isinstance(binding.value, (ast.BinOp, ast.Call)) else None


def returned_by_steps(program: Program) -> Iterator[tuple[ast.AST, ast.expr, ast.expr, str]]:
    """Of a LightningModule: what training_step() returns, its helpers included."""
    for function in program.functions:
        if function.name != "training_step":
            continue
        for criterion in program.losses.all_criteria:
            owner = program.names.class_of(criterion.call)
            if owner is None or owner is not program.names.class_of(function) or criterion.kind not in REGRESSIONS:
                continue
            if criterion.given is not None and criterion.target is not None:
                yield criterion.call, criterion.given, criterion.target, criterion.kind
        return


@rule("code.column-against-row")
def column_against_row(program: Program) -> Iterator[Finding]:
    """(N, 1) against (N): broadcasting makes N x N differences of them."""
    for node, one, other, _ in differences(program):
        for given, target in ((one, other), (other, one)):
            width, rank = program.shapes.width(given), program.shapes.rank(target)
            own = program.shapes.rank(given)
            if width == 1 and rank == 1 and own != 1 and is_predicted(program, (one, other)):
                text = source_of(given)
                yield Finding(
                    getattr(node, "lineno", 0),
                    program.line_text(getattr(node, "lineno", 0)).replace(text, f"{text}.squeeze(-1)", 1),
                    {"column": text, "row": source_of(target)},
                )
                break


def is_predicted(program: Program, sides: tuple[ast.expr, ast.expr]) -> bool:
    for side in sides:
        for origin in program.names.origins(side):
            if any(
                isinstance(each, ast.Call) and program.objects.event_of(each)[0] == "forward"
                for each in ast.walk(origin.node)
            ):
                return True
    return False


@rule("code.target-not-scaled")
def target_not_scaled(program: Program) -> Iterator[Finding]:
    """A regression whose target is made of numbers in the thousands and more, as it is."""
    for node, one, other, _ in differences(program):
        if not is_predicted(program, (one, other)):
            continue
        for target in (other, one):
            found = made_of(program, target)
            if found is None:
                continue
            place, size = found
            line = getattr(node, "lineno", 0)
            yield Finding(
                line, "", {"size": f"{size:.3g}", "target": source_of(target)}, also=[getattr(place, "lineno", line)]
            )
            break


def made_of(program: Program, node: ast.expr) -> tuple[ast.AST, float] | None:
    """What the target is made of and the largest constant in it, unless something brings it to size."""
    for value in sources(program, node):
        size = largest(program, value, 0)
        if size is not None and size >= LARGE:
            return value, size
    return None


def sources(program: Program, node: ast.expr) -> list[ast.AST]:
    """Where a target comes from: through the batch of a loader too."""
    found: list[ast.AST] = []
    for origin in program.names.origins(node):
        value = origin.node
        if isinstance(value, ast.Subscript):
            value = batch_part(program, value) or program.names.origin(value.value).node
        if isinstance(value, ast.Name):
            binding = program.names.given(value)
            loader: ast.AST | None = None
            path = origin.path
            if binding is not None and binding.how == "loop":
                loader, path = binding.value, (*binding.path, *origin.path)
            elif binding is not None and binding.how == "parameter":
                loader = program.shapes.loader_of_step(binding)
            part = program.shapes.part_of_batch(loader, path) if loader is not None else None
            value = program.names.origin(part[0]).node if part is not None else value
        found.append(value)
    return found


def batch_part(program: Program, node: ast.Subscript) -> ast.AST | None:
    """`batch[1]` of a training_step(): the second tensor of the data set that the program makes."""
    place = node.slice.value if isinstance(node.slice, ast.Constant) and type(node.slice.value) is int else None
    binding = program.names.given(node.value) if isinstance(node.value, ast.Name) else None
    if place is None or binding is None or binding.how != "parameter":
        return None
    for call in program.calls_to("TensorDataset"):
        if 0 <= place < len(call.args):
            return program.names.origin(call.args[place]).node
    return None


def largest(program: Program, node: ast.AST, depth: int) -> float | None:
    """The largest constant that is added to or multiplied into a value; None where it is divided, standardised, or made by
    something that is not seen."""
    if depth > 12:
        return None
    if isinstance(node, ast.Constant):
        return abs(float(node.value)) if isinstance(node.value, (int, float)) and not isinstance(node.value, bool) else None
    if isinstance(node, ast.UnaryOp):
        return largest(program, node.operand, depth + 1)
    if isinstance(node, ast.BinOp):
        return largest_of_arithmetic(program, node, depth)
    if isinstance(node, ast.Call):
        return largest_of_call(program, node, depth)
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
        return largest(program, node.value, depth + 1)
    origin = program.names.origin(node).node if isinstance(node, ast.Name) else node
    return largest(program, origin, depth + 1) if origin is not node else None


def largest_of_arithmetic(program: Program, node: ast.BinOp, depth: int) -> float | None:
    if isinstance(node.op, (ast.Add, ast.Sub)):
        sides = [each for each in (largest(program, node.left, depth + 1), largest(program, node.right, depth + 1)) if each]
        if isinstance(node.op, ast.Sub) and is_mean(node.right):
            return None
        return max(sides) if sides else None
    if isinstance(node.op, ast.Mult):
        one, other = program.values.number(node.left), program.values.number(node.right)
        factor = one if one is not None else other
        return abs(factor) if factor is not None else None
    return None


def largest_of_call(program: Program, node: ast.Call, depth: int) -> float | None:
    """Of what is only put into another form or shape."""
    name = name_called(node)
    if name in ("tensor", "from_numpy", "as_tensor", "array") and node.args:
        return largest(program, program.names.origin(node.args[0]).node, depth + 1)
    if name in ("float", "to", "unsqueeze", "view", "reshape", "astype", "squeeze") and isinstance(node.func, ast.Attribute):
        return largest(program, program.names.origin(node.func.value).node, depth + 1)
    return None


def is_mean(node: ast.AST) -> bool:
    text = source_of(node).lower()
    return "mean" in text or "mu" in text or "min" in text or "avg" in text
