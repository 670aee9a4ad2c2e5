"""check_determinism: the same steps from the same start, with the same random numbers, twice."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any

import torch

from aplomb.experiments.result import ExperimentResult, again, batch_of, loss_from, optimizers_in, restored

NAME = "check_determinism"
CAUSE = "resume.nondeterministic-kernels"


def check_determinism(
    model: torch.nn.Module, optimizer: Any, loss_of: Callable[..., Any], batches: Iterable[Any], *, steps: int = 5
) -> ExperimentResult:
    """Passes when two runs give the same losses and weights bit for bit. Where they do not, a third and a fourth say
    whether torch.use_deterministic_algorithms(True) mends it."""
    optimizers = optimizers_in(optimizer)
    given = [batch_of(each) for each, _ in zip(batches, range(steps))]
    with restored(model, optimizers) as state:

        def once() -> dict[str, Any]:
            again(state)
            return _run(model, optimizers, loss_of, given)

        apart = _apart(once(), once())
        mends = None
        if apart is not None:
            was = torch.are_deterministic_algorithms_enabled()
            only_warns = torch.is_deterministic_algorithms_warn_only_enabled()
            torch.use_deterministic_algorithms(True, warn_only=True)
            try:
                mends = _apart(once(), once()) is None
            finally:
                torch.use_deterministic_algorithms(was, warn_only=only_warns)
    numbers = {"steps": len(given), "settings": _settings(), "mended_by_deterministic_algorithms": mends}
    if apart is None:
        return ExperimentResult(NAME, True, f"{len(given)} steps twice are bit-identical", None, numbers)
    what, where, most = apart
    advice = (
        "torch.use_deterministic_algorithms(True) mends it"
        if mends
        else "deterministic algorithms do not mend it: an operation of the model's own, a clock, or unseeded random numbers"
    )
    numbers |= {"first": what, "at": where, "largest_difference": most}
    verdict = f"two runs from one state differ, first in {what} of {where} (by up to {most:.2g}); {advice}"
    return ExperimentResult(NAME, False, verdict, CAUSE if mends else None, numbers)


def _run(
    model: torch.nn.Module, optimizers: list[Any], loss_of: Callable[..., Any], batches: list[Any]
) -> dict[str, Any]:
    losses: list[float] = []
    gradients: dict[str, torch.Tensor] = {}
    for step, batch in enumerate(batches):
        for each in optimizers:
            each.zero_grad()
        loss = loss_from(loss_of(*batch))
        losses.append(float(loss.detach()))
        loss.backward()
        if step == 0:
            gradients = {name: p.grad.detach().clone() for name, p in model.named_parameters() if p.grad is not None}
        for each in optimizers:
            each.step()
    weights = [(name, p.detach().clone()) for name, p in model.named_parameters()]
    return {"losses": losses, "gradients": gradients, "weights": weights}


def _apart(first: dict[str, Any], second: dict[str, Any]) -> tuple[str, str, float] | None:
    """What differs first, where, and by how much at most."""
    if first["losses"][:1] != second["losses"][:1]:
        return "the forward pass: the loss", "step 1", abs(first["losses"][0] - second["losses"][0])
    for name, gradient in first["gradients"].items():
        other = second["gradients"].get(name)
        if other is None or not _same(gradient, other):
            return "the backward pass: the gradient", name, 0.0 if other is None else _largest(gradient, other)
    for step, (a, b) in enumerate(zip(first["losses"], second["losses"]), 1):
        if a != b and (a == a or b == b):
            return "the loss", f"step {step}, after an optimizer step", abs(a - b)
    for (name, a), (_, b) in zip(first["weights"], second["weights"]):
        if not _same(a, b):
            return "the weights", name, _largest(a, b)
    return None


def _same(a: torch.Tensor, b: torch.Tensor) -> bool:
    return bool(((a == b) | (a.isnan() & b.isnan())).all())


def _largest(a: torch.Tensor, b: torch.Tensor) -> float:
    return float((a.double() - b.double()).abs().max())


def _settings() -> dict[str, Any]:
    return {
        "deterministic_algorithms": torch.are_deterministic_algorithms_enabled(),
        "cudnn_deterministic": torch.backends.cudnn.deterministic,
        "cudnn_benchmark": torch.backends.cudnn.benchmark,
        "cublas_workspace": os.environ.get("CUBLAS_WORKSPACE_CONFIG", ""),
        "threads": torch.get_num_threads(),
    }
