"""What stands around a step that was judged: verdicts of the guard's own, the norm before somebody else's clip, lowered
rates, momentum that is reset, counts for W&B."""

from __future__ import annotations

import math
from typing import Any

from aplomb.gradients import Group


class OwnVerdict:
    """A verdict about what the core does not see, with the fields of _core.Verdict."""

    scale = 1.0
    group_scales: tuple[float, ...] = ()
    grad_norm = float("nan")
    lr_factor = 1.0
    reset_momentum = False
    aside = False
    rollback_step = -1
    skip_steps = 0

    def __init__(self, policy: str, reason: str, action: str = "skip", takes_step: bool = False) -> None:
        self.policy = policy
        self.reason = reason
        self.action = action
        self.takes_step = takes_step


STALE = (
    "the gradients of the step before were still there and this step's were added to them: zero_grad() was not called; "
    "the guard clears them after every step from now on"
)


def reset_momentum(optimizers: list[Any]) -> None:
    for each in optimizers:
        for state in each.state.values():
            for name in ("exp_avg", "momentum_buffer"):
                if state.get(name) is not None:
                    state[name].zero_()


def whole(groups: list[Group], norm_before: float | None) -> tuple[float, list[Group]]:
    """The statistics as they were before somebody clipped them from the norm `norm_before`, and by how much."""
    norm = math.sqrt(sum(squares for _, squares in groups))
    if norm_before is None or not math.isfinite(norm_before) or not norm > 0 or norm_before <= norm * (1 + 1e-3):
        return 1.0, groups
    ratio = norm_before / norm
    return ratio, [(nonfinite, squares * ratio * ratio) for nonfinite, squares in groups]


def tell_loggers(counts: dict[str, int], step: int, writer: Any) -> None:
    """Counts beside the next numbers of what is open in this process (aplomb.trackers), and to the loop's SummaryWriter."""
    from aplomb.trackers import tell_numbers

    tell_numbers({f"guard/{name}": number for name, number in counts.items() if name != "steps"}, step, writer)


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
