"""guard_steps: the guard on a torch optimizer whose step() is called by a loop that is not ours (torchtune's recipes,
Composer, any Trainer without callbacks)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from aplomb.guard import Guard, Halt
from aplomb.stepping import LoweredRates


def guard_steps(
    optimizer: Any,
    model: Any = None,
    *,
    loss: Callable[[], float | None] | None = None,
    on_halt: Callable[[Halt], None] | None = None,
    **options: Any,
) -> Guard:
    """Judges each optimizer.step() before it is taken. Where it is not to be taken the gradients are dropped, which leaves
    the loop's own step nothing to do. loss: gives the loss of the step. on_halt: in place of raising."""
    guard = Guard(model, optimizer, **options)
    waiting: list[LoweredRates] = []

    def before(each: Any, *_: Any) -> None:
        try:
            verdict = guard.judge(loss() if loss is not None else None)
        except Halt as halt:
            drop_gradients(each)
            if on_halt is None:
                raise
            on_halt(halt)
            return
        if verdict is None:
            return
        if not verdict.takes_step:
            drop_gradients(each)
        rates = LoweredRates([each], verdict.lr_factor)
        rates.__enter__()
        waiting.append(rates)

    def after(*_: Any) -> None:
        while waiting:
            waiting.pop().__exit__()
        guard.after_step()

    optimizer.register_step_pre_hook(before)
    optimizer.register_step_post_hook(after)
    return guard


def drop_gradients(optimizer: Any) -> None:
    """A parameter without gradient is not updated."""
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            parameter.grad = None
