"""What the example runs share: neutral surroundings, tiny models, data made here, tidy run folders.

A run is a function `f()` that trains in the current directory. `launch()` starts each one in a
process of its own whose current directory is the run folder, so that every path is relative.
"""

import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import sysconfig

HERE = pathlib.Path(__file__).resolve().parent
VERSIONS = [
    "torch",
    "transformers",
    "trl",
    "peft",
    "accelerate",
    "datasets",
    "tokenizers",
    "safetensors",
    "tensorboard",
    "numpy",
]


def neutral():
    """Call before torch is imported: one thread, no network, a host name that says nothing."""
    socket.gethostname = lambda: "host"
    os.environ.update(HF_HUB_OFFLINE="1", TOKENIZERS_PARALLELISM="false", CUDA_VISIBLE_DEVICES="")
    import torch

    torch.set_num_threads(1)


# ------------------------------------------------------------------------------------------- models


def tiny_llama(vocab=256, hidden=64, layers=2, seed=0, positions=128, **more):
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=vocab,
        hidden_size=hidden,
        intermediate_size=2 * hidden,
        num_hidden_layers=layers,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=positions,
        tie_word_embeddings=True,
        bos_token_id=0,
        eos_token_id=1,
        pad_token_id=2,
        **more,
    )
    return LlamaForCausalLM(config)


# --------------------------------------------------------------------------------------------- data


class MarkovText:
    """Token sequences from a sparse Markov chain: each token has `branches` unequal successors.

    `changed` redraws the successors of that share of the tokens: another task, akin to the first.
    A model that has learnt the chain reaches its entropy rate; one that has not pays log(vocab).
    """

    def __init__(self, vocab=256, branches=4, seed=0, first=3, changed=0.0):
        import numpy as np

        self.vocab, self.first = vocab, first
        rng = np.random.default_rng(seed)
        usable = vocab - first
        self.successors = np.stack([rng.permutation(usable)[:branches] for _ in range(usable)])
        for token in rng.permutation(usable)[: int(changed * usable)]:
            self.successors[token] = rng.permutation(usable)[:branches]
        p = 0.5 ** np.arange(branches)
        self.p = p / p.sum()
        self.entropy = float(-(self.p * np.log(self.p)).sum())

    def rows(self, count, length, seed):
        import numpy as np

        rng = np.random.default_rng(seed)
        out = np.empty((count, length), dtype=np.int64)
        out[:, 0] = rng.integers(0, self.vocab - self.first, count)
        for t in range(1, length):
            pick = rng.choice(len(self.p), size=count, p=self.p)
            out[:, t] = self.successors[out[:, t - 1], pick]
        return out + self.first

    def dataset(self, count, length, seed):
        return [{"input_ids": row.tolist(), "labels": row.tolist()} for row in self.rows(count, length, seed)]


def collate(rows):
    """Rows of equal length -> tensors."""
    import torch

    return {key: torch.tensor([row[key] for row in rows]) for key in rows[0]}


def word_tokenizer(words):
    """A word-level tokenizer with a chat template, built here: nothing is downloaded."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    special = ["<s>", "</s>", "<pad>", "<unk>", "<user>", "<assistant>"]
    vocab = {word: i for i, word in enumerate(special + list(words))}
    raw = Tokenizer(models.WordLevel(vocab, unk_token="<unk>"))
    raw.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=raw,
        bos_token="<s>",
        eos_token="</s>",
        pad_token="<pad>",
        unk_token="<unk>",
    )
    tokenizer.chat_template = (
        "{% for m in messages %}<{{ m.role }}> {{ m.content }} "
        "{% if m.role == 'assistant' %}</s> {% endif %}"
        "{% endfor %}{% if add_generation_prompt %}<assistant> {% endif %}"
    )
    return tokenizer


def sums(count=400, steps=150):
    """Tokenizer, prompts `what is A + B =` with their answers, and a model that ends its answers.

    The model has seen `N </s>` after the prompt for `steps` steps: it answers, mostly wrongly.
    """
    import random

    import torch
    from datasets import Dataset

    tokenizer = word_tokenizer([str(i) for i in range(100)] + ["+", "=", "what", "is"])
    rng = random.Random(0)
    rows, texts = [], []
    for _ in range(count):
        a, b = rng.randrange(10), rng.randrange(10)
        prompt = [{"role": "user", "content": f"what is {a} + {b} ="}]
        rows.append({"prompt": prompt, "answer": str(a + b)})
        answer = {"role": "assistant", "content": str(rng.randrange(20))}
        texts.append(tokenizer.apply_chat_template([*prompt, answer], tokenize=False))
    ids = torch.tensor(tokenizer(texts)["input_ids"])
    model = tiny_llama(vocab=len(tokenizer))
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    for step in range(steps):
        batch = ids[torch.arange(16 * step, 16 * step + 16) % count]
        model(input_ids=batch, labels=batch).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    return tokenizer, Dataset.from_list(rows), model


# --------------------------------------------------------------------------------------------- runs


def arguments(cls=None, **more):
    """TrainingArguments of a small CPU run; logs every 2 steps, also to TensorBoard."""
    from transformers import TrainingArguments

    base = dict(
        output_dir="outputs",
        use_cpu=True,
        seed=42,
        logging_steps=2,
        report_to=["tensorboard"],
        save_strategy="no",
        per_device_train_batch_size=16,
        per_device_eval_batch_size=32,
        dataloader_num_workers=0,
        dataloader_pin_memory=False,
    )
    return (cls or TrainingArguments)(**{**base, **more})


def finish(trainer):
    """Leaves what a user would have at hand beside the log, and takes the weights away."""
    trainer.save_state()
    with open("training_args.json", "w") as out:
        out.write(trainer.args.to_json_string())
    trainer.model.config.to_json_file("config.json")


def tidy(folder, keep_weights=False):
    """outputs/ -> the run folder; weights go unless they are the point; absolute paths are cut."""
    import importlib.metadata

    folder = pathlib.Path(folder)
    outputs = folder / "outputs"
    if (outputs / "trainer_state.json").exists():
        shutil.move(outputs / "trainer_state.json", folder / "trainer_state.json")
    if outputs.exists():
        if (outputs / "runs").exists():
            shutil.move(outputs / "runs", folder / "runs")
        for checkpoint in outputs.glob("checkpoint-*") if keep_weights else ():
            shutil.move(checkpoint, folder / checkpoint.name)
            (folder / checkpoint.name / "model.safetensors").chmod(0o644)
        shutil.rmtree(outputs)
    env = [f"# Python {sys.version.split()[0]}"]
    for name in VERSIONS:
        env.append(f"{name}=={importlib.metadata.version(name)}")
    (folder / "requirements.txt").write_text("\n".join(env) + "\n")
    log = folder / "train.log"
    text = log.read_bytes().decode()
    for path, instead in (
        (sysconfig.get_path("purelib"), "site-packages"),
        (str(HERE), "make"),
        (str(folder), "."),
    ):
        text = text.replace(path + "/", instead + "/")
    log.write_bytes(text.encode())


def launch(script, name, folder, keep_weights=False):
    folder = pathlib.Path(folder)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with open(folder / "train.log", "wb") as log:
        code = subprocess.run(
            [sys.executable, os.path.abspath(script), "--inside", name],
            cwd=folder,
            stdout=log,
            stderr=subprocess.STDOUT,
        ).returncode
    tidy(folder, keep_weights)
    last = {}
    state = folder / "trainer_state.json"
    if state.exists():
        history = json.loads(state.read_text())["log_history"]
        last = next((row for row in reversed(history) if "loss" in row), {})
    print(f"{name}: exit {code}, last {last}", flush=True)
    return code
