"""Rules about slips of the pen: calls without parentheses, names that nothing reads, numbers that are scaled twice."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...findings import Finding, rule
from ...program.algebra import Form
from ...program.gradients import name_of_call
from ...program.program import Program
from ...program.syntax import dotted, keyword_of, last_name, line_of, name_called, source_of, words_in

METHODS = ("zero_grad", "step", "backward", "train", "eval", "update", "barrier", "unscale_")
MISSPELT = (
    "require_grad", "requires_grads", "requires_gradient", "require_grads", "requires_gard", "required_grad", "trainable",
    "requiers_grad", "reqires_grad",
)  # fmt: skip


@rule("code.method-not-called")
def method_not_called(program: Program) -> Iterator[Finding]:
    """`optimizer.step` as a statement: a name, and no call."""
    for node in program.nodes.of_kind(ast.Expr):
        value = node.value
        if isinstance(value, ast.Attribute) and value.attr in METHODS and dotted(value):
            yield Finding(node.lineno, f"{source_of(value)}()", {"method": source_of(value)})


@rule("code.attribute-misspelt")
def attribute_misspelt(program: Program) -> Iterator[Finding]:
    """`p.require_grad = False`: torch reads requires_grad, and this is a new attribute that nothing reads."""
    weights = {"parameters", "named_parameters", "weight", "bias"}
    for node in program.nodes.of_kind(ast.Assign):
        target = node.targets[0]
        if not isinstance(target, ast.Attribute) or target.attr not in MISSPELT or not isinstance(node.value, ast.Constant):
            continue
        if not isinstance(node.value.value, bool):
            continue
        loops = program.loops_of(node)
        of_weights = bool(loops) and isinstance(loops[0], ast.For) and bool(words_in(loops[0].iter) & weights)
        if of_weights or bool(words_in(target.value) & weights):
            yield Finding(node.lineno, source_of(node).replace("." + target.attr, ".requires_grad"), {"name": target.attr})


@rule("code.where-keeps-gradient")
def where_keeps_gradient(program: Program) -> Iterator[Finding]:
    """`torch.where(x > 0, x.log(), 0)`: the branch that is not taken has an infinite gradient, and 0 times it is NaN."""
    if not program.names_called & {"backward", "training_step", "grad"}:
        return
    for call in program.calls_to("where"):
        if len(call.args) != 3 or not program.name_of(call.func).startswith("torch."):
            continue
        test, taken = program.algebra.of(call.args[0]), program.algebra.of(call.args[1])
        if test.op not in ("gt", "ne", "ge") or test.parts[1].value != 0.0:
            continue
        asked = test.parts[0]
        for form in taken.below():
            inner = (
                form.parts[0]
                if form.op in ("log", "sqrt", "rsqrt", "reciprocal")
                else form.parts[1]
                if form.op == "div"
                else None
            )
            if inner is not None and inner.key == asked.key and is_computed(program, asked):
                safe = f"torch.where({source_of(call.args[0])}, {source_of(asked.node)}, 1)"
                yield Finding(
                    call.lineno,
                    f"safe = {safe}  # and the function of safe",
                    {"function": form.op, "given": source_of(asked.node)[:40]},
                )
                break


def is_computed(program: Program, form: Form) -> bool:
    """Something that may carry a gradient: what a model gave or what was worked out from it, and no count."""
    return not any(
        name_of_call(each) in ("bincount", "arange", "tensor", "zeros", "ones") for each in form.below()
    ) and not form.called("counts", "count", "lengths", "n", "num", "degree", "deg", "mask")


@rule("code.scaled-twice")
def scaled_twice(program: Program) -> Iterator[Finding]:
    """ToTensor() divides by 255, and the loop does so again: all inputs are below 0.004."""
    if "ToTensor" not in program.names_called:
        return
    quotients: list[tuple[ast.AST, ast.expr, ast.expr, ast.operator]] = []
    quotients += [(each, each.left, each.right, each.op) for each in program.nodes.of_kind(ast.BinOp)]
    quotients += [(each, each.target, each.value, each.op) for each in program.nodes.of_kind(ast.AugAssign)]
    for node, left, right, operation in quotients:
        if not isinstance(operation, ast.Div) or program.values.of(right) not in (255, 255.0):
            continue
        held: ast.AST = left
        while isinstance(held, ast.Call) and isinstance(held.func, ast.Attribute):
            held = held.func.value
        binding = program.names.given(held) if isinstance(held, ast.Name) else None
        of_loader = (
            binding is not None
            and binding.how == "loop"
            and binding.value is not None
            and name_called(program.names.origin(binding.value).node) == "DataLoader"
        )
        if of_loader or (
            binding is not None
            and isinstance(binding.value, ast.Call)
            and "transform" in source_of(binding.value.func).lower()
        ):
            yield Finding(
                line_of(node),
                source_of(left),
                {"input": source_of(left)[:40]},
                also=[each.lineno for each in program.calls_to("ToTensor")[:1]],
            )
            return


#: Names of what tells places apart, and words of data that have no order.
PLACES = ("pos", "rope", "rotary", "alibi", "order", "sinus", "wpe", "time_emb", "segment")
SETS = ("set transformer", "deep sets", "point cloud", "permutation", "graph", "arange")


@rule("code.no-positions")
def no_positions(program: Program) -> Iterator[Finding]:
    """Attention over tokens, and nothing that says where a token stands: a text and its words in any order are the same."""
    masked = any(
        each.arg in ("mask", "src_mask", "attn_mask", "is_causal") for call in program.calls for each in call.keywords
    )
    if len(program.calls_to("Embedding")) != 1 or "Parameter" in program.names_called or masked:
        return  # a second table may be that of positions, and a causal mask tells places apart
    if not program.names_called & {"backward", "training_step"}:
        return
    layers = [
        each
        for each in program.calls_to("TransformerEncoder", "TransformerEncoderLayer", "MultiheadAttention", "Transformer")
        if program.name_of(each.func).startswith(("torch.nn.", "nn."))
    ]
    if not layers or program.names_called & {"LSTM", "GRU", "Conv1d", "Conv2d", "from_pretrained", "sin", "RNN"}:
        return
    names = words_in(program.tree)
    text = "\n".join(program.lines).lower()
    if any(word in name for name in names for word in PLACES) or any(word in text for word in SETS):
        return
    yield Finding(layers[0].lineno, "x = self.embed(ids) + self.pos(torch.arange(ids.size(1), device=ids.device))")


@rule("code.label-smoothing-too-high")
def label_smoothing_too_high(program: Program) -> Iterator[Finding]:
    """Most of the target is spread over all classes: a share to keep was given for a share to smooth."""
    for call in program.calls:
        value = program.values.number(keyword_of(call, "label_smoothing") or keyword_of(call, "label_smoothing_factor"))
        if value is not None and value >= 0.5:
            yield Finding(call.lineno, f"label_smoothing={min(0.1, 1 - value):g}", {"value": f"{value:g}"})


@rule("code.schedule-moved-twice")
def schedule_moved_twice(program: Program) -> Iterator[Finding]:
    """A resume loads the schedule's state, and steps it (or sets last_epoch) up to the same place once more."""
    loads = [
        each
        for each in program.calls_to("load_state_dict")
        if isinstance(each.func, ast.Attribute) and program.objects.is_schedule(each.func.value)
    ]
    if not loads:
        return
    for call in program.calls_to("step"):
        loops = program.loops_of(call)
        if (
            program.objects.event_of(call)[0] != "schedule"
            or not loops
            or not isinstance(loops[0], ast.For)
            or len(loops[0].body) != 1
        ):
            continue
        if (
            name_called(loops[0].iter) == "range"
            and re.search(r"start|resume|step|epoch|done", source_of(loops[0].iter))
            and is_same_schedule(program, call, loads[0])
        ):
            yield Finding(call.lineno, "# leave it out: the state that was loaded has the place", also=[loads[0].lineno])
            return


def is_same_schedule(program: Program, call: ast.Call, load: ast.Call) -> bool:
    one = call.func.value if isinstance(call.func, ast.Attribute) else call
    other = load.func.value if isinstance(load.func, ast.Attribute) else load
    return bool(program.objects.identity(one) & program.objects.identity(other))


# --- boxes


CENTRES = re.compile(r"(^|_)(mid|center|centre|ctr|cxcy|centers|centres|cxy|xy)(_|$)")
SIZES = re.compile(r"(^|_)(extent|size|sizes|wh|hw|dims|extents|w_h)(_|$)")


@rule("code.boxes-of-two-kinds")
def boxes_of_two_kinds(program: Program) -> Iterator[Finding]:
    """A head gives centre and size, and what measures boxes takes two corners: nothing turns one into the other."""
    corners = takes_corners(program)
    if corners is None or turns_boxes(program):
        return
    for call in program.calls_to("cat", "concat", "hstack"):
        parts = call.args[0].elts if call.args and isinstance(call.args[0], (ast.List, ast.Tuple)) else []
        names = [last_name(each).lower() for each in parts]
        in_module = program.names.class_of(call) is not None and program.makers.is_module_class(program.names.class_of(call))  # type: ignore[arg-type]
        if len(names) == 2 and in_module and CENTRES.search(names[0]) and SIZES.search(names[1]):
            one, two = (source_of(each) for each in parts)
            yield Finding(
                call.lineno,
                f"torch.cat([{one} - {two} / 2, {one} + {two} / 2], -1)",
                {"boxes": source_of(call)[:60]},
                also=[corners],
            )
            return


def takes_corners(program: Program) -> int | None:
    """The line where boxes are read as corners: `b[..., 2] - b[..., 0]`, an IoU of torchvision."""
    for call in program.calls_to(
        "generalized_box_iou",
        "box_iou",
        "complete_box_iou",
        "generalized_box_iou_loss",
        "distance_box_iou",
        "box_area",
        "nms",
    ):
        if "torchvision" in program.name_of(call.func):
            return call.lineno
    for node in program.nodes.of_kind(ast.BinOp):
        if isinstance(node.op, ast.Sub) and reads_corners(node.left, node.right):
            return node.lineno
    return None


def reads_corners(left: ast.expr, right: ast.expr) -> bool:
    """`b[..., 2]` and `b[..., 0]`, `b[..., 2:]` and `b[..., :2]`."""
    if not isinstance(left, ast.Subscript) or not isinstance(right, ast.Subscript):
        return False
    ends = tuple(source_of(each.slice).strip("()").split(", ")[-1] for each in (left, right))
    corners = (("2", "0"), ("2:", ":2"), ("2:4", "0:2"), ("2:4", ":2"))
    return source_of(left.value) == source_of(right.value) and ends in corners


def turns_boxes(program: Program) -> bool:
    """Something is called like a conversion, or half of a size is taken from a centre."""
    if any(
        word in name.lower()
        for name in program.names_called
        for word in ("xyxy", "cxcywh", "corners", "box_convert", "to_box", "decode_box")
    ):
        return True
    halves = [each.right for each in program.nodes.of_kind(ast.BinOp) if isinstance(each.op, ast.Sub)]
    return any(isinstance(each, ast.BinOp) and is_half(program, each) for each in halves)


def is_half(program: Program, node: ast.BinOp) -> bool:
    return program.values.of(node.right) in (2, 0.5, 2.0) or program.values.of(node.left) == 0.5
