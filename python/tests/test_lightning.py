"""GuardCallback in a Lightning Trainer: a healthy training is bit-identical, its logger's numbers and schedule too."""

import pytest
import torch

pl = pytest.importorskip("lightning.pytorch")

from aplomb.lightning import GuardCallback  # noqa: E402
from lightning_faults import Batches  # noqa: E402
from training import network  # noqa: E402


class Learner(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Sequential(network(1), torch.nn.Dropout(0.1))
        self.losses = []
        self.rates = []

    def training_step(self, batch, number):
        loss = torch.nn.functional.cross_entropy(self.net(batch["x"]), batch["y"])
        self.losses.append(float(loss.detach()))
        self.rates.append(self.optimizers().param_groups[0]["lr"])
        return loss

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), lr=3e-3)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 60)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}


def run(callbacks, accumulation):
    torch.manual_seed(2)
    learner = Learner()
    trainer = pl.Trainer(
        max_steps=60,
        accelerator="cpu",
        devices=1,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        callbacks=callbacks,
        gradient_clip_val=0.5,
        accumulate_grad_batches=accumulation,
    )
    trainer.fit(learner, torch.utils.data.DataLoader(Batches(None), batch_size=None))
    return learner


@pytest.mark.parametrize("accumulation", [1, 2])
@pytest.mark.filterwarnings("ignore")
def test_healthy_training_is_bit_identical(accumulation):
    events = []
    callback = GuardCallback(on_event=events.append, snapshot_every=20)
    plain, guarded = run([], accumulation), run([callback], accumulation)
    assert not events
    assert callback.guard.counts["steps"] == 60
    # The sizes of a healthy step's outputs are taken by forward passes of their own, which the module counts as its own.
    assert plain.losses[-1] == guarded.losses[-1] and plain.rates[-1] == guarded.rates[-1]
    assert all(torch.equal(a, b) for a, b in zip(plain.parameters(), guarded.parameters()))
