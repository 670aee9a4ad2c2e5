"""A folder with a file of every name that the documentation uses, made of examples/ and of lines that stand here."""

import json
import random
import shutil

from blocks import ROOT

EXAMPLES = ROOT / "examples"

TRAIN_YML = """\
model_name_or_path: meta-llama/Llama-3.2-1B
dataset: alpaca
stage: sft
finetuning_type: lora
lora_rank: 16
cutoff_len: 1024
per_device_train_batch_size: 2
gradient_accumulation_steps: 8
learning_rate: 1.0e-4
num_train_epochs: 3
bf16: true
"""

AXOLOTL_YAML = """\
base_model: meta-llama/Llama-3.1-8B
load_in_4bit: true
adapter: qlora
lora_r: 32
lora_alpha: 64
lora_target_linear: true
sequence_len: 4096
sample_packing: true
pad_to_sequence_len: true
micro_batch_size: 4
gradient_accumulation_steps: 2
optimizer: adamw_8bit
learning_rate: 0.0002
bf16: true
flash_attention: true
gradient_checkpointing: true
"""

TRAIN_PY = """\
import torch
import aplomb


def parts():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.ReLU(), torch.nn.Linear(32, 3))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    x, y = torch.randn(64, 8), torch.randint(0, 3, (64,))
    return model, optimizer, torch.nn.functional.cross_entropy, x, y
"""


def log_of(seed, lowest=1.0):
    """A run that learns, with the noise of its seed."""
    draw = random.Random(seed)
    losses = [(step, lowest + 3 * 0.98**step + draw.gauss(0, 0.02)) for step in range(1, 201)]
    return "".join(
        f"step {step}/200 | loss {loss:.4f} | grad_norm {abs(draw.gauss(1, 0.1)):.3f} | lr 1e-4 | num_tokens {4096 * step}\n"
        for step, loss in losses
    )


def make(folder):
    """Fills `folder`; the documentation's commands run there."""
    broken = EXAMPLES / "lr-too-high-nan"
    shutil.copytree(broken, folder / "out")
    shutil.copytree(EXAMPLES / "bf16-frozen-norms" / "checkpoint-200", folder / "out" / "checkpoint-200")
    shutil.copytree(broken, folder / "configs")
    shutil.copy(broken / "train.log", folder / "train.log")
    shutil.copy(broken / "training_args.json", folder / "args.json")
    model = {"model_type": "llama", "hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 16,
             "vocab_size": 128256,
             "num_attention_heads": 32, "num_key_value_heads": 8, "tie_word_embeddings": True, "torch_dtype": "bfloat16",
             "max_position_embeddings": 131072, "architectures": ["LlamaForCausalLM"]}
    (folder / "config.json").write_text(json.dumps(model))
    for name in ("train.yml", "train.yaml"):
        (folder / name).write_text(TRAIN_YML)
    (folder / "axolotl.yaml").write_text(AXOLOTL_YAML)
    (folder / "ds_config.json").write_text('{"zero_optimization": {"stage": 2}, "bf16": {"enabled": true}}')
    rows = [json.dumps({"instruction": f"Add {i} and {i + 1}.", "output": str(2 * i + 1)}) for i in range(40)]
    (folder / "train.jsonl").write_text("\n".join(rows[:32]) + "\n")
    (folder / "eval.jsonl").write_text("\n".join(rows[32:]) + "\n")
    (folder / "my_dataset").mkdir()
    (folder / "my_dataset" / "rows.jsonl").write_text("\n".join(rows) + "\n")
    (folder / "train.py").write_text(TRAIN_PY)
    (folder / "src").mkdir()
    (folder / "src" / "train.py").write_text(TRAIN_PY)
    for seed, name in enumerate(("baseline", "new", "seed1", "seed2", "seed3")):
        (folder / "runs" / name).mkdir(parents=True)
        (folder / "runs" / name / "train.log").write_text(log_of(seed))
    for seed, name in enumerate(("old1", "old2", "old3", "new1", "new2", "new3", "old.log", "new.log")):
        (folder / name).write_text(log_of(seed, 1.0 if name.startswith("old") else 1.1))
