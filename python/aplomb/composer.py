"""GuardCallback: the guard in a Trainer of MosaicML's Composer.

    trainer = composer.Trainer(..., callbacks=[aplomb.composer.GuardCallback(record="steps.aplomb")])

It judges when the optimizer's step is about to be taken: gradients of all micro-batches are there, and Composer's own
GradientClipping has been applied. Steps within a GradScaler are judged before they are unscaled, and so not at all: use
bf16 or full precision.
"""

from __future__ import annotations

from typing import Any

from composer.core import Callback

from aplomb.guard import Guard
from aplomb.step_hooks import guard_steps

__all__ = ["GuardCallback"]


class GuardCallback(Callback):  # type: ignore[misc]
    """Takes the options of aplomb.Guard (but model, optimizer, scaler and loss_of)."""

    def __init__(self, **options: Any) -> None:
        self._options = options
        self._losses: list[float] = []
        self.guard: Guard | None = None

    def fit_start(self, state: Any, logger: Any) -> None:
        if self.guard is not None or getattr(state, "scaler", None) is not None:
            return
        self.guard = guard_steps(
            state.optimizers[0],
            state.model,
            loss=self._take_loss,
            on_halt=lambda _: state.stop_training(),
            **{"autopsy": False, **self._options},
        )

    def after_loss(self, state: Any, logger: Any) -> None:
        loss = state.loss
        if isinstance(loss, dict):
            loss = loss.get("total", sum(loss.values()))
        elif isinstance(loss, (list, tuple)):
            loss = sum(loss)
        self._losses.append(float(loss.detach() if hasattr(loss, "detach") else loss))

    def batch_end(self, state: Any, logger: Any) -> None:
        if self.guard is not None and (self.guard.counts["skipped"] or self.guard.counts["clipped"]):
            logger.log_metrics({f"guard/{name}": self.guard.counts[name] for name in ("skipped", "clipped", "rollbacks")})

    def fit_end(self, state: Any, logger: Any) -> None:
        if self.guard is not None:
            self.guard.detach()

    def state_dict(self) -> dict[str, Any]:
        return self.guard.state_dict() if self.guard is not None else {}

    def _take_loss(self) -> float | None:
        """The mean over the micro-batches of the step."""
        losses, self._losses = self._losses, []
        return sum(losses) / len(losses) if losses else None
