"""Faults of a plain PyTorch loop: an MLP, 600 steps (training.py)."""

from __future__ import annotations

import functools
from typing import Any

import torch
from faults import Fault, Outcome, lose_second_moments, scale_gradients, scale_weights, spoil_gradient
from training import mean_over_labels, train, values, with_log, with_radius


def nan_in_a_sample(step: int, batch: dict[str, Any]) -> None:
    if step == 200:
        batch["x"] = batch["x"].clone()
        batch["x"][3, 5] = float("nan")


def zeros_in_a_sample(step: int, batch: dict[str, Any]) -> None:
    if step == 200:
        batch["x"] = batch["x"].clone()
        batch["x"][11] = 0


def large_sample(step: int, batch: dict[str, Any]) -> None:
    if step in (200, 300):
        batch["x"] = batch["x"].clone()
        batch["x"][7] *= 1e6


def spiking_batches(step: int, batch: dict[str, Any]) -> None:
    if step in (150, 250, 290, 400, 550):
        batch["scale"] = 3000.0


def garbage_labels(step: int, batch: dict[str, Any]) -> None:
    if step in (200, 350, 500, 580):
        batch["x"] = batch["x"] * 60
        batch["y"] = (batch["y"] + 1) % 10


def all_masked(step: int, batch: dict[str, Any]) -> None:
    if step == 200:
        batch["y"] = torch.full_like(batch["y"], -100)


def sentinel(step: int, batch: dict[str, Any]) -> None:
    if step in (200, 450):
        batch["y"] = batch["y"].clone()
        batch["y"][9] = 99999.0


ROLLBACK = {"snapshot_every": 50}

FAULTS = [
    Fault("NaN in one sample", nan_in_a_sample, phase="input", samples=[3]),
    Fault(
        "sample of zeros under a logarithm",
        zeros_in_a_sample,
        task={"make": with_log},
        phase="forward",
        module="1",
        samples=[11],
    ),
    Fault(
        "sample of zeros under a square root",
        zeros_in_a_sample,
        task={"make": with_radius},
        phase="backward",
        module="0",
        samples=[11],
    ),
    Fault(
        "one sample overflows fp16, without a loss scaler",
        large_sample,
        task={"fp16": True, "scaled": False},
        bad_steps=2,
        phase="forward",
        module="0",
        samples=[7],
    ),
    Fault(
        "batch whose labels are all masked", all_masked, task={"criterion": mean_over_labels}, phase="loss", harmless=True
    ),
    Fault("target 99999 for a missing value", sentinel, task={"data": values}, bad_steps=2, phase="sample", samples=[9]),
    Fault("five batches with 3000x the loss (SGD)", spiking_batches, task={"optimizer": "sgd"}, bad_steps=5, phase="batch"),
    Fault("four batches of garbage labels", garbage_labels, bad_steps=4, phase="batch"),
    Fault("Inf in one gradient", after=spoil_gradient("0.weight", float("inf"), (200,)), phase="gradient", module="0"),
    Fault(
        "four corrupted gradients (SGD)",
        after=spoil_gradient("0.weight", 1e6, (200, 300, 400, 580)),
        task={"optimizer": "sgd"},
        bad_steps=4,
        phase="gradient",
        module="0",
    ),
    Fault(
        "stale loss scale: four steps not unscaled (SGD)",
        after=scale_gradients(65536.0, (200, 201, 202, 203)),
        task={"optimizer": "sgd"},
        bad_steps=4,
        phase="gradient",
    ),
    Fault("zero_grad() missing from step 300 (SGD)", keep_gradients=lambda step: step >= 300, task={"optimizer": "sgd"}),
    Fault(
        "learning rate jumps 100x and stays", rate=lambda step: 1.0 if step < 300 else 100.0, options=ROLLBACK, bad_steps=20
    ),
    Fault(
        "a layer's weights are multiplied by -40",
        after=scale_weights("3.weight", -40, 500),
        options=ROLLBACK,
        bad_steps=20,
        phase="module",
        module="3",
    ),
    Fault(
        "a layer's weights explode (1e38)",
        after=scale_weights("3.weight", 1e38, 500),
        options=ROLLBACK,
        bad_steps=20,
        phase="forward",
        module="3",
    ),
    Fault(
        "a weight becomes NaN",
        after=scale_weights("0.weight", float("nan"), 500),
        options=ROLLBACK,
        bad_steps=20,
        phase="weights",
        module="0",
    ),
    Fault("Adam's second moments are lost", after=lose_second_moments(500), options=ROLLBACK, bad_steps=20),
]


def run(fault: Fault | None, guarded: bool, task: dict[str, Any]) -> Outcome:
    events: list[Any] = []
    given: dict[str, Any] = dict(task)
    if fault is not None:
        hooks = {
            "spoil": fault.batch,
            "after_backward": fault.after,
            "rate": fault.rate,
            "keep_gradients": fault.keep_gradients,
        }
        given |= {name: hook for name, hook in hooks.items() if hook is not None}
        given |= fault.options if guarded else {}
    result = train(guarded=guarded, log=events, **given)
    return Outcome(result.final, events, result.findings, result.counts)


@functools.lru_cache(None)
def _twin(task: tuple[tuple[str, Any], ...]) -> Outcome:
    return run(None, False, dict(task))


def twin(fault: Fault) -> Outcome:
    return _twin(tuple(sorted(fault.task.items())))
