"""Rules about tokens and their labels: words that part into pieces, markers that are looked for, padding to a length."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...findings import Finding, rule
from ...program.algebra import Form
from ...program.program import Program
from ...program.syntax import Function, keyword_of, name_called, receiver_of, source_of
from ...program.trainers import trainers

ALIGNING = ("word_ids", "word_to_tokens", "token_to_word", "words", "char_to_token", "tokenize")
#: Methods that leave tokens where they are.
SAME_TOKENS = ("masked_fill", "masked_fill_", "clone", "to", "long", "contiguous", "detach", "tolist", "cuda", "numpy")
#: Markers of turns that people write by hand: Alpaca's, Llama-2's, Vicuna's, "User:" and its kin at the start of a line.
HAND_WRITTEN = re.compile(
    r"### ?(Instruction|Response|Human|Assistant|Input|Question|Answer|User)\b|\[INST\]|(^|\n)(USER|User|Human|Question|Q): "
)


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
    if any("offsets_mapping" in line for line in program.lines):
        return
    for call in program.calls:
        asked = keyword_of(call, "is_split_into_words")
        if asked is None or not program.values.is_true(asked):
            continue
        function = program.function_of(call)
        if not isinstance(function, Function):
            continue
        aligned = any(name_called(each) in ALIGNING for each in program.calls_in(function))
        helped = any(program.functions_by_name.get(name_called(each)) for each in program.calls_in(function))
        if sets_labels(program, function) and not aligned and not (helped and program.names_called & set(ALIGNING)):
            corrected = "[-100 if word is None else tags[word] for word in encoded.word_ids(i)]"
            yield Finding(call.lineno, corrected, also=laid_at(program, function))


def laid_at(program: Program, function: ast.AST) -> list[int]:
    """Where the words' labels become those of the tokens: `[label2id[t] for t in tags]`."""
    made = [each for each in program.own_nodes(function) if isinstance(each, ast.ListComp)]
    texts = ((each, source_of(each).lower()) for each in made)
    return [each.lineno for each, text in texts if "label" in text or "tag" in text][:2]


@rule("code.decoder-sees-answers")
def decoder_sees_answers(program: Program) -> Iterator[Finding]:
    """The decoder is given the very tokens that are the labels: each place is given the token that it is to say."""
    yield from labels_as_decoder_input(program)
    yield from target_as_second_input(program)


def target_as_second_input(program: Program) -> Iterator[Finding]:
    """`cross_entropy(model(src, gold), gold)`."""
    for criterion in program.losses.all_criteria:
        if criterion.kind != "cross_entropy" or criterion.given is None or criterion.target is None:
            continue
        target = program.algebra.of(criterion.target)
        for form in program.algebra.of(criterion.given).below():
            call = form.node
            if not isinstance(call, ast.Call) or program.objects.event_of(call)[0] != "forward" or len(call.args) < 2:
                continue
            second = program.algebra.of(call.args[1])
            if second.key == target.key and is_sequence(second) and not_masked(program):
                corrected = f"{source_of(call.func)}({source_of(call.args[0])}, tgt[:, :-1])  # and tgt[:, 1:] as the labels"
                yield Finding(call.lineno, corrected, also=sorted({criterion.call.lineno} - {call.lineno}))
                return


def is_sequence(form: Form) -> bool:
    """Tokens, by their name or by how they were cut."""
    return form.op == "slice" or form.called("tgt", "target", "targets", "trg", "gold", "tgt_ids", "dec", "y_ids")


def not_masked(program: Program) -> bool:
    """Nothing is masked or noised on the way in, and the decoder is causal."""
    return bool(
        program.names_called & {"Transformer", "TransformerDecoder", "TransformerDecoderLayer", "LSTM", "GRU"}
    ) and not (program.names_called & {"shift_right", "_shift_right", "roll"})


def labels_as_decoder_input(program: Program) -> Iterator[Finding]:
    """`decoder_input_ids` made of the labels."""
    parts: dict[str, tuple[int, set[str]]] = {}
    for node in program.nodes.of_kind(ast.Assign, ast.Dict, ast.Call):
        for key, value in keyed_parts(node):
            if key in ("decoder_input_ids", "labels"):
                parts.setdefault(key, (value.lineno, tokens_named(program, value)))
    if len(parts) < 2 or program.names_called & {"shift_tokens_right", "_shift_right"}:
        return
    line, given = parts["decoder_input_ids"]
    if given & parts["labels"][1]:
        yield Finding(line, "# leave it out: the model shifts the labels by itself")


def keyed_parts(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """`enc["labels"] = x`, `{"labels": x}`, `model(labels=x)`."""
    if isinstance(node, ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant):
                yield str(target.slice.value), node.value
    elif isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values):
            if isinstance(key, ast.Constant):
                yield str(key.value), value
    elif isinstance(node, ast.Call):
        for each in node.keywords:
            if each.arg:
                yield each.arg, each.value


def tokens_named(program: Program, value: ast.expr) -> set[str]:
    """The names and parts that the tokens come from as they are: of what is cut or moved (`[:-1]`, roll, a sum of lists)
    none."""
    nodes = list(ast.walk(value))
    moved = any(
        isinstance(each, ast.Slice)
        or (isinstance(each, ast.BinOp) and isinstance(each.op, ast.Add))
        or (isinstance(each, ast.Call) and name_called(each) in ("roll", "cat", "pad"))
        for each in nodes
    )
    if moved:
        return set()
    named = {source_of(each) for each in nodes if isinstance(each, ast.Subscript)}
    whole = value
    while isinstance(whole, ast.Call) and isinstance(whole.func, ast.Attribute) and name_called(whole) in SAME_TOKENS:
        whole = whole.func.value
    if isinstance(whole, ast.Name):
        origin = program.names.origin(whole).node
        named.add(whole.id)
        if not any(isinstance(each, ast.Slice) for each in ast.walk(origin)):
            named |= {source_of(each) for each in ast.walk(origin) if isinstance(each, ast.Subscript)}
    return named


@rule("code.two-chat-templates")
def two_chat_templates(program: Program) -> Iterator[Finding]:
    """The texts that are trained on are written with markers by hand, and the model is asked through the chat template."""
    asked = [
        call
        for call in program.calls_to("apply_chat_template")
        if program.values.is_true(keyword_of(call, "add_generation_prompt"))
    ]
    if not asked or len(asked) < len(program.calls_to("apply_chat_template")):
        return
    if not program.trains and not trainers(program):
        return
    written = [
        (node.lineno, text)
        for node in program.nodes.of_kind(ast.JoinedStr, ast.Constant)
        if (text := text_of(node)) and HAND_WRITTEN.search(text)
    ]
    if not written or any(HAND_WRITTEN.search(text) for text in templates_of(program)):
        return
    line, text = written[0]
    marker = HAND_WRITTEN.search(text)
    yield Finding(
        asked[0].lineno,
        "tokenizer.apply_chat_template(messages, tokenize=False)  # for the training texts as well",
        {"marker": marker.group().strip() if marker else ""},
        also=[line],
    )


def text_of(node: ast.AST) -> str:
    if isinstance(node, ast.JoinedStr):
        return "".join(str(each.value) for each in node.values if isinstance(each, ast.Constant))
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def templates_of(program: Program) -> list[str]:
    """What the program sets as chat template."""
    return [
        text_of(node.value)
        for node in program.nodes.of_kind(ast.Assign)
        if isinstance(node, ast.Assign) and any("chat_template" in source_of(each) for each in node.targets)
    ]


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
            while isinstance(part, ast.Call) and name_called(part) in ("tolist", "list"):
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
        if "tok" not in source_of(call.func).lower() or name_called(call) == "pad" or program.is_conditional(call, function):
            continue  # under a test: for hardware that wants one shape
        corrected = source_of(call).replace("padding='max_length', ", "").replace(", padding='max_length'", "")
        yield Finding(call.lineno, f"{corrected}  # and DataCollatorWithPadding(tokenizer)")
        return
