"""GuardCallback: the guard in a Hugging Face Trainer (and so in TRL's trainers and with PEFT).

    trainer = Trainer(..., callbacks=[aplomb.transformers.GuardCallback()])

The Trainer's own max_grad_norm stays in force; the guard is told the norm from before it. Verdicts go to the Trainer's
log (and so to W&B, TensorBoard and the others that it reports to) as `guard/...`. What the guard has learned goes into the
Trainer's checkpoints and comes back with them. Needs transformers 4.46 or later (on_pre_optimizer_step).
"""

from __future__ import annotations

import warnings
from typing import Any

from transformers import TrainerCallback
from transformers.trainer_callback import ExportableState

from aplomb.clip_watch import ClipWatch
from aplomb.guard import Guard, Halt
from aplomb.stepping import LoweredRates
from aplomb.trainer_watch import TrainerWatch

__all__ = ["GuardCallback"]


class GuardCallback(TrainerCallback, ExportableState):
    """Takes the options of aplomb.Guard (but model, optimizer and scaler)."""

    def __init__(self, **options: Any) -> None:
        self._options = options
        self._rates: Any = None
        self._acted = False
        self._clipping = ClipWatch()
        self._watch = TrainerWatch(self, self._note_inputs)
        self.guard: Guard | None = None
        self.learned: dict[str, Any] = {}  # by the guard of the run that is continued

    def state(self) -> dict[str, Any]:
        """For trainer_state.json; the Trainer makes a new callback of it where it is told to restore callbacks."""
        plain = {key: value for key, value in self._options.items() if isinstance(value, (bool, int, float, str))}
        return {"args": plain, "attributes": {"learned": self.guard.state_dict() if self.guard is not None else {}}}

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._watch.start()
        self._clipping.start()

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._watch.stop()
        self._clipping.stop()
        if self.guard is not None:
            self.guard.detach()

    def on_step_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if self.guard is None and kwargs.get("optimizer") is not None:
            # With several ranks a trainer's compute_loss may meet the others, which replay less or more often: there
            # the autopsy runs the model alone.
            loss_of = None if args.world_size > 1 else self._watch.loss_again
            self.guard = Guard(kwargs["model"], inner(kwargs["optimizer"]), loss_of=loss_of, **self._options)
            self._learn(state)

    def _learn(self, state: Any) -> None:
        """What the checkpoint says that is resumed from; trainer_state.json is read with it."""
        stored = getattr(state, "stateful_callbacks", None) or {}
        stored = stored.get(type(self).__name__, {}) if state.global_step > 0 else {}
        learned = self.learned or (stored.get("attributes", {}).get("learned") if isinstance(stored, dict) else None)
        if not learned or self.guard is None:
            return
        try:
            self.guard.load_state_dict(learned)
        except (ValueError, KeyError) as error:
            warnings.warn(f"aplomb: the checkpoint's guard is not continued: {error}", stacklevel=2)

    def _note_inputs(self, inputs: dict[str, Any], **named: Any) -> None:
        if self.guard is not None:
            self.guard.saw(inputs, **named)

    def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if self.guard is None:
            return
        optimizer = inner(kwargs["optimizer"])
        try:
            verdict = self.guard.judge(self._watch.take_loss(), self._clipping.take())
        except Halt:
            control.should_training_stop = True
            verdict = None
            drop_gradients(optimizer)
        if verdict is None:
            return
        if not verdict.takes_step:
            drop_gradients(optimizer)
            self._acted = True
        self._rates = LoweredRates([optimizer], verdict.lr_factor)
        self._rates.__enter__()

    def on_optimizer_step(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if self._rates is not None:
            self._rates.__exit__()
            self._rates = None
        if self.guard is not None:
            self.guard.after_step()

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Counts to the Trainer's logs after a step on which the guard acted; a healthy run's logs stay as they are."""
        if self.guard is None or not self._acted:
            return
        self._acted = False
        counts = self.guard.counts
        self._watch.log({f"guard/{name}": counts[name] for name in ("skipped", "clipped", "rollbacks")})


def inner(optimizer: Any) -> Any:
    """Without accelerate's wrapper."""
    return getattr(optimizer, "optimizer", optimizer)


def drop_gradients(optimizer: Any) -> None:
    """A parameter without gradient is not updated: so a trainer's own optimizer.step() does nothing."""
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            parameter.grad = None
