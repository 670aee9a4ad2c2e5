#!/usr/bin/env python3
"""Trains the example runs, each in its own folder beside this one: make_runs.py [NAME...]

Every run is real: a tiny Llama with random weights, data made here, the stock Hugging Face Trainer
(TRL for GRPO), CPU, one thread.
"""

import pathlib
import sys

import common

RUNS = {}


def run(function):
    RUNS[function.__name__.replace("_", "-")] = function
    return function


def train(model, args, train_dataset, eval_dataset=None, cls=None, **more):
    from transformers import Trainer

    trainer = (cls or Trainer)(
        model=model,
        args=args,
        train_dataset=train_dataset,
        eval_dataset=eval_dataset,
        data_collator=common.collate,
        **more,
    )
    trainer.train()
    common.finish(trainer)
    return trainer


@run
def healthy():
    text = common.MarkovText()
    args = common.arguments(
        max_steps=300,
        learning_rate=3e-3,
        warmup_steps=30,
        lr_scheduler_type="cosine",
        weight_decay=0.01,
        eval_strategy="steps",
        eval_steps=50,
    )
    train(common.tiny_llama(), args, text.dataset(4000, 64, 1), text.dataset(128, 64, 2))


@run
def lr_too_high_nan():
    """SGD with momentum at 10 and clipping off: the loss climbs for some steps, then overflows."""
    text = common.MarkovText()
    args = common.arguments(
        max_steps=150,
        learning_rate=10.0,
        optim="sgd",
        optim_args="momentum=0.9",
        max_grad_norm=0.0,
        logging_steps=1,
        lr_scheduler_type="constant_with_warmup",
        warmup_steps=60,
        logging_nan_inf_filter=False,
    )
    train(common.tiny_llama(), args, text.dataset(3000, 64, 1))


def pretrained(steps=600):
    """fp32 weights that already model one chain: what a user downloads before fine-tuning."""
    import torch

    model = common.tiny_llama()
    rows = torch.tensor(common.MarkovText(seed=0).rows(16 * steps, 48, 11))
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = 3e-3 * min(1.0, (step + 1) / 50, (steps - step) / 200)
        batch = rows[16 * step : 16 * step + 16]
        model(input_ids=batch, labels=batch).loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
    return model


def fine_tune(dtype, **more):
    text = common.MarkovText(changed=0.4)
    args = common.arguments(
        max_steps=400,
        learning_rate=3e-5,
        warmup_steps=20,
        lr_scheduler_type="constant_with_warmup",
        weight_decay=0.0,
        eval_strategy="steps",
        eval_steps=50,
        **more,
    )
    return train(pretrained().to(dtype), args, text.dataset(6400, 48, 1), text.dataset(128, 48, 2))


@run
def bf16_frozen_norms():
    """Weights in bf16, no fp32 copy: updates under half a ULP are rounded away: norms stay."""
    import torch

    fine_tune(torch.bfloat16, save_strategy="steps", save_steps=200, save_total_limit=2)


@run
def fp32_twin():
    """The same fine-tuning as bf16-frozen-norms with the weights left in fp32."""
    import torch

    fine_tune(torch.float32)


@run
def poisoned_batch():
    """A sample weighs 1 / (answer tokens - 1); one answer has one token: weight inf."""
    import numpy as np
    import torch
    from transformers import Trainer

    class WeightedTrainer(Trainer):
        def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
            weight = inputs.pop("weight")
            labels = inputs.pop("labels")
            outputs = model(**inputs)
            loss = torch.nn.functional.cross_entropy(
                outputs.logits[:, :-1].flatten(0, 1),
                labels[:, 1:].flatten(),
                reduction="none",
                ignore_index=-100,
            ).view(len(labels), -1)
            loss = (loss.sum(1) * weight).mean()
            return (loss, outputs) if return_outputs else loss

    text = common.MarkovText()
    data = text.dataset(3200, 64, 1)
    rng = np.random.default_rng(3)
    for i, row in enumerate(data):
        answer = 1 if i == 1100 else int(rng.integers(8, 56))
        row["labels"] = [-100] * (64 - answer) + row["labels"][64 - answer :]
        with np.errstate(divide="ignore"):
            row["weight"] = float(np.float32(1.0) / np.float32(answer - 1))
    args = common.arguments(
        max_steps=200,
        learning_rate=3e-3,
        warmup_steps=20,
        lr_scheduler_type="linear",
        logging_steps=1,
        logging_nan_inf_filter=False,
        remove_unused_columns=False,
    )
    train(common.tiny_llama(), args, data, cls=WeightedTrainer)


@run
def all_labels_masked():
    """The prompt mask covers the answers too: every label is -100. The logging filter is on."""
    data = common.MarkovText().dataset(2400, 64, 1)
    for row in data:
        row["labels"] = [-100] * 64
    args = common.arguments(max_steps=150, learning_rate=1e-3, warmup_steps=10, lr_scheduler_type="cosine")
    train(common.tiny_llama(), args, data)


@run
def overfitting():
    text = common.MarkovText()
    args = common.arguments(
        num_train_epochs=40,
        learning_rate=2e-3,
        warmup_steps=10,
        lr_scheduler_type="constant_with_warmup",
        weight_decay=0.0,
        per_device_train_batch_size=8,
        eval_strategy="epoch",
    )
    train(
        common.tiny_llama(hidden=96, layers=3),
        args,
        text.dataset(64, 64, 1),
        text.dataset(128, 64, 2),
    )


@run
def grpo_zero_advantage():
    """The reward looks for a tag that the tokenizer cannot produce: every completion gets 0.0."""
    from trl import GRPOConfig, GRPOTrainer

    def format_reward(completions, **kwargs):
        return [1.0 if "<answer>" in completion[0]["content"] else 0.0 for completion in completions]

    tokenizer, data, model = common.sums()
    args = common.arguments(
        GRPOConfig,
        max_steps=80,
        learning_rate=1e-4,
        per_device_train_batch_size=8,
        num_generations=4,
        max_completion_length=16,
        logging_steps=1,
        lr_scheduler_type="constant",
    )
    trainer = GRPOTrainer(
        model=model,
        args=args,
        reward_funcs=format_reward,
        train_dataset=data,
        processing_class=tokenizer,
    )
    trainer.train()
    common.finish(trainer)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--inside"]:
        common.neutral()
        RUNS[sys.argv[2]]()
    else:
        there = pathlib.Path(__file__).resolve().parent.parent
        bad = [
            name
            for name in sys.argv[1:] or RUNS
            if common.launch(__file__, name, there / name, keep_weights=name == "bf16-frozen-norms")
        ]
        sys.exit(f"failed: {bad}" if bad else 0)
