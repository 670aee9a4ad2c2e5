"""compare_precisions: the same batches from the same start in float32, bfloat16 and float16."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import torch

from aplomb.experiments.result import ExperimentResult, again, batch_of, loss_from, optimizers_in, restored
from aplomb.nonfinite_origin import tensors_in

NAME = "compare_precisions"
# Ten times the rounding of one bfloat16 operation (2^-8): sums of losses that lie further apart are no rounding.
TOLERANCE = 10 / 256
MOST_BACKOFFS = 24  # from GradScaler's 2^16 down to 2^-8: no scale helps then
LOW = (torch.bfloat16, torch.float16)


def compare_precisions(
    model: torch.nn.Module,
    optimizer: Any,
    loss_of: Callable[..., Any],
    batches: Iterable[Any],
    *,
    steps: int = 20,
    dtypes: tuple[str, ...] = ("float32", "bfloat16", "float16"),
) -> ExperimentResult:
    """Some steps in each precision, by autocast (float16 with a GradScaler), with a fresh optimizer state; weights that are
    stored in 16 bits are float32 for the float32 steps. Passes when every precision stays with float32."""
    optimizers = optimizers_in(optimizer)
    given = [batch_of(each) for each, _ in zip(batches, range(steps))]
    runs: dict[str, dict[str, Any]] = {}
    with restored(model, optimizers) as state:
        for name in dtypes:
            again(state)
            for each in optimizers:
                each.state.clear()
            try:
                runs[name] = _run(model, optimizers, loss_of, given, getattr(torch, name))
            except (RuntimeError, TypeError) as error:  # a device or operation that knows no such dtype
                runs[name] = {"losses": [], "error": str(error).split("\n")[0]}
    verdict, cause, passed = _judged(runs)
    return ExperimentResult(NAME, passed, verdict, cause, runs)


def _run(
    model: torch.nn.Module, optimizers: list[Any], loss_of: Callable[..., Any], batches: list[Any], dtype: torch.dtype
) -> dict[str, Any]:
    stored_low = [each for each in [*model.parameters(), *model.buffers()] if each.dtype in LOW]
    if dtype is torch.float32:
        for each in stored_low:
            each.data = each.data.float()
    start = [(each, each.detach().clone()) for each in stored_low if isinstance(each, torch.nn.Parameter)]
    device = next((each.device.type for each in tensors_in(batches)), "cpu")
    scaler = torch.amp.GradScaler(device, enabled=dtype is torch.float16 and not stored_low)
    low = torch.autocast(device, dtype, enabled=dtype is not torch.float32)
    losses: list[float] = []
    norms: list[float] = []
    skipped = 0
    for batch in batches:
        for _ in range(MOST_BACKOFFS):  # the scale is being found: the same batch again, so that steps stay comparable
            with low:
                loss = loss_from(loss_of(*batch))
            norm, overflowed = _step(optimizers, scaler, loss)
            if not overflowed:
                break
            skipped += 1
        losses.append(float(loss.detach()))
        norms.append(norm)
        if overflowed or not math.isfinite(losses[-1]) or not math.isfinite(norm):
            break
    moved = [(p, before) for p, before in start if p.grad is not None]
    count = sum(p.numel() for p, _ in moved)
    still = sum(int((p.detach() == before).sum()) for p, before in moved) / count if count else 0.0
    unmoved = still if dtype in LOW else 0.0
    return {"losses": losses, "grad_norms": norms, "skipped": skipped, "stuck": overflowed, "unmoved": unmoved}


def _step(optimizers: list[Any], scaler: Any, loss: torch.Tensor) -> tuple[float, bool]:
    """The gradient norm, and whether the step was left out for an overflow."""
    for each in optimizers:
        each.zero_grad()
    if not bool(torch.isfinite(loss)):
        return math.nan, False
    before = scaler.get_scale()
    scaler.scale(loss).backward()
    for each in optimizers:
        scaler.unscale_(each)
    norm = _norm(optimizers)
    for each in optimizers:
        scaler.step(each)
    scaler.update()
    return norm, scaler.get_scale() < before


def _norm(optimizers: list[Any]) -> float:
    gradients = [p.grad for each in optimizers for group in each.param_groups for p in group["params"]]
    return float(torch.nn.utils.get_total_norm([each for each in gradients if each is not None]))


def _lost(run: dict[str, Any]) -> str:
    """What was not finite, and where; "" for a run that went through."""
    if run["losses"] and not math.isfinite(run["losses"][-1]):
        return f"the loss is {run['losses'][-1]} at step {len(run['losses'])}"
    if not run["stuck"] and run["grad_norms"] and not math.isfinite(run["grad_norms"][-1]):
        return f"the gradient norm is {run['grad_norms'][-1]} at step {len(run['losses'])}"
    return ""


def _apart(run: dict[str, Any], reference: dict[str, Any]) -> float:
    pairs = list(zip(run["losses"], reference["losses"]))
    total = sum(abs(b) for _, b in pairs)
    return sum(abs(a - b) for a, b in pairs) / total if total > 0 else 0.0


def _judged(runs: dict[str, dict[str, Any]]) -> tuple[str, str | None, bool]:
    reference = runs.get("float32", {"losses": [], "error": "it was not asked for"})
    if "error" in reference:
        return f"there is nothing to compare with, float32 was not run: {reference['error']}", None, False
    if _lost(reference):
        everywhere = all(_lost(run) for run in runs.values() if "error" not in run)
        also = "also in float32" if everywhere else "even in float32"
        return f"{_lost(reference)} {also}: not the precision; aplomb.autopsy says where", "nan.unstable-op", False
    said, cause, passed = [], None, True
    for name, run in runs.items():
        if run is reference:
            continue
        text, points = _beside(name, run, reference)
        said.append(text)
        passed = passed and points is None
        cause = cause or points
    return "; ".join(said) or "float32 alone was run", cause, passed


def _beside(name: str, run: dict[str, Any], reference: dict[str, Any]) -> tuple[str, str | None]:
    if "error" in run:
        return f"{name} was not run: {run['error']}", None
    lost = _lost(run)
    if lost:
        return f"in {name} {lost}, float32 is finite", "nan.fp16-overflow" if name == "float16" else "nan.unstable-op"
    if run["stuck"]:
        return f"in {name} step {len(run['losses'])} overflows at any loss scale", "stall.scaler-skips-every-step"
    if run["unmoved"] > 0.5:
        return f"in {name} {run['unmoved']:.0%} of the weights never move", "stall.bf16-update-underflow"
    apart = _apart(run, reference)
    if apart > TOLERANCE:
        text = f"the losses in {name} lie {apart:.1%} from those in float32, more than rounding gives ({TOLERANCE:.1%})"
        return text, "diverge.mixed-precision-loss"
    return f"{name} stays within {apart:.2%} of float32", None
