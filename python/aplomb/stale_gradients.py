"""Gradients of the step before that nobody cleared: zero_grad() is missing."""

from __future__ import annotations

from typing import Any

from aplomb.sharding import is_sharded


class StaleGradients:
    """Keeps a copy of the smallest gradient as it is after a step. Where the next backward still finds it there, bit
    for bit, and adds to it, zero_grad() was not called in between. Accumulation over micro-batches is between two
    steps and not seen; nor does a loop that clears before or after its forward pass matter."""

    def __init__(self, optimizers: list[Any]) -> None:
        self._optimizers = optimizers
        self._parameter: Any = None
        self._kept: Any = None
        self._asked = True  # no question is open
        self.found = False

    def after_step(self) -> None:
        import torch

        self.found = False
        self._kept = None
        if self._parameter is None or self._parameter.grad is None:
            self._choose()
        if self._parameter is None or self._parameter.grad is None or self._parameter.grad.is_sparse:
            return
        with torch.no_grad():
            if bool((self._parameter.grad != 0).any()):
                self._kept = self._parameter.grad.detach().clone()
                self._asked = False

    def _choose(self) -> None:
        found = [
            each
            for optimizer in self._optimizers
            for group in optimizer.param_groups
            for each in group["params"]
            if each.grad is not None and each.requires_grad and each.is_leaf and not each.grad.is_sparse
            # A sharded parameter gets its gradient beside autograd, where no hook sees it come.
            and not is_sharded(each)
        ]
        if not found or self._parameter is not None:
            return
        self._parameter = min(found, key=lambda each: each.numel())
        self._parameter.register_hook(self._look)

    def _look(self, gradient: Any) -> None:
        import torch

        if self._asked:
            return
        self._asked = True
        there = self._parameter.grad
        if there is not None and there.shape == self._kept.shape and torch.equal(there, self._kept):
            self.found = True
