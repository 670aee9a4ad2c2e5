"""Layout: which axis of a tensor is which, as the program itself says it: `B, T, C = x.shape`, `batch_first`, `[:, -1]`.

source_of_layout(program, node)     # the value whose axes a value still has: `x` of `self.q(x).float()`
axes_of(program, function)          # {"B": Axis(x, 0), "T": Axis(x, 1), "C": Axis(x, 2)}
polarity(form)                      # "real" of `ids != PAD`, "padding" of `ids == PAD`, "past" of tril
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from .algebra import Form
from .names import Binding
from .program import Program
from .syntax import name_called

#: Layers that leave all axes but the last as they are.
LAST_AXIS = (
    "Linear",
    "LayerNorm",
    "Dropout",
    "GELU",
    "ReLU",
    "SiLU",
    "Tanh",
    "Identity",
    "RMSNorm",
    "LazyLinear",
    "Sigmoid",
)
SAME_AXES = (
    "float", "to", "contiguous", "clone", "half", "bfloat16", "detach", "chunk", "split", "relu", "gelu", "tanh", "sigmoid",
    "dropout", "type", "silu", "softmax", "masked_fill", "requires_grad_", "layer_norm", "normalize", "unbind_last",
)  # fmt: skip
MOST_STACKED = 8  # layers of layers
SEQUENCE_LAYERS = {
    "LSTM": 4, "GRU": 4, "RNN": 4, "TransformerEncoderLayer": 6, "TransformerDecoderLayer": 6, "MultiheadAttention": 7,
    "Transformer": 9,
}  # fmt: skip
MOVING = ("transpose", "permute", "swapaxes", "rearrange", "movedim", "t", "einsum", "T", "mT")


@dataclass(frozen=True)
class Axis:
    """An axis of a value whose shape was taken apart."""

    holder: ast.expr  # `x`
    place: int
    count: int  # how many axes it has


def axes_of(program: Program, function: ast.AST) -> dict[str, Axis]:
    """Names that a function gives to the sizes of axes: `B, T, C = x.shape`, `n = x.size(0)`."""
    found: dict[str, Axis] = {}
    for node in program.own_nodes(function):
        if not isinstance(node, ast.Assign) or len(node.targets) != 1:
            continue
        target = node.targets[0]
        one = axis_asked(node.value)
        if one is not None and isinstance(target, ast.Name):
            found[target.id] = one
        holder = shape_of(node.value)
        if (
            holder is not None
            and isinstance(target, (ast.Tuple, ast.List))
            and not any(isinstance(each, ast.Starred) for each in target.elts)
        ):
            for place, each in enumerate(target.elts):
                if isinstance(each, ast.Name) and each.id != "_":
                    found[each.id] = Axis(holder, place, len(target.elts))
    return found


def shape_of(node: ast.AST) -> ast.expr | None:
    """`x` of `x.shape`, `x.size()`."""
    if isinstance(node, ast.Attribute) and node.attr == "shape":
        return node.value
    if isinstance(node, ast.Call) and name_called(node) == "size" and not node.args and isinstance(node.func, ast.Attribute):
        return node.func.value
    return None


def axis_asked(node: ast.AST) -> Axis | None:
    """The first or a later axis of `x.size(1)`, `x.shape[1]`; how many axes x has is not known."""
    place: ast.AST | None = None
    holder: ast.expr | None = None
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
        holder, place = node.value.value, node.slice
    elif isinstance(node, ast.Call) and name_called(node) == "size" and isinstance(node.func, ast.Attribute) and node.args:
        holder, place = node.func.value, node.args[0]
    if holder is None or not isinstance(place, ast.Constant) or type(place.value) is not int:
        return None
    return Axis(holder, place.value, 0)


def source_of_layout(program: Program, node: ast.AST, depth: int = 0) -> Binding | None:
    """The binding of the name whose axes (the last one aside) the value has; None where it cannot be told."""
    if depth > 12:
        return None
    if isinstance(node, ast.Name):
        binding = program.names.given(node)
        if binding is None:
            return None
        if binding.how != "assigned" or binding.value is None:
            return binding
        if shape_of(binding.value) is not None:
            return binding
        inner = source_of_layout(program, binding.value, depth + 1)
        return inner if inner is not None else binding
    if isinstance(node, ast.Call):
        name = name_called(node)
        made = program.makers.made_by(node.func) if isinstance(node.func, (ast.Name, ast.Attribute)) else ""
        if made in LAST_AXIS and node.args:
            return source_of_layout(program, node.args[0], depth + 1)
        if name in SAME_AXES and isinstance(node.func, ast.Attribute):
            library = program.name_of(node.func).startswith("torch.")
            held = node.args[0] if library and node.args else node.func.value
            return source_of_layout(program, held, depth + 1)
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Mult, ast.Div, ast.Add, ast.Sub)):
        return source_of_layout(program, node.left, depth + 1)
    return None


def is_batch_first(program: Program, made: ast.Call) -> bool | None:
    """Of a call that makes a recurrent or attention layer; None where it cannot be told."""
    name = program.makers.class_name(made)
    place = SEQUENCE_LAYERS.get(name)
    if (
        place is None
        or any(each.arg is None for each in made.keywords)
        or any(isinstance(each, ast.Starred) for each in made.args)
    ):
        return None
    given = next((each.value for each in made.keywords if each.arg == "batch_first"), None)
    if given is None:
        return False if len(made.args) <= place or name in ("Transformer", "MultiheadAttention") else None
    value = program.values.of(given)
    return value if isinstance(value, bool) else None


def layer_made(program: Program, node: ast.AST, depth: int = 0) -> ast.Call | None:
    """The recurrent or attention layer that `self.encoder` is, or is a stack of."""
    call = program.makers.call_of(node)
    if call is None or not program.name_of(call.func).startswith(("torch.nn.", "nn.")):
        return None
    name = program.makers.class_name(call)
    if name in ("TransformerEncoder", "TransformerDecoder"):
        given = (
            call.args[0] if call.args else next((each.value for each in call.keywords if "layer" in (each.arg or "")), None)
        )
        return layer_made(program, given, depth + 1) if given is not None and depth < MOST_STACKED else None
    return call if name in SEQUENCE_LAYERS else None


def moves_axes(form: Form) -> bool:
    return any(
        each.op == "transposed" or (each.op == "call" and each.name.rsplit(".", 1)[-1] in MOVING) for each in form.below()
    )


# --- what a mask marks


OPPOSITE = {"real": "padding", "padding": "real", "past": "future", "future": "past"}


def polarity(form: Form, depth: int = 0) -> str:
    """What a mask is true for: `real` tokens or `padding`, what is `past` (and the place itself) or `future`; empty where
    it cannot be told."""
    if depth > 10:
        return ""
    if form.op in ("bool", "long", "int", "index", "slice", "detach", "and"):
        return polarity(form.parts[0], depth + 1)
    if form.op == "invert" or (form.op == "sub" and form.parts[0].value == 1.0):
        return OPPOSITE.get(polarity(form.parts[-1], depth + 1), "")
    if form.op in ("eq", "ne"):
        return _of_comparison(form, depth)
    if form.op in ("lt", "gt", "le", "ge"):
        return _of_places(form)
    if form.op == "call":
        name = form.name.rsplit(".", 1)[-1]
        if name == "tril" and len(form.parts) == 1 and not getattr(form.node, "keywords", []):
            return "past"
        if name == "triu" and len(form.parts) > 1 and form.parts[1].value == 1.0:
            return "future"
        keyword = next((each.value for each in getattr(form.node, "keywords", []) if each.arg == "diagonal"), None)
        if name == "triu" and isinstance(keyword, ast.Constant) and keyword.value == 1:
            return "future"
        return ""
    return "real" if form.op in ("name", "key") and any("attention_mask" in each for each in form.words) else ""


def _of_comparison(form: Form, depth: int) -> str:
    """`ids != PAD`, `mask == 0`."""
    left, right = form.parts
    is_zero = right.value == 0.0 and not right.words
    inner = polarity(left, depth + 1)
    if inner and (is_zero or right.value == 0.0):
        return OPPOSITE[inner] if form.op == "eq" else inner
    if inner and right.value == 1.0:
        return inner if form.op == "eq" else OPPOSITE[inner]
    is_pad = any("pad" in each for each in right.words) or (
        is_zero and left.called("ids", "tokens", "input_ids", "src", "tgt", "token_ids")
    )
    if not is_pad:
        return ""
    return "padding" if form.op == "eq" else "real"


def _of_places(form: Form) -> str:
    """`arange(n) < lengths[:, None]`."""
    left, right = form.parts
    counted = [
        any(each.op == "call" and each.name.rsplit(".", 1)[-1] == "arange" for each in side.below())
        for side in (left, right)
    ]
    lengths = [
        any("len" in word or word in ("n", "xl", "sizes") for each in side.below() for word in each.words)
        for side in (left, right)
    ]
    if counted == [True, False] and lengths[1]:
        return "real" if form.op in ("lt", "le") else "padding"
    if counted == [False, True] and lengths[0]:
        return "real" if form.op in ("gt", "ge") else "padding"
    return ""
