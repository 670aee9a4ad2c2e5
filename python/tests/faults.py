"""The fault laboratory: faults that are injected on purpose into small trainings of four kinds (a plain loop, the
Hugging Face Trainer with PEFT, TRL's SFTTrainer, Lightning), each with its fault-free twin.

A Fault says what it does to the batch, after the backward, or to the learning rate; a Loop knows how its trainer is
reached. `bench/guard_faults.py` prints the table of docs/guard.md from it, python/tests/test_faults.py holds it to it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import torch


@dataclasses.dataclass
class Fault:
    name: str
    batch: Callable[[int, dict[str, Any]], None] | None = None  # (step, batch): before the forward pass
    after: Callable[[int, torch.nn.Module, torch.optim.Optimizer], None] | None = None  # after the backward
    rate: Callable[[int], float] | None = None  # factor of the learning rate
    keep_gradients: Callable[[int], bool] | None = None  # zero_grad() is left out before this step
    options: dict[str, Any] = dataclasses.field(default_factory=dict)  # of the Guard
    task: dict[str, Any] = dataclasses.field(default_factory=dict)  # of the Loop
    bad_steps: int = 1  # how many steps are bad: more must not be lost
    module: str | None = None  # what the autopsy must name (None: no module is to blame)
    samples: list[int] | None = None  # likewise
    phase: str | None = None
    harmless: bool = False  # to the weights: only the loss that is logged is NaN


MOST = 1.02  # of the twin's final loss


@dataclasses.dataclass
class Outcome:
    final: float
    events: list[Any]
    findings: list[Any]
    counts: dict[str, int]

    @property
    def lost(self) -> int:
        return self.counts.get("skipped", 0)


def faults_in(fault: Fault, twin: Outcome, helped: Outcome, without: Outcome) -> list[str]:
    """What of a fault's promises does not hold; nothing where all do."""
    said = []
    if not helped.final <= MOST * twin.final:
        said.append(f"final loss {helped.final:.4g} with the guard, {twin.final:.4g} without the fault")
    if not fault.harmless and without.final <= MOST * twin.final:
        said.append("the fault does no harm: it proves nothing")
    if not helped.events:
        said.append("the guard said nothing")
    if helped.lost > fault.bad_steps:
        said.append(f"{helped.lost} steps lost of {fault.bad_steps} bad ones")
    finding = helped.findings[0][1] if helped.findings else None
    for name in ("phase", "module", "samples"):
        wanted = getattr(fault, name)
        if wanted is not None and getattr(finding, name, None) != wanted:
            said.append(f"the autopsy's {name} is {getattr(finding, name, None)!r}, not {wanted!r}")
    return said


def scale_weights(name: str, factor: float, when: int) -> Callable[..., None]:
    def change(step: int, model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> None:
        if step == when:
            with torch.no_grad():
                dict(model.named_parameters())[name].mul_(factor)

    return change


def spoil_gradient(part: str, value: float, when: tuple[int, ...]) -> Callable[..., None]:
    def change(step: int, model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> None:
        if step in when:
            gradient = next(p.grad for n, p in model.named_parameters() if part in n and p.grad is not None)
            gradient.view(-1)[1] = value

    return change


def lose_second_moments(when: int) -> Callable[..., None]:
    def change(step: int, model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> None:
        if step == when:
            for state in optimizer.state.values():
                state["exp_avg_sq"].mul_(1e-12)

    return change


def scale_gradients(factor: float, when: tuple[int, ...]) -> Callable[..., None]:
    def change(step: int, model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> None:
        if step in when:
            for each in model.parameters():
                if each.grad is not None:
                    each.grad.mul_(factor)

    return change
