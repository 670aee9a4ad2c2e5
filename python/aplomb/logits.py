"""How large the logits of attention and of the output are, seen from the operations that take them."""

from __future__ import annotations

import math
from typing import Any

import torch


def note_logits(sizes: dict[str, float], module: str, name: str, args: Any, kwargs: dict[str, Any]) -> None:
    """Keeps the largest in `sizes`, as `attention logits MODULE` (q k^T, scaled, the first sample alone) and
    `output logits` (mean |log sum exp|, what z_loss holds)."""
    if name == "scaled_dot_product_attention":
        size = _attention(args, kwargs)
        key = f"attention logits {module}"
    elif name == "softmax" and args and isinstance(args[0], torch.Tensor) and args[0].dim() == 4:  # eager attention
        size = _largest_finite(args[0][:1])
        key = f"attention logits {module}"
    elif name == "cross_entropy":
        logits = args[0] if args else kwargs.get("input")
        if not isinstance(logits, torch.Tensor) or logits.dim() < 2:
            return
        classes = logits.detach().flatten(0, -2)[:4096] if logits.dim() == 2 else logits.detach().movedim(1, -1)[:1]
        size = float(torch.logsumexp(classes.float(), -1).abs().mean())
        key = "output logits"
    else:
        return
    if math.isfinite(size):
        sizes[key] = max(size, sizes.get(key, 0.0))


def _attention(args: Any, kwargs: dict[str, Any]) -> float:
    query, key = (args[i] if len(args) > i else kwargs.get(what) for i, what in enumerate(("query", "key")))
    if not isinstance(query, torch.Tensor) or not isinstance(key, torch.Tensor) or query.dim() < 3:
        return math.nan
    scale = kwargs.get("scale") or 1 / math.sqrt(query.shape[-1])
    first, other = query.detach()[:1].float(), key.detach()[:1].float()
    if query.dim() == 4 and first.shape[1] != other.shape[1]:  # several queries a key
        other = other.repeat_interleave(first.shape[1] // other.shape[1], 1)
    return _largest_finite(first @ other.transpose(-1, -2)) * scale


def _largest_finite(scores: torch.Tensor) -> float:
    """By magnitude, without what a mask made of them (-inf, or the lowest number of the format)."""
    flat = scores.detach().float()
    kept = torch.isfinite(flat) & (flat > -1e30)
    masked = torch.finfo(scores.dtype).min / 2
    return float(torch.where(kept & (flat > masked), flat, 0.0).abs().max()) if flat.numel() else math.nan
