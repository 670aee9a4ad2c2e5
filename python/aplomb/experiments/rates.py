"""lr_range_test: which learning rates make the loss fall, and from which on it blows up.

Smith 2017 (arXiv:1506.01186); the suggestion (a tenth of the rate with the lowest loss) and the stop at four times the
lowest loss as in fastai's lr_find.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable
from typing import Any

import torch

from aplomb.experiments.result import ExperimentResult, batch_of, loss_from, optimizers_in, restored

NAME = "lr_range_test"
SMOOTHING = 0.9  # a mean over about ten batches, eight tenths of a decade of the rates
STOP = 4.0  # times the lowest loss
LEARNED = 0.95  # of the loss over the first tenth, where the rate is negligible: less of a fall is none
FAR = 100.0  # below the suggestion: two of the test's decades


def lr_range_test(
    model: torch.nn.Module,
    optimizer: Any,
    loss_of: Callable[..., Any],
    batches: Iterable[Any],
    *,
    lowest: float = 1e-7,
    highest: float = 10.0,
    steps: int = 100,
) -> ExperimentResult:
    """One step at each of `steps` rates that rise from `lowest` to `highest`, with a fresh optimizer state; passes when
    the optimizer's rate of now (the peak of a schedule) lies where the loss falls."""
    optimizers = optimizers_in(optimizer)
    group = optimizers[0].param_groups[0]
    now = float(group.get("initial_lr", group["lr"]))
    with restored(model, optimizers):
        rates, losses = _climb(optimizers, loss_of, batches, lowest, highest, steps)
    numbers = _numbers(rates, losses)
    verdict, cause, passed = _judged(numbers, now)
    return ExperimentResult(NAME, passed, verdict, cause, {"rate": now, **numbers, "rates": rates, "losses": losses})


def _climb(
    optimizers: list[Any], loss_of: Callable[..., Any], batches: Iterable[Any], lowest: float, highest: float, steps: int
) -> tuple[list[float], list[float]]:
    groups = [group for each in optimizers for group in each.param_groups]
    base = max((float(group["lr"]) for group in groups), default=0.0)
    shares = [float(group["lr"]) / base if base > 0 else 1.0 for group in groups]
    for each in optimizers:
        each.state.clear()
    rates, losses, mean = [], [], 0.0
    for step, batch in enumerate(itertools.islice(itertools.cycle(batches), steps)):
        rate = lowest * (highest / lowest) ** (step / max(1, steps - 1))
        for group, share in zip(groups, shares):
            group["lr"] = rate * share
        for each in optimizers:
            each.zero_grad()
        loss = loss_from(loss_of(*batch_of(batch)))
        value = float(loss.detach())
        mean = SMOOTHING * mean + (1 - SMOOTHING) * value
        smooth = mean / (1 - SMOOTHING ** (step + 1))
        rates.append(rate)
        losses.append(smooth)
        if not math.isfinite(smooth) or smooth > STOP * min(losses) or not loss.requires_grad:
            break
        loss.backward()
        for each in optimizers:
            each.step()
    return rates, losses


def _numbers(rates: list[float], losses: list[float]) -> dict[str, Any]:
    finite = [i for i, each in enumerate(losses) if math.isfinite(each)]
    best = min(finite, key=lambda i: losses[i], default=0)
    stopped = losses and (not math.isfinite(losses[-1]) or losses[-1] > STOP * losses[best])
    return {
        "first": losses[min(len(losses) - 1, len(losses) // 10)],
        "lowest": losses[best],
        "best_rate": rates[best],
        "suggested": rates[best] / 10,
        "blows_up_at": rates[-1] if stopped else None,
    }


def _judged(numbers: dict[str, Any], now: float) -> tuple[str, str | None, bool]:
    first, lowest, best, limit = (numbers[key] for key in ("first", "lowest", "best_rate", "blows_up_at"))
    if not math.isfinite(first):
        return f"the loss is {first} before the first step: no rate helps", None, False
    if lowest > LEARNED * first:
        return f"the loss falls at no rate (from {first:.4g} to {lowest:.4g} at best): the rate is not at fault", None, False
    until = f"the loss falls up to a rate of {best:.2g}" + (f" and blows up at {limit:.2g}" if limit else "")
    advice = f"about {numbers['suggested']:.1g} suits this model"
    if now > best:
        return f"{until}; the rate of {now:.2g} is above: {advice}", "diverge.lr-too-high", False
    if now == 0:
        return f"{until}; the rate is 0: {advice}", "stall.lr-schedule-zero", False
    if now < numbers["suggested"] / FAR:
        return f"{until}; the rate of {now:.2g} is far below: {advice}", "stall.lr-too-low", False
    return f"{until}; the rate of {now:.2g} lies below that", None, True
