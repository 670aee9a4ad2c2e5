#!/usr/bin/env python3
"""Train a tiny Llama twice, with weights cast to bf16 and with fp32 weights, and keep checkpoints.

usage: train_tiny_llama.py FOLDER

FOLDER gets two run folders as the Hugging Face Trainer leaves them, `bf16/` and `fp32/`: train.log, trainer_state.json,
checkpoint-200/ and checkpoint-400/. AdamW, constant rate 3e-4, CPU, one thread: the same bytes on every machine of a
kind. `moved.json` says by torch.equal which tensors are the same in both checkpoints of each run. Exit status 3 where
torch or transformers are missing.
"""

import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "examples" / "make"))
import common  # noqa: E402

try:
    common.neutral()
    import torch
    from transformers import PrinterCallback, ProgressCallback, Trainer, TrainerCallback, TrainingArguments
except ImportError:
    sys.exit(3)

RATE = 3e-4
STEPS = 400
SAVE = 200


class LogFile(TrainerCallback):
    """What the console shows, as a file."""

    def __init__(self, path):
        self.path = pathlib.Path(path)

    def on_log(self, args, state, control, logs=None, **more):
        with self.path.open("a") as out:
            out.write(f"{logs}\n")


def train(folder, dtype):
    text = common.MarkovText()
    model = common.tiny_llama().to(dtype)
    args = TrainingArguments(
        output_dir=str(folder), use_cpu=True, seed=7, max_steps=STEPS, learning_rate=RATE, lr_scheduler_type="constant",
        per_device_train_batch_size=8, logging_steps=10, save_steps=SAVE, report_to=[], dataloader_num_workers=0,
        dataloader_pin_memory=False, disable_tqdm=True)
    trainer = Trainer(model=model, args=args, train_dataset=text.dataset(STEPS * 8, 32, 1), data_collator=common.collate)
    trainer.remove_callback(PrinterCallback)
    trainer.remove_callback(ProgressCallback)
    trainer.add_callback(LogFile(folder / "train.log"))
    trainer.train()
    trainer.save_state()


def equal_tensors(folder):
    """The tensors that are equal in both checkpoints, and all of them."""
    from safetensors.torch import load_file

    first, last = (load_file(folder / f"checkpoint-{step}" / "model.safetensors") for step in (STEPS - SAVE, STEPS))
    return {"frozen": sorted(name for name in first if torch.equal(first[name], last[name])), "all": sorted(first)}


def main() -> None:
    out = pathlib.Path(sys.argv[1])
    moved = {}
    for name, dtype in (("bf16", torch.bfloat16), ("fp32", torch.float32)):
        (out / name).mkdir(parents=True)
        train(out / name, dtype)
        moved[name] = equal_tensors(out / name)
    (out / "moved.json").write_text(json.dumps(moved, indent=1))


if __name__ == "__main__":
    main()
