"""A small training that every test shares: an MLP learns the classes that another MLP gives."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import aplomb
import torch

STEPS = 600
BATCH = 64
FEATURES = 16
CLASSES = 10


def network(seed: int) -> torch.nn.Module:
    torch.manual_seed(seed)
    return torch.nn.Sequential(
        torch.nn.Linear(FEATURES, 64), torch.nn.GELU(), torch.nn.LayerNorm(64), torch.nn.Linear(64, CLASSES)
    )


def batches(steps: int = STEPS, seed: int = 5) -> list[tuple[torch.Tensor, torch.Tensor]]:
    teacher = network(99)
    draw = torch.Generator().manual_seed(seed)
    out = []
    with torch.no_grad():
        for _ in range(steps):
            x = torch.randn(BATCH, FEATURES, generator=draw)
            out.append((x, (4 * teacher(x)).argmax(1)))
    return out


def optimizer_of(name: str, model: torch.nn.Module) -> torch.optim.Optimizer:
    if name == "sgd":
        return torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    return torch.optim.AdamW(model.parameters(), lr=3e-3)


class Result:
    def __init__(self, losses: list[float], model: torch.nn.Module) -> None:
        self.losses = losses
        self.weights = [p.detach().clone() for p in model.parameters()]
        with torch.no_grad():
            held_out = batches(8, seed=77)
            self.final = sum(float(loss_of(model, x, y)) for x, y in held_out) / len(held_out)

    def same_as(self, other: Result) -> bool:
        return self.losses == other.losses and all(torch.equal(a, b) for a, b in zip(self.weights, other.weights))


def loss_of(model: torch.nn.Module, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.cross_entropy(model(x), y)


def train(
    *,
    guarded: bool,
    optimizer: str = "adamw",
    steps: int = STEPS,
    accumulation: int = 1,
    bf16: bool = False,
    spoil: Callable[[int, dict[str, Any]], None] | None = None,
    after_backward: Callable[[int, torch.nn.Module, torch.optim.Optimizer], None] | None = None,
    rate: Callable[[int], float] | None = None,
    log: list[Any] | None = None,
    **options: Any,
) -> Result:
    """`spoil` may change the batch of a step, `after_backward` its gradients, weights or state."""
    model = network(1)
    chosen = optimizer_of(optimizer, model)
    base = chosen.param_groups[0]["lr"]
    guard = aplomb.Guard(model, chosen, on_event=(log if log is not None else []).append, **options) if guarded else None
    losses = []
    data = batches(steps * accumulation)
    for step in range(steps):
        if rate is not None:
            chosen.param_groups[0]["lr"] = base * rate(step)
        chosen.zero_grad()
        total = 0.0
        for micro in range(accumulation):
            x, y = data[step * accumulation + micro]
            batch = {"x": x, "y": y, "scale": 1.0}
            if spoil is not None:
                spoil(step, batch)
            with torch.autocast("cpu", torch.bfloat16) if bf16 else contextlib.nullcontext():
                loss = loss_of(model, batch["x"], batch["y"]) * batch["scale"] / accumulation
            loss.backward()
            total += float(loss.detach())
        if after_backward is not None:
            after_backward(step, model, chosen)
        losses.append(total)
        if guard is not None:
            guard.step(total)
        else:
            chosen.step()
    if guard is not None:
        assert guard.counts["steps"] == steps, "the guard stepped aside"
    return Result(losses, model)
