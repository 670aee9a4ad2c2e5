"""The guard in a loop of JAX, with optax or with Flax's TrainState.

    guard = aplomb.jax.Guard(max_norm=1.0)
    for batch in data:
        loss, grads = loss_and_grads(params, batch)                      # jitted, as ever
        params, opt_state = guard.update(tx, params, opt_state, grads, loss)

    state = guard.apply_gradients(state, grads, loss)                    # flax.training.train_state.TrainState

The gradients are looked at in one jitted pass; of it two numbers come to the host each step, and with them the device is
waited for. A step that is skipped leaves parameters and optimizer state as they were. Under several processes give it
gradients that are the same everywhere (after the psum), so that all decide alike.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from aplomb.numbers_guard import NumbersGuard, group_of

__all__ = ["Guard"]


class Guard(NumbersGuard):
    """Takes the options of aplomb.numbers_guard.NumbersGuard: max_norm, spikes, lower_lr, record, on_event, ..."""

    def step(self, grads: Any, loss: Any = None, rate: Any = None) -> tuple[bool, float, float]:
        """Whether the step is to be taken, what the gradients are to be multiplied by, and what the rate. Raises Halt."""
        verdict = self.judge(loss, lambda: [group_of(*_measured(grads))], rate)
        if verdict is None:
            return True, 1.0, 1.0
        return verdict.takes_step, verdict.scale if verdict.action == "clip" else 1.0, verdict.lr_factor

    def update(
        self, tx: Any, params: Any, opt_state: Any, grads: Any, loss: Any = None, rate: Any = None
    ) -> tuple[Any, Any]:
        """(params, opt_state) after the step of the optax transformation `tx`, or as they were."""
        taken, scale, lr_factor = self.step(grads, loss, rate)
        if not taken:
            return params, opt_state
        updates, opt_state = tx.update(_times(grads, scale), opt_state, params)
        updates = _times(updates, lr_factor)
        return jax.tree.map(lambda p, u: None if u is None else (p + u).astype(p.dtype), params, updates), opt_state

    def apply_gradients(self, state: Any, grads: Any, loss: Any = None, rate: Any = None) -> Any:
        """state.apply_gradients(grads=grads), or the state as it was but for its step."""
        taken, scale, lr_factor = self.step(grads, loss, rate)
        if not taken:
            return state.replace(step=state.step + 1)
        after = state.apply_gradients(grads=_times(grads, scale))
        if lr_factor == 1.0:
            return after
        return after.replace(
            params=jax.tree.map(lambda old, new: old + (new - old) * lr_factor, state.params, after.params)
        )


def _times(tree: Any, factor: float) -> Any:
    return tree if factor == 1.0 else jax.tree.map(lambda each: each * jnp.asarray(factor, each.dtype), tree)


@jax.jit
def _measured(grads: Any) -> tuple[Any, Any]:
    leaves = [each for each in jax.tree.leaves(grads) if jnp.issubdtype(each.dtype, jnp.inexact)]
    nonfinite = sum((jnp.sum(~jnp.isfinite(each)) for each in leaves), start=jnp.asarray(0))
    # float32 sums: a norm above 1.8e19 is infinite, and then no step that should be taken.
    squares = sum(
        (jnp.sum(jnp.square(jnp.where(jnp.isfinite(each), jnp.abs(each), 0).astype(jnp.float32))) for each in leaves),
        start=jnp.asarray(0.0, jnp.float32),
    )
    return nonfinite, squares
