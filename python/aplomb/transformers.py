"""GuardCallback: the guard in a Hugging Face Trainer (and so in TRL's trainers and with PEFT).

    trainer = Trainer(..., callbacks=[aplomb.transformers.GuardCallback()])

The Trainer clips at its own max_grad_norm before it calls back, so the guard sees clipped norms and
judges by the loss and by what is not finite; set max_grad_norm=0 and GuardCallback(max_norm=1.0) to
let it see them whole. Needs transformers 4.46 or later (on_pre_optimizer_step).
"""

from __future__ import annotations

from typing import Any

from transformers import TrainerCallback

from aplomb.guard import Guard, Halt, LoweredRates

__all__ = ["GuardCallback"]


class GuardCallback(TrainerCallback):
    """Takes the options of aplomb.Guard (but model, optimizer and scaler)."""

    def __init__(self, **options: Any) -> None:
        self._options = options
        self._losses: list[float] = []
        self._hook: Any = None
        self._rates: Any = None
        self.guard: Guard | None = None

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._hook = kwargs["model"].register_forward_hook(self._note_loss)

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if self._hook is not None:
            self._hook.remove()

    def _note_loss(self, module: Any, inputs: Any, output: Any) -> None:
        loss = output.get("loss") if hasattr(output, "get") else getattr(output, "loss", None)
        if module.training and loss is not None:
            self._losses.append(loss.detach())

    def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        optimizer = kwargs["optimizer"]
        optimizer = getattr(optimizer, "optimizer", optimizer)  # accelerate's wrapper
        if self.guard is None:
            self.guard = Guard(kwargs["model"], optimizer, **self._options)
        losses, self._losses = self._losses, []
        loss = sum(float(each) for each in losses) / len(losses) if losses else None
        try:
            verdict = self.guard.judge(loss)
        except Halt:
            control.should_training_stop = True
            verdict = None
            _drop_gradients(optimizer)
        if verdict is None:
            return
        if not verdict.takes_step:
            _drop_gradients(optimizer)  # a parameter without gradient is not updated
        self._rates = LoweredRates([optimizer], verdict.lr_factor)
        self._rates.__enter__()

    def on_optimizer_step(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if self._rates is not None:
            self._rates.__exit__()
            self._rates = None
        if self.guard is not None:
            self.guard.after_step()


def _drop_gradients(optimizer: Any) -> None:
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            parameter.grad = None
