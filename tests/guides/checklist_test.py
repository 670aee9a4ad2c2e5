"""Guide 000's first ten steps, its four patterns with their fixes in its order, and its criteria of success."""

import math

import pytest


def line(step, loss, norm, style):
    return {"guide": f"Step {step}: loss: {loss}, grad_norm: {norm}",
            "trainer": f"{{'loss': {loss}, 'grad_norm': {norm}, 'learning_rate': 2e-05, 'epoch': {step / 100}}}",
            "equals": f"iter={step} loss={loss} grad_norm={norm}",
            "bars": f"step {step} | loss {loss} | grad_norm {norm} | 2.1 s/it"}[style]


def places(fixes, *wanted):
    """Where the fixes stand that hold these words, each behind the one before."""
    found = [next((at for at, fix in enumerate(fixes) if want in fix), None) for want in wanted]
    assert None not in found, (wanted, fixes)
    assert found == sorted(found), (wanted, fixes)
    return found


ARGS = {"model_name_or_path": "meta-llama/Llama-3.1-8B", "bf16": True, "learning_rate": 3e-5, "warmup_ratio": 0.05,
        "max_grad_norm": 1.0, "per_device_train_batch_size": 4}

styles = pytest.mark.parametrize("style", ["guide", "equals", "bars"])


# --- C4: the four patterns

@pytest.mark.row("C4")
@styles
def test_nan_at_the_first_step(diagnose, style):
    "NaN in loss and gradient norm at step 0: fused attention; eager first, then SDPA's flash kernel off"
    answer = diagnose({"train.log": [line(0, "nan", "nan", style)]})
    assert answer.verdict == "failed"
    assert answer.first == "nan.attention-overflow", answer
    places(answer.fixes, '"attn.impl": "eager"', '"attn.flash_sdpa": false')


@pytest.mark.row("C4")
@pytest.mark.parametrize("given", ["settings", "log"])
def test_nan_at_the_first_step_under_eager(diagnose, given):
    "the same where attention is eager already: the flash kernel of SDPA off, and eager is not told again"
    log = ["attn_implementation: eager"] if given == "log" else []
    files = {"train.log": log + [line(0, "nan", "nan", "guide")]}
    if given == "settings":
        files["training_args.json"] = ARGS | {"attn_implementation": "eager"}
    answer = diagnose(files)
    assert answer.first == "nan.attention-overflow", answer
    assert '"attn.flash_sdpa": false' in answer.fixes[0]
    assert not any('"attn.impl": "eager"' in fix for fix in answer.fixes)


@pytest.mark.row("C4")
@pytest.mark.parametrize("zeros", [1, 4, 9])
def test_loss_of_exactly_zero(diagnose, zeros):
    "a loss of exactly 0 after the first step: padding; a token of its own, a tenth of the learning rate, the data"
    log = [line(0, 2.43, 0.77, "guide")] + [line(1 + i, "0.0", "0.0", "guide") for i in range(zeros)]
    answer = diagnose({"train.log": log})
    assert answer.verdict == "failed"
    assert answer.first == "stall.zero-loss-padding", answer
    places(answer.fixes, "tokenizer.pad_token", "3e-6", "decode one batch")


@pytest.mark.row("C4")
def test_loss_of_exactly_zero_with_settings(diagnose):
    "with settings the tenth of the learning rate is a number, and a padding token that is there is not told again"
    log = ["Adding dedicated PAD token", line(0, 2.43, 0.77, "guide"), line(1, "0.0", "0.0", "guide")]
    answer = diagnose({"train.log": log, "training_args.json": ARGS})
    assert answer.first == "stall.zero-loss-padding", answer
    assert '"optim.lr": 3e-06' in answer.fixes[0]
    assert not any("tokenizer.pad_token" in fix for fix in answer.fixes)


@pytest.mark.row("C4")
@pytest.mark.parametrize("before", [1, 2, 50])
def test_nan_in_mid_run(diagnose, before):
    "NaN in mid-run with nothing risen before: the batch; clipping, a lower learning rate, SDPA's flash kernel off"
    log = [line(51 - before + i, round(1.8 + 0.02 * math.sin(5 * i), 3), round(0.5 + 0.03 * math.sin(3 * i), 3), "guide")
           for i in range(before)]
    answer = diagnose({"train.log": [*log, line(51, "nan", "nan", "guide")]})
    assert answer.verdict == "failed"
    assert answer.first == "nan.bad-data-nonfinite", answer
    places(answer.fixes, "optim.grad_clip", "learning rate", "attn.flash_sdpa")


@pytest.mark.row("C4")
def test_nan_in_mid_run_with_clipping(diagnose):
    "whoever clips at 1.0 is not told to clip; 3e-5 becomes 1e-5"
    log = [line(50, 1.8, 0.5, "guide"), line(51, "nan", "nan", "guide")]
    answer = diagnose({"train.log": log, "training_args.json": ARGS})
    assert answer.first == "nan.bad-data-nonfinite", answer
    assert not any("grad_clip" in fix for fix in answer.fixes)
    places(answer.fixes, '"optim.lr": 1e-05', "attn.flash_sdpa")


@pytest.mark.row("C4")
@pytest.mark.parametrize("files", [{}, {"training_args.json": ARGS | {"gradient_checkpointing": False}}])
@pytest.mark.parametrize("message", ["RuntimeError: CUDA out of memory",
                                     "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.50 GiB"])
def test_out_of_memory(diagnose, files, message):
    "out of memory: the micro-batch first and accumulation with it, then checkpointing"
    answer = diagnose({"train.log": [line(0, 2.35, 0.82, "guide"), line(1, 2.3, 0.76, "guide"), message]} | files)
    assert answer.verdict == "failed"
    assert answer.first in ("oom.batch-too-large", "oom.activations"), answer
    assert "batch.micro" in answer.fixes[0]
    assert "ccumulation" in answer.fixes[0]
    places(answer.fixes, "batch.micro", '"memory.gradient_checkpointing": true')


@pytest.mark.row("C4")
def test_what_a_program_printed_is_no_account(diagnose):
    "a line that a program printed is measured and not read as a person's report"
    answer = diagnose({"train.log": [line(3, "nan", "nan", "guide")]})
    assert "reads like others" not in answer.text


# --- C2: the first ten steps

@pytest.mark.row("C2")
@pytest.mark.parametrize("norm", [48.0, 0.013])
def test_gradient_norm_outside_its_range(diagnose, norm):
    "a gradient norm that stays outside 0.1 to 10 fails the gate of the first ten, and the run is not healthy"
    log = [line(i, round(2.3 - 0.02 * i, 3), round(norm * (1 + 0.02 * math.sin(i)), 4), "guide") for i in range(1, 11)]
    answer = diagnose({"train.log": log})
    assert answer.verdict == "warning", answer
    assert "do not pass" in answer.symptoms["gate.first_ten"]["summary"]
    assert "outside 0.1 to 10" in answer.symptoms["gate.first_ten"]["summary"]


@pytest.mark.row("C2")
@pytest.mark.parametrize("first", [5, 8, 9])
def test_gradient_norm_that_becomes_nan(diagnose, first):
    "a gradient norm that becomes NaN among the first ten and stays so fails the gate"
    log = [line(i, round(2.3 - 0.02 * i, 3), "nan" if i >= first else 0.8, "guide") for i in range(1, 11)]
    answer = diagnose({"train.log": log})
    assert answer.verdict in ("failed", "unstable"), answer
    assert "grad_norm is not finite" in answer.symptoms["gate.first_ten"]["summary"]


@pytest.mark.row("C2")
def test_out_of_memory_in_the_first_steps(diagnose):
    "out of memory before the tenth record fails the gate, and no success criterion is said to hold"
    answer = diagnose({"train.log": [line(i, round(2.3 - 0.02 * i, 3), 0.8, "guide") for i in range(1, 4)] +
                       ["torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.00 GiB"]})
    assert answer.verdict == "failed"
    assert "ran out of memory" in answer.symptoms["gate.first_ten"]["summary"]
    assert "not met" in answer.symptoms["gate.success"]["summary"]


@pytest.mark.row("C2")
def test_rising_loss(diagnose):
    "a loss that climbs over the first ten records is no healthy start"
    answer = diagnose({"train.log": [line(i, round(2.4 + 0.55 * i, 3), 1 + 0.2 * i, "guide") for i in range(1, 11)]})
    assert answer.verdict in ("failed", "unstable"), answer


# --- C8: the criteria of success

def run_of(count=160, **more):
    made = []
    for step in range(1, count + 1):
        record = {"step": step, "loss": round(1.3 + math.exp(-3 * step / count) + 0.02 * math.sin(7 * step), 4),
                  "grad_norm": round(0.7 + 0.1 * math.sin(3 * step), 3), "learning_rate": 1e-4}
        for name, value in more.items():
            record[name] = value(step / count)
        made.append(record)
    return made


@pytest.mark.row("C8")
def test_criteria_met(diagnose):
    "finite, falling, memory steady, held-out loss better, the epoch complete: every criterion holds"
    metrics = run_of(memory_gib=lambda _: 31.2, epoch=lambda x: x)
    for record in metrics[39::40]:
        record["eval_loss"] = round(record["loss"] + 0.05, 4)
    answer = diagnose({"metrics.jsonl": metrics})
    assert answer.verdict == "healthy", answer
    assert "every success criterion" in answer.symptoms["gate.success"]["summary"]


@pytest.mark.row("C8")
@pytest.mark.parametrize("name, unit", [
    ("memory/max_alloc", 1), ("memory/max_reserved", 1), ("memory/max_mem_active(GiB)", 1), ("gpu_mem", 1),
    ("max_memory_allocated", 2**30), ("cuda_memory_allocated_mib", 1024), ("gpu/memory_reserved_gb", 1), ("vram_gb", 1),
    ("rss_gb", 1), ("ram_mb", 1024), ("nvidia_smi/memory_used_mib", 1024), ("peak_mem_gib", 1)])
def test_memory_that_grows(diagnose, name, unit):
    "memory that grows over the run is a failed criterion under whatever key it is logged"
    answer = diagnose({"metrics.jsonl": run_of(**{name: lambda x: round((22 + 30 * x) * unit, 2)})})
    assert answer.verdict == "warning", answer
    assert "memory.growth" in answer.symptoms
    assert "GiB" in answer.symptoms["memory.growth"]["summary"]


@pytest.mark.row("C8")
def test_memory_that_is_no_amount(diagnose):
    "what is free, a share or a limit is no memory in use"
    for name in ("gpu_mem_free_gib", "gpu_memory_util", "memory_limit_gb"):
        answer = diagnose({"metrics.jsonl": run_of(**{name: lambda x: round(22 + 30 * x, 2)})})
        assert "memory.growth" not in answer.symptoms, name


@pytest.mark.row("C8")
def test_gradient_norm_without_a_value(diagnose):
    "a gradient norm that is NaN to the end is a criterion that is not met"
    metrics = run_of()
    for record in metrics[120:]:
        record["grad_norm"] = float("nan")
    answer = diagnose({"metrics.jsonl": metrics})
    assert answer.verdict != "healthy"
    assert "gradient norm is finite" in answer.symptoms["gate.success"]["summary"]


@pytest.mark.row("C8")
@pytest.mark.parametrize("end", ["Killed", "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB"])
def test_run_that_breaks_off(diagnose, end):
    "a run that is killed or runs out of memory does not meet the criteria, however well it learnt"
    log = [line(record["step"], record["loss"], record["grad_norm"], "guide") for record in run_of(120)]
    answer = diagnose({"train.log": [*log, end]})
    assert answer.verdict == "failed", answer
    assert "completes without a crash" in answer.symptoms["gate.success"]["summary"]
