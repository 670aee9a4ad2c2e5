"""overfit_one_batch: a model that cannot learn one batch by heart cannot learn."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import torch

from aplomb.experiments.result import ExperimentResult, again, loss_from, optimizers_in, restored
from aplomb.nonfinite_origin import is_bad, tensors_in

NAME = "overfit_one_batch"
PLAIN_RATE = 1e-3  # of the AdamW that tells the user's optimizer from the task: torch's own default
GROWN = 2.0  # times the first loss: it blows up
FALLS = 0.9  # over a quarter of the steps: it would get there with more of them
LOW = (torch.bfloat16, torch.float16)


@dataclasses.dataclass
class Descent:
    losses: list[float]
    gradients: bool = False  # some parameter of the optimizer got one that is not 0
    elsewhere: bool = False  # a parameter that the optimizer does not hold got one
    graph: bool = True
    still: float = 0.0  # share of the elements with a gradient that no step has moved

    @property
    def lowest(self) -> float:
        return min((each for each in self.losses if math.isfinite(each)), default=math.nan)

    def fell_to(self, target: float) -> bool:
        return self.lowest <= target * self.losses[0]

    @property
    def falls(self) -> bool:
        """Still, over the last quarter."""
        return self.losses[-1] < FALLS * self.losses[3 * len(self.losses) // 4]

    @property
    def grew(self) -> bool:
        return not math.isfinite(self.losses[-1]) or self.losses[-1] > GROWN * self.losses[0]


def overfit_one_batch(
    model: torch.nn.Module,
    optimizer: Any,
    loss_of: Callable[..., Any],
    *batch: Any,
    steps: int = 200,
    target: float = 0.1,
    **named: Any,
) -> ExperimentResult:
    """Trains on one batch again and again, without dropout, with the optimizer as it is; passes when the loss falls to
    `target` of where it began. Where it does not, an AdamW at 1e-3 says whether the optimizer or the task is at fault."""
    optimizers = optimizers_in(optimizer)

    def descend(chosen: list[Any]) -> Descent:
        _without_dropout(model)
        return _descend(model, chosen, lambda: loss_from(loss_of(*batch, **named)), steps, target)

    with restored(model, optimizers) as state:
        own = descend(optimizers)
        plain = None
        if own.graph and own.losses[0] != 0 and math.isfinite(own.losses[0]) and not own.fell_to(target):
            again(state)
            wanted = [each for each in model.parameters() if each.requires_grad]
            plain = descend([torch.optim.AdamW(wanted, lr=PLAIN_RATE, weight_decay=0.0)]) if wanted else None
    passed = own.graph and own.losses[0] != 0 and own.fell_to(target)
    numbers = {"first": own.losses[0], "lowest": own.lowest, "last": own.losses[-1], "steps": len(own.losses) - 1}
    if plain is not None:
        numbers["lowest_with_adamw"] = plain.lowest
    verdict, cause = _judged(model, optimizers, (batch, named), own, plain, target)
    return ExperimentResult(NAME, passed, verdict, None if passed else cause, {**numbers, "losses": own.losses})


def _without_dropout(model: torch.nn.Module) -> None:
    for module in model.modules():
        module.training = not isinstance(module, torch.nn.modules.dropout._DropoutNd)


def _descend(
    model: torch.nn.Module, optimizers: list[Any], loss_now: Callable[[], torch.Tensor], steps: int, target: float
) -> Descent:
    held = {id(p): p for each in optimizers for group in each.param_groups for p in group["params"]}
    others = [p for p in model.parameters() if p.requires_grad and id(p) not in held]
    found = Descent([])
    start: dict[int, torch.Tensor] = {}
    for step in range(steps + 1):
        for each in [*held.values(), *others]:
            each.grad = None
        loss = loss_now()
        found.losses.append(float(loss.detach()))
        found.graph = loss.requires_grad
        if not found.graph or not math.isfinite(found.losses[-1]) or step == steps or found.fell_to(target):
            break
        loss.backward()
        if step == 0:
            found.gradients = any(p.grad is not None and bool(p.grad.ne(0).any()) for p in held.values())
            found.elsewhere = any(p.grad is not None and bool(p.grad.ne(0).any()) for p in others)
            low = [p for p in held.values() if p.dtype in LOW and p.grad is not None]
            start = {id(p): p.detach().clone() for p in low}
        for each in optimizers:
            each.step()
    count = sum(each.numel() for each in start.values())
    still = sum(int((held[key].detach() == before).sum()) for key, before in start.items())
    found.still = still / count if count else 0.0
    return found


def _judged(
    model: torch.nn.Module, optimizers: list[Any], batch: Any, own: Descent, plain: Descent | None, target: float
) -> tuple[str, str | None]:
    first, steps = own.losses[0], len(own.losses) - 1
    if own.graph and math.isfinite(first) and first != 0 and own.fell_to(target):
        return f"the loss of one batch falls from {first:.4g} to {own.lowest:.4g} in {steps} steps", None
    at_once = _wrong_at_once(model, optimizers, batch, own)
    if at_once is not None:
        return at_once
    went = f"the loss of one batch goes from {first:.4g} to {own.losses[-1]:.4g} in {steps} steps"
    if own.still > 0.5:
        what = f"{went}: {own.still:.0%} of the 16-bit weights that have a gradient did not move at all"
        return f"{what}, the updates are below their spacing", "stall.bf16-update-underflow"
    if plain is not None and plain.fell_to(target):
        beside = f"{went}; AdamW at {PLAIN_RATE:g} brings it to {plain.lowest:.4g}"
        return (beside, "diverge.lr-too-high") if own.grew else (beside, "stall.lr-too-low")
    if own.falls and not own.grew:
        return f"{went} and still falls: it needs more steps (steps=), or a larger rate", None
    also = f", and AdamW at {PLAIN_RATE:g} brings it to {plain.lowest:.4g} only" if plain is not None else ""
    frozen = sum(not p.requires_grad for p in model.parameters())
    if frozen > len(list(model.parameters())) / 2:
        return f"{went}{also}; {frozen} of the model's parameters are frozen", "stall.frozen-params"
    return f"{went}{also}: what the targets need does not reach the output, or the targets contradict each other", None


def _wrong_at_once(
    model: torch.nn.Module, optimizers: list[Any], batch: Any, own: Descent
) -> tuple[str, str | None] | None:
    """What the first step shows already."""
    first = own.losses[0]
    if not own.graph:
        trained = any(p.requires_grad for p in model.parameters())
        why = "the loss does not depend on any parameter: its graph was cut (detach, no_grad, item, argmax)"
        return (why, "stall.detached-graph") if trained else ("every parameter is frozen", "stall.frozen-params")
    if not math.isfinite(first):
        bad = any(is_bad(each) for each in tensors_in(list(batch)))
        where = "and so is the batch itself" if bad else "aplomb.autopsy says where"
        return f"the loss is {first} before the first step, {where}", "nan.bad-data-nonfinite" if bad else None
    if first == 0:
        return "the loss is exactly 0 before the first step: no label counts", "stall.all-labels-masked"
    if not own.gradients:
        if own.elsewhere:
            return "no parameter that the optimizer holds gets a gradient, others do", "stall.frozen-params"
        return "every gradient is 0: the loss does not feel the weights", "stall.detached-graph"
    if all(float(group.get("lr", 1.0)) == 0 for each in optimizers for group in each.param_groups):
        return "the learning rate is 0", "stall.lr-schedule-zero"
    return None
