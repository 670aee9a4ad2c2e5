"""Rules about how one sample is made: parts that have to stay beside each other, classes that are no amounts, sides of a
pair that have to begin alike."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...findings import Finding, rule
from ...program.data import entries, sample_parts
from ...program.program import Program
from ...program.syntax import keyword_of, last_name, line_of, name_called, receiver_of, source_of

BLENDING = ("linear", "bilinear", "bicubic", "trilinear", "area")
TO_WHOLE = ("long", "int", "round", "round_", "byte", "short")
WHOLE_FORMATS = ("torch.long", "torch.int64", "torch.int32", "torch.uint8", "torch.int")
EDGES = (
    ("x1", "x2"), ("x0", "x1"), ("xmin", "xmax"), ("x_min", "x_max"), ("left", "right"), ("[:,0]", "[:,2]"), ("[0]", "[2]"),
    ("[...,0]", "[...,2]"),
)  # fmt: skip
HOLDERS = ("tensor", "LongTensor", "array", "as_tensor", "list")
MASK_WORDS = ("mask", "seg", "label", "target", "annot")


@rule("code.classes-interpolated")
def classes_interpolated(program: Program) -> Iterator[Finding]:
    """A map of classes is resized by a mean of its neighbours: between class 1 and class 3 a border of class 2 appears."""
    for call in program.calls_to("interpolate"):
        mode = keyword_of(call, "mode") or (call.args[3] if len(call.args) > 3 else None)
        place = becomes_whole(program, call) if program.values.text(mode) in BLENDING else None
        if place is not None:
            text = program.line_text(call.lineno)
            corrected = text.replace(f'"{program.values.text(mode)}"', '"nearest"').replace(", align_corners=False", "")
            yield Finding(call.lineno, corrected, {"how": program.values.text(mode)}, also=[line_of(place)])
    yield from masks_resized(program)


def becomes_whole(program: Program, call: ast.Call) -> ast.AST | None:
    """Where the resized values become whole numbers: in the same expression, or through one name."""
    for parent in program.enclosing(call):
        if isinstance(parent, ast.stmt):
            break
        if is_whole(program, parent):
            return parent
    statement = program.statement_of(call)
    if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name):
        return None
    name = statement.targets[0].id
    for other in program.calls_to(*TO_WHOLE, "to", "type"):
        if not is_whole(program, other) or program.function_of(other) is not program.function_of(call):
            continue
        inner = receiver_of(other)
        while isinstance(inner, (ast.Call, ast.Subscript, ast.Attribute)):
            inner = receiver_of(inner) if isinstance(inner, ast.Call) else inner.value
        if isinstance(inner, ast.Name) and inner.id == name and other.lineno > call.lineno:
            return other
    return None


def is_whole(program: Program, node: ast.AST) -> bool:
    name = name_called(node) if isinstance(node, ast.Call) else ""
    if name in TO_WHOLE:
        return True
    return (
        name in ("to", "type")
        and isinstance(node, ast.Call)
        and any(program.name_of(each) in WHOLE_FORMATS for each in [*node.args, *(one.value for one in node.keywords)])
    )


def masks_resized(program: Program) -> Iterator[Finding]:
    """`mask.resize(size)` of Pillow, `cv2.resize(mask, size)`, `TF.resize(mask, size)`: all of them blend by default."""
    for call in program.calls_to("resize"):
        full = program.name_of(call.func)
        library = full.startswith(("cv2.", "torchvision."))
        held = call.args[0] if library and call.args else receiver_of(call)
        if (
            not library
            and "PIL" not in "".join(program.aliases.values())
            and "Image" not in program.names_called | {each.split(".")[-1] for each in program.aliases.values()}
        ):
            continue
        name = last_name(held).lower()
        if not name or not any(word in name for word in MASK_WORDS[:2]) or name.startswith("no"):
            continue
        text = source_of(call)
        if "NEAREST" in text.upper() or any(each.arg in ("interpolation", "resample") for each in call.keywords):
            continue
        if len(call.args) > (2 if library else 1):
            continue
        nearest = (
            "interpolation=InterpolationMode.NEAREST"
            if "torchvision" in full
            else ("interpolation=cv2.INTER_NEAREST" if library else "Image.NEAREST")
        )
        yield Finding(call.lineno, f"{text[:-1]}, {nearest})", {"how": "blending (the default of resize())"}, sure=False)


# --- boxes


@rule("code.boxes-flipped-inside-out")
def boxes_flipped(program: Program) -> Iterator[Finding]:
    """`boxes[:, [0, 2]] = w - boxes[:, [0, 2]]`: the left edge becomes larger than the right one."""
    assigned: list[ast.Assign] = program.nodes.of_kind(ast.Assign)
    for node in assigned:
        target, value = node.targets[0], node.value
        if isinstance(target, ast.Subscript):
            pair = last_index(target)
            if isinstance(pair, ast.List) and mirrored(value) is not None and both_edges(program, pair):
                held = mirrored(value)
                if held is not None and source_of(held) == source_of(target):
                    turned = source_of(target).replace(
                        source_of(pair), f"[{source_of(pair.elts[1])}, {source_of(pair.elts[0])}]"
                    )
                    corrected = f"{source_of(target)} = {source_of(value).replace(source_of(held), turned)}"
                    yield Finding(node.lineno, corrected, {"edges": source_of(target)})
        elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts) == 2:
            sides = [mirrored(each) for each in value.elts]
            same = [source_of(each) if each is not None else "" for each in sides] == [
                source_of(each) for each in target.elts
            ]
            if same and are_edges(target.elts):
                yield Finding(
                    node.lineno,
                    f"{source_of(target)} = {source_of(value.elts[1])}, {source_of(value.elts[0])}",
                    {"edges": source_of(target)},
                )
    yield from flipped_in_turn(program)


def last_index(node: ast.Subscript) -> ast.expr:
    return node.slice.elts[-1] if isinstance(node.slice, ast.Tuple) and node.slice.elts else node.slice


def mirrored(node: ast.expr) -> ast.expr | None:
    """`x` of `width - x`, `1 - x`."""
    while isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
        if isinstance(node.right, ast.Constant):
            node = node.left  # `w - x - 1`
            continue
        return node.right
    return None


def both_edges(program: Program, pair: ast.List) -> bool:
    return [program.values.of(each) for each in pair.elts] in ([0, 2], [1, 3])


def are_edges(targets: list[ast.expr]) -> bool:
    """`x1, x2`, `xmin, xmax`, `boxes[:, 0], boxes[:, 2]`, `left, right`."""
    names = [source_of(each).replace(" ", "").lower() for each in targets]
    return any(names[0].endswith(one) and names[1].endswith(other) for one, other in EDGES)


def flipped_in_turn(program: Program) -> Iterator[Finding]:
    """`boxes[:, 0] = w - boxes[:, 0]` and then the same of column 2."""
    found: dict[tuple[ast.AST, str, str], list[ast.Assign]] = {}
    for node in program.nodes.of_kind(ast.Assign):
        target = node.targets[0]
        held = mirrored(node.value) if isinstance(target, ast.Subscript) else None
        if held is None or not isinstance(target, ast.Subscript) or source_of(held) != source_of(target):
            continue
        number = program.values.of(last_index(target))
        if number in (0, 2) and "box" in source_of(target.value).lower():
            found.setdefault((program.function_of(node), source_of(target.value), ""), []).append(node)
    for (_, holder, _), places in found.items():
        numbers = {
            program.values.of(last_index(each.targets[0])) for each in places if isinstance(each.targets[0], ast.Subscript)
        }
        if numbers == {0, 2}:
            yield Finding(
                places[0].lineno,
                f"{holder}[:, [0, 2]] = width - {holder}[:, [2, 0]]",
                {"edges": f"{holder}[:, 0] and {holder}[:, 2]"},
                also=[each.lineno for each in places[1:]],
            )


# --- tokens and their labels


@rule("code.labels-beside-markers")
def labels_beside_markers(program: Program) -> Iterator[Finding]:
    """The tokens begin with [CLS] and the labels with the first word's: each token has the label of the one behind it."""
    if not any("TokenClassification" in name or "Tagger" in name for name in program.names_called | class_names(program)):
        return
    for _, inputs, labels in sample_parts(program):
        one, other = begin_of_row(program, inputs, 0), begin_of_row(program, labels, 0)
        if one is None or other is None or one[0] == other[0]:
            continue
        yield Finding(
            labels.lineno,
            "labels = [-100] + labels + [-100]  # nothing is asked of [CLS] and [SEP]",
            {"tokens": str(one[0]), "labels": str(other[0])},
            also=sorted({one[1], other[1]} - {labels.lineno}),
        )
        return


def class_names(program: Program) -> set[str]:
    return {each.split(".")[-1] for each in program.aliases.values()}


def begin_of_row(program: Program, node: ast.AST, depth: int) -> tuple[int, int] | None:
    """How many single items stand before what is made for each word, and the line that says so."""
    if depth > 12:
        return None
    if isinstance(node, ast.Call) and node.args and name_called(node) in HOLDERS:
        return begin_of_row(program, node.args[0], depth + 1)
    if isinstance(node, ast.Name):
        binding = program.names.given(node)
        plain = binding is not None and binding.how == "assigned" and not binding.path
        once = plain and len(program.names.all_given(node)) == 1
        if binding is not None and binding.how == "assigned" and isinstance(binding.value, ast.Subscript) and binding.path:
            return 0, binding.line  # one field of a row, as it is
        return begin_of_row(program, binding.value, depth + 1) if once and binding is not None and binding.value else None
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice) and node.slice.lower is None:
        return begin_of_row(program, node.value, depth + 1)
    return begin_of_list(program, node, depth)


def begin_of_list(program: Program, node: ast.AST, depth: int) -> tuple[int, int] | None:
    if isinstance(node, ast.ListComp):
        source = node.generators[0]
        if len(node.generators) != 1 or source.ifs:
            return None
        inner = begin_of_row(program, source.iter, depth + 1) if isinstance(source.iter, (ast.BinOp, ast.List)) else None
        return inner if inner is not None else (0, node.lineno)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        if not isinstance(node.left, ast.List) or any(isinstance(each, ast.Starred) for each in node.left.elts):
            return begin_of_row(program, node.left, depth + 1)
        rest = begin_of_row(program, node.right, depth + 1)
        return (len(node.left.elts) + rest[0], node.lineno) if rest is not None else None
    for singles, item in enumerate(node.elts if isinstance(node, ast.List) else []):
        if isinstance(item, ast.Starred):
            rest = begin_of_row(program, item.value, depth + 1)
            return (singles + (rest[0] if rest is not None else 0), node.lineno)  # type: ignore[attr-defined]
    return None


# --- pairs


@rule("code.prompt-on-one-side")
def prompt_on_one_side(program: Program) -> Iterator[Finding]:
    """`{"chosen": prompt + better, "rejected": worse}`: the two are told apart by the prompt alone."""
    for node, chosen, rejected in entries(program):
        if isinstance(node, ast.Dict) and any(isinstance(key, ast.Constant) and key.value == "prompt" for key in node.keys):
            continue
        one, other = pieces(chosen), pieces(rejected)
        if len(one) == len(other) or min(len(one), len(other)) == 0:
            continue
        longer, shorter = (one, other) if len(one) > len(other) else (other, one)
        first = longer[0]
        is_prompt = isinstance(first, ast.Name) or any(word in source_of(first).lower() for word in ("prompt", "question"))
        if len(longer) != len(shorter) + 1 or not is_prompt or source_of(first) in [source_of(each) for each in shorter]:
            continue
        if not any(word in told(program, first) for word in ("prompt", "question", "instruction", "context", "query")):
            continue
        lacking = rejected if longer is one else chosen
        yield Finding(
            lacking.lineno,
            f"{source_of(first)} + {source_of(lacking)}",
            {"prompt": source_of(first), "side": "chosen" if longer is one else "rejected"},
            also=sorted({chosen.lineno, rejected.lineno} - {lacking.lineno}),
        )


def told(program: Program, node: ast.expr) -> str:
    origin = program.names.origin(node).node
    return f"{source_of(node)} {source_of(origin)}".lower()


def pieces(node: ast.expr) -> list[ast.expr]:
    """What a text is put together of, constants left out."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return pieces(node.left) + pieces(node.right)
    if isinstance(node, ast.JoinedStr):
        return [each.value for each in node.values if isinstance(each, ast.FormattedValue)]
    return [] if isinstance(node, ast.Constant) else [node]
