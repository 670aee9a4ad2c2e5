"""What a Hugging Face Trainer does not tell its callbacks: the loss of each micro-batch, and how it is made.

While a watch is on, Trainer.training_step tells it the loss that it returns (the micro-batches of a step add up to the
step's loss, however they were scaled), and the trainer's compute_loss tells it the inputs. Both do and return what they
always do.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from typing import Any

import torch
from transformers import Trainer

from aplomb.replay import is_replay

# What compute_loss of TRL's trainers counts up, beside plain numbers; a replay must not count twice.
COUNTED = ("_metrics", "_logs", "_textual_logs")


class TrainerWatch:
    _watches: list[TrainerWatch] = []
    _original: Any = None

    def __init__(self, callback: Any, note_inputs: Callable[..., None]) -> None:
        self._callback = callback
        self._note_inputs = note_inputs
        self._trainer: Any = None
        self._compute_loss: Any = None
        self._losses: list[Any] = []

    def start(self) -> None:
        if not TrainerWatch._watches:
            TrainerWatch._original = Trainer.training_step
            Trainer.training_step = _watched(TrainerWatch._original)  # type: ignore[method-assign]
        TrainerWatch._watches.append(self)

    def stop(self) -> None:
        if self not in TrainerWatch._watches:
            return
        TrainerWatch._watches.remove(self)
        if not TrainerWatch._watches:
            Trainer.training_step = TrainerWatch._original  # type: ignore[method-assign]
        if self._trainer is not None:
            del self._trainer.compute_loss  # the class's own again
            self._trainer = None

    def take_loss(self) -> float | None:
        """The loss of the step, once."""
        losses, self._losses = self._losses, []
        return sum(float(each) for each in losses) if losses else None

    def loss_again(self, inputs: dict[str, Any], **named: Any) -> Any:
        """The loss of a micro-batch once more, for an autopsy."""
        trainer = self._trainer
        counted = {
            name: copy.deepcopy(value)
            for name, value in vars(trainer).items()
            if name in COUNTED or (isinstance(value, (int, float)) and not isinstance(value, bool))
        }
        try:
            return self._compute_loss(trainer.accelerator.unwrap_model(trainer.model), dict(inputs), **named)
        finally:
            vars(trainer).update(counted)

    def log(self, numbers: dict[str, float]) -> None:
        """To everything that the Trainer reports to. By the base class: those of TRL empty their averages."""
        if self._trainer is not None:
            Trainer.log(self._trainer, numbers)

    def meet(self, trainer: Any) -> None:
        if self._trainer is not None or self._callback not in trainer.callback_handler.callbacks:
            return
        self._trainer = trainer
        self._compute_loss = trainer.compute_loss

        @functools.wraps(self._compute_loss)
        def compute_loss(model: Any, inputs: Any, *others: Any, **named: Any) -> Any:
            if not is_replay() and model.training and isinstance(inputs, dict) and not others:
                kept = {name: value for name, value in named.items() if name != "return_outputs"}
                self._note_inputs(dict(inputs), **kept)
            return self._compute_loss(model, inputs, *others, **named)

        trainer.compute_loss = compute_loss

    def note_loss(self, trainer: Any, loss: Any) -> None:
        if trainer is self._trainer and isinstance(loss, torch.Tensor):
            self._losses.append(loss.detach())


def _watched(training_step: Any) -> Any:
    @functools.wraps(training_step)
    def step(self: Any, *args: Any, **named: Any) -> Any:
        for each in TrainerWatch._watches:
            each.meet(self)
        loss = training_step(self, *args, **named)
        for each in TrainerWatch._watches:
            each.note_loss(self, loss)
        return loss

    return step
