"""z_loss: keeps the softmax normaliser of output logits near 1, so that they cannot drift away together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

# PaLM (arXiv:2204.02311, section 5) and ST-MoE (arXiv:2202.08906) add 1e-4 log^2 Z.
WEIGHT = 1e-4


def z_loss(
    logits: torch.Tensor, labels: torch.Tensor | None = None, *, weight: float = WEIGHT, ignore_index: int = -100
) -> Any:
    """weight * mean of (log sum exp logits)^2 over the last dimension, in float32; to be added to the loss.

    logits: [..., classes]. labels: [...]; positions with `ignore_index` do not count (0 where none does). The softmax
    does not change when all logits of a position move by the same amount, so nothing else holds them: in 16 bits they
    drift until exp overflows or digits are lost.
    """
    import torch

    squared = torch.logsumexp(logits.float(), -1).square()
    if labels is None:
        return weight * squared.mean()
    counts = labels != ignore_index
    return weight * torch.where(counts, squared, 0.0).sum() / counts.sum().clamp(min=1)
