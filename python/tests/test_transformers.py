"""GuardCallback in a Hugging Face Trainer."""

import pytest
import torch

transformers = pytest.importorskip("transformers")

from aplomb import experiments  # noqa: E402
from aplomb.transformers import GuardCallback  # noqa: E402


class Texts(torch.utils.data.Dataset):
    def __init__(self, poisoned=()):
        draw = torch.Generator().manual_seed(3)
        self.rows = torch.randint(0, 20, (256, 16), generator=draw).cumsum(1) % 64
        self.poisoned = set(poisoned)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        weight = float("nan") if i in self.poisoned else 1.0
        return {"input_ids": self.rows[i], "labels": self.rows[i], "weight": torch.tensor(weight)}


class Tiny(torch.nn.Module):
    def __init__(self):
        super().__init__()
        config = transformers.GPT2Config(vocab_size=64, n_positions=16, n_embd=32, n_layer=2, n_head=2)
        self.inner = transformers.GPT2LMHeadModel(config)

    def forward(self, input_ids, labels, weight):
        out = self.inner(input_ids=input_ids, labels=labels)
        return {"loss": out.loss * weight.mean(), "logits": out.logits}


def run(folder, callbacks, poisoned=(), accumulation=1, look=None):
    transformers.set_seed(11)
    model = Tiny()
    arguments = transformers.TrainingArguments(
        str(folder), max_steps=30, per_device_train_batch_size=8, learning_rate=1e-3, report_to=[], use_cpu=True,
        save_strategy="no", logging_steps=10, gradient_accumulation_steps=accumulation, disable_tqdm=True,
        remove_unused_columns=False,
    )
    trainer = transformers.Trainer(model, arguments, train_dataset=Texts(poisoned), callbacks=callbacks)
    if look is not None:
        look(trainer)
    trainer.train()
    return [p.detach().clone() for p in model.parameters()]


@pytest.mark.parametrize("accumulation", [1, 2])
def test_healthy_training_is_bit_identical(tmp_path, accumulation):
    callback = GuardCallback()
    plain = run(tmp_path, [], accumulation=accumulation)
    guarded = run(tmp_path, [callback], accumulation=accumulation)
    assert all(torch.equal(a, b) for a, b in zip(plain, guarded))
    assert callback.guard.counts == {"steps": 30, "clipped": 0, "skipped": 0, "rollbacks": 0}


@pytest.mark.row("P14")
def test_a_poisoned_sample_costs_its_batch(tmp_path):
    """a batch that makes NaN costs its own step: it is left out and counted, the training goes on"""
    events = []
    callback = GuardCallback(on_event=events.append)
    weights = run(tmp_path, [callback], poisoned=[17])
    assert [e.action for e in events] == ["skip"]
    assert all(torch.isfinite(p).all() for p in weights)
    assert not all(torch.isfinite(p).all() for p in run(tmp_path, [], poisoned=[17]))


def test_experiments_before_a_training_change_nothing_in_it(tmp_path):
    results = []

    def look(trainer):
        parts = experiments.parts_of(trainer)
        batch = next(iter(parts.batches))
        results.append(experiments.gradient_flow(parts.model, parts.optimizer, parts.loss_of, batch))
        results.append(experiments.overfit_one_batch(parts.model, parts.optimizer, parts.loss_of, batch))
        transformers.set_seed(5)

    looked = run(tmp_path, [], look=look)
    plain = run(tmp_path, [], look=lambda trainer: (trainer.create_optimizer(), transformers.set_seed(5)))
    assert all(results), results
    assert all(torch.equal(a, b) for a, b in zip(plain, looked))


def test_what_the_guard_has_learned_comes_back_with_a_checkpoint(tmp_path):
    def train(folder, resume=None, restores=False):
        callback = GuardCallback(max_norm=1e6)
        transformers.set_seed(11)
        arguments = transformers.TrainingArguments(
            str(folder), max_steps=20, per_device_train_batch_size=8, report_to=[], use_cpu=True, save_steps=10,
            disable_tqdm=True, restore_callback_states_from_checkpoint=restores,
        )
        trainer = transformers.Trainer(Tiny().inner, arguments, train_dataset=Texts(), callbacks=[callback])
        trainer.train(resume_from_checkpoint=resume)
        here = [each for each in trainer.callback_handler.callbacks if isinstance(each, GuardCallback)]
        assert len(here) == 1
        return here[0].guard, [p.detach().clone() for p in trainer.model.parameters()]

    whole, weights = train(tmp_path)
    for restores in (False, True):
        resumed, again = train(tmp_path, str(tmp_path / "checkpoint-10"), restores)
        assert resumed.counts == whole.counts == {"steps": 20, "clipped": 0, "skipped": 0, "rollbacks": 0}
        assert resumed.state_dict()["step"] == 20
        assert all(torch.equal(a, b) for a, b in zip(weights, again))
