"""The loss of `aplomb train` beside that of transformers' Trainer (and PEFT): same weights, data, order, 200 steps.

Run by ctest where torch, transformers and peft are installed; APLOMB_TRAIN names the program.
"""

import json
import os
import pathlib
import subprocess

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
peft = pytest.importorskip("peft")

ROOT = pathlib.Path(__file__).resolve().parents[3]
TRAINER = os.environ.get("APLOMB_TRAIN")
TOKENIZER = ROOT / "examples" / "finetune" / "model"
torch.set_num_threads(1)  # the model is too small for more, and the machine may be busy
STEPS, ROWS, ACCUMULATION, LR = 200, 2, 2, 1e-3
pytestmark = pytest.mark.skipif(not TRAINER, reason="APLOMB_TRAIN does not name the program")


def write_data(path: pathlib.Path) -> list[dict[str, str]]:
    """Rows of very different lengths, so that passes differ in the tokens that count."""
    rows = [{"prompt": f"Say {i % 7} names of {'a very ' * (i % 5)}big town:",
             "completion": " " + " ".join(f"{'ABCDEFG'[(i + k) % 7]}ville {(i * k) % 11}," for k in range(1 + i * 5 % 13))}
            for i in range(150)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return rows


def make_model(folder: pathlib.Path):
    torch.manual_seed(17)
    vocabulary = len(transformers.AutoTokenizer.from_pretrained(TOKENIZER))
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(
        vocab_size=vocabulary, hidden_size=64, intermediate_size=160, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=256, bos_token_id=0, eos_token_id=1, pad_token_id=2,
        tie_word_embeddings=False))
    model.save_pretrained(folder)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (folder / name).write_bytes((TOKENIZER / name).read_bytes())
    return model


class Rows(torch.utils.data.Dataset):
    def __init__(self, rows, tokenizer):
        self.items = []
        for row in rows:
            prompt = tokenizer(row["prompt"], add_special_tokens=True)["input_ids"]
            both = tokenizer(row["prompt"] + row["completion"], add_special_tokens=True)["input_ids"]
            assert both[:len(prompt)] == prompt
            ids = [*both, tokenizer.eos_token_id]
            self.items.append({"input_ids": ids, "labels": [-100] * len(prompt) + ids[len(prompt):]})

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        return self.items[index]


def collate(items):
    width = max(len(item["input_ids"]) for item in items)

    def padded(name, value):
        return torch.tensor([item[name] + [value] * (width - len(item[name])) for item in items])

    return {"input_ids": padded("input_ids", 2), "labels": padded("labels", -100),
            "attention_mask": torch.tensor([[1] * len(i["input_ids"]) + [0] * (width - len(i["input_ids"])) for i in items])}


class Sequential(transformers.Trainer):
    def _get_train_sampler(self, *args, **kwargs):
        return torch.utils.data.SequentialSampler(self.train_dataset)


def peer_losses(model, rows, folder: pathlib.Path):
    tokenizer = transformers.AutoTokenizer.from_pretrained(TOKENIZER)
    trainer = Sequential(
        model=model, train_dataset=Rows(rows, tokenizer), data_collator=collate,
        args=transformers.TrainingArguments(
            output_dir=str(folder), max_steps=STEPS, per_device_train_batch_size=ROWS,
            gradient_accumulation_steps=ACCUMULATION, learning_rate=LR, lr_scheduler_type="cosine", warmup_steps=10,
            weight_decay=0.01, max_grad_norm=1.0, logging_steps=1, logging_nan_inf_filter=False, save_strategy="no",
            report_to=[], use_cpu=True, disable_tqdm=True, remove_unused_columns=False))
    trainer.train()
    return [entry for entry in trainer.state.log_history if "grad_norm" in entry]


def own_losses(model: pathlib.Path, data: pathlib.Path, folder: pathlib.Path, *more: str):
    # The guard's own clipping of outliers is no part of the peer: only max_grad_norm, on both sides.
    done = subprocess.run(
        [TRAINER, f"--base-model={model}", f"--data-path={data}", f"--output-dir={folder}", f"--max-steps={STEPS}",
         f"--batch-size={ROWS * ACCUMULATION}", f"--micro-batch-size={ROWS}", f"--learning-rate={LR}",
         "--lr-scheduler-type=cosine", "--warmup-steps=10", "--weight-decay=0.01", "--max-grad-norm=1", "--shuffle=false",
         "--fp32", "--guard=false", "--threads=1", "--save-step=0", "--quiet", "--device=cpu", *more],
        capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def compare(own, peer, falls_to):
    own = [entry for entry in own if "loss" in entry]
    assert len(own) == len(peer) == STEPS
    for mine, theirs in zip(own, peer, strict=True):
        assert abs(mine["loss"] - theirs["loss"]) < 1e-3, (mine, theirs)
        assert abs(mine["grad_norm"] - theirs["grad_norm"]) < 1e-2 * max(theirs["grad_norm"], 0.1), (mine, theirs)
        assert abs(mine["learning_rate"] - theirs["learning_rate"]) < 1e-9, (mine, theirs)
    # They are not equal because nothing was learned.
    assert peer[-1]["loss"] < falls_to * peer[0]["loss"]


def test_full_fine_tuning(tmp_path):
    rows = write_data(tmp_path / "data.jsonl")
    model = make_model(tmp_path / "model")
    own = own_losses(tmp_path / "model", tmp_path / "data.jsonl", tmp_path / "own", "--adapter-name=full")
    compare(own, peer_losses(model, rows, tmp_path / "peer"), falls_to=0.7)


@pytest.mark.parametrize("dora", [False, True])
def test_adapter(tmp_path, dora):
    rows = write_data(tmp_path / "data.jsonl")
    model = make_model(tmp_path / "model")
    torch.manual_seed(3)
    adapted = peft.get_peft_model(model, peft.LoraConfig(
        r=8, lora_alpha=16, lora_dropout=0.0, target_modules="all-linear", use_dora=dora, task_type="CAUSAL_LM"))
    adapted.save_pretrained(tmp_path / "start")
    own = own_losses(tmp_path / "model", tmp_path / "data.jsonl", tmp_path / "own",
                     f"--adapter-name={'dora' if dora else 'lora'}", f"--adapter-path={tmp_path / 'start'}")
    # Around weights that know nothing an adapter learns little.
    compare(own, peer_losses(adapted, rows, tmp_path / "peer"), falls_to=0.9)
