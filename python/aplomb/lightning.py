"""GuardCallback: the guard in a Lightning Trainer (lightning or pytorch_lightning, automatic optimization).

    trainer = lightning.Trainer(..., callbacks=[aplomb.lightning.GuardCallback()])

The Trainer's gradient_clip_val stays in force: it clips after the guard has judged. Needs Lightning 2.
"""

from __future__ import annotations

from typing import Any

try:
    import lightning.pytorch as pl
except ImportError:
    import pytorch_lightning as pl  # type: ignore[no-redef]

import torch

from aplomb.guard import Guard, Halt
from aplomb.replay import loss_in
from aplomb.stepping import LoweredRates

__all__ = ["GuardCallback"]


class GuardCallback(pl.Callback):
    """Takes the options of aplomb.Guard (but model, optimizer, scaler and loss_of)."""

    def __init__(self, **options: Any) -> None:
        self._options = options
        self._losses: list[torch.Tensor] = []
        self._state: dict[str, Any] = {}
        self._hook: Any = None
        self._rates: LoweredRates | None = None
        self._waits = False
        self.guard: Guard | None = None

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        def loss_of(batch: Any, number: int) -> Any:
            was, pl_module.log = pl_module.log, _silent  # a replay is not logged
            try:
                out = pl_module.training_step(batch, number)
            finally:
                pl_module.log = was
            return out["loss"] if isinstance(out, dict) else loss_in(out)

        self.guard = Guard(pl_module, trainer.optimizers, loss_of=loss_of, **self._options)
        if self._state:
            self.guard.load_state_dict(self._state)

    def on_train_batch_start(self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int) -> None:
        self._finish()
        if self.guard is not None:
            self.guard.saw(batch, batch_idx)

    def on_before_backward(self, trainer: Any, pl_module: Any, loss: torch.Tensor) -> None:
        self._losses.append(loss.detach())  # divided by the number of micro-batches already

    def on_before_optimizer_step(self, trainer: Any, pl_module: Any, optimizer: Any) -> None:
        if self.guard is None:
            return
        losses, self._losses = self._losses, []
        self._waits = True
        self._hook = optimizer.register_step_post_hook(lambda *_: self._finish())
        try:
            verdict = self.guard.judge(sum(float(each) for each in losses) if losses else None)
        except Halt:
            trainer.should_stop = True
            _drop(optimizer)
            return
        if verdict is None:
            return
        if not verdict.takes_step:
            _drop(optimizer)
            counts = {f"guard/{name}": self.guard.counts[name] for name in ("skipped", "clipped", "rollbacks")}
            for logger in trainer.loggers:
                logger.log_metrics(counts, step=trainer.global_step)
        self._rates = LoweredRates([optimizer], verdict.lr_factor)
        self._rates.__enter__()

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        self._finish()

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        self._finish()
        if self.guard is not None:
            self.guard.detach()

    def _finish(self) -> None:
        """Behind the optimizer's step, before the scheduler's (a GradScaler may leave the step out)."""
        if self._hook is not None:
            self._hook.remove()
            self._hook = None
        if self._rates is not None:
            self._rates.__exit__()
            self._rates = None
        if self._waits and self.guard is not None:
            self._waits = False
            self.guard.after_step()

    def state_dict(self) -> dict[str, Any]:
        return self.guard.state_dict() if self.guard is not None else {}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self._state = state_dict


def _silent(*args: Any, **kwargs: Any) -> None:
    pass


def _drop(optimizer: Any) -> None:
    """A parameter without gradient is not updated: so the Trainer's own step does nothing."""
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            parameter.grad = None
