"""Faults of a Lightning Trainer: the MLP of the plain loop as a LightningModule, 600 steps."""

from __future__ import annotations

import functools
import logging
import warnings
from typing import Any

import lightning.pytorch as pl
import torch
from aplomb.lightning import GuardCallback
from faults import Fault, Outcome, lose_second_moments, scale_weights, spoil_gradient
from training import batches, network

STEPS = 600


class Learner(pl.LightningModule):
    def __init__(self, rate: Any) -> None:
        super().__init__()
        self.net = network(1)
        self._rate = rate

    def training_step(self, batch: dict[str, torch.Tensor], number: int) -> torch.Tensor:
        loss = (
            torch.nn.functional.cross_entropy(self.net(batch["x"]), batch["y"], reduction="none") * batch["scale"]
        ).mean()
        self.log("loss", loss)
        return loss

    def configure_optimizers(self) -> Any:
        optimizer = torch.optim.AdamW(self.parameters(), lr=3e-3)
        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, self._rate)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}


class Batches(torch.utils.data.Dataset):
    def __init__(self, fault: Fault | None) -> None:
        self._drawn = batches(STEPS)
        self._fault = fault

    def __len__(self) -> int:
        return STEPS

    def __getitem__(self, step: int) -> dict[str, Any]:
        x, y = self._drawn[step]
        batch = {"x": x, "y": y, "scale": torch.ones(len(x))}
        if self._fault is not None and self._fault.batch is not None:
            self._fault.batch(step, batch)
        return batch


class Injector(pl.Callback):
    """Stands before the guard, so that a fault is there when the guard looks."""

    def __init__(self, fault: Fault) -> None:
        self._fault = fault

    def on_before_optimizer_step(self, trainer: Any, pl_module: Any, optimizer: Any) -> None:
        if self._fault.after is not None:
            self._fault.after(trainer.global_step, pl_module, optimizer)


def run(fault: Fault | None, guarded: bool, task: dict[str, Any]) -> Outcome:
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    events: list[Any] = []
    rate = fault.rate if fault is not None and fault.rate is not None else lambda step: 1.0
    learner = Learner(rate)
    callbacks: list[Any] = [Injector(fault)] if fault is not None else []
    guard = GuardCallback(on_event=events.append, **(fault.options if fault is not None else {}))
    if guarded:
        callbacks.append(guard)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trainer = pl.Trainer(
            max_epochs=1,
            accelerator="cpu",
            devices=1,
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            callbacks=callbacks,
            gradient_clip_val=10.0,
        )
        trainer.fit(learner, torch.utils.data.DataLoader(Batches(fault), batch_size=None, shuffle=False))
    with torch.no_grad():
        held_out = batches(8, seed=77)
        final = sum(float(torch.nn.functional.cross_entropy(learner.net(x), y)) for x, y in held_out) / len(held_out)
    findings = guard.guard.findings if guard.guard is not None else []
    counts = guard.guard.counts if guard.guard is not None else {}
    return Outcome(final, events, findings, counts)


def heavy_sample(step: int, batch: dict[str, Any]) -> None:
    """One sample's weight is read as 1e6."""
    if step in (100, 200):
        batch["scale"] = batch["scale"].clone()
        batch["scale"][13] = 1e6


def nan_in_a_sample(step: int, batch: dict[str, Any]) -> None:
    if step == 150:
        batch["x"] = batch["x"].clone()
        batch["x"][3, 5] = float("nan")


def inputs_lost_scale(step: int, batch: dict[str, Any]) -> None:
    if step in (120, 180, 240, 280):
        batch["x"] = batch["x"] * 60
        batch["y"] = (batch["y"] + 1) % 10


ROLLBACK = {"snapshot_every": 50}
FAULTS = [
    Fault("NaN in one sample", nan_in_a_sample, phase="input", samples=[3]),
    Fault("weight 1e6 of one sample", heavy_sample, bad_steps=2, phase="sample", samples=[13]),
    Fault("four batches 60x too large, with wrong labels", inputs_lost_scale, bad_steps=4, phase="batch"),
    Fault(
        "Inf in one gradient", after=spoil_gradient("net.0.weight", float("inf"), (150,)), phase="gradient", module="net.0"
    ),
    Fault(
        "learning rate jumps 100x and stays", rate=lambda step: 1.0 if step < 300 else 100.0, options=ROLLBACK, bad_steps=20
    ),
    Fault(
        "a layer's weights are multiplied by -40",
        after=scale_weights("net.3.weight", -40, 500),
        options=ROLLBACK,
        bad_steps=20,
        phase="module",
        module="net.3",
    ),
    Fault("Adam's second moments are lost", after=lose_second_moments(500), options=ROLLBACK, bad_steps=20),
]


@functools.lru_cache(None)
def _twin() -> Outcome:
    return run(None, False, {})


def twin(fault: Fault) -> Outcome:
    return _twin()
