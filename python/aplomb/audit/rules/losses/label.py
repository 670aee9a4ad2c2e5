"""Rules about labels: what is predicted from what, and which places count."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...findings import Finding, rule
from ...program.data import sample_parts
from ...program.program import Program
from ...program.syntax import (
    Function,
    argument_given,
    arguments_of,
    is_constant,
    keyword_of,
    line_of,
    name_called,
    names_in,
    source_of,
)
from .numeric import cross_entropy_names, seen_through

IGNORED = -100
IGNORED_TEXT = "-100"
INPUT_NAMES = ("input_ids", "token_ids", "tokens")
RESHAPES = ("view", "reshape", "flatten", "contiguous", "long", "to", "cuda", "permute", "transpose", "float")
COPIES = ("clone", "detach")
CAUSAL = ("CausalLM", "LMHeadModel")
SAME_PLACES = (*RESHAPES, *COPIES, "clamp", "clamp_min", "masked_fill", "unsqueeze", "squeeze")
UNSHIFTED = re.compile(r"Seq2SeqLM|MaskedLM|ConditionalGeneration|TokenClassification|mask_token|(?i:diffusion)")


@rule("code.shifted-twice")
def labels_shifted_twice(program: Program) -> Iterator[Finding]:
    """`model(ids[:, :-1], labels=ids[:, 1:])` with a causal model of transformers, which shifts by itself; a data set whose
    labels are its inputs from one place on; logits and labels that are shifted once more before the loss."""
    corrected = "model(input_ids=input_ids, labels=input_ids)  # whole sequences, both"
    if shifts_by_itself(program):
        for call in program.calls if program.trains else ():
            labels = keyword_of(call, "labels")
            if labels is None or not program.objects.is_model(call.func):
                continue
            inputs = keyword_of(call, "input_ids") or (call.args[0] if call.args else None)
            if begins_at_one(seen_through(program, labels)) or (
                inputs is not None and offset_of(program, inputs, labels) == 1
            ):
                yield Finding(call.lineno, corrected)
        for node, inputs, labels in sample_parts(program):
            if offset_of(program, inputs, labels) == 1:
                yield Finding(labels.lineno, '"labels": the same slice as "input_ids"', also=[node.lineno])
    yield from shifted_in_the_loss(program)


def shifted_in_the_loss(program: Program) -> Iterator[Finding]:
    """`cross_entropy(logits[:, :-1], y[:, 1:])` of a `y` that the data have shifted already."""
    for criterion in program.losses.all_criteria:
        if criterion.kind == "cross_entropy" and criterion.given is not None and criterion.target is not None:
            base = base_of_shift(program, criterion.target)
            made = model_call_in(program, cut_logits(program, criterion.given)) if base is not None else None
            if made is None or base is None or not made.args:
                continue
            if offset_of(program, made.args[0], base) == 1:
                yield Finding(
                    criterion.call.lineno,
                    "F.cross_entropy(logits.flatten(0, 1), labels.flatten())  # shifted in the data already",
                )


def shifts_by_itself(program: Program) -> bool:
    """A causal model of transformers is named."""
    return any(mark in line for line in program.lines for mark in CAUSAL)


def cut_logits(program: Program, node: ast.AST) -> ast.AST:
    """`logits` of `logits[:, :-1].reshape(-1, v)`."""
    node = without_reshapes(seen_through(program, node))
    return node.value if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple) else node


def base_of_shift(program: Program, node: ast.AST) -> ast.expr | None:
    """`y` of `y[:, 1:].reshape(-1)`."""
    value = without_reshapes(seen_through(program, node))
    return value.value if isinstance(value, ast.Subscript) and begins_at_one(value) else None


def offset_of(program: Program, inputs: ast.AST, labels: ast.AST) -> int | None:
    """By how many places labels begin behind the inputs, where both are slices of one text; None where that is not seen."""
    one, other = first_slice(program, inputs), first_slice(program, labels)
    if one is None or other is None or one[0] != other[0] or one[1] != other[1]:
        return None
    return other[2] - one[2]


def first_slice(program: Program, node: ast.AST) -> tuple[str, str, int] | None:
    """(what is sliced, from where, and how much behind that): `data`, `i`, 1 of `stack([data[i + 1 : i + T + 1] ...])`."""
    value = data_part(program, node)
    for each in ast.walk(value):
        if not isinstance(each, ast.Subscript):
            continue
        for part in slices_of(each):
            if isinstance(part, ast.Slice) and (part.lower is not None or part.upper is not None):
                return (source_of(each.value), *begin_of(part.lower))
    return None


def data_part(program: Program, node: ast.AST) -> ast.AST:
    """The expression behind a name, also behind that of a loader's batch."""
    parts = {part for part, _ in program.shapes.samples_of(node)}
    if len(parts) == 1:
        return program.names.origin(parts.pop()).node
    if len(parts) > 1 and (texts := {source_of(each) for each in parts}) and len(texts) == 1:
        return program.names.origin(next(iter(parts))).node  # of the training and the held-out data
    origin = program.names.origin(node)
    value = origin.node
    moved = without_reshapes(value)
    if moved is not value and isinstance(moved, ast.Name):  # `x.to(device)` of a batch that a function gives
        origin = program.names.origin(moved)
        value = origin.node
    if isinstance(value, ast.Name):
        binding = program.names.given(value)
        if binding is not None and binding.how == "loop" and binding.value is not None:
            part = program.shapes.part_of_batch(binding.value, (*binding.path, *origin.path))
            return program.names.origin(part[0]).node if part is not None else value
    return value


def begin_of(lower: ast.AST | None) -> tuple[str, int]:
    """`i + 1` -> ("i", 1)."""
    if lower is None:
        return "", 0
    if isinstance(lower, ast.Constant) and type(lower.value) is int:
        return "", lower.value
    if isinstance(lower, ast.BinOp) and isinstance(lower.op, ast.Add):
        for one, other in ((lower.left, lower.right), (lower.right, lower.left)):
            if isinstance(other, ast.Constant) and type(other.value) is int:
                return source_of(one), other.value
    return source_of(lower), 0


def begins_at_one(node: ast.AST) -> bool:
    """`x[:, 1:]`, also `x[:, 1:].contiguous()`."""
    node = without_reshapes(node)
    return any(isinstance(each, ast.Slice) and is_number(each.lower, 1) and each.upper is None for each in slices_of(node))


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


@rule("code.never-shifted")
def labels_not_shifted(program: Program) -> Iterator[Finding]:
    """`cross_entropy(model(ids).logits, ids)`: the very tokens that the model is given at that place."""
    if not program.trains:
        return
    corrected = "F.cross_entropy(logits[:, :-1].reshape(-1, logits.size(-1)), input_ids[:, 1:].reshape(-1))"
    criteria = cross_entropy_names(program)
    for call in program.calls_to("cross_entropy", *(criteria - {"cross_entropy"})):
        target = target_of(call)
        if target is None or not call.args:
            continue
        made_by = model_call_in(program, without_reshapes(seen_through(program, call.args[0])))
        if made_by is None:
            continue
        asked = source_of(tensor_behind(program, target))
        named = any(name in asked for name in INPUT_NAMES) and "[:" not in asked and is_given(program, made_by, asked)
        plain = not isinstance(without_reshapes(seen_through(program, target)), ast.Subscript) and made_by.args
        same = plain and offset_of(program, made_by.args[0], without_reshapes(target)) == 0 and looks_causal(program)
        if named or same:
            yield Finding(call.lineno, corrected)
    yield from gathered_unshifted(program)


def gathered_unshifted(program: Program) -> Iterator[Finding]:
    """`log_softmax(model(batch["input_ids"]).logits).gather(-1, batch["labels"])` of a causal model, where nothing in the
    program is shifted."""
    if not is_of_causal_model(program) or is_shifted_somewhere(program):
        return
    for call in program.calls_to("gather"):
        held = call.func.value if isinstance(call.func, ast.Attribute) else call
        of_torch = program.name_of(call.func).startswith("torch.")
        given = ([] if of_torch else [held]) + [*call.args, *(each.value for each in call.keywords)]
        logits = logits_of(program, given[0]) if len(given) > 2 else None
        made_by = model_call_in(program, logits) if logits is not None else None
        labels = batch_part(program, given[2]) if made_by is not None else None
        inputs = keyword_of(made_by, "input_ids") or (made_by.args[0] if made_by.args else None) if made_by else None
        tokens = batch_part(program, inputs) if inputs is not None else None
        of_one_batch = labels is not None and tokens is not None and labels[0] == tokens[0]
        if of_one_batch and tokens[1] in INPUT_NAMES and labels[1] in ("labels", *INPUT_NAMES):  # type: ignore[index]
            corrected = "logps[:, :-1].gather(-1, labels[:, 1:].unsqueeze(-1)).squeeze(-1)  # and the mask of labels[:, 1:]"
            yield Finding(call.lineno, corrected)


def logits_of(program: Program, node: ast.AST) -> ast.AST | None:
    """`logits` of `F.log_softmax(logits.float(), dim=-1)`, names followed."""
    value = program.names.origin(node).node
    if name_called(value) != "log_softmax" or not isinstance(value, ast.Call):
        return None
    of_torch = program.name_of(value.func).startswith(("torch.", "F."))
    held = value.args[0] if of_torch and value.args else value.func.value if isinstance(value.func, ast.Attribute) else None
    return without_reshapes(seen_through(program, held)) if held is not None else None


def batch_part(program: Program, node: ast.AST) -> tuple[str, str] | None:
    """(`batch`, `labels`) of `batch["labels"].clamp(min=0).unsqueeze(-1)`, names followed."""
    for _ in range(8):
        while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in SAME_PLACES:
            node = node.func.value
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
            return source_of(node.value), node.slice.value
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            return source_of(node.value), node.attr
        binding = program.names.given(node) if isinstance(node, ast.Name) else None
        if binding is None or binding.how != "assigned" or binding.value is None or binding.path:
            return None
        node = binding.value
    return None


def is_of_causal_model(program: Program) -> bool:
    """A causal model of transformers is named, and none whose labels stand where they are predicted."""
    return shifts_by_itself(program) and not any(UNSHIFTED.search(line) for line in program.lines)


def is_shifted_somewhere(program: Program) -> bool:
    """`[:, 1:]`, `[:-1]`, `[i + 1 :]`, roll(): of anything but shapes and arguments."""
    if {"roll", "narrow"} & set(program.names_called) or any("shift" in line.lower() for line in program.lines):
        return True
    for node in program.nodes.of_kind(ast.Subscript):
        if isinstance(node.value, ast.Attribute) and node.value.attr in ("shape", "argv"):
            continue
        for part in slices_of(node):
            if isinstance(part, ast.Slice) and (begin_of(part.lower)[1] == 1 or ends_one_early(part.upper)):
                return True
    return False


def looks_causal(program: Program) -> bool:
    """Something in the program says that each place sees only those before it."""
    marks = (
        "is_causal",
        "generate_square_subsequent_mask",
        "tril",
        "triu",
        "causal",
        "GPT",
        "LanguageModel",
        "next token",
        "next_token",
    )
    return any(mark in line for line in program.lines for mark in marks)


def ends_one_early(upper: ast.AST | None) -> bool:
    """`-1`, `n - 1`."""
    less = isinstance(upper, ast.BinOp) and isinstance(upper.op, ast.Sub) and is_number(upper.right, 1)
    return less or is_number(upper, -1)


@rule("code.labels-padded-with-token")
def labels_padded_with_token(program: Program) -> Iterator[Finding]:
    """The padding of the labels is a token, and the model counts everything but -100."""
    if not trains_with_labels(program) or any(keyword_of(call, "ignore_index") is not None for call in program.calls):
        return
    for node, labels in labels_given(program):
        value = program.names.origin(labels).node
        if ignores_some(program, labels) or "-100" in source_of(value):
            continue
        place = padding_in(program, value) or padding_in(program, program.names.origin(labels, through_calls=False).node)
        if place is not None:
            corrected = program.line_text(place.lineno).replace(source_of(place), "-100", 1)
            if isinstance(program.values.of(place), (str, bool)):  # of a tokenizer
                corrected = "DataCollatorForSeq2Seq(tokenizer, model)  # pads labels with -100, batch by batch"
            yield Finding(place.lineno, corrected, also=[line_of(node)])


def labels_given(program: Program) -> Iterator[tuple[ast.AST, ast.expr]]:
    """`{"input_ids": ..., "labels": ...}`, `inputs["labels"] = ...`; the place, and the labels."""
    for node, _, labels in sample_parts(program):
        yield node, labels
    for assign in program.nodes.of_kind(ast.Assign):
        target = assign.targets[0]
        if isinstance(target, ast.Subscript) and is_constant_text(target.slice, "labels"):
            yield assign, assign.value


def ignores_some(program: Program, labels: ast.expr) -> bool:
    """`labels[labels == pad] = -100`, `labels.masked_fill_(..., -100)` anywhere in the function."""
    name = source_of(labels)
    for node in program.own_nodes(program.function_of(labels)):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
            held = source_of(node.targets[0].value)
            is_theirs = held == name or held.endswith(("['labels']", ".labels"))
            if is_theirs and (program.values.of(node.value) == IGNORED or IGNORED_TEXT in source_of(node)):
                return True
        elif isinstance(node, ast.Call) and name_called(node) in ("masked_fill_", "masked_fill", "where"):
            if IGNORED_TEXT in source_of(node) or any(program.values.of(each) == IGNORED for each in node.args):
                return True
    return False


def trains_with_labels(program: Program) -> bool:
    """The labels go to a model of transformers, which makes its loss by itself."""
    named = any(name.endswith("Trainer") for name in program.names_called)
    return (
        named
        or any(keyword_of(call, "labels") is not None for call in program.calls)
        or any(
            each.arg is None
            for call in program.calls
            for each in call.keywords
            if program.objects.event_of(call)[0] == "forward"
        )
    )


def padding_in(program: Program, node: ast.AST) -> ast.expr | None:
    """`tokenizer.pad_token_id` of `ids + [tokenizer.pad_token_id] * n`, of `pad_sequence(..., padding_value=0)`;
    "max_length" of `tokenizer(targets, padding="max_length")["input_ids"]`."""
    whole = padding_of_tokenizer(program, node)
    if whole is not None:
        return whole
    for each in ast.walk(node):
        if (
            isinstance(each, ast.BinOp)
            and isinstance(each.op, ast.Mult)
            and isinstance(each.left, ast.List)
            and len(each.left.elts) == 1
        ):
            value = each.left.elts[0]
            if "pad" in source_of(value).lower() and program.values.of(value) != IGNORED:
                return value
        if isinstance(each, ast.Call) and name_called(each) == "pad_sequence":
            padding = keyword_of(each, "padding_value") or (each.args[2] if len(each.args) > 2 else None)
            if padding is not None and is_pad_token(program, padding):
                return padding
        if isinstance(each, ast.Call):
            given = padding_given(program, each)
            if given is not None and "pad" in source_of(given).lower() and program.values.of(given) != IGNORED:
                return given
    return None


def is_pad_token(program: Program, node: ast.expr) -> bool:
    """`tokenizer.pad_token_id`, and an attribute, a name or a parameter that was given it."""
    found = [node, *(each.node for each in program.names.origins(node))]
    return program.values.of(node) != IGNORED and any("pad_token" in source_of(each) for each in found)


def padding_of_tokenizer(program: Program, node: ast.AST) -> ast.expr | None:
    """What pads the `input_ids` of `tokenizer(targets, padding=True)`, names followed."""
    of_key = isinstance(node, ast.Subscript) and is_constant_text(node.slice, "input_ids")
    if not of_key and not (isinstance(node, ast.Attribute) and node.attr == "input_ids"):
        return None
    made = program.names.origin(node.value, through_calls=False).node  # type: ignore[attr-defined]
    padding = keyword_of(made, "padding") if isinstance(made, ast.Call) else None
    if padding is None or "tok" not in source_of(made.func).lower():  # type: ignore[attr-defined]
        return None
    return padding if program.values.of(padding) in (True, "max_length", "longest") else None


def padding_given(program: Program, call: ast.Call) -> ast.expr | None:
    """`PAD` of `right_pad(rows, PAD)`, a function of this file that fills up with what it is given."""
    function = program.names.function_called(call)
    if function is None:
        return None
    for each in program.own_nodes(function):
        filled: ast.expr | None = None
        if isinstance(each, ast.BinOp) and isinstance(each.op, ast.Mult) and isinstance(each.left, ast.List):
            filled = each.left.elts[0] if len(each.left.elts) == 1 else None
        elif isinstance(each, ast.Call) and name_called(each) in ("pad_sequence", "pad", "full", "full_like", "new_full"):
            filled = keyword_of(each, "padding_value") or keyword_of(each, "value") or keyword_of(each, "fill_value")
            filled = filled or (each.args[-1] if len(each.args) > 1 else None)
        if isinstance(filled, ast.Name) and any(one.arg == filled.id for one in function.args.args):
            value = argument_given(call, function, filled.id)
            if value is not None:
                return value
    return None


@rule("code.class-zero-ignored")
def class_zero_ignored(program: Program) -> Iterator[Finding]:
    """`TAGS.get(tag) or -100`: 0 is false, and the first class is ignored like padding."""
    for node in program.nodes.of_kind(ast.BoolOp):
        assert isinstance(node, ast.BoolOp)
        if isinstance(node.op, ast.Or) and len(node.values) == 2 and program.values.of(node.values[1]) == -100:
            first = node.values[0]
            if isinstance(first, (ast.Name, ast.Call, ast.Subscript, ast.Attribute)):
                corrected = (
                    f"{source_of(first)[:-1]}, -100)"
                    if isinstance(first, ast.Call) and name_called(first) == "get" and len(first.args) == 1
                    else f"-100 if {source_of(first)} is None else {source_of(first)}"
                )
                yield Finding(node.lineno, corrected, {"label": source_of(first)})


@rule("code.padding-in-loss")
def padding_in_loss(program: Program) -> Iterator[Finding]:
    """`enc["labels"] = enc["input_ids"].copy()` of texts that are padded: padding is learnt like words."""
    if any(f"-{-IGNORED}" in line for line in program.lines) or not shifts_by_itself(program):
        return
    if program.names_called & {
        "DataCollatorForLanguageModeling",
        "DataCollatorForSeq2Seq",
        "DataCollatorForCompletionOnlyLM",
    }:
        return
    padded = [
        each
        for call in program.calls
        if (each := keyword_of(call, "padding")) is not None and not program.values.is_false(each)
    ]
    if not padded or not trains_with_labels(program):
        return
    for node in program.nodes.of_kind(ast.Assign):
        target = node.targets[0]
        is_labels = isinstance(target, ast.Subscript) and is_constant_text(target.slice, "labels")
        if is_labels and "input_ids" in source_of(node.value) and "where" not in source_of(node.value):
            corrected = f"{source_of(target)} = [[t if m else -100 for t, m in zip(*row)] for row in zip(ids, mask)]"
            yield Finding(node.lineno, corrected, also=[padded[0].lineno])


def is_constant_text(node: ast.AST, text: str) -> bool:
    return isinstance(node, ast.Constant) and node.value == text


def target_of(call: ast.Call) -> ast.AST | None:
    return call.args[1] if len(call.args) > 1 else keyword_of(call, "target")


def model_call_in(program: Program, node: ast.AST) -> ast.Call | None:
    """The call of a model that the logits come from, unless places were cut off on the way."""
    seen: set[ast.AST] = set()
    while node not in seen:
        seen.add(node)
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
    return inputs is not None and source_of(tensor_behind(program, inputs)) == asked


def tensor_behind(program: Program, node: ast.AST) -> ast.AST:
    """What a name holds, through further names, reshapes and copies: `batch["input_ids"]` of `labels = ids.clone()`."""
    for _ in range(4):
        inner = without_reshapes(node)
        whole = whole_value(program, inner.id, inner) if isinstance(inner, ast.Name) else None
        inner = without_reshapes(whole if whole is not None else inner)
        while isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute) and inner.func.attr in COPIES:
            inner = without_reshapes(inner.func.value)
        if inner is node:
            break
        node = inner
    return node


def whole_value(program: Program, name: str, near: ast.AST) -> ast.AST | None:
    """The only value that a name as a whole is given in its function; what is put into parts of it counts for nothing."""
    function = program.function_of(near)
    if isinstance(function, Function) and any(each.arg == name for each in arguments_of(function.args)):
        return None
    values = [
        each.value
        for each in program.own_nodes(function)
        if isinstance(each, ast.Assign) and name in [one.id for one in each.targets if isinstance(one, ast.Name)]
    ]
    return values[0] if len(values) == 1 and name not in names_in(values[0]) else None


@rule("code.logits-shifted-backwards")
def logits_shifted_backwards(program: Program) -> Iterator[Finding]:
    """`cross_entropy(logits[:, 1:], ids[:, :-1])`: each place is asked for the token before it, which it has seen."""
    if not program.trains:
        return
    for call in program.calls_to("cross_entropy", *(cross_entropy_names(program) - {"cross_entropy"})):
        target = target_of(call)
        if target is None or not call.args:
            continue
        made, asked = (without_reshapes(seen_through(program, without_reshapes(each))) for each in (call.args[0], target))
        if begins_at_one(made) and ends_before_the_last(asked) and "logit" in source_of(made):
            corrected = "F.cross_entropy(logits[:, :-1].reshape(-1, logits.size(-1)), labels[:, 1:].reshape(-1))"
            row = source_of(asked.value) if isinstance(asked, ast.Subscript) else "the text"
            yield Finding(call.lineno, corrected, {"row": row})


def ends_before_the_last(node: ast.AST) -> bool:
    """`x[:, :-1]`."""
    return any(isinstance(each, ast.Slice) and is_number(each.upper, -1) and each.lower is None for each in slices_of(node))


@rule("code.answers-ignored")
def label_mask_inverted(program: Program) -> Iterator[Finding]:
    """-100 put where the attention mask is on, where the prompt is not, or where the answer is."""
    for line, mask, corrected in ignored_places(program):
        wrong = inverted(program, mask)
        if not wrong:
            continue
        yield Finding(line, corrected, {"where": wrong})


@rule("code.completion-mask-inverted")
def completion_mask_inverted(program: Program) -> Iterator[Finding]:
    """`{"input_ids": prompt + answer, "completion_mask": [1] * len(prompt) + [0] * len(answer)}`: TRL and masks of this name
    count what is 1."""
    for node in program.nodes.of_kind(ast.Dict):
        held = {key.value: value for key, value in zip(node.keys, node.values, strict=True) if isinstance(key, ast.Constant)}
        given = next((held[name] for name in COUNTING if name in held), None)
        mask = program.names.origin(given).node if isinstance(given, ast.Name) else given
        if not isinstance(mask, ast.BinOp) or not isinstance(mask.op, ast.Add) or "input_ids" not in held:
            continue
        first, last = repeated(mask.left), repeated(mask.right)
        if first is None or last is None or (first[0], last[0]) != (1, 0):
            continue
        corrected = f"[0] * {source_of(first[1])} + [1] * {source_of(last[1])}"
        yield Finding(mask.lineno, corrected, {"counted": source_of(first[1])[:60]})


#: Columns that say which tokens take part in the loss: 1 where they do.
COUNTING = ("completion_mask", "assistant_masks", "answer_mask", "response_mask")


def repeated(node: ast.expr) -> tuple[object, ast.expr] | None:
    """1, `len(prompt)` of `[1] * len(prompt)`."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Mult):
        return None
    for one, other in ((node.left, node.right), (node.right, node.left)):
        if isinstance(one, ast.List) and len(one.elts) == 1 and isinstance(one.elts[0], ast.Constant):
            return one.elts[0].value, other
    return None


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
            name = name_called(mask)
            if name in ("logical_not", "eq") and (name == "logical_not" or mask.args and is_number(mask.args[0], 0)):
                on = not on
            elif name not in ("bool", "to", "long", "cuda", "eq", "ne"):
                return ("", True) if name != "pop" else (source_of(mask), on)
            mask = mask.func.value
        else:
            return source_of(mask), on


@rule("code.padding-counted")
def padding_counted(program: Program) -> Iterator[Finding]:
    """A collate function pads the targets, and the loss is told of nothing to leave out."""
    for criterion in program.losses.all_criteria:
        if criterion.kind not in ("cross_entropy", "nll_loss") or criterion.target is None:
            continue
        if keyword_of(criterion.maker, "ignore_index") is not None or criterion.reduction == "none":
            continue
        if criterion.call is not criterion.maker and keyword_of(criterion.call, "ignore_index") is not None:
            continue
        padded = padded_target(program, criterion.target)
        filled = keyword_of(padded, "padding_value") if padded is not None else None
        if padded is None or (filled is not None and program.values.of(filled) == IGNORED):
            continue
        given = source_of(filled) if filled is not None else "0"
        made = source_of(criterion.maker)
        yield Finding(
            criterion.maker.lineno,
            f"{made[:-1]}{', ' if not made.endswith('()') else ''}ignore_index={given})",
            {"padding": given},
            also=sorted({padded.lineno, criterion.call.lineno} - {criterion.maker.lineno}),
        )


def padded_target(program: Program, target: ast.AST) -> ast.Call | None:
    """The pad_sequence() of a collate function that made this part of the batch."""
    node = without_reshapes(target)
    binding = program.names.given(node) if isinstance(node, ast.Name) else None
    if binding is not None and binding.how == "assigned" and binding.value is not None:  # `y = y.to(device)`
        node = without_reshapes(binding.value)
        loops = [each for each in program.names.all_given(node) if each.how == "loop"] if isinstance(node, ast.Name) else []
        binding = loops[-1] if loops else None
    if binding is None or binding.how != "loop" or binding.value is None or len(binding.path) != 1:
        return None
    loader = program.makers.call_of(binding.value)
    given = keyword_of(loader, "collate_fn") if loader is not None else None
    functions = program.functions_by_name.get(given.id, []) if isinstance(given, ast.Name) else []
    returned = program.returns_of(functions[0]) if len(functions) == 1 else []
    if len(returned) != 1 or not isinstance(returned[0], ast.Tuple) or binding.path[0] >= len(returned[0].elts):
        return None
    made = program.names.origin(returned[0].elts[binding.path[0]]).node
    return made if isinstance(made, ast.Call) and name_called(made) == "pad_sequence" else None
