"""Examiner: what of a run is kept for autopsies, and when one is made."""

from __future__ import annotations

import collections
import math
import os
import statistics
from collections.abc import Callable
from typing import Any

import torch

from aplomb.autopsies import Finding, examine, examine_spike, input_sizes, magnitudes_of
from aplomb.layer_watch import LayerWatch
from aplomb.replay import CallWatch

NOT_AGAIN = "its output was not finite in the step, and is when the batch is run again: the device, or a race"
MOST_AUTOPSIES = 3  # a run; the guard tells of every further bad step without one
# Steps after which the usual size of every module's output is taken: each costs one forward pass.
USUAL_AT = {10 << i for i in range(40)}
USUAL_AGE = 16  # steps; younger sizes may be those of the trouble itself (a rollback comes 8 steps after it)


class Examiner:
    def __init__(self, model: Any, loss_of: Callable[..., Any] | None, folder: str | None, layers: bool = True) -> None:
        self._model = _innermost(model)
        self._watched = _seen_from_outside(model)
        self._layers = LayerWatch(self._model) if layers and self._watched is self._model else None
        self._loss_of = loss_of
        self._folder = folder
        self._watch = CallWatch()
        self._attach()
        self._usual: list[tuple[int, dict[str, float]]] = []  # the last two
        self._losses: collections.deque[float] = collections.deque(maxlen=64)
        self._broken = _meets_others(self._model)
        self.findings: list[tuple[int, Finding]] = []

    @property
    def calls(self) -> list[Any]:
        """The forward passes since the last step."""
        return self._watch.calls

    def saw(self, batch: tuple[Any, ...], named: dict[str, Any]) -> None:
        if self._loss_of is not None:
            self._watch.note(self._loss_of, batch, named)

    def after_step(self, step: int) -> None:
        if step in USUAL_AT and self._watch.calls and not self._broken:
            try:
                self._usual = [*self._usual[-1:], (step, self._quietly(self._sizes))]
            except Exception:  # a model that cannot be run twice: no usual sizes then
                self._broken = True
        self._watch.clear()
        if self._layers is not None:
            self._layers.clear()

    def sizes_of(self, step: int) -> dict[str, float]:
        """Of module outputs and logits, where they were looked at behind this very step."""
        return self._usual[-1][1] if self._usual and self._usual[-1][0] == step else {}

    def note_loss(self, loss: float | None) -> None:
        """Of a step that was taken."""
        if loss is not None and math.isfinite(loss):
            self._losses.append(loss)

    def examine(self, step: int, policy: str, scale: float, shrunk: float) -> Finding | None:
        if len(self.findings) >= MOST_AUTOPSIES:
            return None
        finding = self._replayed(step, policy, scale, shrunk) if self._watch.calls and not self._broken else None
        if finding is None or finding.phase in ("none", "gradient"):
            first = self._layers.first_bad() if self._layers is not None else None
            if first is not None:
                why = NOT_AGAIN if finding is not None else "its output was not finite, and no block's before it"
                finding = Finding("forward", first, type(self._model.get_submodule(first)).__name__, why=why)
        if finding is not None:
            self.findings.append((step, finding))
        return finding

    def _replayed(self, step: int, policy: str, scale: float, shrunk: float) -> Finding:
        calls = list(self._watch.calls)
        try:
            finding: Finding = self._quietly(lambda: self._find(step, calls, policy, scale, shrunk))
            if self._folder is not None and finding.phase != "none":
                os.makedirs(self._folder, exist_ok=True)
                bad = calls[finding.call]
                torch.save(
                    {"args": bad.args, "kwargs": bad.kwargs, "finding": str(finding)},
                    f"{self._folder}/autopsy-step-{step}.pt",
                )
            return finding
        except Exception as error:
            return Finding("none", why=f"the batch could not be run again ({type(error).__name__}: {error})")

    def detach(self) -> None:
        self._watch.detach()
        if self._layers is not None:
            self._layers.remove()

    def _find(self, step: int, calls: list[Any], policy: str, scale: float, shrunk: float) -> Finding:
        finding = examine(self._model, calls, scale)
        if finding.phase == "none" and policy != "nonfinite":
            usual = next((sizes for taken, sizes in reversed(self._usual) if step - taken >= USUAL_AGE), {})
            usual_loss = statistics.median(self._losses) if self._losses else None
            finding = examine_spike(self._model, calls, usual, usual_loss, shrunk)
        return finding

    def _sizes(self) -> dict[str, float]:
        call = self._watch.calls[-1]
        return {**magnitudes_of(self._model, call), **input_sizes(call)}

    def _quietly(self, work: Callable[[], Any]) -> Any:
        """The calls of a replay are not those of the training."""
        calls = self._watch.calls
        self._watch.detach()
        try:
            return work()
        finally:
            self._watch.calls = calls
            self._attach()

    def _attach(self) -> None:
        if self._loss_of is None and self._watched is not None:
            self._watch.attach(self._watched, self._model)


def _innermost(model: Any) -> Any:
    """Without the wrappers of DDP (which would meet other ranks in a replay) and torch.compile."""
    while True:
        if isinstance(model, torch.nn.parallel.DistributedDataParallel):
            model = model.module
        elif hasattr(model, "_orig_mod"):
            model = model._orig_mod
        else:
            return model


def _seen_from_outside(model: Any) -> Any:
    """The module whose hooks run outside of compiled code, which they would break up; None where there is none."""
    while isinstance(model, torch.nn.parallel.DistributedDataParallel):
        model = model.module
    return None if getattr(model, "_compiled_call_impl", None) is not None else model


def _meets_others(model: Any) -> bool:
    """Whether a forward pass takes part in collectives: ranks replay less or more often and would wait for each other."""
    distributed = torch.distributed
    if not (distributed.is_available() and distributed.is_initialized()) or distributed.get_world_size() == 1:
        return False
    synced = any(isinstance(each, torch.nn.SyncBatchNorm) for each in model.modules())
    return synced or any(type(each) is not torch.nn.Parameter for each in model.parameters())
