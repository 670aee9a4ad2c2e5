"""The guard of a program that knows nothing of it: attached to all of its optimizers by torch's global step hooks.

`aplomb run --guard -- python train.py` brings it there (aplomb/inject); APLOMB_ATTACH says what is wanted: `record` or
`guard`, a colon, and the folder for the record.

A hook sees the gradients of one optimizer and can change them before the step, and nothing else: not the loss, not the
model. So of the guard's policies two act here: steps with a NaN or Inf are left out (`nonfinite`), and so are those whose
gradient norm leaps, or they are clipped to the usual norm (`spike`). Clipping, lowered rates, rollback and the autopsy
need aplomb.Guard or a callback. Where ranks train together nothing is changed at all, for a rank cannot ask the others
from here whether they step too.
"""

from __future__ import annotations

import functools
import inspect
import os
import sys
import time
import weakref
from collections.abc import Callable
from typing import Any

from aplomb import _core
from aplomb.gradients import Gradients
from aplomb.guard import is_guarded
from aplomb.stepping import whole

VARIABLE = "APLOMB_ATTACH"
MOST_RECORDS = 8  # files of 8 MiB; programs with an optimizer a parameter have hundreds
# Whose optimizers leave a parameter without gradient as it is; of others nobody knows.
TOLERANT = ("torch.optim.", "bitsandbytes.", "transformers.", "torchao.")

_attached: Attached | None = None


def imported(name: str, module: Any) -> None:
    """torch's module of that name has just been run. Never raises."""
    global _attached
    try:
        mode, _, folder = os.environ.get(VARIABLE, "").partition(":")
        if mode not in ("record", "guard") or not folder:
            return
        if _attached is None:
            _attached = Attached(folder, mode == "guard")
        if name == "torch.optim.optimizer":
            module.register_optimizer_step_pre_hook(_attached.before)
            module.register_optimizer_step_post_hook(_attached.after)
        else:
            module.clip_grad_norm_ = _attached.watched(module.clip_grad_norm_)
    except Exception as error:
        say(f"cannot attach to this program ({type(error).__name__}: {error})")


def say(text: str) -> None:
    print(f"aplomb: {text}", file=sys.stderr, flush=True)


class Steps:
    """One optimizer's steps: judged, changed where that is wanted, recorded."""

    def __init__(self, optimizer: Any, path: str | None, rank: int, acts: bool) -> None:
        options = _core.GuardOptions()
        options.skip_nonfinite = options.spikes = acts
        options.lower_lr = options.reset_momentum = options.loss_has_level = False
        options.rollback_retries = options.most_skips_in_a_row = 0  # they halt the run
        self._core = _core.GuardCore(options)
        self._optimizer = weakref.ref(optimizer)
        self._recorder = None if path is None else _core.Recorder.open(path, rank)
        self._names = {name: self._recorder.name(name) for name in ("grad_norm", "lr")} if self._recorder else {}
        self._begin = time.monotonic()
        self._step = 0
        self._dropped: list[tuple[Any, Any]] = []
        self.depth = 0  # a step within a step is the same one: a subclass that calls its parent's

    def judge(self, norm_before: float | None) -> None:
        optimizer = self._optimizer()
        if optimizer is None:
            return
        gradients = Gradients([optimizer], 1)
        measured = gradients.measure()
        shrunk, groups = whole([(a + c, b + d) for (a, b), (c, d) in zip(measured.whole, measured.shares)], norm_before)
        rate = optimizer.param_groups[0].get("lr")
        rate = None if rate is None else float(rate)
        verdict = self._core.step(self._step, None, rate, 1.0, True, groups)
        if verdict.action == "clip":
            gradients.scale(min(1.0, verdict.scale * shrunk), [])
        elif not verdict.takes_step:
            self._drop(optimizer)
        in_parts = any(squares for _, squares in measured.shares)
        self._record({"grad_norm": None if in_parts else verdict.grad_norm, "lr": rate}, verdict)
        if verdict.reason:
            say(f"step {self._step}: {verdict.action}: {verdict.reason}")

    def _record(self, known: dict[str, float | None], verdict: Any) -> None:
        if self._recorder is not None:
            values = [(self._names[name], value) for name, value in known.items() if value is not None]
            self._recorder.record(self._step, time.monotonic() - self._begin, values, verdict)

    def after(self) -> None:
        """Behind the step: the program finds its gradients again."""
        self._step += 1
        for parameter, gradient in self._dropped:
            if parameter.grad is None:
                parameter.grad = gradient
        self._dropped = []

    def _drop(self, optimizer: Any) -> None:
        """A parameter without gradient is left as it is, its state too."""
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    self._dropped.append((parameter, parameter.grad))
                    parameter.grad = None


class Attached:
    def __init__(self, folder: str, acts: bool) -> None:
        self._folder = folder
        self._acts = acts
        self._steps: weakref.WeakKeyDictionary[Any, Steps] = weakref.WeakKeyDictionary()
        self._norm: Any = None
        self._files = 0
        self._gone = False

    def before(self, optimizer: Any, args: Any, kwargs: Any) -> Any:
        """torch's hook in front of a step."""
        try:
            return None if self._gone or is_guarded(optimizer) else self._before(optimizer, args, kwargs)
        except Exception as error:
            self._leave(error)
            return None

    def after(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        try:
            steps = self._steps.get(optimizer)
            if steps is not None:
                steps.depth -= 1
                if steps.depth == 0:
                    steps.after()
        except Exception as error:
            self._leave(error)

    def watched(self, clip: Callable[..., Any]) -> Callable[..., Any]:
        """torch.nn.utils.clip_grad_norm_, which also leaves here the norm that it found."""

        @functools.wraps(clip)
        def clip_grad_norm_(parameters: Any, max_norm: float, norm_type: float = 2.0, *others: Any, **named: Any) -> Any:
            norm = clip(parameters, max_norm, norm_type, *others, **named)
            self._norm = norm if norm_type == 2 else None
            return norm

        return clip_grad_norm_

    def _before(self, optimizer: Any, args: Any, kwargs: Any) -> Any:
        steps = self._steps.get(optimizer)
        if steps is None:
            steps = self._steps[optimizer] = self._meet(optimizer)
        steps.depth += 1
        if steps.depth > 1 or type(optimizer).__name__ == "LBFGS":  # which calls its closure many times a step
            return None
        closure = kwargs.get("closure") or next((each for each in args[1:] if callable(each)), None)
        if closure is None:
            self._judge(steps)
            return None

        @functools.wraps(closure)
        def judged() -> Any:
            value = closure()
            try:
                self._judge(steps)
            except Exception as error:
                self._leave(error)
            return value

        changed = tuple(judged if each is closure else each for each in args)
        return changed, {key: judged if value is closure else value for key, value in kwargs.items()}

    def _judge(self, steps: Steps) -> None:
        norm, self._norm = self._norm, None
        if not self._gone:
            steps.judge(None if norm is None else float(norm))

    def _meet(self, optimizer: Any) -> Steps:
        import torch

        together = torch.distributed.is_available() and torch.distributed.is_initialized()
        together = together and torch.distributed.get_world_size() > 1
        tolerant = inspect.unwrap(type(optimizer).step).__module__.startswith(TOLERANT)
        if self._acts and self._files == 0 and together:
            say("several ranks train together: steps are recorded, none is changed (that takes aplomb.Guard)")
        if self._acts and not tolerant:
            say(f"{type(optimizer).__name__} is not known to bear a step without gradients: its steps are only recorded")
        rank = os.environ.get("RANK", "")
        number = int(rank) if rank.isdigit() else -1
        return Steps(optimizer, self._next_path(rank), number, self._acts and tolerant and not together)

    def _next_path(self, rank: str) -> str | None:
        if self._files >= MOST_RECORDS:
            return None
        name = f"steps-rank{rank}" if rank else "steps"
        if self._files > 0 or os.path.exists(f"{self._folder}/{name}.aplomb"):
            name += f"-{os.getpid()}-{self._files}"
        self._files += 1
        return f"{self._folder}/{name}.aplomb"

    def _leave(self, error: Exception) -> None:
        if not self._gone:
            self._gone = True
            say(f"the guard failed ({type(error).__name__}: {error}) and steps aside: the program goes on without it")
