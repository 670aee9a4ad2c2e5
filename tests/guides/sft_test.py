"""Guide 001, supervised fine-tuning: what is healthy, plateaus, spikes, overfitting, unstable gradients."""

import math

import pytest

RECIPE = {
    "adapter": "lora",
    "lora_r": 16,
    "lora_alpha": 32,
    "micro_batch_size": 4,
    "gradient_accumulation_steps": 4,
    "bf16": "true",
    "sequence_len": 2048,
    "base_model": "Qwen/Qwen2.5-7B",
}


def yaml_of(**settings):
    return [f"{key}: {value}" for key, value in {**RECIPE, **settings}.items()]


def wave(step, size, speed=2.399):
    """A noise that is the same each time."""
    return size * math.sin(speed * step + math.sin(step))


def fall(count, start=2.3, end=1.2, noise=0.03):
    return [end + (start - end) * math.exp(-4 * step / count) + wave(step, noise) for step in range(1, count + 1)]


def records(losses, norm=lambda step: 0.8 + wave(step, 0.15, 1.7), rate=lambda step: 2e-5, **more):
    rows = []
    for step, loss in enumerate(losses, 1):
        row = {"step": step, "loss": round(loss, 4), "grad_norm": round(norm(step), 4), "learning_rate": rate(step)}
        rows.append({**row, **{key: value(step) for key, value in more.items()}})
    return rows


def printed(rows):
    """The same as the Trainer prints it."""
    return [str({key: value for key, value in row.items() if key != "step"}) for row in rows]


@pytest.mark.row("A4")
@pytest.mark.parametrize("rate", [1e-7, 3e-7])
def test_plateau_of_a_low_rate(diagnose, rate):
    "a loss that hardly falls at a rate far below the usual: raise it, to 1e-4 for an adapter"
    losses = [2.31 - 0.0002 * step + wave(step, 0.02) for step in range(1, 181)]
    answer = diagnose(
        {
            "log.jsonl": records(losses, rate=lambda step: rate),
            "config.yml": yaml_of(learning_rate=rate, warmup_steps=10, max_steps=180),
        }
    )
    assert answer.verdict == "warning" and answer.first == "stall.lr-too-low", answer
    assert '"optim.lr": 0.0001' in answer.fixes[0]


@pytest.mark.row("A4")
def test_plateau_of_weight_decay(diagnose):
    "a weight decay of 0.5 that holds the loss up: 0.01"
    losses = [2.4 - 0.02 * (1 - math.exp(-step / 10)) + wave(step, 0.015) for step in range(1, 201)]
    answer = diagnose(
        {
            "log.jsonl": records(losses, rate=lambda step: 2e-4 * min(1, step / 20)),
            "config.yml": yaml_of(learning_rate=2e-4, weight_decay=0.5, warmup_steps=20, max_steps=200),
        }
    )
    assert answer.first == "stall.weight-decay-too-high", answer
    assert '"optim.weight_decay": 0.01' in answer.fixes[0]


@pytest.mark.row("A6")
def test_overfitting(diagnose):
    "train falls while eval rises: stop earlier, fewer passes, weight decay 0.01-0.1 and dropout 0.05, rank 8-32"
    rows = records(fall(400, 1.8, 0.2), epoch=lambda step: round(step / 80, 3))
    for step, held_out in ((80, 1.04), (160, 0.93), (240, 1.08), (320, 1.31), (400, 1.62)):
        rows.append({"step": step, "eval_loss": held_out, "epoch": step / 80})
    rows.sort(key=lambda row: (row["step"], "eval_loss" in row))
    answer = diagnose({"trainer_log.jsonl": rows, "run.yml": yaml_of(learning_rate=2e-4, num_epochs=5, lora_r=128)})
    assert answer.verdict == "warning" and answer.first == "overfit.too-many-epochs", answer
    fixes = " | ".join(answer.fixes)
    assert "train.epochs" in fixes and "optim.weight_decay" in fixes and "peft.dropout" in fixes and "8-32" in fixes


@pytest.mark.row("A10")
@pytest.mark.parametrize("level", [13, 22, 60])
def test_norms_above_ten(diagnose, level):
    "norms that stay above 10 beside a falling loss are not healthy; clip, lower the rate, accumulate more, look for NaN"
    rows = records(fall(120), norm=lambda step: level + wave(step, 0.15 * level, 1.7))
    answer = diagnose({"metrics.jsonl": rows})
    assert answer.verdict == "warning" and answer.status == 1, answer
    assert answer.first == "diverge.unstable-gradients"
    fixes = answer.fixes
    order = [
        next(at for at, fix in enumerate(fixes) if word in fix)
        for word in ("optim.grad_clip", "ower the learning rate", "accumulation", "NaN")
    ]
    assert order == sorted(order), fixes


@pytest.mark.row("A10")
def test_norms_that_swing(diagnose):
    "norms that swing by factors and exceed 10 again and again are said as unstable, whatever the loss does"
    rows = records(
        fall(150),
        norm=lambda step: 2 * math.exp(1.7 * math.sin(2.4 * step) * abs(math.sin(step))) * (9 if step % 11 == 0 else 1),
    )
    answer = diagnose({"train.log": printed(rows)})
    assert "grad_norm.oscillating" in answer.symptoms or "grad_norm.spike" in answer.symptoms, answer
    assert answer.verdict in ("warning", "unstable"), answer


@pytest.mark.row("A10", "P13")
def test_clipping_at_every_step(diagnose):
    "clipping that is active at every step is a symptom, with causes; clipping itself is not offered again"
    rows = records(fall(160), norm=lambda step: 5.5 + wave(step, 0.8, 1.7))
    answer = diagnose({"log.jsonl": rows, "run.yml": yaml_of(learning_rate=2e-4, max_grad_norm=1.0)})
    assert answer.verdict == "warning", answer
    assert "clip.every_step" in answer.symptoms and answer.first == "diverge.clipped-every-step"
    assert not any("optim.grad_clip" in fix for fix in answer.fixes), answer.fixes
    assert any("initialisation" in fix for fix in answer.fixes)


@pytest.mark.row("P13")
def test_rare_clipping_is_none(diagnose):
    "norms around the threshold are what clipping is for"
    rows = records(fall(160), norm=lambda step: 0.7 + wave(step, 0.2, 1.7) + (3 if step == 70 else 0))
    answer = diagnose({"log.jsonl": rows, "run.yml": yaml_of(learning_rate=2e-4, max_grad_norm=1.0)})
    assert answer.verdict == "healthy", answer
    assert "clip.every_step" not in answer.symptoms


@pytest.mark.row("A1")
@pytest.mark.parametrize("level", [130, 400])
def test_norms_above_100(diagnose, level):
    "a gradient norm above 100 is not healthy, with its highest value and step"
    rows = records(fall(120), norm=lambda step: level * (1 + wave(step, 0.1)))
    answer = diagnose({"log.jsonl": rows, "config.yml": yaml_of(learning_rate=2e-5)})
    assert answer.verdict in ("warning", "unstable"), answer
    highest = max(rows, key=lambda row: row["grad_norm"])
    assert any(f"at step {highest['step']}" in each["summary"] for each in answer.symptoms.values()), answer.symptoms


@pytest.mark.row("A1")
@pytest.mark.parametrize("level", [1.7, 2.4])
def test_gap_to_the_held_out_loss(diagnose, level):
    "a held-out loss that stays where it was while the training loss falls far below it is overfitting, with both numbers"
    rows = records(fall(400, 2.3, 0.4))
    rows += [{"step": step, "eval_loss": level + 0.01 * (step // 100)} for step in (100, 200, 300, 400)]
    rows.sort(key=lambda row: (row["step"], "eval_loss" in row))
    answer = diagnose({"log.jsonl": rows, "config.yml": yaml_of(learning_rate=2e-5, warmup_steps=20)})
    assert answer.verdict == "warning" and answer.first.startswith("overfit."), answer
    assert {"eval.gap_widens", "eval.overfit"} & set(answer.symptoms), answer


@pytest.mark.row("A1")
def test_gap_that_is_small(diagnose):
    "a held-out loss that follows the training loss at a small distance is healthy"
    rows = records(fall(400, 2.3, 1.1))
    rows += [{"step": step, "eval_loss": 1.15 + 1.2 * math.exp(-step / 100)} for step in (100, 200, 300, 400)]
    rows.sort(key=lambda row: (row["step"], "eval_loss" in row))
    answer = diagnose({"log.jsonl": rows})
    assert answer.verdict == "healthy", answer


@pytest.mark.row("A1")
@pytest.mark.parametrize("shape", ["cosine", "linear"])
def test_rate_that_does_not_follow(diagnose, shape):
    "a rate that stays constant where a decay is set is told, with both; one that decays as set is not"
    set_so = yaml_of(learning_rate=2e-5, lr_scheduler=shape, max_steps=400, warmup_steps=20)
    constant = diagnose({"log.jsonl": records(fall(400), rate=lambda step: 2e-5 * min(1, step / 20)), "config.yml": set_so})
    assert constant.verdict == "warning" and constant.first == "diverge.lr-scheduler-bug", constant
    assert f"set to {shape}" in constant.text

    def decays(step):
        done = (step - 20) / 380
        share = step / 20 if step < 20 else 1 - done if shape == "linear" else 0.5 * (1 + math.cos(math.pi * done))
        return 2e-5 * share

    follows = diagnose({"log.jsonl": records(fall(400), rate=decays), "config.yml": set_so})
    assert follows.first != "diverge.lr-scheduler-bug" and follows.verdict != "warning", follows


@pytest.mark.row("A1")
@pytest.mark.parametrize("last", [3.1, 3.9])
def test_level_of_the_loss(diagnose, last):
    "an adapter on a 7B model that ends above 2.5, where 0.5 to 2.0 is typical, is not called healthy"
    answer = diagnose({"log.jsonl": records(fall(400, last + 0.6, last)), "config.yml": yaml_of(learning_rate=1e-4)})
    assert answer.verdict != "healthy" and "0.5 and 2.0" in answer.text, answer


def spiky(count, at, times):
    losses = fall(count, 2.2, 1.1)
    for place in at:
        losses[place] *= times
    return losses


def spiky_norm(at):
    return lambda step: 9.5 if step - 1 in at else 0.8 + wave(step, 0.15, 1.7)


@pytest.mark.row("A5")
@pytest.mark.parametrize("times", [2.5, 6])
def test_one_spike(diagnose, times):
    "one spike from which the loss comes back: that batch; look at it, packing off for a test"
    answer = diagnose(
        {
            "log.jsonl": records(spiky(300, [171], times), norm=spiky_norm([171])),
            "config.yml": yaml_of(learning_rate=2e-5, sample_packing="true", max_grad_norm=1.0),
        }
    )
    assert answer.verdict == "warning" and answer.first == "diverge.bad-batch", answer
    assert "look at the batch" in answer.fixes[0].lower()
    assert any('"data.packing": false' in fix for fix in answer.fixes)
    assert any("fp32" in fix for fix in answer.fixes)


@pytest.mark.row("A5")
@pytest.mark.parametrize("rate", [6e-4, 9e-4])
def test_spikes_of_a_high_rate(diagnose, rate):
    "several spikes at a rate above the usual: lower it first, then warm up"
    at = [60, 111, 150, 202, 251, 280]
    answer = diagnose(
        {"log.jsonl": records(spiky(300, at, 4), norm=spiky_norm(at)), "config.yml": yaml_of(learning_rate=rate)}
    )
    assert answer.first == "diverge.lr-too-high", answer
    assert '"optim.lr": 0.0003' in answer.fixes[0] and '"schedule.warmup_frac"' in answer.fixes[1]


@pytest.mark.row("A5")
def test_spikes_of_a_large_batch(diagnose):
    "the effective batch is computed and told where it is very large: 64 x 64 = 4096"
    at = [60, 111, 150, 202, 251, 280]
    answer = diagnose(
        {
            "log.jsonl": records(spiky(300, at, 4), norm=spiky_norm(at)),
            "config.yml": yaml_of(learning_rate=2e-5, micro_batch_size=64, gradient_accumulation_steps=64),
        }
    )
    assert answer.verdict == "warning" and any("4096" in fix for fix in answer.fixes), answer.fixes
