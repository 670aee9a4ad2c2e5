"""Injected faults: with the guard the run ends where its fault-free twin ends; without it, it does not."""

import functools

import pytest
import torch
from training import train


@functools.lru_cache(None)
def twin():
    return train(guarded=False).final


def poisoned_sample(step, batch):
    if step == 200:
        batch["x"] = batch["x"].clone()
        batch["x"][3, 5] = float("nan")


def spiking_batches(step, batch):
    if step in (150, 250, 290, 400, 550):
        batch["scale"] = 3000.0


def garbage_labels(step, batch):
    if step in (200, 350, 500, 580):
        batch["x"] = batch["x"] * 60
        batch["y"] = (batch["y"] + 1) % 10


def infinite_gradient(step, model, optimizer):
    if step == 200:
        model[0].weight.grad[2, 2] = float("inf")


def corrupted_gradient(step, model, optimizer):
    if step in (200, 300, 400, 580):
        model[0].weight.grad[3] = 1e6


def corrupted_weight(step, model, optimizer):
    if step == 500:
        with torch.no_grad():
            model[3].weight.mul_(-40)


def bad_second_moment(step, model, optimizer):
    if step == 500:
        for state in optimizer.state.values():
            state["exp_avg_sq"].mul_(1e-12)


def jump(step):
    return 1.0 if step < 300 else 100.0


FAULTS = {
    "poisoned sample": {"spoil": poisoned_sample},
    "spiking batches": {"spoil": spiking_batches, "optimizer": "sgd"},
    "garbage labels": {"spoil": garbage_labels},
    "infinite gradient": {"after_backward": infinite_gradient},
    "corrupted gradient": {"after_backward": corrupted_gradient, "optimizer": "sgd"},
    "learning rate jumps": {"rate": jump, "snapshot_every": 50},
    "corrupted weight": {"after_backward": corrupted_weight, "snapshot_every": 50},
    "bad second moment": {"after_backward": bad_second_moment, "snapshot_every": 50},
}


@pytest.mark.parametrize("name", FAULTS)
def test_help(name):
    fault = dict(FAULTS[name])
    snapshots = fault.pop("snapshot_every", 0)
    healthy = train(guarded=False, optimizer=fault.get("optimizer", "adamw")).final
    without = train(guarded=False, **fault).final
    log = []
    helped = train(guarded=True, log=log, snapshot_every=snapshots, **fault).final
    print(f"{name}: twin {healthy:.4f}, guarded {helped:.4f}, unguarded {without:.4f}; {log}")
    assert log, "the guard said nothing"
    assert helped <= healthy * 1.02
    assert not without <= healthy * 1.02, "the fault does no harm: it proves nothing"
