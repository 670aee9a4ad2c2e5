"""Rules about labels: what is predicted from what, and which places count."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .findings import Finding
from .numeric_rules import cross_entropy_names, seen_through
from .program import Program, is_constant, keyword_of, method_of, source_of

IGNORED = -100
INPUT_NAMES = ("input_ids", "token_ids", "tokens")
RESHAPES = ("view", "reshape", "flatten", "contiguous", "long", "to", "cuda", "permute", "transpose", "float")
CAUSAL = ("CausalLM", "LMHeadModel")


def labels_shifted_twice(program: Program) -> Iterator[Finding]:
    """`model(ids[:, :-1], labels=ids[:, 1:])` with a causal model of transformers, which shifts by itself."""
    if not program.trains or not any(mark in line for line in program.lines for mark in CAUSAL):
        return
    for call in program.calls:
        labels = keyword_of(call, "labels")
        if labels is None or not program.is_model(call.func):
            continue
        value = seen_through(program, labels)
        if not begins_at_one(value):
            continue
        yield Finding(
            "",
            "unstable",
            call.lineno,
            "Labels are shifted here and again in the model",
            "Causal models of transformers compare the logits of column t with labels of column t + 1 themselves: labels "
            "that begin at column 1 already teach the token after the next one.",
            "model(input_ids=input_ids, labels=input_ids)  # whole sequences, both",
            leads_to=["stall.label-shift-bug"],
        )


def begins_at_one(node: ast.AST) -> bool:
    """`x[:, 1:]`, also `x[:, 1:].contiguous()`."""
    node = without_reshapes(node)
    return any(
        isinstance(each, ast.Slice) and is_number(each.lower, 1) and each.upper is None for each in slices_of(node)
    )


def slices_of(node: ast.AST) -> list[ast.AST]:
    if not isinstance(node, ast.Subscript):
        return []
    return list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]


def is_number(node: ast.AST | None, value: int) -> bool:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return is_number(node.operand, -value)
    return isinstance(node, ast.Constant) and not isinstance(node.value, bool) and node.value == value


def without_reshapes(node: ast.AST) -> ast.AST:
    """The tensor itself of `x.reshape(-1).long()`."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in RESHAPES:
        node = node.func.value
    return node


def labels_not_shifted(program: Program) -> Iterator[Finding]:
    """`cross_entropy(model(ids).logits, ids)`: the very tokens that the model is given at that place."""
    if not program.trains:
        return
    criteria = cross_entropy_names(program)
    for call in program.calls_to("cross_entropy", *(criteria - {"cross_entropy"})):
        target = target_of(call)
        if target is None or not call.args:
            continue
        asked = source_of(without_reshapes(seen_through(program, target)))
        if not any(name in asked for name in INPUT_NAMES) or "[:" in asked:
            continue
        logits = without_reshapes(seen_through(program, call.args[0]))
        made_by = model_call_in(program, logits)
        if made_by is None or not is_given(program, made_by, asked):
            continue
        yield Finding(
            "",
            "unstable",
            call.lineno,
            "Each token is its own label",
            "The logits of column t are compared with the token of column t, which the model was given: copying it brings "
            "the loss near 0, and nothing else is learnt. A causal model predicts column t + 1.",
            "F.cross_entropy(logits[:, :-1].reshape(-1, logits.size(-1)), input_ids[:, 1:].reshape(-1))",
            leads_to=["stall.label-shift-bug"],
        )


def target_of(call: ast.Call) -> ast.AST | None:
    return call.args[1] if len(call.args) > 1 else keyword_of(call, "target")


def model_call_in(program: Program, node: ast.AST) -> ast.Call | None:
    """The call of a model that the logits come from, unless places were cut off on the way."""
    while True:
        node = without_reshapes(node)
        if isinstance(node, ast.Subscript):
            if not isinstance(node.slice, ast.Constant):
                return None  # `[:, :-1]`: shifted
            node = node.value
        elif isinstance(node, ast.Attribute):
            node = node.value
        elif isinstance(node, ast.Name):
            value = seen_through(program, node)
            if value is node:
                return None
            node = value
        else:
            break
    if isinstance(node, ast.Call) and program.is_model(node.func) and "encoder" not in source_of(node.func).lower():
        return node
    return None


def is_given(program: Program, call: ast.Call, asked: str) -> bool:
    """Whether the model's input is the tensor of that text."""
    inputs = keyword_of(call, "input_ids") or (call.args[0] if call.args else None)
    if inputs is None:
        return False
    return source_of(without_reshapes(seen_through(program, inputs))) == asked


def label_mask_inverted(program: Program) -> Iterator[Finding]:
    """-100 put where the attention mask is on, where the prompt is not, or where the answer is."""
    for line, mask, corrected in ignored_places(program):
        wrong = inverted(program, mask)
        if not wrong:
            continue
        yield Finding(
            "",
            "failed",
            line,
            f"The places that count are ignored: -100 is put {wrong}",
            "The loss leaves out every label of -100. What is left is padding or the prompt: the loss falls, and nothing "
            "of the answers is learnt.",
            corrected,
            leads_to=["stall.wrong-label-mask", "stall.zero-loss-padding", "stall.all-labels-masked"],
        )


def ignored_places(program: Program) -> Iterator[tuple[int, ast.AST, str]]:
    """(line, mask of what is ignored, how it should read) of each statement that puts -100."""
    for call in program.calls_to("masked_fill", "masked_fill_"):
        if len(call.args) == 2 and is_number(call.args[1], IGNORED) and isinstance(call.func, ast.Attribute):
            yield call.lineno, call.args[0], f"{source_of(call.func)}({negated(call.args[0])}, -100)"
    for call in program.calls_to("where"):
        if len(call.args) == 3 and is_number(call.args[1], IGNORED):
            kept = source_of(call.args[2])
            yield call.lineno, call.args[0], f"torch.where({negated(call.args[0])}, -100, {kept})"
    for node in program.nodes.of_kind(ast.Assign):
        target = node.targets[0]
        if isinstance(target, ast.Subscript) and is_number(node.value, IGNORED):
            place = target.slice
            if not isinstance(place, (ast.Slice, ast.Tuple, ast.Constant)):
                yield node.lineno, place, f"{source_of(target.value)}[{negated(place)}] = -100"


def negated(mask: ast.AST) -> str:
    if isinstance(mask, ast.UnaryOp) and isinstance(mask.op, ast.Invert):
        return source_of(mask.operand)
    if isinstance(mask, ast.Call):
        return f"~{source_of(mask)}"
    return f"~({source_of(mask)})" if isinstance(mask, ast.Compare) else f"~{source_of(mask)}"


def inverted(program: Program, mask: ast.AST) -> str:
    """What a mask of ignored places should not be, in words; empty where it is right or not known."""
    held, on = polarity(seen_through(program, mask))
    name = held.lower()
    if "attention_mask" in name:
        return "where the attention mask is on" if on else ""
    if any(word in name for word in ("answer_mask", "response_mask", "completion_mask", "assistant_mask")):
        return "where the answer is" if on else ""
    if any(word in name for word in ("prompt_mask", "is_prompt", "instruction_mask")):
        return "" if on else "where the prompt is not"
    return ""


def polarity(mask: ast.AST) -> tuple[str, bool]:
    """The text of what a mask is made of, and whether it is true where that is: `m == 0` is not."""
    on = True
    while True:
        if isinstance(mask, ast.UnaryOp) and isinstance(mask.op, (ast.Invert, ast.Not)):
            mask, on = mask.operand, not on
        elif isinstance(mask, ast.Compare) and len(mask.ops) == 1:
            right = mask.comparators[0]
            equal = isinstance(mask.ops[0], ast.Eq)
            if not equal and not isinstance(mask.ops[0], ast.NotEq):
                return "", True
            if is_number(right, 0) or is_constant(right, False):
                on = on != equal
            elif is_number(right, 1) or is_constant(right, True):
                on = on == equal
            else:
                return "", True
            mask = mask.left
        elif isinstance(mask, ast.Call) and isinstance(mask.func, ast.Attribute):
            name = method_of(mask)
            if name in ("logical_not", "eq") and (name == "logical_not" or mask.args and is_number(mask.args[0], 0)):
                on = not on
            elif name not in ("bool", "to", "long", "cuda", "eq", "ne"):
                return ("", True) if name != "pop" else (source_of(mask), on)
            mask = mask.func.value
        else:
            return source_of(mask), on


LABEL_RULES = {
    "code.labels-shifted-twice": labels_shifted_twice,
    "code.labels-not-shifted": labels_not_shifted,
    "code.label-mask-inverted": label_mask_inverted,
}
