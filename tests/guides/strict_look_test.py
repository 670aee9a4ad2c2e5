"""The rows once more, strictly: two causes beside each other, bare messages, red flags without settings, stacks, layers."""

import json
import random

import pytest

LIBRARY = "/opt/lib/python3.11/site-packages/torch"


def policy(count=60, **changed):
    draw = random.Random(11)
    rows = []
    for step in range(1, count + 1):
        row = {
            "step": step,
            "loss": round(draw.gauss(0.002, 0.002), 5),
            "grad_norm": round(draw.uniform(0.05, 0.2), 4),
            "learning_rate": 1e-6,
            "reward": round(0.05 + 0.009 * step, 4),
            "reward_std": 0.31,
            "frac_reward_zero_std": round(draw.uniform(0.1, 0.4), 3),
            "entropy": 0.39,
            "kl": 0.02,
            "sampling/sampling_logp_difference/mean": round(draw.uniform(0.03, 0.04), 4),
            "sampling/importance_sampling_ratio/min": 0.55,
            "sampling/importance_sampling_ratio/mean": 1.0,
        }
        rows.append(row | {name: value(step) if callable(value) else value for name, value in changed.items()})
    return rows


# --- 000


@pytest.mark.row("C4")
def test_two_causes_with_one_first_fix(program, write):
    "of an OOM whose two causes begin with the same change the whole ladder is told, checkpointing among it"
    folder = write(
        {
            "train.log": [
                "Step 0: loss: 2.41, grad_norm: 0.9",
                "Step 1: loss: 2.36, grad_norm: 0.8",
                "RuntimeError: CUDA out of memory",
            ],
            "training_args.json": {
                "bf16": True,
                "attn_implementation": "sdpa",
                "learning_rate": 3e-5,
                "per_device_train_batch_size": 4,
                "gradient_checkpointing": False,
            },
        }
    )
    told = program("diagnose", folder, status=1).stdout
    assert "Fix 1st" not in told, told
    assert told.index("micro-batch") < told.index("Recompute activations"), told


@pytest.mark.row("C2", "C4")
@pytest.mark.parametrize("slope", [0.5, 0.02])
def test_a_loss_that_climbs_without_a_leap(diagnose, slope):
    "a loss that climbs steadily from the first records on, with nothing else told: the learning rate, warm-up first"
    count = 12 if slope > 0.1 else 100
    lines = [f"Step {at}: loss: {2.2 + slope * at:.3f}, grad_norm: {0.9 + slope * at / 3:.3f}" for at in range(1, count)]
    answer = diagnose({"train.log": lines})
    assert answer.first == "diverge.lr-too-high", answer
    assert answer.causes[0]["probability"] > 0.5, answer
    assert "warm-up" in answer.fixes[0] and any("rate" in each for each in answer.fixes[1:3]), answer.fixes


@pytest.mark.row("C7")
def test_an_environment_is_no_report(diagnose):
    "the print of an environment alone is no account of a failure: no cause is guessed from its words"
    text = "PyTorch: 2.4.1\nCUDA: 12.1\ncuDNN: 90100\nBF16 supported: False\nGPU: Tesla T4\n"
    answer = diagnose({"where.txt": text})
    assert answer.verdict == "insufficient-evidence" and not answer.causes, answer


@pytest.mark.row("C5")
@pytest.mark.parametrize("start", [0.22, 2.1])
def test_a_bare_log_that_starts_too_low(diagnose, start):
    "a bare log whose loss starts at 0.2: that a language model starts between 1.5 and 3.0 is told, beside a healthy verdict"
    lines = [f"step {at} loss {start * (1 - 0.002 * at):.4f} grad_norm 0.7" for at in range(60)]
    answer = diagnose({"train.log": lines})
    assert answer.verdict == "healthy", answer
    assert ("between 1.5 and 3.0" in answer.symptoms["gate.first_ten"]["summary"]) == (start < 1)


@pytest.mark.row("C3")
def test_a_speed_that_sinks_is_not_nothing(program, write):
    "of two runs that end alike the one whose tokens per second sink: look at what slows it, and not 'nothing'"
    draw = random.Random(2)

    def rows(last):
        return [
            {
                "step": s,
                "loss": round(1.4 + 1.0 * 0.96**s + draw.gauss(0, 0.02), 4),
                "tokens_per_sec": round(4000 + (last - 4000) * s / 120 + draw.gauss(0, 40)),
            }
            for s in range(1, 121)
        ]

    folder = write({"a.jsonl": rows(4000), "b.jsonl": rows(1900)})
    told = " ".join(program("compare", folder / "a.jsonl", folder / "b.jsonl").stdout.split())
    assert "not steady" in told and "what slows B within the run" in told, told
    told = " ".join(program("compare", folder / "a.jsonl", folder / "a.jsonl").stdout.split())
    assert "what slows B" not in told, told


@pytest.mark.row("C1", "G1")
@pytest.mark.parametrize("kind", ["bfloat16", "float32"])
def test_the_whole_baseline_of_a_start(program, write, kind):
    "fused attention and compilation at once: eager, cuDNN off, compilation off on the screen; fp32 weights behind"
    lines = [
        "Loading base model meta-llama/Llama-3.1-8B",
        "attn_implementation: sdpa",
        "disable_cudnn_sdpa: False",
        "enable_torch_compile: True",
        f"Model loaded successfully. dtype: torch.{kind}",
        "bf16: True",
        "Adding dedicated PAD token <|pad|>",
    ]
    path = write({"start.log": lines}) / "start.log"
    told = " ".join(program("check", path, status=1).stdout.split())
    assert told.index("Eager attention first") < told.index("cuDNN's kernel off") < told.index("torch.compile last"), told
    told = " ".join(program("check", "-v", path, status=1).stdout.split())
    assert ("dtype: torch.float32" in told) == (kind == "bfloat16"), told


# --- 001


@pytest.mark.row("A1")
@pytest.mark.parametrize("norm", [130, 0.8])
def test_norms_above_a_hundred_lead(diagnose, norm):
    "norms above 100 in every record and a held-out loss far above the training loss: the gradient comes first"
    draw = random.Random(4)
    rows = []
    for step in range(1, 201):
        rows.append(
            {
                "step": step,
                "loss": round(4.4 - 0.004 * step, 4),
                "grad_norm": round(norm * draw.uniform(0.9, 1.1), 2),
                "learning_rate": 2e-5,
                "epoch": step / 100,
            }
        )
        if step % 50 == 0:
            rows.append({"step": step, "eval_loss": round(5.2 - 0.0005 * step, 4), "epoch": step / 100})
    answer = diagnose({"log.jsonl": rows})
    assert (answer.first == "diverge.unstable-gradients") == (norm > 100), answer


@pytest.mark.row("A2", "A9")
@pytest.mark.parametrize("least", [0.0005, 0.02, 0.5])
def test_ratios_near_zero_beside_a_small_difference(diagnose, least):
    "importance ratios near 0 beside a small mean difference and no settings: older weights, and the three fixes"
    answer = diagnose(
        {"log.jsonl": policy(**{"sampling/importance_sampling_ratio/min": lambda step: least * (1 + 0.1 * (step % 3))})}
    )
    if least >= 0.1:
        assert answer.verdict == "healthy", answer
        return
    assert answer.first == "rl.stale-inference-weights" and answer.causes[0]["probability"] > 0.8, answer
    fixes = answer.fixes
    assert "sync" in fixes[0] and "off_policy" in fixes[1] and "importance_sampling_level" in fixes[2], fixes


@pytest.mark.row("A2")
@pytest.mark.parametrize("spread", [0.0, 0.3])
def test_a_spread_of_zero_is_believed(diagnose, spread):
    "reward_std 0 in every record is no learning signal, whatever the share of such groups says"
    answer = diagnose({"log.jsonl": policy(reward_std=spread)})
    assert (answer.first == "rl.zero-advantage" and answer.causes[0]["probability"] > 0.8) == (spread == 0), answer


@pytest.mark.row("A4")
@pytest.mark.parametrize("warm", [0, 15])
def test_an_adapter_that_never_leaves_its_start(diagnose, warm):
    "an adapter whose loss stays from the first step on, at a high rate without warm-up: the warm-up is one of two causes"
    draw = random.Random(6)
    rows = [
        {
            "step": s,
            "loss": round(2.9 + draw.gauss(0, 0.04), 4),
            "grad_norm": round(draw.uniform(0.5, 0.9), 3),
            "learning_rate": 5e-4 * min(1, s / warm if warm else 1),
            "epoch": s / 100,
        }
        for s in range(1, 201)
    ]
    config = [
        "base_model: meta-llama/Llama-3.1-8B",
        "adapter: lora",
        "lora_r: 16",
        "learning_rate: 0.0005",
        f"warmup_steps: {warm}",
        "max_steps: 200",
        "micro_batch_size: 4",
        "gradient_accumulation_steps: 4",
        "bf16: true",
        "lr_scheduler: constant",
    ]
    answer = diagnose({"log.jsonl": rows, "config.yaml": config})
    first_two = {each["id"] for each in answer.causes[:2]}
    assert ("diverge.short-warmup" in first_two) == (warm == 0), answer


@pytest.mark.row("A14")
@pytest.mark.parametrize("micro", [8, 2])
def test_logits_of_a_model_that_is_only_named(program, write, micro):
    "GRPO with 8 x 16 completions of 2048 tokens on Qwen2.5, no config.json at hand: 74 GiB of logits, 2 to 4 instead"
    config = [
        "base_model: Qwen/Qwen2.5-7B-Instruct",
        "rl: grpo",
        "bf16: true",
        f"micro_batch_size: {micro}",
        "gradient_accumulation_steps: 8",
        "trl:",
        "  num_generations: 16",
        "  max_completion_length: 2048",
    ]
    told = " ".join(program("check", write({"grpo.yaml": config}) / "grpo.yaml").stdout.split())
    assert ("= 74.25 GiB" in told and "2 to 4" in told) == (micro == 8), told


@pytest.mark.row("A16")
@pytest.mark.parametrize(
    "lines, cause",
    [
        (["unable to load strategy helpers.rewards", "None is not callable"], "setup.reward-module-not-importable"),
        (["Content end boundary is before start boundary"], "setup.template-boundary"),
    ],
)
def test_a_message_alone(diagnose, lines, cause):
    "a message that stands alone is known by itself, without the words that people use beside it"
    answer = diagnose({"out.log": lines})
    assert answer.first == cause and answer.causes[0]["probability"] > 0.8, answer


# --- 002


@pytest.mark.row("P9")
@pytest.mark.parametrize(
    "op, code",
    [("SqrtBackward0", "d = torch.sqrt(((a - b) ** 2).sum(-1))"), ("DivBackward0", "w = w / w.norm(dim=-1, keepdim=True)")],
)
def test_the_line_of_anomaly_mode(diagnose, op, code):
    "the innermost line of one's own in the stack of anomaly mode is the headline's evidence, with the operation"
    lines = [f"step {at} loss {2.0 - 0.01 * at:.3f} grad_norm 0.6" for at in range(12)]
    lines += [
        f"{LIBRARY}/graph.py:825: UserWarning: Error detected in {op}. Traceback of forward call that caused the error:",
        '  File "/home/u/fit.py", line 88, in <module>',
        "    loss = model(batch)",
        '  File "/home/u/parts.py", line 42, in forward',
        f"    {code}",
        f'  File "{LIBRARY}/_tensor.py", line 40, in wrapped',
        "    return f(*args, **kwargs)",
        " (Triggered internally at ../torch/csrc/autograd/python_anomaly_mode.cpp:122.)",
        "Traceback (most recent call last):",
        '  File "/home/u/fit.py", line 90, in <module>',
        "    loss.backward()",
        f"RuntimeError: Function '{op}' returned nan values in its 0th output.",
    ]
    answer = diagnose({"train.log": lines})
    assert answer.first == "nan.unstable-op" and answer.verdict == "failed", answer
    first = answer.causes[0]
    assert f"Anomaly mode names {op} in: {code}." in first["because"], first["because"]
    assert first["evidence"][0]["line"] == 17 and first["evidence"][0]["text"] == code, first["evidence"]


@pytest.mark.row("P17")
@pytest.mark.parametrize("spread", ["1.0", "0.02"])
def test_a_spread_that_the_log_prints(diagnose, spread):
    "a log that prints the embeddings' standard deviation, 1.0, and starts far above any guess: the initialisation"
    start = 48 if spread == "1.0" else 10.4
    lines = [
        f"initialised: embedding std {spread}, linear std 0.02",
        *(f"step {s} loss {start * 0.99**s:.3f} grad_norm 3.1" for s in range(60)),
    ]
    answer = diagnose({"train.log": lines})
    assert (answer.first == "diverge.bad-init" and "0.02" in answer.fixes[0]) == (spread == "1.0"), answer


@pytest.mark.row("P18")
@pytest.mark.parametrize("form", ["  layer {}: grad_norm {:.3e}", "model.layers.{}.mlp.up_proj.weight grad norm: {:.3e}"])
@pytest.mark.parametrize("factor", [10**0.5, 1.0])
def test_one_line_a_layer(diagnose, form, factor):
    "norms of the layers, one line a layer below each record: gradients that vanish are located by layer"
    draw = random.Random(8)
    lines = []
    for step in range(1, 60):
        lines.append(f"step {step} loss {4.0 - 0.001 * step:.4f}")
        lines += [form.format(layer, 0.3 * factor ** (layer - 11) * draw.uniform(0.9, 1.1)) for layer in range(12)]
    answer = diagnose({"train.log": lines})
    assert ("grad_norm.layer_vanishing" in answer.symptoms) == (factor > 1), answer
    if factor > 1:
        assert "layer 0" in answer.symptoms["grad_norm.layer_vanishing"]["summary"], answer


# --- 003


@pytest.mark.row("D5")
def test_no_tf32_for_a_run_in_bf16(diagnose):
    "a slow run that computes in bf16 already is not told to take TF32 or bf16"
    rows = [{"step": s, "loss": round(2 - 0.004 * s, 4), "mfu": 0.07} for s in range(1, 101)]
    answer = diagnose(
        {"log.jsonl": rows, "training_args.json": {"bf16": True, "per_device_train_batch_size": 2, "learning_rate": 2e-5}}
    )
    fast = [each for each in answer.causes if each["id"] == "slow.no-fast-path"]
    assert fast and "tf32" not in json.dumps(fast[0]["remedies"]).lower(), fast


@pytest.mark.row("D6")
@pytest.mark.parametrize("more", [[], ["process group initialized: 8 ranks", "step 1 loss 2.41", "step 2 loss 2.40"]])
def test_silence_behind_the_group(diagnose, more):
    "a log that ends where the process group is formed: the rendezvous, address and port first"
    answer = diagnose(
        {
            "train.log": [
                "rank 0 of 8",
                "Loading tokenizer",
                "Initializing process group (backend nccl, tcp://10.0.0.1:29500)",
                *more,
            ]
        }
    )
    assert (answer.first == "hang.rendezvous" and "MASTER_ADDR" in answer.fixes[0]) == (not more), answer
    if not more:
        assert answer.verdict == "warning", answer


@pytest.mark.row("D1", "C3")
def test_what_to_do_about_a_speed_that_sinks(diagnose):
    "tokens per second that fall within a run, and nothing else known: the wait for data, memory and a profile are asked for"
    rows = [{"step": s, "loss": round(2.3 * 0.99**s, 4), "lr": 2e-5, "tokens_per_sec": 4000 - 20 * s} for s in range(1, 121)]
    answer = diagnose({"log.jsonl": rows})
    assert answer.verdict == "warning" and "throughput.drop" in answer.symptoms, answer
    assert "profile" in answer.report["summary"]["first_action"], answer.report["summary"]


@pytest.mark.row("C4", "G1")
@pytest.mark.parametrize("off", ["False", "True"])
def test_a_switch_that_says_the_opposite(program, write, off):
    "a switch named after what it turns off is shown with the value that it has in the log"
    lines = ["attn_implementation: sdpa", f"disable_cudnn_sdpa: {off}", "Step 0: loss: nan, grad_norm: nan"]
    told = program("diagnose", "-v", write({"train.log": lines}), status=1).stdout
    assert f"disable_cudnn_sdpa = {'true' if off == 'False' else 'false'}" not in told, told


@pytest.mark.row("D6", "P17", "P18")
def test_words_beside_sound_metrics(diagnose):
    "a start that ends at the process group beside a log of metrics, a printed spread, and blocks of data are no trouble"
    rows = [{"step": s, "loss": round(1.4 + 0.9 * 0.97**s, 4), "grad_norm": 0.6, "lr": 2e-5} for s in range(1, 100)]
    start = ["Loading tokenizer", "embedding std 1.1", "Initializing process group (backend nccl)"]
    answer = diagnose({"metrics.jsonl": rows, "out.log": start})
    assert answer.verdict == "healthy", answer
    lines = [f"block {s}: step {s} loss {1.4 + 0.9 * 0.97**s:.4f} grad_norm 0.6{s % 7}" for s in range(1, 100)]
    answer = diagnose({"train.log": lines})
    assert answer.verdict == "healthy" and "grad_norm" in json.dumps(answer.report["series"]), answer


@pytest.mark.row("G2", "A14")
def test_what_the_memory_went_to(diagnose):
    "out of memory in a run of axolotl: profiler_steps writes the memory history of single steps, and is offered as the test"
    lines = [
        "{'loss': 1.9, 'grad_norm': 0.7, 'learning_rate': 1e-5, 'epoch': 0.01}",
        "torch.OutOfMemoryError: CUDA out of memory.",
    ]
    config = ["base_model: NousResearch/Llama-2-7b-hf", "adapter: lora", "micro_batch_size: 4", "learning_rate: 2e-4"]
    answer = diagnose({"train.log": lines, "config.yaml": config})
    assert answer.first.startswith("oom."), answer
    assert "profiler_steps: [1, 2]" in json.dumps(answer.report["experiments"]), answer.report["experiments"]


@pytest.mark.row("D5", "P2")
@pytest.mark.parametrize("sinks", [True, False])
def test_tf32_is_no_reason_to_slow_down(diagnose, sinks):
    "TF32 that is off makes a run slow from its first step on: of one that slows down a profile is asked for, TF32 no cause"
    rows = [
        {
            "step": s,
            "loss": round(2 - 0.005 * s, 4),
            "learning_rate": 2e-5,
            "tokens_per_sec": 4000 - (22 * s if sinks else 0),
        }
        for s in range(1, 120)
    ]
    settings = {"bf16": False, "fp16": False, "tf32": False, "per_device_train_batch_size": 8, "learning_rate": 2e-5}
    env = ["GPU: NVIDIA A100-SXM4-80GB", "PyTorch: 2.4.0"]
    answer = diagnose({"log.jsonl": rows, "training_args.json": settings, "env.txt": env})
    assert (answer.first == "slow.no-fast-path") != sinks, answer
    if sinks:
        assert "profile" in answer.report["summary"]["first_action"], answer.report["summary"]
