"""Rules about tokens and their labels: words that part into pieces, markers that are looked for, padding to a length."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .findings import Finding, rule
from .names import Function, name_called
from .program import Program, keyword_of, method_of, receiver_of, source_of

ALIGNING = ("word_ids", "word_to_tokens", "token_to_word", "words", "char_to_token", "tokenize")


def sets_labels(program: Program, function: ast.AST) -> bool:
    """`encoded["labels"] = ...`, `{"labels": ...}` in a function."""
    for each in program.own_nodes(function):
        is_stored = isinstance(each, ast.Subscript) and isinstance(each.ctx, ast.Store)
        if is_stored and isinstance(each.slice, ast.Constant) and each.slice.value == "labels":  # type: ignore[attr-defined]
            return True
        if isinstance(each, ast.Dict) and any(isinstance(key, ast.Constant) and key.value == "labels" for key in each.keys):
            return True
    return False


@rule("code.word-labels-by-position")
def word_labels_by_position(program: Program) -> Iterator[Finding]:
    """Words part into several pieces, and the labels of the words are laid onto the pieces one by one."""
    if program.names_called & set(ALIGNING) or any("offsets_mapping" in line for line in program.lines):
        return
    for call in program.calls:
        asked = keyword_of(call, "is_split_into_words")
        if asked is None or not program.values.is_true(asked):
            continue
        function = program.function_of(call)
        if isinstance(function, Function) and sets_labels(program, function):
            corrected = "[-100 if word is None else tags[word] for word in encoded.word_ids(i)]"
            yield Finding(call.lineno, corrected)


@rule("code.marker-tokenised-alone")
def marker_tokenised_alone(program: Program) -> Iterator[Finding]:
    """The tokens of a marker by itself are looked for among those of whole texts, where the marker's first or last token
    may have come out otherwise."""
    if not any(source_of(each) == "-100" for each in program.nodes.of_kind(ast.UnaryOp)):
        return
    for node in program.nodes.of_kind(ast.Compare):
        if len(node.ops) != 1 or not isinstance(node.ops[0], ast.Eq):
            continue
        for part, marker in ((node.left, node.comparators[0]), (node.comparators[0], node.left)):
            while isinstance(part, ast.Call) and method_of(part) in ("tolist", "list"):
                part = receiver_of(part) if isinstance(part.func, ast.Attribute) else part.args[0]
            made = tokens_of_text(program, marker)
            length = f"len({source_of(marker)})"
            if made is None or not isinstance(part, ast.Subscript) or not isinstance(part.slice, ast.Slice):
                continue
            if part.slice.upper is not None and length in source_of(part.slice.upper).replace("+ ", "+ "):
                yield Finding(
                    made.lineno,
                    "# the tokens that the marker has inside a text",
                    {"marker": source_of(made)},
                    also=[node.lineno],
                )
                return


def tokens_of_text(program: Program, node: ast.AST) -> ast.Call | None:
    """The call of `tokenizer(MARKER)["input_ids"]`, `tokenizer.encode(MARKER, ...)` of a constant text, from its beginning
    to its end."""
    value = program.names.origin(node).node
    of_key = isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Constant) and value.slice.value == "input_ids"
    if of_key or (isinstance(value, ast.Attribute) and value.attr == "input_ids"):
        value = value.value  # type: ignore[attr-defined]
    if not isinstance(value, ast.Call) or not value.args or "tok" not in source_of(value.func).lower():
        return None
    text = program.values.of(value.args[0])
    is_word = isinstance(text, str) and not (text.startswith("<") and text.endswith(">"))  # one token by itself
    return value if is_word and name_called(value) not in ("convert_tokens_to_ids",) else None


@rule("code.padded-to-maximum")
def padded_to_maximum(program: Program) -> Iterator[Finding]:
    """Every text is padded to the longest that is allowed, and the batch could be padded to its own longest."""
    if not any(name.endswith("Trainer") for name in program.names_called) and not program.trains:
        return
    for call in program.calls:
        asked = keyword_of(call, "padding")
        if asked is None or program.values.of(asked) != "max_length" or "ollator" in source_of(call.func):
            continue
        function = program.function_of(call)
        if "tok" not in source_of(call.func).lower() or method_of(call) == "pad" or program.is_conditional(call, function):
            continue  # under a test: for hardware that wants one shape
        corrected = source_of(call).replace("padding='max_length', ", "").replace(", padding='max_length'", "")
        yield Finding(call.lineno, f"{corrected}  # and DataCollatorWithPadding(tokenizer)")
        return
