"""What a run or a configuration must not be told: healthy or ready, where a guide names what is wrong with it."""

import math

import pytest

CONFIG = {
    "base_model": "mistralai/Mistral-7B-v0.3",
    "adapter": "lora",
    "lora_r": "8",
    "lora_alpha": "16",
    "micro_batch_size": "4",
    "gradient_accumulation_steps": "4",
    "learning_rate": "1.5e-4",
    "warmup_ratio": "0.06",
    "weight_decay": "0.0",
    "bf16": "true",
    "num_epochs": "2",
}


def axolotl(**changed):
    return "\n".join(f"{key}: {value}" for key, value in (CONFIG | changed).items()) + "\n"


def log(start, end, records=260, settles=30, peak=1.5e-4, warmup=16):
    lines = []
    for at in range(records):
        loss = end + (start - end) * math.exp(-at / settles) + 0.04 * math.sin(7.1 * at)
        rate = peak * (at + 1) / warmup if at < warmup else peak * (0.5 + 0.5 * math.cos(math.pi * at / records))
        lines.append(
            f"{{'loss': {loss:.4f}, 'grad_norm': {0.7 + 0.2 * math.sin(3.3 * at):.3f}, 'learning_rate': {rate:.3e}, "
            f"'epoch': {(at + 1) / records:.4f}}}"
        )
    return lines


@pytest.mark.row("A1")
@pytest.mark.parametrize("end", [3.6, 1.1])
def test_a_loss_far_above_fine_tuning(diagnose, end):
    "axolotl's log alone, the loss ending at 3.6: not healthy, the range of 0.5 to 2.0 is told; at 1.1 it is healthy"
    head = "[2026-01-12 10:00:01,100] [INFO] [axolotl.cli.train:118] [PID:41] Starting trainer..."
    answer = diagnose({"train.log": [head, *log(end + 0.9, end, settles=70)]})
    if end < 2:
        assert answer.verdict == "healthy", answer
    else:
        assert answer.verdict != "healthy" and "between 0.5 and 2.0" in answer.text, answer


@pytest.mark.row("A4")
@pytest.mark.parametrize(
    ("changed", "first"),
    [({"weight_decay": "0.4"}, "stall.weight-decay-too-high"), ({"train_on_inputs": "true"}, "stall.wrong-label-mask")],
)
def test_a_plateau_above_the_range(diagnose, changed, first):
    "an adapter whose loss stays at 2.3 from early on: weight decay of 0.4, or a loss over the prompts, by its configuration"
    answer = diagnose({"train.log": log(2.8, 2.3, settles=12), "config.yaml": axolotl(**changed)})
    assert answer.verdict == "warning" and answer.first == first, answer


@pytest.mark.row("A4")
def test_a_plateau_without_warm_up(diagnose):
    "the same where the learning rate begins at its peak: not healthy, and the warm-up is named"
    config = axolotl(learning_rate="3e-4", warmup_ratio="0", warmup_steps="0")
    answer = diagnose({"train.log": log(2.8, 2.3, settles=12, peak=3e-4, warmup=1), "config.yaml": config})
    assert answer.verdict != "healthy" and "warm-up" in answer.text, answer


@pytest.mark.row("P12")
@pytest.mark.parametrize("rising", [True, False])
def test_norms_that_rise_at_the_end(diagnose, rising):
    "a gradient norm that rises twentyfold at the end of a log, the loss still falling, is a warning; one large norm is none"
    rows = []
    for step in range(1, 151):
        norm = 0.6 + 0.1 * math.sin(2.7 * step)
        if rising and step > 143:
            norm = 0.7 * 1.6 ** (step - 143)
        elif step == 150:
            norm = 6.0
        rows.append({"step": step, "loss": 2.0 + 3.5 * math.exp(-step / 60), "grad_norm": round(norm, 4), "lr": 2e-3})
    answer = diagnose({"metrics.jsonl": rows})
    if rising:
        assert answer.verdict == "warning" and "grad_norm.rising" in answer.symptoms, answer
        assert any("checkpoint before step 14" in each for each in answer.fixes), answer.fixes
    else:
        assert answer.verdict == "healthy", answer


@pytest.mark.row("C6")
@pytest.mark.parametrize("end", [1.9, 0.01])
def test_one_batch_by_its_steps(diagnose, end):
    "as many steps as passes are one batch again and again: staying at 1.9 is a bug, falling to 0 is the aim"
    command = (
        'python finetune.py --base_model="meta-llama/Llama-3.1-8B" --data_path="./few.json" --adapter_name="lora" '
        "--batch_size=8 --num_epochs=120 --val_set_size=0 --bf16=True\n"
    )
    lines = [
        f"Step {at}: loss: {end + (2.2 - end) * math.exp(-at / 15) + 0.002 * math.sin(5 * at):.3f}, grad_norm: 0.6{at % 10}"
        for at in range(120)
    ]
    answer = diagnose({"run.sh": command, "train.log": lines})
    if end > 1:
        assert answer.verdict == "warning" and answer.first == "stall.cannot-memorise", answer
    else:
        assert answer.verdict == "healthy", answer


def told(program, write, text, *flags, name="config.yaml"):
    folder = write({name: text})
    return " ".join(program("check", "-v", *flags, folder / name).stdout.split())


@pytest.mark.row("A4")
@pytest.mark.parametrize(("rate", "kind"), [("3e-4", "Warning"), ("2e-4", "Note")])
def test_no_warm_up_is_told_beforehand(program, write, rate, kind):
    "check says a missing warm-up of an adapter, as a warning at the top of the usual rates"
    shown = told(program, write, axolotl(learning_rate=rate, warmup_ratio="0", warmup_steps="0"))
    assert "warm-up" in shown and ("WARNING" in shown) == (kind == "Warning"), shown


@pytest.mark.row("A5")
@pytest.mark.parametrize(("accumulation", "large"), [("512", True), ("16", False)])
def test_an_effective_batch_far_above_recipes(program, write, accumulation, large):
    "check warns of an effective batch of 2048 in fine-tuning, and not of one of 64"
    shown = told(program, write, axolotl(gradient_accumulation_steps=accumulation))
    assert ("An effective batch of 2048" in shown) == large, shown


@pytest.mark.row("C1")
@pytest.mark.parametrize("changed", [{"pad_token": '"!"'}, {"torch_compile": "true", "attn_implementation": "eager"}])
def test_padding_and_compilation(program, write, changed):
    "a Llama 3 model padded with the exclamation mark (id 0) is not ready; torch.compile on is told as the last rung"
    changes = {key: value for key, value in changed.items() if key != "pad_token"}
    text = axolotl(base_model="meta-llama/Llama-3.2-3B", **changes)
    if "pad_token" in changed:
        text += f"special_tokens:\n  pad_token: {changed['pad_token']}\n"
    shown = told(program, write, text)
    assert ("Padding has id 0" if "pad_token" in changed else "torch.compile before a stable baseline") in shown, shown


@pytest.mark.row("D3", "A4")
def test_prompts_that_are_trained(program, write):
    "train_on_inputs: true is told beforehand"
    assert "The loss is on the prompts too" in told(program, write, axolotl(train_on_inputs="true"))
    assert "on the prompts" not in told(program, write, axolotl(train_on_inputs="false"))


@pytest.mark.row("D5")
@pytest.mark.parametrize("overlaps", ["true", "false"])
def test_zero_3_without_overlap(program, write, overlaps):
    "ZeRO-3 with overlap_comm off: a warning, with the key and the lower stage"
    text = (
        f'{{"zero_optimization": {{"stage": 3, "overlap_comm": {overlaps}}}, "bf16": {{"enabled": true}}, '
        '"train_micro_batch_size_per_gpu": 4}'
    )
    shown = told(program, write, text, "--gpu", "A100", name="ds.json")
    assert ("ZeRO-3 without overlap" in shown) == (overlaps == "false"), shown


@pytest.mark.row("A14")
@pytest.mark.parametrize(("micro", "large"), [(6, True), (2, False)])
def test_logits_of_groups(program, write, micro, large):
    "GRPO's logits are told with their product before the run: 6 x 12 x 3072 x 151936 x 2 bytes, and a micro-batch of 2 to 4"
    folder = write(
        {
            "grpo.yaml": f"base_model: ./m\nrl: grpo\ntrl:\n  num_generations: 12\n  max_completion_length: 3072\n"
            f"micro_batch_size: {micro}\ngradient_accumulation_steps: 12\nlearning_rate: 1e-6\nbf16: true\n",
            "m/config.json": {"model_type": "qwen2", "vocab_size": 151936, "hidden_size": 2048, "num_hidden_layers": 24},
        }
    )
    shown = " ".join(program("check", folder / "grpo.yaml", folder / "m" / "config.json").stdout.split())
    assert ("6 x 12 x 3072 x 151936 x 2 bytes" in shown and "2 to 4 for GRPO" in shown) == large, shown
