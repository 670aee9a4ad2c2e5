"""Guide 002 in logs: what a loss scale, counts of lost steps, repeated runs and single layers say."""

import math

import pytest


def wave(step, size, speed=1.9):
    return size * math.sin(speed * step + math.sin(0.6 * step))


def learning(step, span=90.0):
    return 2.1 + 3.2 * math.exp(-step / span) + wave(step, 0.03)


def printed(step, loss, norm, more=""):
    return f"step {step:6d} | loss {loss:.4f} | grad_norm {norm:.4f} | lr 2.5e-04{more}"


@pytest.mark.row("P5+P7")
@pytest.mark.parametrize("scaled", [True, False])
@pytest.mark.parametrize("steady", [True, False])
def test_norms_that_still_hold_the_scale(diagnose, scaled, steady):
    "norms in the log that are still multiplied by the loss scale: unscale_ first; no talk of norms that are too large"
    lines = []
    for step in range(25, 8001, 25):
        scale = 32768.0 if steady else 8192.0 * 2 ** (step // 2000)
        norm = (1.1 + wave(step, 0.25)) * (scale if scaled else 1)
        lines.append(printed(step, learning(step, 1200), norm, f" | loss_scale {scale:.0f}"))
    answer = diagnose({"train.log": lines})
    if scaled:
        assert answer.first == "diverge.scaled-gradients" and answer.verdict == "warning", answer
        assert "scaler.unscale_(optimizer)" in answer.fixes[0] and "grad_norm.high" not in answer.symptoms, answer
    else:
        assert answer.verdict == "healthy", answer


def megatron(step, skipped=0, nan=0, scale=1.0):
    loss, norm = learning(step, 900), 0.7 + wave(step, 0.15)
    return (
        f" [2026-05-04 07:{step // 60 % 60:02d}:{step % 60:02d}] iteration {step:8d}/   80000 | "
        f"consumed samples: {step * 256:10d} | elapsed time per iteration (ms): 1840.2 | "
        f"learning rate: 2.500000E-04 | global batch size:   256 | lm loss: {loss:.6E} | loss scale: {scale:.1f} | "
        f"grad norm: {norm:.3f} | number of skipped iterations: {skipped:3d} | "
        f"number of nan iterations: {nan:3d} |"
    )


@pytest.mark.row("P14")
@pytest.mark.parametrize(
    ("kind", "verdict"),
    [("skipped", "unstable"), ("nan", "unstable"), ("one nan", "warning"), ("a few at the start", "healthy")],
)
def test_what_megatron_counts(diagnose, kind, verdict):
    "Megatron's skipped and NaN iterations are counts of each interval: more and more of them are systematic, one is stray"
    lines = []
    for step in range(10, 4001, 10):
        late = max(0, step - 2200) // 450
        counts = {
            "skipped": {"skipped": late},
            "nan": {"nan": late},
            "one nan": {"nan": int(step == 2600)},
            "a few at the start": {"skipped": 9 if step == 10 else 0, "scale": 16384.0},
        }[kind]
        lines.append(megatron(step, **counts))
    answer = diagnose({"train.log": lines})
    assert answer.verdict == verdict, answer
    if kind == "skipped":
        assert "steps.skipped" in answer.symptoms and answer.first == "diverge.lr-too-high", answer
        assert "warm" in " ".join(answer.fixes[:2]), answer.fixes
    elif kind == "nan":
        assert answer.first == "nan.lr-too-high" and "steps.nan" in answer.symptoms, answer
    elif kind == "one nan":
        assert answer.first == "nan.bad-data-nonfinite" and "step 2600" in answer.text, answer


def broken_at(step, seed):
    rows = []
    for at in range(1, 201):
        lost = at >= step
        loss = learning(at) + 0.004 * math.sin(seed * at * 12.9898)
        loss, norm = (math.nan, math.nan) if lost else (round(loss, 4), 0.8)
        rows.append({"step": at, "loss": loss, "grad_norm": norm, "lr": 2e-4})
    return rows


def runs_of(steps, seeds=(5, 5, 5)):
    files = {}
    for number, (step, seed) in enumerate(zip(steps, seeds, strict=True)):
        files[f"run{number}/log.jsonl"] = broken_at(step, number + 1)
        files[f"run{number}/args.json"] = {
            "model_name_or_path": "gpt2", "learning_rate": 2e-4, "per_device_train_batch_size": 8, "bf16": True,
            "seed": seed, "max_grad_norm": 1.0, "warmup_steps": 40,
        }  # fmt: skip
    return files


@pytest.mark.row("P11")
@pytest.mark.parametrize(
    ("steps", "seeds", "first"),
    [
        ((121, 121, 121), (5, 5, 5), "nan.bad-data-nonfinite"),
        ((77, 121, 160), (5, 5, 5), "nan.lr-too-high"),
        ((121, 121, 121), (5, 6, 7), None),
    ],
)
def test_three_runs_that_break(diagnose, program, write, steps, seeds, first):
    "three runs told the same: NaN at one step is its batch, at different steps numerics; with other seeds it is no batch"
    answer = diagnose(runs_of(steps, seeds))
    assert answer.verdict == "failed", answer
    assert answer.first == first if first else answer.first != "nan.bad-data-nonfinite", answer
    folder = write(runs_of(steps, seeds))
    shown = " ".join(program("compare", *(folder / f"run{number}" for number in range(3))).stdout.split())
    if first == "nan.bad-data-nonfinite":
        assert "replay the batch of step 121" in shown, shown
    elif first:
        assert "no bad sample" in shown and "77" in shown and "121" in shown and "160" in shown, shown
    else:
        assert "the order of the data differs" in shown, shown


@pytest.mark.row("P16")
@pytest.mark.parametrize(
    "name", ["attn_logits/layer_9/max", "layers.9.attention.max_logit", "blocks.9.attn/qk_max", "attn_score_max"]
)
def test_attention_logits_of_one_layer(diagnose, name):
    "attention logits of one layer that grow are enough: QK-norm, with a z-loss and a longer warm-up beside it"
    rows = [
        {"step": at, "loss": round(learning(at) + max(0, at - 260) * 0.02, 4), "grad_norm": round(0.7 + wave(at, 0.1), 3),
         "lr": 2.5e-4, name: round(6 * 1.014**at, 3)}
        for at in range(1, 321)
    ]  # fmt: skip
    answer = diagnose({"log.jsonl": rows})
    assert answer.first == "diverge.attention-logit-growth" and answer.verdict != "healthy", answer
    assert '"attn.qk_norm": true' in answer.fixes[0] and any("z-loss" in each for each in answer.fixes), answer.fixes


@pytest.mark.row("P15")
@pytest.mark.parametrize(("name", "grows"), [("train/logsumexp", True), ("log_z", True), ("log_z", False)])
def test_the_softmax_normaliser_drifts(diagnose, name, grows):
    "log Z that drifts away is the drift of the output logits: a z-loss; one that stays near ln(vocabulary) is not"
    rows = [
        {"step": at, "loss": round(learning(at), 4), "grad_norm": round(0.7 + wave(at, 0.1), 3), "lr": 2.5e-4,
         name: round(10.6 + (0.22 * at if grows else wave(at, 0.3)), 3)}
        for at in range(1, 321)
    ]  # fmt: skip
    answer = diagnose({"log.jsonl": rows})
    if grows:
        assert answer.first == "diverge.output-logit-drift" and '"train.z_loss": 0.0001' in answer.fixes[0], answer
    else:
        assert answer.verdict == "healthy", answer


@pytest.mark.row("P13")
@pytest.mark.parametrize("script", [True, False])
def test_norms_that_spike_unclipped(diagnose, script):
    "norms that spike now and then where nothing clips: clip at 0.5-1.0, and the program's line where there is one"
    lines = []
    for step in range(1, 701):
        spike = step % 83 == 0
        lines.append(printed(step, learning(step, 150) + 0.5 * spike, (0.7 + wave(step, 0.15)) * (70 if spike else 1)))
    files = {"train.log": lines}
    if script:
        files["train.py"] = (
            "import torch\nimport torch.nn.functional as F\nfrom net import Decoder\nfrom data import loader\n"
            "torch.manual_seed(2)\nmodel = Decoder(depth=8).cuda()\n"
            "optimizer = torch.optim.AdamW(model.parameters(), lr=2.5e-4)\n"
            "for step, (x, y) in enumerate(loader):\n    optimizer.zero_grad()\n"
            "    with torch.autocast('cuda', dtype=torch.bfloat16):\n"
            "        loss = F.cross_entropy(model(x.cuda()), y.cuda())\n"
            "    loss.backward()\n    optimizer.step()\n"
        )
    answer = diagnose(files)
    assert answer.verdict not in ("healthy", "insufficient-evidence"), answer
    assert answer.first == "diverge.no-grad-clip", answer
    assert '"optim.grad_clip": 1' in answer.fixes[0] and "0.5" in answer.fixes[0], answer.fixes


@pytest.mark.row("P10")
@pytest.mark.parametrize("card", ["Tesla V100-SXM2-16GB", "NVIDIA A100-SXM4-40GB"])
def test_overflow_by_card(diagnose, card):
    "a scale that collapses: bf16 first; on a card without it the block in fp32 under autocast(enabled=False), then a z-loss"
    lines = [f"GPU: {card}"]
    for step in range(1, 401):
        lines.append(printed(step, 7.4 + wave(step, 0.02), math.inf, f" | loss_scale {65536.0 / 2 ** (step // 12):g}"))
    answer = diagnose({"train.log": lines, "config.yaml": "fp16: true\nlearning_rate: 2.5e-4\nbatch_size: 16\n"})
    assert answer.first == "diverge.loss-scale-collapse" and answer.verdict == "failed", answer
    if "V100" in card:
        assert "enabled=False" in answer.fixes[0] and "z-loss" in answer.fixes[1], answer.fixes
        assert not any('"precision.compute": "bf16"' in each for each in answer.fixes), answer.fixes
    else:
        assert '"precision.compute": "bf16"' in answer.fixes[0], answer.fixes
