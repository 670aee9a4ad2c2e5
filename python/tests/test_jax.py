"""The guard in loops of JAX: with optax, and with Flax's TrainState."""

import os

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import pytest

jax = pytest.importorskip("jax")
optax = pytest.importorskip("optax")

import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from aplomb import Halt  # noqa: E402
from aplomb.jax import Guard  # noqa: E402


def batches(bad=None):
    rng = np.random.default_rng(5)
    for step in range(60):
        x = rng.normal(size=(16, 8)).astype("float32")
        y = x[:, :1] - x[:, 1:2]
        if step == bad:
            x[3, 3] = np.nan
        yield jnp.asarray(x), jnp.asarray(y)


def initial():
    keys = jax.random.split(jax.random.PRNGKey(0), 2)
    return {"a": jax.random.normal(keys[0], (8, 16)) * 0.3, "b": jax.random.normal(keys[1], (16, 1)) * 0.3}


@jax.jit
def loss_and_grads(params, x, y):
    return jax.value_and_grad(lambda p: jnp.mean((jnp.tanh(x @ p["a"]) @ p["b"] - y) ** 2))(params)


def train(guard, bad=None, tx=None):
    tx = tx or optax.adamw(1e-2)
    params = initial()
    state = tx.init(params)
    for x, y in batches(bad):
        loss, grads = loss_and_grads(params, x, y)
        if guard is None:
            updates, state = tx.update(grads, state, params)
            params = optax.apply_updates(params, updates)
        else:
            params, state = guard.update(tx, params, state, grads, loss)
    return params


def same(a, b):
    return all(np.array_equal(x, y) for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b)))


def test_a_healthy_training_is_bit_identical():
    events = []
    guard = Guard(on_event=events.append)
    assert same(train(None), train(guard))
    assert not events and guard.counts["steps"] == 60


def test_a_batch_with_a_nan_is_left_out(tmp_path):
    guard = Guard(on_event=lambda _: None, record=str(tmp_path / "steps.aplomb"))
    assert not all(np.isfinite(each).all() for each in jax.tree.leaves(train(None, 30)))
    params = train(guard, 30)
    assert all(np.isfinite(each).all() for each in jax.tree.leaves(params))
    assert guard.counts["skipped"] == 1
    assert (tmp_path / "steps.aplomb").stat().st_size > 0


def test_gradients_are_clipped_as_optax_would():
    ours = train(Guard(max_norm=0.1, spikes=False), tx=optax.sgd(0.1))
    theirs = train(None, tx=optax.chain(optax.clip_by_global_norm(0.1), optax.sgd(0.1)))
    for a, b in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs)):
        assert np.allclose(a, b, atol=1e-5)


def test_integers_and_lower_precision_are_looked_at_as_they_are():
    guard = Guard(on_event=lambda _: None)
    grads = {"a": jnp.asarray([3.0, 4.0], jnp.bfloat16), "n": jnp.asarray([7])}
    assert guard.step(grads) == (True, 1.0, 1.0)
    taken, _, _ = guard.step({"a": jnp.asarray([jnp.inf, 1], jnp.float16), "n": jnp.asarray([7])})
    assert not taken


def test_nothing_but_bad_steps_halts_and_its_state_comes_back():
    guard = Guard(on_event=lambda _: None, most_skips_in_a_row=4)
    with pytest.raises(Halt):
        for _ in range(10):
            guard.step({"a": jnp.asarray([jnp.nan])}, 1.0)
    other = Guard(on_event=lambda _: None, most_skips_in_a_row=4)
    other.load_state_dict(guard.state_dict())
    assert other.counts == guard.counts


def test_flax_train_state():
    pytest.importorskip("flax")
    from flax.training.train_state import TrainState

    def run(guard, bad=None):
        state = TrainState.create(apply_fn=None, params=initial(), tx=optax.adam(1e-2))
        for x, y in batches(bad):
            loss, grads = loss_and_grads(state.params, x, y)
            state = state.apply_gradients(grads=grads) if guard is None else guard.apply_gradients(state, grads, loss)
        return state

    guard = Guard(on_event=lambda _: None)
    assert same(run(None).params, run(guard).params)
    bad = run(Guard(on_event=lambda _: None), 30)
    assert int(bad.step) == 60 and all(np.isfinite(each).all() for each in jax.tree.leaves(bad.params))
