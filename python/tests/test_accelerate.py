"""The guard in a loop of Accelerate: the model and optimizer that prepare() gave."""

import aplomb
import pytest
import torch
from training import batches, loss_of, network

accelerate = pytest.importorskip("accelerate")


def run(guarded, poisoned=None, accumulation=1):
    accelerator = accelerate.Accelerator(cpu=True, gradient_accumulation_steps=accumulation)
    torch.manual_seed(1)
    network_ = network(1)
    model, optimizer = accelerator.prepare(network_, torch.optim.AdamW(network_.parameters(), lr=3e-3))
    events = []
    guard = aplomb.Guard(model, optimizer.optimizer, max_norm=1e6, on_event=events.append) if guarded else None
    total = 0.0
    for step, (x, y) in enumerate(batches(120)):
        if step == poisoned:
            x = x.clone()
            x[5, 2] = float("nan")
        with accelerator.accumulate(model):
            loss = loss_of(model, x, y)
            accelerator.backward(loss)
            total += float(loss.detach()) / accumulation
            if accelerator.sync_gradients:
                if guard is not None:
                    guard.step(total)
                else:
                    optimizer.step()
                total = 0.0
                optimizer.zero_grad()
    return [p.detach().clone() for p in network_.parameters()], events, guard


@pytest.mark.parametrize("accumulation", [1, 2])
def test_healthy_training_is_bit_identical(accumulation):
    plain, _, _ = run(False, accumulation=accumulation)
    guarded, events, guard = run(True, accumulation=accumulation)
    assert not events and guard.counts["steps"] == 120 // accumulation
    assert all(torch.equal(a, b) for a, b in zip(plain, guarded))


def test_a_poisoned_sample_costs_its_step_and_is_named():
    weights, events, guard = run(True, poisoned=60)
    assert [e.action for e in events] == ["skip"]
    assert all(torch.isfinite(p).all() for p in weights)
    assert (guard.findings[0][1].phase, guard.findings[0][1].samples) == ("input", [5])
