"""Rules about programs that a framework trains: Trainer and TRL, tokenizers and collators, Lightning."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Union

from ...findings import Finding, rule
from ...program.objects import OPTIMIZERS
from ...program.program import Program
from ...program.syntax import argument_given, keyword_of, last_name, line_of, name_called, receiver_of, source_of
from ...program.trainers import trainers

CAUSAL = ("ForCausalLM", "LMHeadModel")
MASKED = ("ForMaskedLM",)


def model_class(program: Program, call: ast.Call) -> str:
    """The class of the model that a Trainer is given."""
    model = keyword_of(call, "model") or (call.args[0] if call.args else None)
    return program.makers.made_by(model) if model is not None else ""


def is_called(name: str, ends: tuple[str, ...]) -> bool:
    return any(each in name for each in ends)


# --- collators

Made = Union[ast.ListComp, ast.GeneratorExp]  # noqa: UP007  (Python 3.9 runs this)


@rule("code.masked-collator-for-causal-model")
def masked_collator_for_causal_model(program: Program) -> Iterator[Finding]:
    """DataCollatorForLanguageModeling masks tokens unless it is told mlm=False."""
    yield from wrong_collator(program, CAUSAL, True)


@rule("code.causal-collator-for-masked-model")
def causal_collator_for_masked_model(program: Program) -> Iterator[Finding]:
    """mlm=False gives a masked model every token as its own label."""
    yield from wrong_collator(program, MASKED, False)


def wrong_collator(program: Program, models: tuple[str, ...], masks: bool) -> Iterator[Finding]:
    for call in trainers(program):
        collator = keyword_of(call, "data_collator")
        made = program.makers.call_of(collator) if collator is not None else None
        if made is None or program.makers.class_name(made) != "DataCollatorForLanguageModeling":
            continue
        asked = keyword_of(made, "mlm") or (made.args[1] if len(made.args) > 1 else None)
        value = True if asked is None else program.values.of(asked)
        if value is masks and is_called(model_class(program, call), models):
            corrected = (
                f"DataCollatorForLanguageModeling({source_of(made.args[0]) if made.args else 'tokenizer'}, mlm={not masks})"
            )
            yield Finding(made.lineno, corrected, also=[call.lineno])


@rule("code.end-token-never-learnt")
def end_token_never_learnt(program: Program) -> Iterator[Finding]:
    """The padding token is the end token, and the collator leaves padding out of the labels."""
    for node in program.nodes.of_kind(ast.Assign):
        target = node.targets[0]
        if not isinstance(target, ast.Attribute) or target.attr not in ("pad_token", "pad_token_id"):
            continue
        if not source_of(node.value).endswith(("eos_token", "eos_token_id")):
            continue
        for call in program.calls_to("DataCollatorForLanguageModeling"):
            asked = keyword_of(call, "mlm") or (call.args[1] if len(call.args) > 1 else None)
            if asked is not None and program.values.is_false(asked):
                corrected = 'tokenizer.add_special_tokens({"pad_token": "<pad>"})'
                yield Finding(line_of(node), corrected, sure=ends_its_texts(program), also=[call.lineno])
                return


@rule("code.end-token-masked")
def end_token_masked(program: Program) -> Iterator[Finding]:
    """The padding token is the end token, and every label that equals it is left out: `labels[labels == pad] = -100`."""
    line = pads_with_end(program)
    if line is None or not ends_its_texts(program):
        return
    for node in program.nodes.of_kind(ast.Compare):
        if len(node.ops) != 1 or not isinstance(node.ops[0], (ast.Eq, ast.NotEq)):
            continue
        written = (source_of(node.left) + written_to(program, node)).lower()
        if is_end_or_padding(program, node.comparators[0]) and "label" in written and ignores_where(program, node):
            yield Finding(node.lineno, 'labels[batch["attention_mask"] == 0] = -100', also=[line])
            return


def is_end_or_padding(program: Program, node: ast.expr) -> bool:
    """`tokenizer.pad_token_id`, also by a name that was given it."""
    found = [node, *(each.node for each in program.names.origins(node))]
    return any(source_of(each).endswith(("pad_token_id", "eos_token_id")) for each in found)


def pads_with_end(program: Program) -> int | None:
    """The line of `tok.pad_token = tok.eos_token`, of `add_special_tokens({"pad_token": tokenizer.eos_token})`."""
    for node in program.nodes.of_kind(ast.Assign):
        target = node.targets[0]
        named = isinstance(target, ast.Attribute) and target.attr in ("pad_token", "pad_token_id")
        if named and "generation" not in source_of(target) and source_of(node.value).endswith(("eos_token", "eos_token_id")):
            return line_of(node)
    for call in program.calls_to("add_special_tokens", "from_pretrained"):
        given = keyword_of(call, "pad_token")
        for each in call.args[:1]:
            if isinstance(each, ast.Dict):
                keys = [key.value if isinstance(key, ast.Constant) else "" for key in each.keys]
                given = each.values[keys.index("pad_token")] if "pad_token" in keys else given
        if given is not None and source_of(given).endswith("eos_token"):
            return line_of(given)
    return None


def written_to(program: Program, node: ast.AST) -> str:
    """What the statement around it writes: the target, or the receiver of `masked_fill_`."""
    statement = program.statement_of(node)
    if isinstance(statement, ast.Assign):
        key = statement.targets[0]
        return source_of(key)
    return source_of(statement) if isinstance(statement, ast.Expr) else ""


def ignores_where(program: Program, node: ast.Compare) -> bool:
    """The places of the comparison get -100 (`!=`: the others)."""
    parent = program.nodes.parents.get(node)
    statement = program.statement_of(node)
    equal = isinstance(node.ops[0], ast.Eq)
    if isinstance(parent, ast.Subscript) and isinstance(statement, ast.Assign) and parent in statement.targets:
        return equal and program.values.number(statement.value) == -100
    if isinstance(parent, ast.Call) and name_called(parent) in ("masked_fill", "masked_fill_"):
        return equal and len(parent.args) == 2 and program.values.number(parent.args[1]) == -100
    if isinstance(parent, ast.Call) and name_called(parent) == "where" and len(parent.args) == 3:
        return program.values.number(parent.args[1 if equal else 2]) == -100
    if isinstance(parent, ast.IfExp) and parent.test is node:
        return program.values.number(parent.body if equal else parent.orelse) == -100
    return False


def is_end(node: ast.expr) -> bool:
    """`tokenizer.eos_token`, its id, a list of it alone."""
    if isinstance(node, ast.List) and len(node.elts) == 1:
        node = node.elts[0]
    return isinstance(node, (ast.Name, ast.Attribute)) and source_of(node).lower().endswith(("eos_token", "eos_token_id"))


def ends_its_texts(program: Program) -> bool:
    """The program puts the end token behind its texts: it is meant to be learnt."""
    ends = {
        text
        for call in program.calls
        if (text := program.values.of(keyword_of(call, "eos_token"))) and isinstance(text, str)
    }
    sums: list[ast.BinOp | ast.AugAssign] = program.nodes.of_kind(ast.BinOp, ast.AugAssign)
    for node in sums:
        added = node.right if isinstance(node, ast.BinOp) else node.value
        if isinstance(node.op, ast.Add) and is_end(added):
            return True
    if any(len(call.args) == 1 and is_end(call.args[0]) for call in program.calls_to("append", "extend")):
        return True
    for listed in program.nodes.of_kind(ast.List):  # `[*prompt, *answer, tokenizer.eos_token_id]`
        if len(listed.elts) > 1 and any(isinstance(each, ast.Starred) for each in listed.elts) and is_end(listed.elts[-1]):
            return True
    for text in program.nodes.of_kind(ast.JoinedStr):
        last = text.values[-1] if text.values else None
        if isinstance(last, ast.FormattedValue) and source_of(last.value).endswith("eos_token"):
            return True
        if isinstance(last, ast.Constant) and any(str(last.value).endswith(each) for each in ends):
            return True
    texts = [each.value for each in program.nodes.of_kind(ast.Constant) if isinstance(each.value, str)]
    return any(text != each and text.endswith(each) for each in ends for text in texts)


# --- tokens and rows


@rule("code.tokens-without-rows")
def tokens_without_rows(program: Program) -> Iterator[Finding]:
    """Tokens are added to the tokenizer, and the model's embedding has no rows for them."""
    if "resize_token_embeddings" in program.names_called:
        return
    for call in program.calls_to("add_special_tokens", "add_tokens"):
        holder = receiver_of(call)
        if (
            holder is call.func
            or "token" not in last_name(holder).lower()
            and not last_name(holder).lower().startswith("tok")
        ):
            continue
        for made, sized in models_sized(program, holder):
            if sized and program.nodes.place(made) > program.nodes.place(call):
                continue  # by the tokenizer as it is then
            if adds_nothing_new(program, call):
                continue
            corrected = f"{program.line_text(call.lineno)}\nmodel.resize_token_embeddings(len({source_of(holder)}))"
            yield Finding(call.lineno, corrected, {"tokenizer": source_of(holder)}, also=[made.lineno])
            return


def models_sized(program: Program, tokenizer: ast.expr) -> Iterator[tuple[ast.Call, bool]]:
    """Calls that make a model of transformers: loaded (False), or from a configuration that asks the tokenizer (True)."""
    for call in program.calls:
        name = program.makers.class_name(call)
        is_model = is_called(name, ("Model", "For", "LMHead")) and not is_called(
            name, ("Config", "Collator", "Tokenizer", "Format")
        )
        if not is_model or not isinstance(program.statement_of(call), ast.Assign):
            continue
        if name_called(call) == "from_pretrained":
            yield call, False
        elif name_called(call) == name and name[:1].isupper():
            config = program.makers.call_of(call.args[0]) if call.args else None
            size = keyword_of(config, "vocab_size") if config is not None else None
            if config is not None and size is not None and source_of(tokenizer) in source_of(size):
                yield config, True


def adds_nothing_new(program: Program, call: ast.Call) -> bool:
    """A token that is there already is given another use: `{"pad_token": tokenizer.eos_token}`."""
    given = call.args[0] if call.args else None
    if isinstance(given, ast.Dict):
        return all(
            not isinstance(each, ast.Constant) and not isinstance(each, (ast.List, ast.Tuple)) for each in given.values
        )
    return False


@rule("code.prompt-fills-length")
def prompt_fills_length(program: Program) -> Iterator[Finding]:
    """The constant part of every prompt takes the length that prompt and answer have together. A word is a token at the
    least; four characters a token is what byte-pair vocabularies of English come to."""
    limits = []
    for call in program.calls:
        name = name_called(call)
        if name.endswith("Config") or name == "TrainingArguments" or name.endswith("Trainer"):
            for key in ("max_length", "max_seq_length", "max_prompt_length", "cutoff_len"):
                value = program.values.number(keyword_of(call, key))
                if value:
                    limits.append((call, value, keyword_of(call, key)))
    for call, limit, node in limits:
        for text, place in prompts(program):
            words, likely = len(text.split()), len(text) / 4
            if words < limit and likely < 0.8 * limit:
                continue
            values = {"words": str(words), "characters": str(len(text)), "limit": f"{limit:g}"}
            line = node.lineno if node is not None else call.lineno
            yield Finding(line, "", values, sure=words >= limit, also=[getattr(place, "lineno", line)])
            break


@rule("code.prompt-longer-than-row")
def prompt_longer_than_row(program: Program) -> Iterator[Finding]:
    """So many parts of so many words each make the prompt, and a row is cut at fewer tokens: the answer is cut off."""
    for call in program.calls:
        name = name_called(call)
        if not (name.endswith("Config") or name == "TrainingArguments" or name.endswith("Trainer")):
            continue
        given = keyword_of(call, "max_length") or keyword_of(call, "max_seq_length") or keyword_of(call, "cutoff_len")
        limit = program.values.number(given)
        for made, parts, words in joined_parts(program) if given is not None and limit else ():
            if limit is not None and parts * words >= limit:
                values = {"parts": f"{parts:g}", "words": f"{words:g}", "limit": f"{limit:g}"}
                binding = program.names.given(given) if given is not None else None
                line = binding.line if binding is not None and binding.how == "assigned" else call.lineno
                yield Finding(line, "", values, also=sorted({call.lineno, made.lineno} - {line}))
                return


def joined_parts(program: Program) -> Iterator[tuple[Made, float, float]]:
    """`[... text.split()[:120] ... for text in passages[:10]]`: how many parts, and how many words each."""
    made: list[Made] = program.nodes.of_kind(ast.ListComp, ast.GeneratorExp)
    for each in made:
        cuts = [one.slice.upper for one in ast.walk(each.generators[0].iter) if is_cut(one)]  # type: ignore[attr-defined]
        parts = program.values.number(cuts[0]) if cuts else None
        words = next((found for one in ast.walk(each.elt) if (found := words_kept(program, one))), None)
        if parts and words:
            yield each, parts, words


def is_cut(node: ast.AST) -> bool:
    """`x[:n]`."""
    return isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice) and node.slice.upper is not None


def words_kept(program: Program, node: ast.AST) -> float | None:
    """120 of `text.split()[:120]`, also where a function of this file cuts to what it is given."""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice) and name_called(node.value) == "split":
        return program.values.number(node.slice.upper)
    function = program.names.function_called(node) if isinstance(node, ast.Call) else None
    for each in program.own_nodes(function) if function is not None else ():
        if isinstance(each, ast.Subscript) and isinstance(each.slice, ast.Slice) and name_called(each.value) == "split":
            limit = each.slice.upper
            if isinstance(limit, ast.Name) and isinstance(node, ast.Call) and function is not None:
                return program.values.number(argument_given(node, function, limit.id))
    return None


def prompts(program: Program) -> Iterator[tuple[str, ast.AST]]:
    """Constant texts at the head of what is kept as a prompt, a text or the content of a turn."""
    for node in program.nodes.of_kind(ast.Dict):
        for key, value in zip(node.keys, node.values):
            if isinstance(key, ast.Constant) and key.value in ("prompt", "text", "content", "instruction", "input"):
                text = head_of(program, value, 0)
                if len(text) > 40:
                    yield text, value


def head_of(program: Program, node: ast.AST, depth: int) -> str:
    """The constant part at the beginning of a text."""
    whole = program.values.of(node)
    if isinstance(whole, str):
        return whole
    if depth > 4:
        return ""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return head_of(program, node.left, depth + 1)
    if isinstance(node, ast.JoinedStr) and node.values:
        first = node.values[0]
        if isinstance(first, ast.FormattedValue):
            return head_of(program, first.value, depth + 1)
        return first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else ""
    if isinstance(node, ast.Call) and name_called(node) == "format" and isinstance(node.func, ast.Attribute):
        text = program.values.of(node.func.value)
        return text.split("{", 1)[0] if isinstance(text, str) else ""
    return ""


#: Tokens of a row that hold the prompts of instructions, all but a few: judgement.
ROOMY = 512


@rule("code.answer-cut-off")
def answer_cut_off(program: Program) -> Iterator[Finding]:
    """`([-100] * len(prompt) + answer)[:limit]`: of a long prompt no label is left, and nothing takes such rows out."""
    if any("!= -100" in line or "!=-100" in line for line in program.lines):
        return
    for node in program.nodes.of_kind(ast.Subscript):
        if not isinstance(node.slice, ast.Slice) or node.slice.lower is not None or node.slice.upper is None:
            continue
        limit = program.values.of(node.slice.upper)
        if isinstance(limit, int) and limit >= ROOMY:
            continue
        value = program.names.origin(node.value).node
        if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add) and is_ignored(program, value.left):
            yield Finding(line_of(node), "prompt = prompt[-(limit - len(answer)):]  # cut the prompt, not the answer")


def is_ignored(program: Program, node: ast.AST) -> bool:
    """`[-100] * len(prompt)`."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Mult) or not isinstance(node.left, ast.List):
        return False
    return len(node.left.elts) == 1 and program.values.of(node.left.elts[0]) == -100 and "len(" in source_of(node.right)


# --- going on


@rule("code.saves-weights-only")
def saves_weights_only(program: Program) -> Iterator[Finding]:
    """save_only_model=True in a program that resumes from its checkpoints."""
    resumes = [
        each
        for call in program.calls_to("train")
        if (each := keyword_of(call, "resume_from_checkpoint")) is not None and not program.values.is_false(each)
    ]
    if not resumes or program.values.of(resumes[0]) is None:
        return
    for call in program.calls:
        asked = keyword_of(call, "save_only_model")
        if asked is not None and program.values.is_true(asked):
            yield Finding(asked.lineno, "save_only_model=False", also=[resumes[0].lineno])


# --- Lightning


@rule("code.training-step-returns-nothing")
def training_step_returns_nothing(program: Program) -> Iterator[Finding]:
    """training_step() of a LightningModule gives no loss: the step is left out."""
    for function in program.functions:
        owner = program.names.class_of(function)
        if function.name != "training_step" or owner is None:
            continue
        if not any(source_of(base).endswith("LightningModule") for base in owner.bases) or by_hand(program, owner):
            continue
        returned = program.returns_of(function)
        passes = len(function.body) > 1 and not any(isinstance(each, ast.Raise) for each in function.body)
        if not returned and passes and any(isinstance(each, ast.Assign) for each in function.body):
            yield Finding(function.body[-1].lineno, f"{program.line_text(function.body[-1].lineno)}\nreturn loss")
        for value in returned:
            cut = cut_off(program, value)
            if cut is not None:
                yield Finding(line_of(cut), "return loss", {"how": source_of(cut)})


def by_hand(program: Program, owner: ast.ClassDef) -> bool:
    return any(
        isinstance(each, ast.Attribute) and each.attr in ("automatic_optimization", "manual_backward")
        for each in program.nodes.below(owner)
    )


def cut_off(program: Program, value: ast.expr) -> ast.AST | None:
    """`return loss.item()`, `return {"loss": loss.detach()}`."""
    if isinstance(value, ast.Dict):
        value = next(
            (one for key, one in zip(value.keys, value.values) if isinstance(key, ast.Constant) and key.value == "loss"),
            value,
        )
    for origin in program.names.origins(value):
        if name_called(origin.node) in ("item", "detach", "tolist", "numpy"):
            return origin.node
    return None


@rule("code.optimizer-of-a-part")
def optimizer_of_a_part(program: Program) -> Iterator[Finding]:
    """configure_optimizers() of a LightningModule that gives the optimizer one of several modules that make the loss."""
    for function in program.functions:
        owner = program.names.class_of(function)
        if function.name != "configure_optimizers" or owner is None:
            continue
        made = [call for call in program.calls_in(function) if program.makers.class_name(call) in OPTIMIZERS]
        step = program.makers.method(owner, "training_step")
        if len(made) != 1 or step is None or "requires_grad" in source_of(owner) or "freeze" in source_of(owner):
            continue
        held = [source_of(each) for each in program.objects.parameters_in(made[0].args[0])] if made[0].args else []
        if not held or "self" in held or any(not each.startswith("self.") for each in held):
            continue
        text = source_of(step)
        forward = program.makers.method(owner, "forward")
        text += source_of(forward) if forward is not None else ""
        left = [
            name
            for name in modules_of(program, owner)
            if f"{name}(" in text and name not in held and not_kept(program, name, text)
        ]
        if left:
            yield Finding(made[0].lineno, "self.parameters()", {"module": left[0]})


def modules_of(program: Program, owner: ast.ClassDef) -> list[str]:
    """The attributes that hold modules with weights."""
    found = []
    for name, bindings in program.names.attributes(owner).items():
        value = bindings[-1].value
        parts = program.makers.parts_of(value) if isinstance(value, ast.Call) and not bindings[-1].path else None
        if parts and any(name_called(each) in ("Linear", "Conv2d", "Embedding", "LSTM", "GRU") for each in parts):
            found.append(f"self.{name}")
    return found


def not_kept(program: Program, name: str, text: str) -> bool:
    return "no_grad" not in text and "detach" not in text and not any(word in name for word in ("teacher", "target", "ema"))
