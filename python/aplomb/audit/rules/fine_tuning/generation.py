"""Rules about generation in batches: on which side prompts are padded, and whether the model knows where the padding is."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...findings import Finding, rule
from ...program.program import Program
from ...program.syntax import keyword_of, name_called, source_of


@rule("code.generates-right-padded")
def generates_right_padded(program: Program) -> Iterator[Finding]:
    """A causal model continues a batch of prompts that are padded on the right: it continues the padding."""
    causal = any("ForCausalLM" in line for line in program.lines)
    sided = any("padding_side" in line and '"right"' not in line.replace("'", '"') for line in program.lines)
    if not causal or sided or "generate" not in program.names_called:
        return
    for call in program.calls_to("generate"):
        function = program.function_of(call)
        for each in program.nodes.below(function):
            if (
                not isinstance(each, ast.Call)
                or keyword_of(each, "padding") is None
                or not is_padding(program, keyword_of(each, "padding"))
            ):
                continue
            if (
                "tok" in source_of(each.func).lower()
                and name_called(each) not in ("pad",)
                and feeds(program, each, call)
                and takes_several(program, each)
            ):
                yield Finding(each.lineno, 'tokenizer.padding_side = "left"  # before it', also=[call.lineno])
                return


def takes_several(program: Program, call: ast.Call) -> bool:
    """A list of texts, or what is called so."""
    if not call.args:
        return False
    value = program.names.origin(call.args[0]).node
    if isinstance(call.args[0], ast.Subscript) and isinstance(call.args[0].slice, ast.Slice):
        return True
    return isinstance(value, (ast.List, ast.ListComp)) or (
        isinstance(call.args[0], (ast.Name, ast.Subscript)) and source_of(call.args[0]).rstrip("]").endswith(("s", "batch"))
    )


def is_padding(program: Program, node: ast.expr | None) -> bool:
    return node is not None and program.values.of(node) in (True, "longest", "max_length")


def feeds(program: Program, made: ast.Call, call: ast.Call) -> bool:
    """What the tokenizer gave goes into generate()."""
    statement = program.statement_of(made)
    targets = {source_of(each) for each in statement.targets} if isinstance(statement, ast.Assign) else set()
    given = {
        each.id
        for one in [*call.args, *(each.value for each in call.keywords)]
        for each in ast.walk(one)
        if isinstance(each, ast.Name)
    }
    return bool(targets & given) or program.nodes.encloses(call, made)


@rule("code.generates-without-mask")
def generates_without_mask(program: Program) -> Iterator[Finding]:
    """Padded prompts are handed to generate() by their ids alone, and the padding token is the end token: it cannot be told
    from the text."""
    if not any("ForCausalLM" in line for line in program.lines) or not pads_with_end(program):
        return
    for call in program.calls_to("generate"):
        given = keyword_of(call, "input_ids") or keyword_of(call, "inputs") or (call.args[0] if call.args else None)
        told = any(each.arg in ("attention_mask", None) for each in call.keywords)
        made = encoded(program, given) if given is not None and not told else None
        if made is None or not is_padding(program, keyword_of(made, "padding")) or not takes_several(program, made):
            continue
        corrected = f'{source_of(call)[:-1]}, attention_mask=batch["attention_mask"])'
        yield Finding(call.lineno, corrected, also=sorted({made.lineno} - {call.lineno}))
        return


def pads_with_end(program: Program) -> bool:
    """`tokenizer.pad_token = tokenizer.eos_token`."""
    for node in program.nodes.of_kind(ast.Assign):
        target = source_of(node.targets[0])
        if target.endswith((".pad_token", ".pad_token_id")) and "eos_token" in source_of(node.value):
            return True
    return False


def encoded(program: Program, node: ast.expr) -> ast.Call | None:
    """The tokenizer's call behind `batch["input_ids"]`, `batch.input_ids`, moved or not."""
    value: ast.AST = program.names.origin(node).node
    is_ids = False
    for _ in range(8):
        if isinstance(value, ast.Call) and name_called(value) in ("to", "cuda") and isinstance(value.func, ast.Attribute):
            value = program.names.origin(value.func.value).node
        elif (
            isinstance(value, ast.Attribute)
            and value.attr == "input_ids"
            or isinstance(value, ast.Subscript)
            and program.values.text(value.slice) == "input_ids"
        ):
            is_ids, value = True, program.names.origin(value.value).node
        else:
            break
    return value if is_ids and isinstance(value, ast.Call) and "tok" in source_of(value.func).lower() else None
