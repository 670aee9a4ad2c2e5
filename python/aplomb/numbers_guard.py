"""NumbersGuard: the guard's judgement over numbers alone, for loops whose gradients are not torch's. It moves no weight: the
caller does what the verdict says. A guard that fails steps aside and says so once."""

from __future__ import annotations

import base64
import math
import time
import warnings
from collections.abc import Callable
from typing import Any

from aplomb import _core


class NumbersGuard:
    """Options as those of aplomb.Guard. There are no snapshots, and so no rollbacks."""

    def __init__(
        self,
        *,
        max_norm: float = 0.0,
        spikes: bool = True,
        lower_lr: bool = True,
        policy_loss: bool = False,
        most_skips_in_a_row: int = 20,
        record: str | None = None,
        on_event: Callable[[Any], None] | None = None,
    ) -> None:
        options = _core.GuardOptions()
        options.max_norm = max_norm
        options.spikes = spikes
        options.lower_lr = lower_lr
        options.reset_momentum = False
        options.loss_has_level = not policy_loss
        options.rollback_retries = 0
        options.most_skips_in_a_row = most_skips_in_a_row
        self._core = _core.GuardCore(options)
        self._on_event = on_event
        self._recorder = _core.Recorder.open(record, -1) if record else None
        self._names: dict[str, int] = {}
        self._begin = time.monotonic()
        self._step = 0
        self._aside = False

    @property
    def counts(self) -> dict[str, int]:
        """Steps judged, clipped, skipped."""
        return self._core.counts

    def judge(self, loss: Any, groups: Callable[[], list[tuple[int, float]]], rate: Any = None) -> _core.Verdict | None:
        """The verdict on this step; None once the guard has failed. groups: gives for each group of gradients the count
        of non-finite elements and the sum of squares over the others. Raises aplomb.Halt."""
        from aplomb.guard import Halt

        if self._aside:
            return None
        try:
            number, lr = _number(loss), _number(rate)
            verdict = self._core.step(self._step, number, lr, 1.0, True, groups())
            self._record(number, lr, verdict)
        except Exception as error:  # never harm the run
            self._aside = True
            warnings.warn(
                f"aplomb: the guard failed ({type(error).__name__}: {error}) and steps aside: training goes on without it",
                stacklevel=3,
            )
            return None
        self._aside = verdict.aside
        if verdict.reason and self._on_event is not None:
            self._on_event(verdict)
        elif verdict.reason:
            warnings.warn(f"aplomb: step {self._step}: {verdict.action}: {verdict.reason}", stacklevel=3)
        self._step += 1
        if verdict.action == "halt":
            raise Halt(verdict.reason)
        return verdict

    def state_dict(self) -> dict[str, Any]:
        return {"step": self._step, "core": base64.b64encode(self._core.save()).decode()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        if not self._core.load(base64.b64decode(state["core"])):
            raise ValueError("[aplomb] this is no state of a guard with the same policies")
        self._step = int(state["step"])

    def _record(self, loss: float | None, rate: float | None, verdict: _core.Verdict) -> None:
        if self._recorder is None:
            return
        values = []
        for name, value in (("loss", loss), ("grad_norm", verdict.grad_norm), ("lr", rate)):
            if value is None:
                continue
            if name not in self._names:
                self._names[name] = self._recorder.name(name)
            values.append((self._names[name], value))
        self._recorder.record(self._step, time.monotonic() - self._begin, values, verdict)


def _number(value: Any) -> float | None:
    return None if value is None else float(value)


def group_of(nonfinite: Any, squares: Any) -> tuple[int, float]:
    """As the core takes it: an overflow of the sum itself counts as an element that is not finite."""
    count, total = int(nonfinite), float(squares)
    return (count, total) if math.isfinite(total) else (max(count, 1), 0.0)
