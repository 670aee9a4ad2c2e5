"""Faults of the Hugging Face Trainer with PEFT, and of TRL's SFTTrainer: a Llama of two layers with random weights and a
LoRA of rank 8 learns to count, in text of which three tokens in ten are noise; 120 steps of 8 sequences."""

from __future__ import annotations

import functools
import math
import tempfile
from typing import Any

import peft
import torch
import transformers
from aplomb.transformers import GuardCallback
from faults import Fault, Outcome, scale_gradients, scale_weights, spoil_gradient

VOCABULARY = 48
LENGTH = 16
STEPS = 120
BATCH = 8


def sequences(count: int, seed: int) -> torch.Tensor:
    draw = torch.Generator().manual_seed(seed)
    first = torch.randint(0, VOCABULARY, (count, 1), generator=draw)
    rows = (first + torch.arange(LENGTH)) % VOCABULARY
    noise = torch.randint(0, VOCABULARY, rows.shape, generator=draw)
    return torch.where(torch.rand(rows.shape, generator=draw) < 0.3, noise, rows)


class Batches:
    """A collator that knows the step: batches are drawn beforehand, the Trainer's own order has no part in it."""

    def __init__(self, fault: Fault | None) -> None:
        self._rows = sequences(STEPS * BATCH, 5).view(STEPS, BATCH, LENGTH)
        self._fault = fault
        self._step = 0

    def __call__(self, chosen: Any) -> dict[str, torch.Tensor]:
        step = self._step
        self._step += 1
        rows = self._rows[min(step, STEPS - 1)]
        batch = {"input_ids": rows, "labels": rows.clone(), "attention_mask": torch.ones_like(rows)}
        if self._fault is not None and self._fault.batch is not None:
            self._fault.batch(step, batch)
        return batch


class Injector(transformers.TrainerCallback):
    """Stands before the guard, so that a fault is there when the guard looks."""

    def __init__(self, fault: Fault) -> None:
        self._fault = fault

    def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if self._fault.after is not None:
            self._fault.after(state.global_step, kwargs["model"], kwargs["optimizer"])


def model() -> torch.nn.Module:
    transformers.set_seed(3)
    config = transformers.LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        max_position_embeddings=64,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
    )
    base = transformers.LlamaForCausalLM(config)
    lora = peft.LoraConfig(r=8, lora_alpha=16, target_modules=["q_proj", "v_proj", "down_proj"], modules_to_save=["lm_head"])
    return peft.get_peft_model(base, lora)


def final_loss(trained: torch.nn.Module) -> float:
    rows = sequences(128, 77)
    trained.eval()
    with torch.no_grad():
        return float(trained(input_ids=rows, labels=rows).loss)


def run(fault: Fault | None, guarded: bool, task: dict[str, Any]) -> Outcome:
    events: list[Any] = []
    learner = model()
    rate = fault.rate if fault is not None and fault.rate is not None else lambda step: 1.0
    optimizer = torch.optim.AdamW([p for p in learner.parameters() if p.requires_grad], lr=1e-2, weight_decay=0.0)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: rate(step) * 0.5 * (1 + math.cos(math.pi * min(step, STEPS) / STEPS))
    )
    callbacks: list[Any] = [Injector(fault)] if fault is not None else []
    guard = GuardCallback(on_event=events.append, **(fault.options if fault is not None else {}))
    if guarded:
        callbacks.append(guard)
    with tempfile.TemporaryDirectory() as folder:
        _trainer(task.get("kind", "trainer"), folder, learner, Batches(fault), (optimizer, schedule), callbacks).train()
    findings = guard.guard.findings if guard.guard is not None else []
    counts = guard.guard.counts if guard.guard is not None else {}
    return Outcome(final_loss(learner), events, findings, counts)


def _trainer(
    kind: str, folder: str, learner: torch.nn.Module, batches: Batches, optimizers: Any, callbacks: list[Any]
) -> Any:
    common: dict[str, Any] = {
        "output_dir": folder,
        "max_steps": STEPS,
        "per_device_train_batch_size": BATCH,
        "report_to": [],
        "use_cpu": True,
        "save_strategy": "no",
        "logging_steps": 40,
        "disable_tqdm": True,
        "remove_unused_columns": False,
        "max_grad_norm": 1.0,
        "bf16": False,
    }
    rows = [{"input_ids": row.tolist()} for row in sequences(STEPS * BATCH, 5)]
    if kind == "trainer":
        return transformers.Trainer(
            learner,
            transformers.TrainingArguments(**common),
            train_dataset=rows,
            data_collator=batches,
            optimizers=optimizers,
            callbacks=callbacks,
        )
    import datasets
    import trl

    arguments = trl.SFTConfig(
        **common, dataset_kwargs={"skip_prepare_dataset": True}, max_length=LENGTH, gradient_checkpointing=False
    )
    return trl.SFTTrainer(
        learner,
        arguments,
        train_dataset=datasets.Dataset.from_list(rows),
        data_collator=batches,
        optimizers=optimizers,
        callbacks=callbacks,
        processing_class=_tokenizer(),
    )


def _tokenizer() -> Any:
    import tokenizers

    words = {f"w{i}": i for i in range(VOCABULARY)}
    plain = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="w0"))
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=plain, pad_token="w0", eos_token="w2", bos_token="w1", unk_token="w0"
    )


def all_masked(step: int, batch: dict[str, Any]) -> None:
    if step == 60:
        batch["labels"] = torch.full_like(batch["labels"], -100)


def poisoned_attention(step: int, batch: dict[str, Any]) -> None:
    """A mask that became floating point on its way, with a NaN in it."""
    if step == 60:
        mask = torch.zeros(BATCH, 1, LENGTH, LENGTH).masked_fill(torch.ones(LENGTH, LENGTH).triu(1).bool(), -1e9)
        mask[2, 0, 5, 3] = float("nan")
        batch["attention_mask"] = mask


ADAPTER = "base_model.model.model.layers.1.mlp.down_proj"
WEIGHT = f"{ADAPTER}.lora_B.default.weight"
ROLLBACK = {"snapshot_every": 20}


def faults(kind: str) -> list[Fault]:
    task = {"kind": kind}
    return [
        Fault("NaN in the attention mask of one sample", poisoned_attention, task=task, phase="input", samples=[2]),
        *(
            [Fault("batch whose labels are all masked", all_masked, task=task, phase="forward", harmless=True)]
            if kind == "trainer"
            else []
        ),
        Fault(
            "one step's gradients 65536 times too large", after=scale_gradients(65536.0, (25,)), task=task, phase="gradient"
        ),
        Fault(
            "Inf in a gradient of the adapter",
            after=spoil_gradient("lora_B", float("inf"), (60,)),
            task=task,
            phase="gradient",
        ),
        Fault(
            "learning rate jumps 100x and stays",
            rate=lambda step: 1.0 if step < 60 else 100.0,
            options=ROLLBACK,
            task=task,
            bad_steps=20,
        ),
        Fault(
            "an adapter's weights are multiplied by -100",
            after=scale_weights(WEIGHT, -100, 90),
            options=ROLLBACK,
            task=task,
            bad_steps=20,
            phase="module",
        ),
        Fault(
            "an adapter's weight becomes NaN",
            after=scale_weights(WEIGHT, float("nan"), 90),
            options=ROLLBACK,
            task=task,
            bad_steps=20,
            phase="weights",
            module=f"{ADAPTER}.lora_B.default",
        ),
    ]


FAULTS = faults("trainer")
SFT_FAULTS = faults("sft")


@functools.lru_cache(None)
def _twin(kind: str) -> Outcome:
    return run(None, False, {"kind": kind})


def twin(fault: Fault) -> Outcome:
    return _twin(fault.task["kind"])
