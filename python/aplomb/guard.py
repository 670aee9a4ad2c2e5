"""Guard: stands in a PyTorch training loop in place of clip_grad_norm_ and optimizer.step()."""

from __future__ import annotations

import base64
import time
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from aplomb import _core
from aplomb.gradients import Gradients, reduced

if TYPE_CHECKING:
    from collections.abc import Iterable

    import torch

__all__ = ["Guard", "Halt"]


class Halt(RuntimeError):
    """The guard has nothing left that could help; its text says why."""


class Guard:
    """Judges every optimizer step before it is taken.

    model:      its parameters and buffers go into snapshots; may be None without `snapshot_every`.
    optimizer:  one optimizer or several, which are judged together and stepped one after the other.
    max_norm:   clip the global gradient norm, as torch.nn.utils.clip_grad_norm_; 0: do not.
    max_group_norm: likewise each parameter group by itself.
    scaler:     the torch.amp.GradScaler of the loop: the guard unscales, steps and updates with it.
    policy_loss: the loss has no level (GRPO, PPO): judge the gradients alone.
    snapshot_every: keep weights and optimizer state in host memory every so many steps (two copies)
                and go back to them when the weights are lost. 0: never.
    record:     file for the step record; `aplomb diagnose FILE` reads it.
    on_event:   called with the Verdict whenever the guard acts or says something; by default it warns.

    Under torch.distributed every rank must call step(); one all_gather of a few numbers makes them
    decide alike. Gradients must be whole on each rank (DDP; sharded ones are not supported, and make
    the guard step aside).
    """

    def __init__(
        self,
        model: torch.nn.Module | None,
        optimizer: torch.optim.Optimizer | Iterable[torch.optim.Optimizer],
        *,
        max_norm: float = 0.0,
        max_group_norm: float = 0.0,
        scaler: Any = None,
        spikes: bool = True,
        lower_lr: bool = True,
        reset_momentum: bool = True,
        policy_loss: bool = False,
        snapshot_every: int = 0,
        rollback_retries: int = 3,
        most_skips_in_a_row: int = 20,
        record: str | None = None,
        on_event: Callable[[_core.Verdict], None] | None = None,
        threads: int = 1,
    ) -> None:
        self._optimizers = [optimizer] if hasattr(optimizer, "param_groups") else list(optimizer)  # type: ignore[arg-type]
        self._model = model
        self._scaler = scaler
        self._on_event = on_event
        self._max_norm = max_norm
        options = _core.GuardOptions()
        options.max_norm = max_norm
        options.max_group_norm = max_group_norm
        options.spikes = spikes
        options.lower_lr = lower_lr
        options.reset_momentum = reset_momentum
        options.loss_has_level = not policy_loss
        options.rollback_retries = rollback_retries if snapshot_every > 0 else 0
        options.most_skips_in_a_row = most_skips_in_a_row
        self._core = _core.GuardCore(options)
        self._gradients = Gradients(self._optimizers, threads)
        self._snapshot_every = snapshot_every
        self._snapshots: list[tuple[int, Any]] = []
        self._step = 0
        self._aside = False
        self._begin = time.monotonic()
        self._recorder = _core.Recorder.open(record, _rank()) if record else None
        self._names: dict[str, int] = {}

    @property
    def counts(self) -> dict[str, int]:
        """Steps judged, clipped, skipped, rolled back."""
        return self._core.counts

    def step(
        self, loss: torch.Tensor | float | None = None, closure: Callable[[], Any] | None = None
    ) -> _core.Verdict | None:
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
        self.after_step()
        return verdict

    def judge(self, loss: torch.Tensor | float | None = None) -> _core.Verdict | None:
        """Judges, and clips the gradients where the verdict says so; takes no step. For loops that
        are not the caller's own; call after_step() behind the step. None once the guard has failed.
        """
        if not self._aside:
            try:
                verdict = self._judged(loss)
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
        if self._aside or self._snapshot_every <= 0 or self._step % self._snapshot_every != 0:
            return
        try:
            self._snapshots = [*self._snapshots[-1:], (self._step - 1, self._copy())]
            self._core.note_snapshot(self._step - 1)
        except Exception as error:
            self._step_aside(error)

    def state_dict(self) -> dict[str, Any]:
        """What the guard has learned, without the snapshots' weights, for the checkpoint."""
        return {"step": self._step, "core": base64.b64encode(self._core.save()).decode()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        if not self._core.load(base64.b64decode(state["core"])):
            raise ValueError("[aplomb] this is no state of a guard with the same policies")
        self._step = int(state["step"])

    def _judged(self, loss: torch.Tensor | float | None) -> _core.Verdict:
        if self._scaler is not None:
            for each in self._optimizers:
                self._scaler.unscale_(each)
        number = None if loss is None else float(loss.detach() if hasattr(loss, "detach") else loss)
        number, groups = reduced(number, self._gradients.measure())
        group = self._optimizers[0].param_groups[0]
        rate = float(group["lr"]) if "lr" in group else None
        scale = self._scaler.get_scale() if self._scaler is not None else 1.0
        verdict = self._core.step(self._step, number, rate, scale, True, groups)
        if self._recorder is not None:
            self._record(number, rate, verdict)
        return verdict

    def _apply(self, verdict: _core.Verdict) -> None:
        if verdict.action == "clip":
            self._gradients.scale(verdict.scale, verdict.group_scales)
        if verdict.reset_momentum:
            _reset_momentum(self._optimizers)
        if verdict.action == "rollback":
            self._restore(verdict.rollback_step)

    def _tell(self, verdict: _core.Verdict) -> None:
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

    def _record(self, loss: float | None, rate: float | None, verdict: _core.Verdict) -> None:
        assert self._recorder is not None
        values = []
        for name, value in (("loss", loss), ("grad_norm", verdict.grad_norm), ("lr", rate)):
            if value is None:
                continue
            if name not in self._names:
                self._names[name] = self._recorder.name(name)
            values.append((self._names[name], value))
        self._recorder.record(self._step, time.monotonic() - self._begin, values, verdict)

    def _copy(self) -> Any:
        import copy

        if self._model is None:
            raise ValueError("snapshot_every needs the model")
        weights = {name: tensor.detach().cpu().clone() for name, tensor in self._model.state_dict().items()}
        return weights, [copy.deepcopy(each.state_dict()) for each in self._optimizers]

    def _restore(self, step: int) -> None:
        import copy

        for kept_step, (weights, states) in self._snapshots:
            if kept_step != step:
                continue
            assert self._model is not None
            self._model.load_state_dict(weights)
            for each, state in zip(self._optimizers, states):
                rates = [group["lr"] for group in each.param_groups if "lr" in group]
                each.load_state_dict(copy.deepcopy(state))
                for group, rate in zip(each.param_groups, rates):
                    group["lr"] = rate  # the schedule goes on
            return
        raise ValueError(f"no snapshot of step {step}")


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


def _reset_momentum(optimizers: list[Any]) -> None:
    for each in optimizers:
        for state in each.state.values():
            for name in ("exp_avg", "momentum_buffer"):
                if state.get(name) is not None:
                    state[name].zero_()


class LoweredRates:
    """The learning rates times a factor, for one step; untouched where the factor is 1."""

    def __init__(self, optimizers: list[Any], factor: float) -> None:
        self._groups = [g for each in optimizers for g in each.param_groups if "lr" in g] if factor != 1.0 else []
        self._factor = factor
        self._rates: list[Any] = []

    def __enter__(self) -> None:
        self._rates = [group["lr"] for group in self._groups]
        for group in self._groups:
            group["lr"] = group["lr"] * self._factor

    def __exit__(self, *_: object) -> None:
        for group, rate in zip(self._groups, self._rates):
            group["lr"] = rate
