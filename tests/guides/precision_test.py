"""Guide 002, number formats: what a card computes in, TF32, autocast, loss scaling."""

import math

import pytest

TRAINER = {"model_name_or_path": "gpt2", "learning_rate": 2e-5, "per_device_train_batch_size": 4, "output_dir": "o"}


def check(program, folder, *flags):
    done = program("check", *flags, folder)
    return done.returncode, " ".join(done.stdout.split())


@pytest.mark.row("P1+P3")
@pytest.mark.parametrize(
    ("card", "settings", "said"),
    [
        ("A100", {"bf16": True}, None),
        ("H100", {"bf16": True}, None),
        ("RTX 3090", {"bf16": True}, None),
        ("T4", {"fp16": True}, None),
        ("T4", {"bf16": True}, "bf16 on a card without bf16 units"),
        ("V100", {"bf16": True}, "bf16 on a card without bf16 units"),
        ("RTX 2080 Ti", {"bf16": True}, "bf16 on a card without bf16 units"),
        ("A100", {"fp16": True}, "fp16 where the card computes in bf16"),
        ("V100", {"fp16": True, "tf32": True}, "TF32 on a card that has none"),
    ],
)
def test_card_and_format(program, write, card, settings, said):
    "bf16 on Ampere and later, fp16 with loss scaling before; a format that the card has not is told"
    status, text = check(program, write({"args.json": {**TRAINER, **settings}}), "--gpu", card)
    assert (said or "READY") in text, text
    assert status == (0 if said is None else 1)


@pytest.mark.row("P1+P3")
@pytest.mark.parametrize(("card", "status"), [("A100", 1), ("H100", 0)])
def test_fp8(program, write, card, status):
    "fp8 products need Hopper or Ada"
    config = "base_model: a/b\nmicro_batch_size: 2\nlearning_rate: 1e-5\nsequence_len: 1024\nbf16: true\nfp8: true\n"
    assert check(program, write({"c.yml": config}), "--gpu", card)[0] == status


FP32 = {
    "args.json": {**TRAINER, "tf32": False, "bf16": False, "fp16": False},
    "axolotl.yml": "base_model: gpt2\nmicro_batch_size: 2\nlearning_rate: 1e-5\nbf16: false\nfp16: false\ntf32: false\n",
    "hf.yaml": "model_name_or_path: gpt2\n"
    "per_device_train_batch_size: 2\nlearning_rate: 1.0e-5\nbf16: false\nfp16: false\ntf32: false\n"
    "output_dir: o\nnum_train_epochs: 1\n",
}


@pytest.mark.row("P2")
@pytest.mark.parametrize("name", sorted(FP32))
def test_tf32_off(program, write, name):
    "fp32 with TF32 off on an Ampere card is found in JSON, YAML and axolotl's YAML, with the fix"
    status, text = check(program, write({name: FP32[name]}), "--gpu", "A100")
    assert status == 1 and "TF32" in text and 'set_float32_matmul_precision("high")' in text, text


@pytest.mark.row("P2")
def test_tf32_where_it_does_not_count(program, write):
    "TF32 that is on, a bf16 run, or a card without TF32 are left alone"
    for card, settings in (
        ("A100", {"tf32": True, "bf16": False, "fp16": False}),
        ("A100", {"tf32": False, "bf16": True}),
        ("T4", {"tf32": False, "bf16": False, "fp16": False}),
    ):
        text = check(program, write({"args.json": {**TRAINER, **settings}}, f"{card}{len(settings)}"), "--gpu", card)[1]
        assert "without TF32" not in text and "TF32 is not switched on" not in text, text


LOOP = """import torch
from torch.nn.functional import cross_entropy
{before}
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
{scaler}
for step, (x, y) in enumerate(loader):
    optimizer.zero_grad(set_to_none=True)
    with {autocast}:
        loss = cross_entropy(model(x), y)
{backward}
"""


@pytest.mark.row("P4")
@pytest.mark.parametrize(
    ("parts", "line", "said"),
    [
        ({"before": "model = Net().cuda().half()"}, ".half()", "cast to fp16"),
        (
            {"backward": "        scaler.scale(loss).backward()\n    scaler.step(optimizer); scaler.update()"},
            ".backward()",
            "backward pass runs inside autocast",
        ),
    ],
)
def test_autocast_scope(program, write, parts, line, said):
    "model.half() and backward within autocast are found, each with its line"
    code = LOOP.format(
        **{
            "before": "model = Net().cuda()",
            "scaler": "scaler = torch.amp.GradScaler('cuda')",
            "autocast": "torch.autocast('cuda', dtype=torch.float16)",
            "backward": "    scaler.scale(loss).backward()\n    scaler.step(optimizer); scaler.update()",
        }
        | parts
    )
    text = check(program, write({"train.py": code}), "--verbose")[1]
    at = next(number for number, each in enumerate(code.splitlines(), 1) if line in each)
    assert said in text and f"train.py:{at}" in text, text


@pytest.mark.row("P4")
def test_deprecated_names(program, write):
    "the deprecated names of automatic mixed precision are told"
    code = LOOP.format(
        before="model = Net().cuda()",
        scaler="",
        autocast="torch.cuda.amp.autocast(dtype=torch.bfloat16)",
        backward="    loss.backward()\n    optimizer.step()",
    )
    assert "automatic mixed precision that is deprecated" in check(program, write({"train.py": code}))[1]


@pytest.mark.row("P6")
def test_scaler_with_bf16(program, write):
    "a loss scaler in a bf16 run does nothing: told in a program and in a configuration"
    code = LOOP.format(
        before="model = Net().cuda()",
        scaler="scaler = torch.amp.GradScaler('cuda')",
        autocast="torch.autocast('cuda', dtype=torch.bfloat16)",
        backward="    scaler.scale(loss).backward()\n    scaler.step(optimizer); scaler.update()",
    )
    assert "loss scaler in a bf16 run" in check(program, write({"train.py": code}))[1]
    config = {"bf16": {"enabled": True}, "fp16": {"enabled": False}, "train_micro_batch_size_per_gpu": 1}
    assert "READY" in check(program, write({"ds.json": config}, "json"))[1]


def scaled(scales, norms=None):
    rows = []
    for step, scale in enumerate(scales, 1):
        skipped = step > 1 and scale < scales[step - 2]
        norm = norms(step) if norms else 0.8 + 0.1 * math.sin(step)
        rows.append(
            {
                "step": step,
                "loss": round(1.2 + 1.1 * math.exp(-step / 40) + 0.02 * math.sin(3 * step), 4),
                "loss_scale": scale,
                "grad_norm": "inf" if skipped else round(norm, 5),
                "learning_rate": 1e-4,
            }
        )
    return rows


@pytest.mark.row("P5+P7")
def test_calibration_is_normal(diagnose):
    "a few halvings while the scale finds its level are normal"
    answer = diagnose({"log.jsonl": scaled([65536, 32768, 16384, 8192] + [8192] * 120)})
    assert answer.verdict == "healthy", answer
    assert "loss_scale.collapse" not in answer.symptoms


@pytest.mark.row("P5+P7", "P10")
def test_overflow_by_the_scale(diagnose):
    "a scale that is halved towards 0 is overflow: bf16 first"
    answer = diagnose(
        {
            "log.jsonl": scaled([max(65536.0 / 2 ** (step // 3), 2**-14) for step in range(120)]),
            "run.yaml": "fp16: true\nlearning_rate: 1e-4\nper_device_train_batch_size: 4\nmodel_name_or_path: gpt2\n",
        }
    )
    assert answer.first == "diverge.loss-scale-collapse" and answer.verdict in ("failed", "unstable"), answer
    assert '"precision.compute": "bf16"' in answer.fixes[0]


@pytest.mark.row("P5+P7")
def test_clip_before_unscale(program, write):
    "clipping before unscale_ is found in the loop, with its line"
    code = LOOP.format(
        before="model = Net().cuda()",
        scaler="scaler = torch.amp.GradScaler('cuda')",
        autocast="torch.autocast('cuda', dtype=torch.float16)",
        backward="    scaler.scale(loss).backward()\n    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n"
        "    scaler.step(optimizer)\n    scaler.update()",
    )
    status, text = check(program, write({"train.py": code}))
    assert status == 1 and "clipped while they are still scaled" in text and "scaler.unscale_(optimizer)" in text
