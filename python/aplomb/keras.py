"""GuardCallback: the guard in model.fit() of Keras 3 on the torch backend.

    model.fit(x, y, callbacks=[aplomb.keras.GuardCallback(max_norm=1.0)])

It stands before optimizer.apply(), where Keras hands the gradients over. On backends that compile the step (JAX,
TensorFlow without run_eagerly) no Python stands there: the callback then judges the loss of each batch alone, tells what it
sees, and stops a training whose loss is not finite.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import keras

from aplomb.guard import Halt
from aplomb.numbers_guard import NumbersGuard, group_of

__all__ = ["GuardCallback"]


class GuardCallback(keras.callbacks.Callback):  # type: ignore[misc]
    """Takes the options of aplomb.numbers_guard.NumbersGuard: max_norm, spikes, lower_lr, record, on_event, ..."""

    def __init__(self, **options: Any) -> None:
        super().__init__()
        self.guard = NumbersGuard(**options)
        self._loss: Any = None
        self._around: dict[str, Any] = {}

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        optimizer = getattr(self.model, "optimizer", None)
        if keras.backend.backend() != "torch" or optimizer is None:
            warnings.warn("aplomb: this backend compiles the step; only losses are watched", stacklevel=2)
            return
        compute_loss, apply = self.model.compute_loss, optimizer.apply

        def noting_loss(*args: Any, **named: Any) -> Any:
            loss = compute_loss(*args, **named)
            self._loss = loss
            return loss

        def judged_apply(grads: Any, trainable_variables: Any = None) -> Any:
            return self._apply(apply, optimizer, list(grads), trainable_variables)

        self.model.compute_loss, optimizer.apply = noting_loss, judged_apply
        self._around = {"model": self.model, "optimizer": optimizer}

    def on_train_end(self, logs: dict[str, Any] | None = None) -> None:
        if self._around:  # the classes' own again
            del self._around["model"].compute_loss
            del self._around["optimizer"].apply
            self._around = {}

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        if self._around:
            return
        loss = (logs or {}).get("loss")
        if loss is not None and not math.isfinite(float(loss)):
            warnings.warn(f"aplomb: batch {batch}: the loss is {float(loss)}; the training is stopped", stacklevel=2)
            self.model.stop_training = True

    def _apply(self, apply: Any, optimizer: Any, grads: list[Any], variables: Any) -> Any:
        loss, self._loss = self._loss, None
        scale = getattr(optimizer, "loss_scale_factor", None) or 1.0
        try:
            verdict = self.guard.judge(
                None if loss is None else loss.detach(), lambda: [_measured(grads, scale)], optimizer.learning_rate
            )
        except Halt:
            self.model.stop_training = True
            return None
        if verdict is None:
            return apply(grads, variables)
        if not verdict.takes_step:
            return None
        if verdict.action == "clip":
            grads = [None if each is None else each * verdict.scale for each in grads]
        if verdict.lr_factor == 1.0:
            return apply(grads, variables)
        try:
            rate = float(optimizer.learning_rate)
            optimizer.learning_rate = rate * verdict.lr_factor
        except TypeError:  # a schedule cannot be set: the step is taken as it is
            return apply(grads, variables)
        try:
            return apply(grads, variables)
        finally:
            optimizer.learning_rate = rate


def _measured(grads: list[Any], scale: float) -> tuple[int, float]:
    import torch

    nonfinite, squares = 0, 0.0
    with torch.no_grad():
        for each in grads:
            if each is None:
                continue
            finite = torch.isfinite(each)
            count = each.numel() - int(finite.sum())
            nonfinite += count
            known = each if count == 0 else torch.where(finite, each, 0)
            squares += float(known.double().square().sum())
    return group_of(nonfinite, squares / (scale * scale))
