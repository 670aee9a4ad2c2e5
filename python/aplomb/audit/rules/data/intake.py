"""Rules about what reaches the model: columns that a Trainer drops, tokens that begin a text twice, samples that are taken
before they are shuffled, and targets that lie behind instead of ahead."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...findings import Finding, rule
from ...program.algebra import Form
from ...program.gradients import is_forward
from ...program.program import Program
from ...program.syntax import Function, keyword_of, last_name, name_called, receiver_of, source_of

#: What the models of transformers take, and what every Trainer keeps.
KEPT = {
    "input_ids", "attention_mask", "token_type_ids", "position_ids", "labels", "label", "label_ids", "pixel_values",
    "input_features", "input_values", "inputs_embeds", "decoder_input_ids", "decoder_attention_mask", "start_positions",
    "end_positions", "head_mask", "pixel_mask", "mask_labels", "class_labels", "bbox", "special_tokens_mask",
    "next_sentence_label", "global_attention_mask", "image_grid_thw", "pixel_attention_mask", "length",
}  # fmt: skip
#: Families whose tokenizers put a token before each text, and whose templates write it too.
BEGINNING = re.compile(r"llama|mistral|mixtral|gemma|zephyr|tulu|vicuna|ministral")
#: Public data sets whose rows stand class by class.
SORTED = re.compile(r"(^|/)(imdb|rotten_tomatoes|dbpedia_14|food101)$")


# --- columns


@rule("code.columns-removed")
def columns_removed(program: Program) -> Iterator[Finding]:
    """A collator or a transform reads a column that the Trainer takes out before, for the model does not take it."""
    for call in program.calls_to("Trainer", "Seq2SeqTrainer"):
        if (
            "transformers" not in program.name_of(call.func)
            or not removes(program, call)
            or not is_pretrained(program, call)
        ):
            continue
        for function, read in readers(program, call):
            for key, line in read:
                if key not in KEPT:
                    values = {"column": key, "reader": function.name}
                    also = sorted({call.lineno} - {line})
                    yield Finding(line, "TrainingArguments(..., remove_unused_columns=False)", values, also=also)
                    return


def removes(program: Program, call: ast.Call) -> bool:
    given = keyword_of(call, "args") or (call.args[1] if len(call.args) > 1 else None)
    made = program.makers.call_of(given) if given is not None else None
    if made is None or "TrainingArguments" not in name_called(made) or any(each.arg is None for each in made.keywords):
        return False
    return keyword_of(made, "remove_unused_columns") is None and not any(
        isinstance(each.targets[0], ast.Attribute) and each.targets[0].attr == "remove_unused_columns"
        for each in program.nodes.of_kind(ast.Assign)
    )


def is_pretrained(program: Program, call: ast.Call) -> bool:
    """The model is one of transformers as it is: what its forward() takes is known."""
    model = keyword_of(call, "model") or (call.args[0] if call.args else None)
    made = program.makers.call_of(model) if model is not None else None
    return made is not None and program.makers.class_name(made).startswith("AutoModelFor")


Reader = tuple[ast.FunctionDef | ast.AsyncFunctionDef, list[tuple[str, int]]]


def readers(program: Program, call: ast.Call) -> Iterator[Reader]:
    collator = keyword_of(call, "data_collator")
    function = function_given(program, collator) if collator is not None else None
    if function is not None:
        yield function, keys_of_rows(program, function)
    for each in program.calls_to("set_transform", "with_transform"):
        function = function_given(program, each.args[0]) if each.args else None
        if function is not None and function.args.args:
            yield function, keys_of(program, function, {function.args.args[0].arg})


def function_given(program: Program, node: ast.expr) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    if isinstance(node, ast.Name):
        binding = program.names.given(node)
        if binding is not None and isinstance(binding.node, Function):
            return binding.node
    owner = program.makers.definition(node)
    return program.makers.method(owner, "__call__") if owner is not None else None


def keys_of_rows(program: Program, function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[tuple[str, int]]:
    """What is read of each of the rows that the function is given."""
    given = {each.arg for each in function.args.args if each.arg not in ("self", "cls")}
    rows: set[str] = set()
    for node in program.nodes.below(function):
        over = node.iter if isinstance(node, (ast.For, ast.comprehension)) else None
        if isinstance(over, ast.Name) and over.id in given and isinstance(node.target, ast.Name):  # type: ignore[attr-defined]
            rows.add(node.target.id)  # type: ignore[attr-defined]
    return keys_of(program, function, rows)


def keys_of(program: Program, function: ast.AST, holders: set[str]) -> list[tuple[str, int]]:
    """Keys that are read, those that the function itself sets before left out."""
    set_here, read = set(), []
    for node in program.nodes.below(function):
        if not isinstance(node, ast.Subscript) or not isinstance(node.value, ast.Name) or node.value.id not in holders:
            continue
        key = node.slice.value if isinstance(node.slice, ast.Constant) else None
        if isinstance(key, str):
            if isinstance(node.ctx, ast.Load):
                read.append((key, node.lineno))
            else:
                set_here.add(key)
    return [each for each in read if each[0] not in set_here]


# --- the token that begins a text


@rule("code.start-token-twice")
def start_token_twice(program: Program) -> Iterator[Finding]:
    """A text that the template began with the start token is tokenised as any other, which puts one more before it."""
    texts = [each.value for each in program.nodes.of_kind(ast.Constant) if isinstance(each.value, str)]
    if not any(BEGINNING.search(each.lower()) for each in texts if len(each) < 100):
        return
    if any("bos_token" in line for line in program.lines):
        return
    written = [
        call for call in program.calls_to("apply_chat_template") if program.values.is_false(keyword_of(call, "tokenize"))
    ]
    keys = {key for call in written for key in keys_given(program, call)}
    for call in program.calls:
        if not call.args or not is_tokenizer(program, call) or not adds_tokens(program, call):
            continue
        origins = program.names.origins(call.args[0])
        direct = next((each.node for each in origins if each.node in written), None)
        key = key_read(call.args[0])
        if direct is not None or (key and key in keys):
            place = direct if direct is not None else written[0]
            yield Finding(
                call.lineno, f"{source_of(call)[:-1]}, add_special_tokens=False)",
                also=sorted({getattr(place, "lineno", call.lineno)} - {call.lineno}),
            )  # fmt: skip
            return


def is_tokenizer(program: Program, call: ast.Call) -> bool:
    func = call.func
    if isinstance(func, ast.Attribute) and func.attr in ("encode", "encode_plus", "batch_encode_plus"):
        func = func.value
    return "tok" in last_name(func).lower() and "Tokenizer" not in last_name(func)


def adds_tokens(program: Program, call: ast.Call) -> bool:
    return keyword_of(call, "add_special_tokens") is None and all(each.arg is not None for each in call.keywords)


def keys_given(program: Program, call: ast.Call) -> Iterator[str]:
    """`text` of `{"text": tokenizer.apply_chat_template(...)}`."""
    for node in program.nodes.of_kind(ast.Dict):
        for key, value in zip(node.keys, node.values):
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                inner = value.elt if isinstance(value, (ast.ListComp, ast.GeneratorExp)) else value
                if program.names.origin(inner).node is call:
                    yield key.value


def key_read(node: ast.AST) -> str:
    key = node.slice if isinstance(node, ast.Subscript) else None
    return key.value if isinstance(key, ast.Constant) and isinstance(key.value, str) else ""


# --- a part of the data that is none at random


@rule("code.taken-before-shuffled")
def taken_before_shuffled(program: Program) -> Iterator[Finding]:
    """The first rows of a set are taken, and shuffled then: where rows stand class by class, all are of one class."""
    loads = program.calls_to("load_dataset")
    if not loads:
        return
    known = next((each for each in loads if each.args and SORTED.search(program.values.text(each.args[0]))), None)
    for call in program.calls_to("select"):
        first = call.args[0] if call.args else None
        if not isinstance(first, ast.Call) or name_called(first) != "range" or len(first.args) != 1:
            continue
        source = receiver_of(call)
        if is_shuffled(program, source, 0) or is_held_out_part(source):
            continue
        later = shuffled_later(program, call)
        of_known = known is not None and len(loads) == 1
        if later or of_known:
            rest = f".shuffle(seed=0).select({source_of(first)})"
            yield Finding(call.lineno, f"{source_of(source)}{rest}", {"taken": source_of(first)}, sure=of_known)
            return
    if known is not None:
        split = keyword_of(known, "split")
        text = program.values.text(split) if split is not None else ""
        if re.fullmatch(r"train\[:\d+\]", text):
            corrected = (
                f'load_dataset({source_of(known.args[0])}, split="train").shuffle(seed=0).select(range({text[7:-1]}))'
            )
            yield Finding(known.lineno, corrected, {"taken": text})


def is_held_out_part(node: ast.AST) -> bool:
    return any(word in source_of(node).lower() for word in ("test", "val", "eval"))


def is_shuffled(program: Program, node: ast.AST, depth: int) -> bool:
    """On the way to the rows."""
    origin = program.names.origin(node).node
    for each in ast.walk(origin):
        if name_called(each) in ("shuffle", "train_test_split", "sample"):
            return True
        if isinstance(each, ast.Name) and each is not node and depth < 5 and is_shuffled(program, each, depth + 1):
            return True
    return False


def shuffled_later(program: Program, call: ast.Call) -> bool:
    above = program.nodes.parents.get(call)
    if isinstance(above, ast.Attribute) and above.attr == "shuffle":
        return True
    return any(
        program.names.origin(receiver_of(each)).node is call
        for each in program.calls_to("shuffle")
        if isinstance(each.func, ast.Attribute)
    )


# --- targets


@rule("code.shifted-backwards")
def shifted_backwards(program: Program) -> Iterator[Finding]:
    """The model reads from the second token on and is asked for the token before: it has been given the answer's
    successor, and never learns to go on."""
    for criterion in program.losses.all_criteria:
        if criterion.kind not in ("cross_entropy", "nll_loss") or criterion.given is None or criterion.target is None:
            continue
        target = program.algebra.of(criterion.target)
        if target.op != "slice" or not target.name.strip("()").endswith(":-1"):
            continue
        for form in program.algebra.of(criterion.given).below():
            if is_forward(program, form) and any(is_later_part(each, target) for each in form.parts):
                held = source_of(target.parts[0].node)
                yield Finding(
                    criterion.call.lineno, f"model({held}[:, :-1]) against {held}[:, 1:]", {"row": held},
                    also=sorted({form.line} - {criterion.call.lineno}),
                )  # fmt: skip
                break


def is_later_part(form: Form, target: Form) -> bool:
    return form.op == "slice" and form.name.strip("()").endswith("1:") and form.parts[0].key == target.parts[0].key


@rule("code.labels-padded-as-class")
def labels_padded_as_class(program: Program) -> Iterator[Finding]:
    """Labels of rows of unequal length are filled up with 0, a class, and no loss leaves any class out."""
    losses = [each for each in program.losses.all_criteria if each.kind in ("cross_entropy", "nll_loss")]
    if not losses or any(keyword_of(each.maker, "ignore_index") is not None or each.reduction != "mean" for each in losses):
        return
    if program.names_called & {"masked_select", "masked_fill"} or any("CRF" in name for name in program.names_called):
        return
    for call in program.calls_to("pad_sequence"):
        value = keyword_of(call, "padding_value") or (call.args[2] if len(call.args) > 2 else None)
        if value is not None and program.values.of(value) != 0:
            continue
        holder = program.statement_of(call)
        named = last_name(holder.targets[0]).lower() if isinstance(holder, ast.Assign) else ""
        if named.rstrip("s") in ("tag", "label", "target", "ner", "pos_tag", "y") or "label" in named or "tag" in named:
            if any(isinstance(each, ast.Subscript) and "mask" in source_of(each.slice).lower()
                   for each in program.nodes.of_kind(ast.Subscript)):  # fmt: skip
                return
            corrected = f"{source_of(call)[:-1]}, padding_value=-100)"
            yield Finding(call.lineno, corrected, {"labels": named}, also=[losses[0].call.lineno])
            return


# --- numbers of classes


@rule("code.labels-numbered-apart")
def labels_numbered_apart(program: Program) -> Iterator[Finding]:
    """`self.y = pd.factorize(df["queue"])[0]` where a file is read, and that is done for the training and the held-out file:
    the first class of one is another class in the other."""
    for call in [*program.calls_to("factorize", "fit_transform"), *program.nodes.of_kind(ast.DictComp)]:
        if not numbers_classes(program, call):
            continue
        around = [each for each in program.enclosing(call) if isinstance(each, (*Function, ast.ClassDef))]
        maker = next((each for each in around if isinstance(each, Function)), None)
        if maker is None or not reads_its_file(program, maker):
            continue
        name = maker.name
        if name == "__init__":
            name = next((each.name for each in around if isinstance(each, ast.ClassDef)), "")
        asked = {source_of(each.args[0]) for each in program.calls_to(name) if each.args}
        if len(asked) >= 2:
            yield Finding(call.lineno, "", {"maker": name, "one": sorted(asked)[0][:40], "other": sorted(asked)[1][:40]})


def numbers_classes(program: Program, node: ast.AST) -> bool:
    """Numbers for names by the order in which they come: factorize(), a LabelEncoder made here, `{c: i for i, c in
    enumerate(x.unique())}`."""
    if isinstance(node, ast.DictComp):
        source = node.generators[0].iter
        counted = isinstance(source, ast.Call) and name_called(source) == "enumerate" and bool(source.args)
        inner = source.args[0] if counted and isinstance(source, ast.Call) else None
        return (
            len(node.generators) == 1
            and isinstance(inner, ast.Call)
            and name_called(inner) in ("unique", "set", "fromkeys")  # sorted() of the same classes gives the same numbers
        )
    if not isinstance(node, ast.Call):
        return False
    if name_called(node) == "factorize":
        return keyword_of(node, "sort") is None
    encoder = program.names.origin(receiver_of(node)).node
    return "LabelEncoder" in source_of(encoder) and not isinstance(encoder, ast.Attribute)


def reads_its_file(program: Program, maker: ast.AST) -> bool:
    """A function (or `__init__`) whose first argument is what it reads: a path, a folder, the name of a split."""
    given = [each.arg for each in maker.args.args if each.arg != "self"]  # type: ignore[attr-defined]
    if not given:
        return False
    return any(
        name_called(each).startswith(("read_", "load", "open", "listdir", "glob"))
        and any(isinstance(inner, ast.Name) and inner.id == given[0] for inner in ast.walk(each))
        for each in program.own_nodes(maker)
        if isinstance(each, ast.Call)
    )
