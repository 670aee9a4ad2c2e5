"""Rules about vocabularies: the tokenizer of one family of checkpoints before the model of another."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...findings import Finding, rule
from ...program.program import Program
from ...program.syntax import keyword_of
from ...program.trainers import trainers

#: Families of checkpoints by their vocabulary, as their model cards and tokenizer files have it; the first that fits counts.
#: What is none of them is not judged.
VOCABULARIES = {
    "BERT, multilingual cased": r"(distil)?bert-base-multilingual-cased",
    "BERT, multilingual uncased": r"bert-base-multilingual-uncased",
    "BERT, Chinese": r"bert-base-chinese",
    "BERT, cased": r"(distil)?bert-(base|large)-cased",
    "BERT, uncased": r"(distil|mobile)?bert-((base|large)-)?uncased|electra-(small|base|large)-|MiniLM-L12-H384-uncased",
    "RoBERTa": r"(distil)?roberta-(base|large)|bart-(base|large)",
    "XLM-RoBERTa": r"xlm-roberta-(base|large)|multilingual-e5-",
    "DeBERTa v3": r"deberta-v3-(xsmall|small|base|large)",
    "mDeBERTa v3": r"mdeberta-v3-base",
    "ALBERT": r"albert-(base|large|xlarge|xxlarge)-v[12]",
    "ModernBERT": r"ModernBERT-(base|large)",
    "GPT-2": r"(distil)?gpt2(-medium|-large|-xl)?$|gpt-neo-|gpt-j-",
    "GPT-NeoX": r"gpt-neox-20b|pythia-",
    "OPT": r"opt-[0-9.]+(m|b)",
    "BLOOM": r"bloomz?-",
    "T5": r"(flan-)?t5-(v1_1-)?(small|base|large|xl|xxl|3b|11b)",
    "mT5": r"mt5-(small|base|large|xl|xxl)",
    "Llama 2": r"Llama-2-[0-9]+b|TinyLlama-1\.1B",
    "Llama 3": r"(Meta-)?Llama-3(\.[123])?-[0-9]+B",
    "Mistral": r"Mistral-7B-",
    "Qwen": r"Qwen(1\.5|2|2\.5|3)-",
    "Gemma": r"gemma-(1\.1-|2-|3-)?[0-9]+(b|m)",
}
KNOWN = {name: re.compile(pattern, re.IGNORECASE) for name, pattern in VOCABULARIES.items()}
FOLDERS = (
    "out", "output", "outputs", "run", "runs", "data", "models", "model", "checkpoints", "ckpt", "tokenizer", "tokenizers",
)  # fmt: skip


@rule("code.tokenizer-of-another-model")
def tokenizer_of_another_model(program: Program) -> Iterator[Finding]:
    """`AutoTokenizer.from_pretrained("bert-base-cased")` before a model of "bert-base-uncased": other words by these ids."""
    if {"set_input_embeddings", "train_new_from_iterator"} & set(program.names_called):
        return
    tokenizers = [call for call in program.calls_to("from_pretrained") if is_tokenizer(program, call)]
    models = list(models_loaded(program))
    if not tokenizers or not models:
        return
    asked = {name_given(program, name_of_checkpoint(each)) for each in tokenizers}
    held = {name_given(program, each) for each in models}
    if len(asked) != 1 or "" in asked | held:
        return
    name = asked.pop()
    own, others = vocabulary(name), {vocabulary(each) for each in held}
    if own and "" not in others and own not in others:
        yield Finding(
            tokenizers[0].lineno,
            "tokenizer = AutoTokenizer.from_pretrained(model_name)  # one name for both",
            {"tokenizer": name, "vocabulary": own, "model": sorted(held)[0]},
            also=sorted({each.lineno for each in models} - {tokenizers[0].lineno})[:2],
        )


def is_tokenizer(program: Program, call: ast.Call) -> bool:
    return program.makers.class_name(call).endswith(("Tokenizer", "TokenizerFast"))


def name_of_checkpoint(call: ast.Call) -> ast.expr | None:
    return call.args[0] if call.args else keyword_of(call, "pretrained_model_name_or_path")


def models_loaded(program: Program) -> Iterator[ast.expr]:
    """What the models of transformers are loaded from, and those that a Trainer is given by name."""
    for call in program.calls_to("from_pretrained"):
        full = program.name_of(call.func).split(".")
        made = full[-2] if len(full) > 1 else ""
        given = name_of_checkpoint(call)
        if given is not None and ("Model" in made or "For" in made) and not made.startswith("Peft"):
            yield given
    for call in trainers(program):
        model = keyword_of(call, "model")
        if model is not None and program.values.text(model):
            yield model


def name_given(program: Program, node: ast.expr | None) -> str:
    """The constant, of an argument of the command line its default; empty where it is not known."""
    return program.values.text(node) if node is not None else ""


def vocabulary(name: str) -> str:
    """The family of a checkpoint of the hub; empty of folders and of what is not known."""
    if name.count("/") > 1 or name.startswith((".", "/", "~")) or name.split("/")[0].lower() in FOLDERS:
        return ""
    short = name.rsplit("/", 1)[-1]
    return next((family for family, pattern in KNOWN.items() if pattern.match(short)), "")
