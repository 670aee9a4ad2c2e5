"""Healthy training with the guard on is, bit for bit, the training with it off."""

import pytest
import torch
from training import train


@pytest.mark.parametrize(
    "case",
    [
        {"optimizer": "sgd"},
        {"optimizer": "adamw"},
        {"optimizer": "adamw", "bf16": True},
        {"optimizer": "adamw", "accumulation": 4, "steps": 200},
    ],
    ids=["sgd", "adamw", "bf16", "accumulation"],
)
def test_bit_identical(case):
    log = []
    plain = train(guarded=False, **case)
    guarded = train(guarded=True, log=log, snapshot_every=50, max_norm=1e6, **case)
    assert not log, log
    assert plain.same_as(guarded)
    assert plain.losses[-1] < 0.7 * plain.losses[0]


def test_clipping_is_clip_grad_norms_up_to_rounding():
    def clip(step, model, optimizer):
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)

    plain = train(guarded=False, after_backward=clip, steps=100)
    guarded = train(guarded=True, max_norm=0.5, steps=100)
    torch.testing.assert_close(plain.losses, guarded.losses, rtol=1e-4, atol=1e-5)
