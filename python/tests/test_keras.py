"""GuardCallback in model.fit() of Keras 3 on torch: a healthy training is bit-identical, a bad batch is left out."""

import os

os.environ.setdefault("KERAS_BACKEND", "torch")

import numpy as np
import pytest

keras = pytest.importorskip("keras")
if keras.backend.backend() != "torch":
    pytest.skip("another backend was chosen", allow_module_level=True)

from aplomb.keras import GuardCallback  # noqa: E402


def data():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(640, 8)).astype("float32")
    y = (x[:, :1] * 2 - x[:, 1:2]).astype("float32")
    return x, y


def fit(callbacks, x, y, optimizer=None):
    keras.utils.set_random_seed(7)
    model = keras.Sequential([keras.layers.Input((8,)), keras.layers.Dense(16, "tanh"), keras.layers.Dense(1)])
    model.compile(optimizer or keras.optimizers.AdamW(1e-2), "mse")
    model.fit(x, y, batch_size=16, epochs=3, shuffle=False, verbose=0, callbacks=callbacks)
    return model


def test_a_healthy_training_is_bit_identical():
    events = []
    callback = GuardCallback(on_event=events.append)
    plain, guarded = fit([], *data()), fit([callback], *data())
    assert not events and callback.guard.counts["steps"] == 120
    for a, b in zip(plain.get_weights(), guarded.get_weights()):
        assert np.array_equal(a, b)
    assert "apply" not in vars(guarded.optimizer) and "compute_loss" not in vars(guarded)


def test_a_batch_with_a_nan_is_left_out(tmp_path):
    x, y = data()
    x[330, 2] = np.nan
    events = []
    callback = GuardCallback(on_event=events.append, record=str(tmp_path / "steps.aplomb"))
    assert np.isnan(fit([], x, y).get_weights()[0]).any()
    model = fit([callback], x, y)
    assert all(np.isfinite(each).all() for each in model.get_weights())
    assert callback.guard.counts["skipped"] == 3, "once an epoch"
    assert {each.policy for each in events} == {"nonfinite"}
    assert (tmp_path / "steps.aplomb").stat().st_size > 0


def test_gradients_are_clipped_as_the_optimizer_would():
    x, y = data()
    ours = fit([GuardCallback(max_norm=0.05, spikes=False)], x, y, keras.optimizers.SGD(0.1))
    theirs = fit([], x, y, keras.optimizers.SGD(0.1, global_clipnorm=0.05))
    for a, b in zip(ours.get_weights(), theirs.get_weights()):
        assert np.allclose(a, b, atol=1e-5)


def test_nothing_but_bad_batches_stops_the_training():
    x, y = data()
    x[:] = np.nan
    callback = GuardCallback(on_event=lambda _: None, most_skips_in_a_row=5)
    fit([callback], x, y)
    assert callback.guard.counts["steps"] <= 7


def test_a_guard_that_fails_steps_aside():
    callback = GuardCallback()
    callback.guard._core = None
    with pytest.warns(UserWarning, match="steps aside"):
        guarded = fit([callback], *data())
    for a, b in zip(fit([], *data()).get_weights(), guarded.get_weights()):
        assert np.array_equal(a, b)
