"""The arithmetic by which finite numbers become NaN or Inf, told from an operation and its operands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

# Largest x with a finite exp(x): ln of the largest number of the format.
EXP_LIMIT = {torch.float16: 11.09, torch.bfloat16: 88.72, torch.float32: 88.72, torch.float64: 709.78}


def explain_forward(name: str, args: Any, kwargs: Any, given: list[torch.Tensor], output: torch.Tensor) -> str:
    """One phrase, with the numbers."""
    try:
        short = name.strip("_")
        told = _by_name(short, args, kwargs, given)
        return told or _by_range(given, output)
    except Exception as error:  # an explanation is no reason to lose the finding
        return f"(not explained: {error})"


def _by_name(short: str, args: Any, kwargs: Any, given: list[torch.Tensor]) -> str:
    if short in ("cross_entropy", "nll_loss") and len(given) > 1:
        return _labels(given[1], kwargs.get("ignore_index", -100))
    if short in ("div", "truediv", "div_", "true_divide", "itruediv", "divide"):
        return _division(args)
    if short in ("softmax", "log_softmax", "scaled_dot_product_attention"):
        return _all_masked(given)
    first = next((each.detach() for each in given if each.is_floating_point()), None)
    if first is None:
        return ""
    if short in ("exp", "expm1", "exp_"):
        limit = EXP_LIMIT.get(first.dtype, 88.72)
        return _count(first > limit, f"elements are above {limit}, where exp leaves {str(first.dtype)[6:]}", first)
    if short in OUTSIDE:
        outside, what = OUTSIDE[short]
        return _count(outside(first), what, first)
    return "too few elements: 0 / 0" if short in ("mean", "std", "var") and first.numel() <= 1 else ""


NO_LOGARITHM = (lambda x: x <= 0, "elements <= 0 have no finite logarithm")
NO_ANGLE = (lambda x: x.abs() > 1, "elements lie outside [-1, 1]")
NO_DIVISOR = (lambda x: x == 0, "zeros in the divisor")
# Where an operation has no finite value, and what to say of it.
OUTSIDE: dict[str, tuple[Callable[[torch.Tensor], torch.Tensor], str]] = {
    "log": NO_LOGARITHM,
    "log_": NO_LOGARITHM,
    "log2": NO_LOGARITHM,
    "log10": NO_LOGARITHM,
    "log1p": (lambda x: x <= -1, "elements <= -1 have no finite log(1 + x)"),
    "sqrt": (lambda x: x < 0, "negative elements have no square root"),
    "rsqrt": (lambda x: x <= 0, "elements <= 0 have no finite 1 / square root"),
    "acos": NO_ANGLE,
    "asin": NO_ANGLE,
    "arccos": NO_ANGLE,
    "arcsin": NO_ANGLE,
    "reciprocal": NO_DIVISOR,
    "rtruediv": NO_DIVISOR,
    "rdiv": NO_DIVISOR,
}


def _labels(labels: torch.Tensor, ignored: int) -> str:
    if not labels.is_floating_point() and bool((labels == ignored).all()):
        return f"all {labels.numel()} labels are {ignored} (ignored): the mean over nothing, 0 / 0"
    return ""


def _division(args: Any) -> str:
    divisor = args[1] if len(args) > 1 else None
    if isinstance(divisor, torch.Tensor):
        zeros = divisor == 0
        if bool(zeros.any()):
            above = args[0]
            also = isinstance(above, torch.Tensor) and bool((above == 0).any())
            return f"{int(zeros.sum())} of {divisor.numel()} divisors are 0" + (", some below a 0" if also else "")
        return ""
    return "the divisor is 0" if divisor == 0 else ""


def _all_masked(given: list[torch.Tensor]) -> str:
    for each in given:
        if each.is_floating_point() and bool(torch.isneginf(each).all(-1).any()):
            return f"{int(torch.isneginf(each).all(-1).sum())} rows are masked from end to end: -inf everywhere"
        if each.dtype == torch.bool and bool((~each).all(-1).any()):
            return f"{int((~each).all(-1).sum())} rows are masked from end to end"
    return ""


def _by_range(given: list[torch.Tensor], output: torch.Tensor) -> str:
    sizes = [_largest(each) for each in given if each.is_floating_point()]
    size = max(sizes, default=0.0)
    top = torch.finfo(output.dtype).max
    infinite = [each for each in given if each.is_floating_point() and bool(torch.isinf(each).any())]
    if infinite:
        return "Inf - Inf or 0 * Inf"
    if bool(torch.isinf(output).any()):
        return f"the result is above {top:.4g}, the largest {str(output.dtype)[6:]}, from operands up to {size:.4g}"
    return f"from operands up to {size:.4g}"


def _largest(tensor: torch.Tensor) -> float:
    flat = tensor.detach().float()
    return float(torch.where(torch.isfinite(flat), flat, 0.0).abs().max()) if flat.numel() else 0.0


def _count(which: torch.Tensor, what: str, of: torch.Tensor) -> str:
    count = int(which.sum())
    if count == 0:
        return ""
    return f"{count} of {of.numel()} {what} (the range is {float(of.min()):.4g} to {float(of.max()):.4g})"


# Operations whose derivative is infinite somewhere that the function itself is finite.
STEEP = {"sqrt": "0", "rsqrt": "0", "pow": "0", "norm": "0", "div": "0", "acos": "1", "asin": "1", "std": "equal elements"}


def operand_note(name: str, args: Any) -> str:
    """What a later look at the backward may want to know of the operand; "" for most operations."""
    short = {"truediv": "div", "vector_norm": "norm"}.get(name.strip("_"), name.strip("_"))
    if short not in STEEP:
        return ""
    operand = next((each for each in args if isinstance(each, torch.Tensor) and each.is_floating_point()), None)
    if operand is None or operand.numel() == 0:
        return ""
    with torch.no_grad():
        zeros = int((operand == 0).sum())
        low = float(operand.abs().min())
    seen = f"{zeros} of {operand.numel()} operands are 0, the smallest is {low:.3g}"
    return f"{short} has an infinite slope at {STEEP[short]}: {seen}"


def explain_backward(node: str, note: str, incoming: float, bad: torch.Tensor) -> str:
    if note:
        return note
    top = torch.finfo(bad.dtype).max
    if bool(torch.isinf(bad).any()):
        return f"{node}: the gradient leaves {str(bad.dtype)[6:]} (largest {top:.4g}); it came in with {incoming:.4g}"
    return f"{node}: the gradient that came in was finite (up to {incoming:.4g})"
