"""Rules about masks on their way through the program's own layers: made and never used, given and never read, kept the wrong
way round where a row is pooled."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...findings import Finding, rule
from ...program.algebra import Form
from ...program.layout import polarity
from ...program.program import Program
from ...program.syntax import Function, argument_given, name_called, source_of
from .layout import is_told

ATTENDING = (
    "softmax", "scaled_dot_product_attention", "MultiheadAttention", "TransformerEncoder", "TransformerEncoderLayer",
    "TransformerDecoder", "TransformerDecoderLayer", "masked_fill",
)  # fmt: skip
POOLING = ("mean", "sum", "amax", "max")


def is_mask_name(name: str) -> bool:
    return any(word in name.lower() for word in ("mask", "causal", "padding", "is_pad"))


@rule("code.mask-never-used")
def mask_never_used(program: Program) -> Iterator[Finding]:
    """A mask is made, or given to a layer of the program's own, and nothing reads it."""
    for function in program.functions:
        owner = program.names.class_of(function)
        if owner is None or not program.makers.is_module_class(owner) or not attends(program, owner):
            continue
        yield from made_for_nothing(program, function)
        if function.name == "forward":
            yield from given_for_nothing(program, function)


def attends(program: Program, owner: ast.ClassDef) -> bool:
    """The module itself mixes the places of a row: by attention, or by an average over them."""
    called = {name_called(each) for each in program.calls_in(owner)}
    layers = {program.makers.made_by(each.func) for each in program.calls_in(owner)}
    return bool((called | layers) & set(ATTENDING))


def made_for_nothing(program: Program, function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[Finding]:
    for node in program.own_nodes(function):
        target = node.targets[0] if isinstance(node, ast.Assign) and len(node.targets) == 1 else None
        if not isinstance(target, ast.Name) or not is_mask_name(target.id) or is_read(program, function, target.id):
            continue
        value = node.value  # type: ignore[attr-defined]
        what = polarity(program.algebra.of(value)) if isinstance(value, (ast.Call, ast.Compare, ast.UnaryOp)) else ""
        if what:
            yield Finding(node.lineno, "", {"mask": target.id, "how": "is made here"})  # type: ignore[attr-defined]


def given_for_nothing(program: Program, function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[Finding]:
    """A parameter that callers give a mask, and that the layer never reads."""
    for argument in (*function.args.args[1:], *function.args.kwonlyargs):
        if not is_mask_name(argument.arg) or is_read(program, function, argument.arg):
            continue
        if argument.arg.startswith(("encoder_", "decoder_", "head_")):
            continue  # of an interface that several layers share
        for call in program.names.forward_calls(function):
            value = argument_given(call, function, argument.arg, is_method=True)
            if value is not None and polarity(program.algebra.of(value)):
                yield Finding(
                    argument.lineno, "", {"mask": argument.arg, "how": "is given to this layer"}, also=[call.lineno]
                )
                break


def is_read(program: Program, function: ast.AST, name: str) -> bool:
    return any(
        isinstance(each, ast.Name) and each.id == name and isinstance(each.ctx, ast.Load)
        for each in program.nodes.below(function)
    ) or any(name_called(each) in ("locals", "vars") for each in program.calls_in(function))


@rule("code.padding-pooled")
def padding_pooled(program: Program) -> Iterator[Finding]:
    """`(h * mask).mean(1)`, and the mask is 1 for padding: what is pooled is the padding alone."""
    for node in program.nodes.of_kind(ast.BinOp):
        if not isinstance(node.op, ast.Mult) or not is_pooled(program, node):
            continue
        for one, other in ((node.left, node.right), (node.right, node.left)):
            form = program.algebra.of(other)
            if is_told(form) and polarity(form) == "padding" and is_wide(program, one, form):
                yield Finding(
                    node.lineno,
                    f"{source_of(one)} * (1 - {source_of(other)})",
                    {"mask": source_of(other)[:60]},
                    also=sorted({form.line} - {node.lineno, 0}),
                )
                break


def is_wide(program: Program, node: ast.AST, mask: Form) -> bool:
    """States of a model, and nothing that is compared with the mask itself."""
    form = program.algebra.of(node)
    return any(each.op == "call" for each in form.below()) and form.key != mask.key and not form.holds("invert", "eq", "ne")


def is_pooled(program: Program, node: ast.BinOp) -> bool:
    """The product is summed or averaged, under a name too."""
    above = program.nodes.parents.get(node)
    if isinstance(above, ast.Attribute) and above.attr in POOLING:
        return True
    if isinstance(above, ast.Call) and name_called(above) in POOLING and program.name_of(above.func).startswith("torch."):
        return True
    if not isinstance(above, ast.Assign) or not isinstance(above.targets[0], ast.Name):
        return False
    function = program.function_of(node)
    if not isinstance(function, Function):
        return False
    for call in program.calls_to(*POOLING):
        held = call.func.value if isinstance(call.func, ast.Attribute) else None
        if isinstance(held, ast.Name) and held.id == above.targets[0].id and program.function_of(call) is function:
            binding = program.names.given(held)
            if binding is not None and binding.node is above:
                return True
    return False
