"""Trainings by two processes with gloo (DDP), one of which may have a fault. All of them run in one pair of processes:
starting a process costs more than training in it."""

from __future__ import annotations

import functools
from typing import Any

import aplomb
import torch
from faults import Fault, Outcome
from ranks import as_rank, both_ranks
from training import batches, loss_of, network

STEPS = 150
FAULTS = [
    Fault("NaN in the gradients of one rank", task={"value": float("nan")}),
    Fault("a gradient of 1e6 in one rank", task={"value": 1e6}),
]


def _train(guarded: bool, fault: float) -> tuple[Any, ...]:
    """Losses, final weights, verdicts and "steps were counted wrongly" of this rank."""
    rank = torch.distributed.get_rank()
    inner = network(1)
    model = torch.nn.parallel.DistributedDataParallel(inner)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    verdicts = []
    guard = aplomb.Guard(inner, optimizer, on_event=lambda v: verdicts.append((v.action, v.reason))) if guarded else None
    losses = []
    for step, (x, y) in enumerate(batches(STEPS)):
        optimizer.zero_grad()
        loss = loss_of(model, x[rank::2], y[rank::2])
        loss.backward()
        if fault and rank == 1 and step == 100:
            for each in inner.parameters():
                each.grad[0] = fault
        losses.append(float(loss.detach()))
        if guard is not None:
            guard.step(loss)
        else:
            optimizer.step()
    aside = guard is not None and guard.counts["steps"] != STEPS
    return losses, [p.detach().clone() for p in inner.parameters()], verdicts, aside


def _work() -> dict[tuple[bool, str], Any]:
    """By whether it was guarded and the fault's name."""
    named = {"": 0.0, **{fault.name: fault.task["value"] for fault in FAULTS}}
    return {(guarded, name): _train(guarded, value) for guarded in (False, True) for name, value in named.items()}


@functools.lru_cache(None)
def _all() -> list[dict[tuple[bool, str], Any]]:
    return both_ranks(__file__)


def run(guarded: bool, fault: str = "") -> list[Any]:
    return [answers[guarded, fault] for answers in _all()]


def _final(weights):
    model = network(1)
    with torch.no_grad():
        for parameter, value in zip(model.parameters(), weights):
            parameter.copy_(value)
        held_out = batches(8, seed=77)
        return sum(float(loss_of(model, x, y)) for x, y in held_out) / len(held_out)


def outcome(fault: Fault | None, guarded: bool) -> Outcome:
    first = run(guarded, fault.name if fault is not None else "")[0]
    counts = {"skipped": sum(action == "skip" for action, _ in first[2])}
    return Outcome(_final(first[1]), first[2], [], counts)


def twin(fault: Fault) -> Outcome:
    return outcome(None, False)


if __name__ == "__main__":
    as_rank(_work)
