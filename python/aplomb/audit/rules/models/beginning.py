"""Rules about how weights begin where nobody sets them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...findings import Finding, rule
from ...program.program import Program
from ...program.syntax import keyword_of, name_called, receiver_of, source_of
from .depth import trains_somehow

SETTING = ("normal_", "trunc_normal_", "uniform_", "mul_", "div_", "copy_", "from_pretrained", "load_state_dict", "zero_")


@rule("code.tied-embedding-wide")
def tied_embedding_wide(program: Program) -> Iterator[Finding]:
    """`self.head.weight = self.wte.weight` of an nn.Embedding as torch draws it: logits of d terms are sqrt(d) wide."""
    called = program.names_called
    drawn = called & set(SETTING) or any(each.startswith(("xavier", "kaiming")) for each in called)
    if not trains_somehow(program) or drawn:
        return
    for node in program.nodes.of_kind(ast.Assign):
        target, value = node.targets[0], node.value
        owner = program.names.class_of(node)
        if not (is_weight(target) and is_weight(value)) or owner is None or not program.makers.is_module_class(owner):
            continue
        pair = [program.makers.call_of(each.value) for each in (target, value) if isinstance(each, ast.Attribute)]
        made = {name_called(each): each for each in pair if each is not None}
        if set(made) != {"Linear", "Embedding"} or is_scaled_in(program, owner):
            continue
        embedding = made["Embedding"]
        width = embedding.args[1] if len(embedding.args) > 1 else keyword_of(embedding, "embedding_dim")
        number = program.values.number(width)
        spread = f"{number**0.5:.3g}" if number else "the root of its width"
        name = source_of(receiver_of_assignment(program, embedding))
        yield Finding(embedding.lineno, f"nn.init.normal_({name}.weight, std=0.02)", {"spread": spread}, also=[node.lineno])


def is_weight(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "weight"


def receiver_of_assignment(program: Program, call: ast.Call) -> ast.AST:
    holder = program.statement_of(call)
    return holder.targets[0] if isinstance(holder, ast.Assign) else receiver_of(call)


def is_scaled_in(program: Program, owner: ast.ClassDef) -> bool:
    """The logits (or the stream before them) are brought down by a root of the width, or one of it is written anywhere."""
    forward = program.makers.method(owner, "forward")
    if forward is None:
        return True
    text = source_of(forward).replace(" ", "")
    return any(each in text for each in ("**-0.5", "sqrt(", "**0.5", "rsqrt(", "scale"))
