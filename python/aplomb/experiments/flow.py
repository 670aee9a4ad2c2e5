"""gradient_flow: which parameters a batch reaches, and with how large a gradient."""

from __future__ import annotations

import fnmatch
import math
from collections.abc import Callable, Iterable
from typing import Any

import torch

from aplomb.experiments.result import ExperimentResult, loss_from, optimizers_in, restored

NAME = "gradient_flow"
VANISHED = 1e-7  # of the elements' size: the threshold of SageMaker Debugger's vanishing_gradient rule
LARGE = 100.0  # of the global norm: a healthy fine-tuning stays below 10, and above 100 it is unstable (docs/check.md)


def gradient_flow(
    model: torch.nn.Module,
    optimizer: Any,
    loss_of: Callable[..., Any],
    *batch: Any,
    expected: Iterable[str] = (),
    **named: Any,
) -> ExperimentResult:
    """One forward and backward pass. Passes when every parameter that is to be trained gets a gradient that is finite, not
    0 and not vanishing, and the optimizer holds it. `expected`: patterns of names (`*.router.*`) that may get none."""
    optimizers = optimizers_in(optimizer)
    with restored(model, optimizers):
        loss = loss_from(loss_of(*batch, **named))
        if not loss.requires_grad:
            why = "the loss does not depend on any parameter that is trained"
            trained = any(each.requires_grad for each in model.parameters())
            cut = "stall.detached-graph" if trained else "stall.frozen-params"
            return ExperimentResult(NAME, False, why, cut, {"loss": float(loss.detach())})
        loss.backward()
        norms = {name: _size(p) for name, p in model.named_parameters() if p.requires_grad}
        sizes = {name: max(1, p.numel()) for name, p in model.named_parameters()}
        means = {name: norm / math.sqrt(sizes[name]) for name, norm in norms.items() if norm is not None}
    held = {id(p) for each in optimizers for group in each.param_groups for p in group["params"]}
    left_out = [name for name, p in model.named_parameters() if optimizers and p.requires_grad and id(p) not in held]
    spared = [name for name in norms if any(fnmatch.fnmatch(name, each) for each in expected)]
    frozen = [name for name, p in model.named_parameters() if not p.requires_grad]
    verdict, cause, passed = _judged({n: v for n, v in norms.items() if n not in spared}, means, left_out, len(frozen))
    numbers = {"loss": float(loss.detach()), "norms": norms, "not_in_optimizer": left_out, "frozen": frozen}
    return ExperimentResult(NAME, passed, verdict, cause, numbers)


def _size(parameter: torch.nn.Parameter) -> float | None:
    """The norm of the gradient, NaN where an element is not finite; None where there is none."""
    if parameter.grad is None:
        return None
    values = parameter.grad.coalesce().values() if parameter.grad.is_sparse else parameter.grad
    return float(values.double().norm()) if bool(torch.isfinite(values).all()) else math.nan


def _judged(
    norms: dict[str, float | None], means: dict[str, float], left_out: list[str], frozen: int
) -> tuple[str, str | None, bool]:
    none = [name for name, norm in norms.items() if norm is None]
    bad = [name for name, norm in norms.items() if norm is not None and math.isnan(norm)]
    zero = [name for name, norm in norms.items() if norm == 0]
    small = [name for name, norm in norms.items() if norm and norm > 0 and means[name] < VANISHED]
    total = math.sqrt(sum(norm * norm for norm in norms.values() if norm))
    if bad:
        return f"NaN or Inf in the gradient of {_names(bad, norms)}; aplomb.autopsy says why", "nan.unstable-op", False
    if none:
        return f"no gradient reaches {_names(none, norms)}", "stall.detached-graph", False
    if zero:
        return f"the gradient of {_names(zero, norms)} is exactly 0", "stall.detached-graph", False
    if left_out:
        return f"the optimizer does not hold {_names(left_out, norms)}", "stall.frozen-params", False
    if small:
        text = f"the gradient of {_names(small, norms)} vanishes (root mean square below {VANISHED:g})"
        return text, "stall.vanishing-gradient", False
    if total > LARGE:
        return f"the gradient norm is {total:.3g}, above {LARGE:g}", "diverge.bad-init", False
    low, high = min(means.values()), max(means.values())
    text = f"all {len(norms)} trained parameters get a gradient, norm {total:.3g}, root mean square {low:.1g} to {high:.1g}"
    return text + (f"; {frozen} are frozen" if frozen else ""), None, True


def _names(found: list[str], of: dict[str, float | None]) -> str:
    shown = ", ".join(found[:4]) + (f" and {len(found) - 4} more" if len(found) > 4 else "")
    return f"{len(found)} of {len(of)} parameters ({shown})"
