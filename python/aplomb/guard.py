"""Guard: stands in a PyTorch training loop in place of clip_grad_norm_ and optimizer.step()."""

from __future__ import annotations

import base64
import time
import warnings
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from aplomb import _core
from aplomb.gradients import Gradients, reduced
from aplomb.snapshots import Snapshots
from aplomb.stale_gradients import StaleGradients
from aplomb.stepping import STALE, LoweredRates, OwnVerdict, reset_momentum, tell_loggers, whole

if TYPE_CHECKING:
    from collections.abc import Iterable

    import torch

__all__ = ["Guard", "Halt"]


_guarded: weakref.WeakSet[Any] = weakref.WeakSet()


def is_guarded(optimizer: Any) -> bool:
    """Whether some Guard of this process judges its steps."""
    return optimizer in _guarded


class Halt(RuntimeError):
    """The guard has nothing left that could help; its text says why."""


class Guard:
    """Judges every optimizer step before it is taken.

    model:      its parameters and buffers go into snapshots; may be None without `snapshot_every`.
    optimizer:  one optimizer or several, which are judged together and stepped one after the other.
    max_norm:   clip the global gradient norm, as torch.nn.utils.clip_grad_norm_; 0: do not.
    max_group_norm: likewise each parameter group by itself.
    max_module_norm: likewise each module by itself (the one that the parameters are members of); in place of it.
    scaler:     the torch.amp.GradScaler of the loop: the guard unscales, steps and updates with it.
    policy_loss: the loss has no level (GRPO, PPO): judge the gradients alone.
    snapshot_every: keep weights and optimizer state in host memory every so many steps (two copies)
                and go back to them when the weights are lost. 0: never.
    record:     file for the step record; `aplomb diagnose FILE` reads it.
    autopsy:    when a step is bad, run its batch once more and say which module, operation and sample did it; three
                times at most. True, False, or a folder to which the bad batches are saved as well.
    loss_of:    makes the loss of a batch given to saw(); without it the autopsy sees what the model itself was given
                and gives (a loss made outside the model, and its backward, are then not run again).
    layers:     add up the output of every block in every step, so that the first that is not finite is known even
                where the batch is finite when it is run again (a faulty device), or cannot be (FSDP).
    inspections: at steps 10, 20, 40, ... look for 16-bit weights that no update moves, parameters that no gradient has
                reached, logits that have grown and rows of zeros before FP8; each is told once.
    on_event:   called with the Verdict whenever the guard acts or says something; by default it warns.
    writer:     a SummaryWriter (TensorBoard) that the loop writes to: gets the counts after a step that was not taken.
                A W&B run that is open gets them by itself.

    Under torch.distributed every rank must call step(); one all_gather of a few numbers makes them decide alike.
    Gradients may be whole on each rank (DDP) or sharded (FSDP2, DTensors): each rank looks at what it holds.
    """

    def __init__(
        self,
        model: torch.nn.Module | None,
        optimizer: torch.optim.Optimizer | Iterable[torch.optim.Optimizer],
        *,
        max_norm: float = 0.0,
        max_group_norm: float = 0.0,
        max_module_norm: float = 0.0,
        scaler: Any = None,
        spikes: bool = True,
        lower_lr: bool = True,
        reset_momentum: bool = True,
        policy_loss: bool = False,
        snapshot_every: int = 0,
        rollback_retries: int = 3,
        most_skips_in_a_row: int = 20,
        record: str | None = None,
        autopsy: bool | str = True,
        layers: bool = True,
        inspections: bool = True,
        loss_of: Callable[..., Any] | None = None,
        on_event: Callable[[Any], None] | None = None,
        writer: Any = None,
        threads: int = 1,
    ) -> None:
        self._optimizers: list[Any] = [optimizer] if hasattr(optimizer, "param_groups") else list(optimizer)
        _guarded.update(self._optimizers)
        self._model = model
        self._scaler = scaler
        self._on_event = on_event
        self._writer = writer
        self._max_norm = max_norm
        if max_module_norm > 0 and (max_group_norm > 0 or model is None):
            raise ValueError("[aplomb] max_module_norm needs the model, and stands in place of max_group_norm")
        options = _core.GuardOptions()
        options.max_norm = max_norm
        options.max_group_norm = max_module_norm or max_group_norm
        options.spikes = spikes
        options.lower_lr = lower_lr
        options.reset_momentum = reset_momentum
        options.loss_has_level = not policy_loss
        options.rollback_retries = rollback_retries if snapshot_every > 0 else 0
        options.most_skips_in_a_row = most_skips_in_a_row
        self._core = _core.GuardCore(options)
        self._gradients = Gradients(self._optimizers, threads, model if max_module_norm > 0 else None)
        self._snapshot_every = snapshot_every
        self._snapshots = Snapshots(model, self._optimizers)
        self._stale = StaleGradients(self._optimizers)
        self._own_skips = 0
        self._loss: float | None = None
        self._regrown = 1.0  # by what others shrank the gradients before the guard saw them
        self._clears = False
        self._step = 0
        self._aside = False
        self._begin = time.monotonic()
        self._recorder = _core.Recorder.open(record, _rank()) if record else None
        self._names: dict[str, int] = {}
        self._examiner: Any = None
        self._inspections: Any = None
        if inspections:
            from aplomb.inspections import Inspections

            self._inspections = Inspections(model, self._optimizers)
        if autopsy and model is not None:
            from aplomb.examiner import Examiner

            self._examiner = Examiner(model, loss_of, autopsy if isinstance(autopsy, str) else None, layers)

    @property
    def counts(self) -> dict[str, int]:
        """Steps judged, clipped, skipped, rolled back."""
        counts = self._core.counts
        counts["steps"] += self._own_skips
        counts["skipped"] += self._own_skips
        return counts

    @property
    def findings(self) -> list[Any]:
        """What the autopsies of this run found: (step, aplomb.Finding)."""
        return self._examiner.findings if self._examiner is not None else []

    def saw(self, *batch: Any, **named: Any) -> None:
        """The (micro-)batch whose forward pass comes next, as `loss_of` takes it: for the autopsy."""
        if self._examiner is not None:
            self._examiner.saw(batch, named)

    def step(
        self, loss: torch.Tensor | float | None = None, closure: Callable[[], Any] | None = None
    ) -> _core.Verdict | OwnVerdict | None:
        """Judges the gradients and takes the step, or not. The caller zeroes the gradients, as ever.

        loss: of the whole (accumulated) batch, not multiplied by a loss scale. closure: as for
        optimizer.step(closure); it is called first, and its loss judged. Raises Halt.
        """
        if closure is not None:
            loss = _with_grad(closure)
        verdict = self.judge(loss)
        if verdict is None or verdict.takes_step:
            with LoweredRates(self._optimizers, 1.0 if verdict is None else verdict.lr_factor):
                for each in self._optimizers:
                    if self._scaler is not None:
                        self._scaler.step(each)
                    elif closure is not None and _needs_closure(each):
                        each.step(closure)
                    else:
                        each.step()
        if self._scaler is not None:
            self._scaler.update()
        if self._clears:
            for each in self._optimizers:
                each.zero_grad()
        self.after_step()
        if verdict is not None and not verdict.takes_step:
            tell_loggers(self.counts, self._step - 1, self._writer)
        return verdict

    def judge(
        self, loss: torch.Tensor | float | None = None, norm_before: float | None = None
    ) -> _core.Verdict | OwnVerdict | None:
        """Judges, and clips the gradients where the verdict says so; takes no step. For loops that
        are not the caller's own; call after_step() behind the step. None once the guard has failed.
        norm_before: the global norm that the gradients had before somebody else clipped them.
        """
        if not self._aside:
            try:
                verdict = self._judged(loss, norm_before)
                self._examine(verdict)
                self._apply(verdict)
            except Exception as error:  # never harm the run
                self._step_aside(error)
            else:
                self._tell(verdict)
                return verdict
        self._plain_clip()
        return None

    def after_step(self) -> None:
        """Counts the step, and keeps a snapshot where one is due."""
        self._step += 1
        if self._aside:
            return
        try:
            self._stale.after_step()
            if self._examiner is not None:
                self._examiner.after_step(self._step)
            self._inspect()
            if self._snapshot_every > 0 and self._step % self._snapshot_every == 0:
                self._snapshots.take(self._step - 1)
                self._core.note_snapshot(self._step - 1)
        except Exception as error:
            self._step_aside(error)

    def _inspect(self) -> None:
        """What is seen inside the model now and then; one that fails is left out from then on."""
        if self._inspections is None:
            return
        sizes = self._examiner.sizes_of(self._step) if self._examiner is not None else {}
        try:
            found = self._inspections.after_step(self._step, sizes)
        except Exception as error:
            self._inspections = None
            warnings.warn(f"aplomb: no more inspections ({type(error).__name__}: {error})", stacklevel=4)
            return
        for kind, text in found:
            if self._recorder is not None:
                self._recorder.note(self._step - 1, time.monotonic() - self._begin, f"inspection.{kind}", text)
            if self._on_event is None:
                warnings.warn(f"aplomb: step {self._step - 1}: {text}", stacklevel=4)
            else:
                self._on_event(OwnVerdict(f"inspection.{kind}", text, "proceed", True))

    def detach(self) -> None:
        """Takes the guard's hooks from the model; the training is over."""
        if self._inspections is not None:
            self._inspections.detach()
        if self._examiner is not None:
            self._examiner.detach()

    def state_dict(self) -> dict[str, Any]:
        """What the guard has learned, without the snapshots' weights, for the checkpoint."""
        return {"step": self._step, "core": base64.b64encode(self._core.save()).decode()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        if not self._core.load(base64.b64decode(state["core"])):
            raise ValueError("[aplomb] this is no state of a guard with the same policies")
        self._step = int(state["step"])

    def _judged(self, loss: torch.Tensor | float | None, norm_before: float | None) -> _core.Verdict | OwnVerdict:
        if self._scaler is not None:
            for each in self._optimizers:
                self._scaler.unscale_(each)
        number = None if loss is None else float(loss.detach() if hasattr(loss, "detach") else loss)
        self._loss, groups, stale = reduced(number, self._gradients.measure(), self._stale.found)
        number = self._loss
        group = self._optimizers[0].param_groups[0]
        rate = float(group["lr"]) if "lr" in group else None
        if stale:
            self._own_skips += 1
            self._clears = True
            verdict: _core.Verdict | OwnVerdict = OwnVerdict("stale_gradients", STALE)
        else:
            scale = self._scaler.get_scale() if self._scaler is not None else 1.0
            self._regrown, groups = whole(groups, norm_before)
            verdict = self._core.step(self._step, number, rate, scale, True, groups)
        if self._recorder is not None:
            self._record(number, rate, verdict)
        return verdict

    def _examine(self, verdict: _core.Verdict | OwnVerdict) -> None:
        """The autopsy of a bad step; one that fails costs its finding and nothing else."""
        if self._examiner is not None and verdict.action == "proceed":
            self._examiner.note_loss(self._loss)
        if self._examiner is None or verdict.takes_step or verdict.policy in ("loss_scale", "stale_gradients"):
            return
        scale = self._scaler.get_scale() if self._scaler is not None else 1.0
        finding = self._examiner.examine(self._step, verdict.policy, scale, self._regrown)
        if finding is None:
            return
        if self._recorder is not None:
            phase = "half" if finding.fp32_cures and finding.phase != "input" else finding.phase
            self._recorder.note(self._step, time.monotonic() - self._begin, f"autopsy.{phase}", str(finding))
        if self._on_event is None:
            warnings.warn(f"aplomb: step {self._step}: autopsy: {finding}", stacklevel=5)

    def _apply(self, verdict: _core.Verdict | OwnVerdict) -> None:
        if verdict.action == "clip":
            factor = verdict.scale * self._regrown
            self._gradients.scale(min(factor, 1.0) if self._regrown > 1.0 else factor, verdict.group_scales)
        if verdict.reset_momentum:
            reset_momentum(self._optimizers)
        if verdict.action == "rollback":
            self._snapshots.restore(verdict.rollback_step)
            if self._inspections is not None:
                self._inspections.forget()

    def _tell(self, verdict: _core.Verdict | OwnVerdict) -> None:
        if verdict.aside:
            self._aside = True
        if verdict.reason:
            if self._on_event is not None:
                self._on_event(verdict)
            else:
                warnings.warn(f"aplomb: step {self._step}: {verdict.action}: {verdict.reason}", stacklevel=4)
        if verdict.action == "halt":
            raise Halt(verdict.reason)

    def _step_aside(self, error: Exception) -> None:
        self._aside = True
        text = f"aplomb: the guard failed ({type(error).__name__}: {error}) and steps aside: training goes on without it"
        warnings.warn(text, stacklevel=4)

    def _plain_clip(self) -> None:
        """What the call that the guard stands for would do."""
        if self._max_norm <= 0:
            return
        import torch

        if self._scaler is not None:
            for each in self._optimizers:
                try:
                    self._scaler.unscale_(each)
                except RuntimeError:  # unscaled before the guard failed
                    break
        parameters = [p for each in self._optimizers for group in each.param_groups for p in group["params"]]
        torch.nn.utils.clip_grad_norm_(parameters, self._max_norm)

    def _record(self, loss: float | None, rate: float | None, verdict: _core.Verdict | OwnVerdict) -> None:
        assert self._recorder is not None
        values = []
        for name, value in (("loss", loss), ("grad_norm", verdict.grad_norm), ("lr", rate)):
            if value is None:
                continue
            if name not in self._names:
                self._names[name] = self._recorder.name(name)
            values.append((self._names[name], value))
        now = time.monotonic() - self._begin
        if isinstance(verdict, OwnVerdict):
            self._recorder.record(self._step, now, values)
            self._recorder.note(self._step, now, verdict.policy, verdict.reason, "skip")
        else:
            self._recorder.record(self._step, now, values, verdict)


def _rank() -> int:
    import torch

    if torch.distributed.is_available() and torch.distributed.is_initialized():
        return torch.distributed.get_rank()
    return -1


def _with_grad(closure: Callable[[], Any]) -> Any:
    import torch

    with torch.enable_grad():
        return closure()


def _needs_closure(optimizer: torch.optim.Optimizer) -> bool:
    import torch

    return isinstance(optimizer, torch.optim.LBFGS)
