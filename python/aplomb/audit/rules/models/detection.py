"""Rules about detectors and the numbers of their classes."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...findings import Finding, rule
from ...program.program import Program
from ...program.syntax import keyword_of, name_called, names_in, receiver_of, source_of

#: torchvision's detectors whose class 0 is the background.
WITH_BACKGROUND = re.compile(
    r"^(fasterrcnn|maskrcnn|keypointrcnn|ssd300|ssdlite320|FasterRCNN$|MaskRCNN$|FastRCNNPredictor$)"
)


@rule("code.class-is-background")
def class_is_background(program: Program) -> Iterator[Finding]:
    """Classes are numbered from 0 for a detector of torchvision, whose class 0 is the background."""
    used = next((name for name in program.names_called if WITH_BACKGROUND.search(name)), "")
    if not used:
        return
    for name, numbering in numberings(program):
        place = label_from(program, name)
        if place is not None:
            yield Finding(
                numbering.lineno,
                program.line_text(numbering.lineno).replace("enumerate(", 'enumerate(["background"] + ', 1),
                {"detector": used, "numbers": name},
                also=sorted({place.lineno} - {numbering.lineno}),
            )
            return


def numberings(program: Program) -> Iterator[tuple[str, ast.expr]]:
    """(`CLASS_TO_IDX`, `{c: i for i, c in enumerate(CLASSES)}`), of classes none of which is the background."""
    for node in program.nodes.of_kind(ast.Assign):
        value = node.value
        if len(node.targets) != 1 or not isinstance(node.targets[0], (ast.Name, ast.Attribute)):
            continue
        name = source_of(node.targets[0])
        if isinstance(value, ast.DictComp) and len(value.generators) == 1:
            each = value.generators[0]
            counted = each.iter if isinstance(each.iter, ast.Call) and name_called(each.iter) == "enumerate" else None
            if counted is None or not counted.args or not isinstance(value.value, ast.Name):
                continue
            start = keyword_of(counted, "start") or (counted.args[1] if len(counted.args) > 1 else None)
            first = isinstance(each.target, ast.Tuple) and source_of(each.target.elts[0]) == value.value.id
            from_zero = first and (start is None or program.values.of(start) == 0)
            if from_zero and is_without_background(program, counted.args[0]):
                yield name, value
        elif isinstance(value, ast.Dict) and value.keys:
            numbers = [program.values.of(each) for each in value.values]
            keys = [each.value for each in value.keys if isinstance(each, ast.Constant)]
            plain = len(keys) == len(numbers) and all(isinstance(each, str) for each in keys)
            counted_up = {str(each) for each in numbers} == {str(i) for i in range(len(numbers))}
            if plain and counted_up and not any(is_background(str(each)) for each in keys):
                yield name, value


def is_background(name: str) -> bool:
    return name.lower().strip("_ ") in ("background", "bg", "back", "none", "empty", "bkg", "_background_", "")


def is_without_background(program: Program, node: ast.expr) -> bool:
    """The names are known, and none is the background."""
    names = program.values.of(node)
    return (
        isinstance(names, (list, tuple))
        and bool(names)
        and all(isinstance(each, str) and not is_background(each) for each in names)
    )


def label_from(program: Program, name: str) -> ast.Subscript | None:
    """Where a label of a target is looked up there, as it is: `labels.append(CLASS_TO_IDX[name])`, nothing added to it."""
    for node in program.nodes.of_kind(ast.Subscript):
        if source_of(node.value) != name or not isinstance(node.ctx, ast.Load):
            continue
        parent = program.nodes.parents.get(node)
        if isinstance(parent, ast.BinOp):
            return None
        statement = program.statement_of(node)
        kept: ast.expr | None = None
        if isinstance(parent, ast.Call) and name_called(parent) == "append":
            kept = receiver_of(parent)
        elif isinstance(statement, ast.Assign):
            added = (each for each in ast.walk(statement.value) if isinstance(each, ast.BinOp))
            kept = None if any(isinstance(each.op, ast.Add) for each in added) else statement.targets[0]
        if kept is not None and "lab" in source_of(kept).lower():
            return None if adds_one(program, source_of(kept)) else node
    return None


def adds_one(program: Program, labels: str) -> bool:
    """`labels + 1` anywhere."""
    sums: list[ast.BinOp | ast.AugAssign] = program.nodes.of_kind(ast.BinOp, ast.AugAssign)
    for node in sums:
        if isinstance(node.op, ast.Add):
            side = node.left if isinstance(node, ast.BinOp) else node.target
            if labels in source_of(side) or "label" in " ".join(names_in(side)).lower():
                return True
    return False
