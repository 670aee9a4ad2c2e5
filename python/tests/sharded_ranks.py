"""Trainings by two processes of which each holds half of every tensor (FSDP2), all in one pair of processes."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import aplomb
import torch
from faults import Fault, Outcome
from ranks import as_rank, both_ranks
from training import batches, loss_of, network

STEPS = 120
LIMIT = 0.3  # of the norm, where it is clipped
ROLLBACK = {"snapshot_every": 10}


def spoil(value: float) -> Callable[..., None]:
    """In what one rank holds of one gradient."""

    def change(step: int, model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> None:
        if step == 95 and torch.distributed.get_rank() == 1:
            model[0].weight.grad.to_local()[0, 0] = value

    return change


def scale_weight(step: int, model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> None:
    if step == 95:
        with torch.no_grad():
            model[3].weight.to_local().mul_(-40)


FAULTS = [
    Fault("NaN in one rank's part of a gradient", after=spoil(float("nan"))),
    Fault("a layer's weights are multiplied by -40", after=scale_weight, options=ROLLBACK, bad_steps=20),
]


def _sharded() -> torch.nn.Module:
    from torch.distributed.fsdp import fully_shard

    model = network(1)
    mesh = torch.distributed.device_mesh.init_device_mesh("cpu", (2,))
    fully_shard(model[0], mesh=mesh)
    return fully_shard(model, mesh=mesh)


def _norm(gradients: list[Any]) -> float:
    return math.sqrt(sum(float(each.full_tensor().double().square().sum()) for each in gradients))


def _train(
    guarded: bool, fault: Fault | None = None, clip: bool = False, steps: int = STEPS, **options: Any
) -> dict[str, Any]:
    rank = torch.distributed.get_rank()
    model = _sharded()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, STEPS)
    verdicts: list[Any] = []
    told = verdicts.append
    guard = aplomb.Guard(model, optimizer, on_event=lambda v: told((v.action, v.reason)), **options) if guarded else None
    losses, norms = [], []
    for step, (x, y) in enumerate(batches(steps)):
        optimizer.zero_grad()
        loss = loss_of(model, x[rank::2], y[rank::2])
        loss.backward()
        if fault is not None and fault.after is not None:
            fault.after(step, model, optimizer)
        if clip:
            torch.nn.utils.clip_grad_norm_(model.parameters(), LIMIT)
        losses.append(float(loss.detach()))
        before = _norm([p.grad for p in model.parameters()]) if guard is not None and step < 3 else 0.0
        verdict = guard.step(loss) if guard is not None else optimizer.step()
        schedule.step()
        if before:
            modules = [_norm([p.grad for p in each.parameters(recurse=False)]) for each in model if list(each.parameters())]
            norms.append((before, verdict.grad_norm, modules))
    assert guard is None or guard.counts["steps"] == steps, "the guard stepped aside"
    weights = [each.full_tensor().detach().clone() for each in model.parameters()]
    return {"losses": losses, "weights": weights, "verdicts": verdicts, "norms": norms}


def _work() -> dict[str, Any]:
    trained = {
        "plain": _train(False),
        "guarded": _train(True, max_norm=1e6, **ROLLBACK),
        "clipped by torch": _train(False, clip=True, steps=15),
        "clipped": _train(True, max_norm=LIMIT, steps=15),
        "modules clipped": _train(True, max_module_norm=LIMIT / 3, steps=15),
    }
    for fault in FAULTS:
        trained["with " + fault.name] = _train(True, fault, **fault.options)
        trained["without " + fault.name] = _train(False, fault)
    return trained


@functools.lru_cache(None)
def answers() -> list[dict[str, Any]]:
    return both_ranks(__file__)


def outcome(fault: Fault | None, guarded: bool) -> Outcome:
    found = answers()[0]["plain" if fault is None else ("with " if guarded else "without ") + fault.name]
    model = network(1)
    with torch.no_grad():
        for parameter, value in zip(model.parameters(), found["weights"]):
            parameter.copy_(value)
        held_out = batches(8, seed=77)
        final = sum(float(loss_of(model, x, y)) for x, y in held_out) / len(held_out)
    return Outcome(final, found["verdicts"], [], {"skipped": sum(action == "skip" for action, _ in found["verdicts"])})


def twin(fault: Fault) -> Outcome:
    return outcome(None, False)


if __name__ == "__main__":
    as_rank(_work)
