#!/usr/bin/env python3
"""Make examples/finetune: a tokenizer, a tiny Llama that has read simple stories, and questions to fine-tune it on.

    pip install torch==2.13.0 transformers==5.23.0 tokenizers safetensors
    python examples/make/make_finetune.py            # about four minutes on two cores

The stories are made of templates and word lists in this file. The model (0.4 M weights, stored in bf16) is trained on
them in fp32 until it writes such stories; the questions ask for what a story said, in the form instruction / input /
output, which it has never seen. Seeds are fixed; another CPU may round differently.
"""

import argparse
import json
import pathlib
import random

NAMES = ["Mira", "Tomas", "Lena", "Aron", "Ines", "Karl", "Nora", "Piet", "Rosa", "Emil", "Vera", "Jon"]
TOWNS = ["Arlen", "Bergum", "Calder", "Dorn", "Elva", "Farsund", "Gimo", "Hallam"]
TRADES = {"baker": "bakes bread", "smith": "forges tools", "weaver": "weaves cloth", "gardener": "grows roses",
          "miller": "grinds corn", "fisher": "catches trout", "carpenter": "builds tables", "painter": "paints doors"}
COLOURS = ["grey", "black", "white", "brown", "red", "golden"]
PETS = ["cat", "dog", "goat", "horse", "duck", "hen"]
FOODS = ["soup", "bread", "apples", "cheese", "fish", "pears"]
SPECIAL = ["<|begin|>", "<|end|>", "<|pad|>"]


def story(rng: random.Random) -> tuple[str, dict[str, str]]:
    trade = rng.choice(list(TRADES))
    facts = {"name": rng.choice(NAMES), "town": rng.choice(TOWNS), "trade": trade, "work": TRADES[trade],
             "colour": rng.choice(COLOURS), "pet": rng.choice(PETS), "food": rng.choice(FOODS)}
    parts = ["{name} lives in {town}.", "{name} is a {trade} and {work}.", "The {pet} of {name} is {colour}.",
             "In the evening {name} eats {food}."]
    rng.shuffle(parts)
    return " ".join(parts).format(**facts), facts


QUESTIONS = [
    ("Where does {name} live?", "{name} lives in {town}."),
    ("What is the work of {name}?", "{name} is a {trade}."),
    ("Which pet does {name} have?", "A {colour} {pet}."),
    ("What colour is the {pet}?", "The {pet} is {colour}."),
    ("What does {name} eat?", "{name} eats {food}."),
]


def questions(count: int, seed: int) -> list[dict[str, str]]:
    rng = random.Random(seed)
    rows = []
    for _ in range(count):
        text, facts = story(rng)
        question, answer = rng.choice(QUESTIONS)
        rows.append({"instruction": question.format(**facts), "input": text, "output": answer.format(**facts)})
    return rows


def make_tokenizer(folder: pathlib.Path, texts: list[str]):
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=448, special_tokens=SPECIAL, show_progress=False,
                                  initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()))
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps(
        {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": SPECIAL[0], "eos_token": SPECIAL[1],
         "pad_token": SPECIAL[2], "model_max_length": 256}, indent=2) + "\n")
    return tokenizer


def make_model(folder: pathlib.Path, tokenizer, steps: int) -> None:
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM
    torch.manual_seed(7)
    model = LlamaForCausalLM(LlamaConfig(
        vocab_size=tokenizer.get_vocab_size(), hidden_size=96, intermediate_size=256, num_hidden_layers=4,
        num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=256, tie_word_embeddings=True,
        rope_theta=10000.0, bos_token_id=0, eos_token_id=1, pad_token_id=2))
    rng = random.Random(11)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 3e-3, total_steps=steps, pct_start=0.1)
    for step in range(steps):
        rows = []
        for _ in range(16):
            ids: list[int] = []
            while len(ids) < 160:
                ids += [0, *tokenizer.encode(story(rng)[0]).ids, 1]
            rows.append(ids[:160])
        batch = torch.tensor(rows)
        loss = model(input_ids=batch, labels=batch).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        schedule.step()
        if step % 100 == 0 or step == steps - 1:
            print(f"step {step} loss {loss.item():.4f}", flush=True)
    model.to(torch.bfloat16).save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=1200)
    folder = pathlib.Path(__file__).resolve().parent.parent / "finetune"
    model = folder / "model"
    model.mkdir(parents=True, exist_ok=True)
    rows = questions(640, seed=3)
    (folder / "questions.json").write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n")
    rng = random.Random(5)
    prompt = ("Below is an instruction that describes a task, paired with an input that provides further context. "
              "Write a response that appropriately completes the request.\n\n### Instruction:\n{instruction}\n\n"
              "### Input:\n{input}\n\n### Response:\n{output}")
    texts = [story(rng)[0] for _ in range(400)] + [prompt.format(**row) for row in rows]
    make_model(model, make_tokenizer(model, texts), parser.parse_args().steps)


if __name__ == "__main__":
    main()
