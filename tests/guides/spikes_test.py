"""Guide 002: spikes and divergence, logits, layers; what goes before them, and from where to go on."""

import math

import pytest


def wave(step, size, speed=2.399):
    return size * math.sin(speed * step + math.sin(step))


def steps(count, loss, norm, rate=6e-4, **more):
    rows = []
    for step in range(1, count + 1):
        row = {
            "step": step,
            "loss": round(loss(step), 4),
            "grad_norm": round(norm(step), 4),
            "learning_rate": rate * min(1, step / 5),
        }
        rows.append({**row, **{key.replace("__", "/"): value(step) for key, value in more.items()}})
    return rows


@pytest.mark.row("P12")
@pytest.mark.parametrize("rise", [120, 260])
def test_warned_before_the_spike(diagnose, rise):
    "warm-up, lower peak rate; the norm's rise is told with its first step, and the checkpoint to go on from lies before it"
    jump = rise + 12
    answer = diagnose(
        {
            "log.jsonl": steps(
                jump + 60,
                lambda step: (1.3 + math.exp(-step / 30) if step < jump else 6.4) + wave(step, 0.03),
                lambda step: (0.7 * 1.35 ** max(0, min(step, jump) - rise) if step < jump else 25) * (1 + wave(step, 0.04)),
            )
        }
    )
    assert answer.verdict == "failed" and answer.first == "diverge.lr-too-high", answer
    lead = answer.symptoms["grad_norm.leads"]
    assert abs(lead["first_step"] - rise) <= 2 and lead["last_step"] == jump, lead
    assert "warm-up" in answer.fixes[0]
    assert any(f"before step {lead['first_step']}" in fix for fix in answer.fixes), answer.fixes


@pytest.mark.row("P15")
@pytest.mark.parametrize("name", ["logits__max", "output_logit_max"])
def test_output_logits_drift(diagnose, name):
    "output logits that grow are measured, and a z-loss of 1e-4 (log Z)^2 offered"
    answer = diagnose(
        {
            "log.jsonl": steps(
                200,
                lambda step: 3.3 - 0.8 * (1 - math.exp(-step / 40)) + max(0, step - 120) * 0.01 + wave(step, 0.02),
                lambda step: 0.7,
                **{name: lambda step: 10 * 1.018**step},
            )
        }
    )
    assert answer.first == "diverge.output-logit-drift" and answer.verdict != "healthy", answer
    assert '"train.z_loss": 0.0001' in answer.fixes[0]


@pytest.mark.row("P16")
@pytest.mark.parametrize("name", ["max_attention_logit", "attn__max_logits"])
def test_attention_logits_grow(diagnose, name):
    "attention logits that grow are measured, and QK-norm offered"
    answer = diagnose(
        {
            "log.jsonl": steps(
                200,
                lambda step: 2.5 + wave(step, 0.02) + max(0, step - 150) * 0.02,
                lambda step: 0.7,
                **{name: lambda step: 9 * 1.025**step},
            )
        }
    )
    assert answer.first == "diverge.attention-logit-growth" and answer.verdict != "healthy", answer
    assert '"attn.qk_norm": true' in answer.fixes[0]


def layers(count, level, prefix="grad_norm__layers."):
    return {f"{prefix}{layer}": (lambda step, layer=layer: level(layer, step)) for layer in range(count)}


@pytest.mark.row("P18")
@pytest.mark.parametrize("prefix", ["grad_norm__layers.", "gradients__blocks.", "grad_norm__model.layers."])
def test_layers_without_gradient(diagnose, prefix):
    "gradients that vanish towards the first layers are located, although the loss falls: residuals, norms, initialisation"
    answer = diagnose(
        {
            "log.jsonl": steps(
                60,
                lambda step: 2.3 - 0.01 * step,
                lambda step: 1.0,
                2e-5,
                **layers(10, lambda layer, step: 5.0 ** (layer - 9), prefix),
            )
        }
    )
    assert answer.verdict != "healthy" and answer.first == "stall.vanishing-gradient", answer
    assert "0 to 4" in answer.symptoms["grad_norm.layer_vanishing"]["summary"]
    assert "esidual" in answer.fixes[0] and any("nitialisation" in fix for fix in answer.fixes[:2])


@pytest.mark.row("P18")
@pytest.mark.parametrize("culprit", [2, 9])
def test_layer_that_explodes(diagnose, culprit):
    "the layer whose gradient explodes is named; clip, lower the rate, warm up"
    growing = layers(12, lambda layer, step: round(0.3 * (1.12**step if layer == culprit else 1), 4))
    answer = diagnose(
        {"log.jsonl": steps(100, lambda step: 2.3 - 0.008 * step, lambda step: 0.3 * 1.12**step, 2e-5, **growing)}
    )
    assert answer.verdict in ("unstable", "failed"), answer
    assert f"layer {culprit} " in answer.symptoms["grad_norm.layer_exploding"]["summary"]
    assert answer.first == "diverge.unstable-gradients", answer
    assert "optim.grad_clip" in answer.fixes[0] and "optim.lr" in answer.fixes[1]
