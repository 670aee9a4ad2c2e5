"""Guides 000, 001 and 003 tried once more: starts, gates, ladders, resumes, and what a program hides."""

import math
import random

import pytest

START = [
    "Loading base model meta-llama/Llama-3.1-8B ...",
    "attn_implementation: eager",
    "disable_cudnn_sdpa: True",
    "Disabled cuDNN SDPA for bf16 stability",
    "Model loaded successfully. dtype: torch.float32",
    "Adding dedicated PAD token <|pad|>",
]
PEFT = "trainable params: 41,943,040 || all params: 8,072,204,288 || trainable%: 0.5196"


def falling(count, start=2.3, end=1.4, norm=0.7, first=1, settles=None, seed=5):
    draw = random.Random(seed)
    settles = settles or count / 4
    return [
        (first + at, end + (start - end) * math.exp(-at / settles) + draw.gauss(0, 0.03), norm * (1 + draw.gauss(0, 0.12)))
        for at in range(count)
    ]


def plain(rows, rate=3e-4):
    rate = rate if callable(rate) else (lambda step, rate=rate: rate)
    return [f"step {s} | loss {loss:.4f} | grad_norm {norm:.3f} | lr {rate(s):.3e}" for s, loss, norm in rows]


def dictionary(rows, rate=2e-4):
    return [
        f"{{'loss': {loss:.4f}, 'grad_norm': {norm:.4f}, 'learning_rate': {rate}, 'epoch': {s / 200:.3f}}}"
        for s, loss, norm in rows
    ]


# --- 000


@pytest.mark.row("C2")
@pytest.mark.parametrize("factor", [1.0, 1.09])
def test_ten_losses_that_climb(diagnose, factor):
    "a loss that climbs from record to record by 9 % fails the gate of the first ten; one that stays does not"
    lines = [f"Step {at}: loss: {1.9 * factor**at + 0.01 * (at % 2):.3f}, grad_norm: 0.9{at % 7}" for at in range(1, 11)]
    answer = diagnose({"train.log": START + lines})
    told = answer.symptoms["gate.first_ten"]
    assert ("the loss rises" in told["summary"]) == (factor > 1), told
    assert (answer.verdict == "warning") == (factor > 1), answer


@pytest.mark.row("C5", "G1")
@pytest.mark.parametrize("start", [0.21, 2.2])
def test_an_adapter_that_starts_too_low(diagnose, start):
    "an adapter whose loss starts at 0.2, known by the line of its trainable parameters: which tokens count, and seen data"
    lines = [PEFT, *dictionary(falling(80, start, 0.6 * start))]
    answer = diagnose({"train.log": lines})
    if start > 1:
        assert answer.verdict == "healthy", answer
    else:
        assert answer.verdict == "warning" and answer.first == "stall.wrong-label-mask", answer
        assert "trained on before" in " ".join(answer.fixes), answer.fixes


@pytest.mark.row("C8", "A16")
@pytest.mark.parametrize(
    "end",
    [
        ["Traceback (most recent call last):", '  File "rows.py", line 40, in __getitem__', "KeyError: 'output'"],
        ["Segmentation fault (core dumped)"],
        ["RuntimeError: NCCL communicator was aborted on rank 2."],
    ],
)
def test_an_error_meets_no_criterion(diagnose, end):
    "a run that ends in an error of any kind does not meet the success criteria"
    answer = diagnose({"train.log": [*dictionary(falling(90)), *end]})
    told = answer.symptoms["gate.success"]["summary"]
    assert answer.verdict == "failed" and "not met: the run completes without a crash" in told, told


def rates(count, speed, scatter, seed):
    draw = random.Random(seed)
    return [
        {
            "step": s,
            "loss": round(loss, 4),
            "grad_norm": round(norm, 3),
            "tokens_per_second": round(speed * (1 + draw.gauss(0, scatter))),
        }
        for s, loss, norm in falling(count, seed=seed)
    ]


@pytest.mark.row("C9", "C3")
@pytest.mark.parametrize(("speed", "scatter", "said"), [(3700, 0.02, "1.9"), (1950, 0.5, "not steady"), (1960, 0.02, None)])
def test_what_a_rung_wins(program, write, speed, scatter, said):
    "of two runs that end alike compare tells how much faster one is, or that its speed is not steady"
    folder = write({"eager.jsonl": rates(90, 1940, 0.02, 1), "flash.jsonl": rates(90, speed, scatter, 2)})
    shown = " ".join(program("compare", folder / "eager.jsonl", folder / "flash.jsonl").stdout.split("\n\n")[0].split())
    assert shown.startswith("SAME"), shown
    assert said in shown if said else "times as fast" not in shown and "not steady" not in shown, shown


def told(program, write, text, name="run.sh"):
    return " ".join(program("check", "--verbose", write({name: text}) / name).stdout.split())


COMMAND = (
    'python finetune.py --base_model="meta-llama/Llama-3.1-8B" --data_path="./ten.json" --adapter_name="lora" --bf16=True '
)


@pytest.mark.row("C6", "G1")
def test_the_test_of_overfitting_is_no_fault(program, write):
    "check takes a hundred passes without evaluation for the test that they are, and three for a missing evaluation"
    shown = told(program, write, COMMAND + "--batch_size=10 --num_epochs=100 --val_set_size=0\n")
    assert "test of overfitting" in shown and "WARNING" not in shown, shown
    assert "No evaluation" in told(program, write, COMMAND + "--num_epochs=6 --val_set_size=0\n")


@pytest.mark.row("C6", "C10", "G1")
def test_what_is_accumulated(program, write):
    "batch_size over per_device_train_batch_size is what is accumulated"
    shown = told(program, write, COMMAND + "--batch_size=48 --per_device_train_batch_size=4 --num_epochs=1\n")
    assert "4 a device x 12 accumulated" in shown, shown


@pytest.mark.row("C1", "G1")
@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({}, None),
        (
            {
                "disable_cudnn_sdpa: True": "disable_cudnn_sdpa: False",
                "Disabled cuDNN SDPA for bf16 stability": "bf16: True",
            },
            "cuDNN",
        ),
        ({"Adding dedicated PAD token <|pad|>": ""}, "No padding token was added"),
    ],
)
def test_each_startup_line(program, write, changed, said):
    "check of a start names cuDNN's kernel that is on and the padding token that nobody added; of a good one nothing"
    lines = "\n".join(changed.get(line, line) for line in START) + "\nStep 0: loss: 2.31, grad_norm: 0.71\n"
    shown = told(program, write, lines, "train.log")
    assert said in shown if said else "READY" in shown, shown


@pytest.mark.row("C9")
def test_the_third_rung(program, write):
    "cuDNN's kernel beside FlashAttention-2 is told as the third rung"
    flags = '--attn_implementation="flash_attention_2" --disable_cudnn_sdpa=False --enable_torch_compile=False\n'
    assert "third rung" in told(program, write, COMMAND + flags)
    assert "third rung" not in told(program, write, COMMAND + flags.replace("=False --e", "=True --e"))


@pytest.mark.row("C9", "C4")
def test_back_to_the_last_rung(diagnose):
    "NaN in mid-run under torch.compile and FlashAttention-2: back to the last rung that was stable is the first fix"
    head = ["attn_implementation: flash_attention_2", "enable_torch_compile: True"]
    steps = [f"Step {s}: loss: {loss:.3f}, grad_norm: {norm:.3f}" for s, loss, norm in falling(45, first=0)]
    steps += [f"Step {s}: loss: nan, grad_norm: nan" for s in range(45, 60)]
    answer = diagnose({"train.log": head + steps})
    assert answer.first == "nan.bad-data-nonfinite" and "last rung" in answer.fixes[0], answer.fixes


@pytest.mark.row("C1")
@pytest.mark.parametrize("pad", ["tokenizer.pad_token_id = 0", 'tokenizer.pad_token = "<|finetune_right_pad_id|>"'])
def test_padding_of_a_program(program, write, pad):
    "a program that pads a Llama 3 model, named by a variable, with id 0 is not ready"
    text = (
        "from transformers import AutoModelForCausalLM, AutoTokenizer, TrainingArguments, Trainer\n"
        'name = "meta-llama/Llama-3.1-8B"\ntokenizer = AutoTokenizer.from_pretrained(name)\n'
        f"{pad}\nmodel = AutoModelForCausalLM.from_pretrained(name)\n"
        'args = TrainingArguments("out", learning_rate=1e-5, per_device_train_batch_size=2, warmup_ratio=0.05)\n'
        "Trainer(model=model, args=args, train_dataset=data).train()\n"
    )
    assert ("Padding has id 0" in told(program, write, text, "finetune.py")) == ("= 0" in pad)


@pytest.mark.row("C1")
def test_fixes_of_a_program_are_in_its_words(program, write):
    "a program over transformers is told in the words of transformers"
    text = (
        "import torch\nfrom transformers import AutoModelForCausalLM, TrainingArguments, Trainer\n"
        "from peft import LoraConfig, get_peft_model\n"
        'model = AutoModelForCausalLM.from_pretrained("meta-llama/Llama-3.1-8B", device_map="auto", '
        'attn_implementation="sdpa")\n'
        'model = get_peft_model(model, LoraConfig(r=16, lora_alpha=32, use_dora=True, target_modules=["q_proj"]))\n'
        "model = torch.compile(model)\n"
        'args = TrainingArguments("out", bf16=True, learning_rate=3e-4, per_device_train_batch_size=4, logging_steps=10)\n'
        "Trainer(model=model, args=args, train_dataset=data).train()\n"
    )
    shown = told(program, write, text, "finetune.py")
    assert "--attn_impl " not in shown and "--warmup" not in shown and "attn_implementation" in shown, shown


# --- 001


@pytest.mark.row("A1")
@pytest.mark.parametrize("warm", [True, False])
def test_a_warm_up_that_is_set_and_not_there(diagnose, warm):
    "a warm-up of 5 % in the configuration and the full rate at the first of 240 steps is not the schedule that is set"
    rows = [
        {
            "step": s,
            "loss": round(loss, 4),
            "grad_norm": round(norm, 3),
            "learning_rate": 2e-4 * min(1, s / 12) if warm else 2e-4,
        }
        for s, loss, norm in falling(240, 1.7, 0.9)
    ]
    config = "base_model: Qwen/Qwen2.5-7B\nadapter: lora\nlora_r: 16\nlearning_rate: 2e-4\nwarmup_ratio: 0.05\n"
    answer = diagnose({"log.jsonl": rows, "config.yml": config})
    assert ("a warm-up is set" in answer.text) != warm, answer
    assert (answer.verdict == "healthy") == warm, answer


@pytest.mark.row("A5", "D2")
def test_a_loss_that_starts_near_a_logarithm(diagnose):
    "a loss that starts near ln 9 and ends where nine classes would have their floor is no second softmax by that alone"
    rows = falling(140, 2.2, 1.37, settles=30)
    rows = [*rows[:-20], (121, 1.5, 77.0), *[(s, math.nan, math.nan) for s in range(122, 132)]]
    answer = diagnose({"train.log": plain(rows)})
    assert "loss.softmax_floor" not in answer.symptoms and answer.first == "nan.lr-too-high", answer


def policy(count=70, **changed):
    draw = random.Random(3)
    rows = []
    for s in range(1, count + 1):
        row = {
            "step": s,
            "loss": round(draw.gauss(0, 0.01), 5),
            "grad_norm": round(abs(draw.gauss(0.25, 0.05)), 4),
            "learning_rate": 1e-6,
            "reward": round(0.1 + 0.4 * s / count + draw.gauss(0, 0.02), 4),
            "reward_std": round(abs(draw.gauss(0.25, 0.02)), 4),
            "frac_reward_zero_std": 0.3,
            "entropy": round(0.45 - 0.2 * s / count, 4),
            "kl": round(0.001 * s, 5),
        }
        rows.append(row | {name: value(s) for name, value in changed.items()})
    return rows


GRPO = (
    "base_model: Qwen/Qwen2.5-3B\nrl: grpo\nlearning_rate: 1e-6\nmicro_batch_size: 8\n"
    "trl:\n  num_generations: 8\n  use_vllm: true\n"
)


@pytest.mark.row("A2")
@pytest.mark.parametrize(("share", "verdict"), [(0.9, "warning"), (1.0, "unstable"), (0.6, "healthy")])
def test_groups_of_one_reward(diagnose, share, verdict):
    "nine tenths of the groups of one reward are told as that, all of them as no gradient at all, and 0.6 is healthy"
    answer = diagnose({"log.jsonl": policy(frac_reward_zero_std=lambda _: share), "grpo.yaml": GRPO})
    assert answer.verdict == verdict, answer
    if share == 0.9:
        told = answer.symptoms["rl.zero_advantage"]["summary"]
        assert "0.9 on average" in told and "every group" not in told, told


@pytest.mark.row("A7", "G2")
@pytest.mark.parametrize("logged", [True, False])
def test_the_ladder_of_a_low_reward(diagnose, logged):
    "a reward that stays low: function, columns, completions and the served model, in this order, logged completions or not"
    low = {"reward": lambda s: round(0.03 + 0.01 * math.sin(s), 4)}
    config = GRPO + ("  log_completions: true\n" if logged else "")
    answer = diagnose({"log.jsonl": policy(**low), "grpo.yaml": config})
    assert answer.first == "rl.no-learning-signal", answer
    words = ["alone", "column", "completions", "/v1/models"]
    assert [word in fix for word, fix in zip(words, answer.fixes, strict=False)] == [True] * 4, answer.fixes
    assert ("log.completions" in answer.fixes[2]) != logged, answer.fixes


@pytest.mark.row("A9")
def test_ratios_between(diagnose):
    "importance ratios of 0.02, below the healthy 0.1, name the sampler's old weights"
    low = {"sampling/importance_sampling_ratio/min": lambda s: round(0.02 + 0.01 * math.sin(s), 4)}
    answer = diagnose({"log.jsonl": policy(**low), "grpo.yaml": GRPO})
    assert answer.verdict == "warning" and answer.first == "rl.stale-inference-weights", answer


KERNEL = """import triton
import triton.language as tl

@triton.jit
def quantise_rows(x_ptr, y_ptr, s_ptr, width, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = row * width + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at).to(tl.float32)
    scale = tl.max(tl.abs(x)) / 448.0
    {guard}tl.store(y_ptr + at, (x / scale).to(y_ptr.dtype.element_ty))
    tl.store(s_ptr + row, scale)
"""


@pytest.mark.row("A12", "A13")
@pytest.mark.parametrize("guard", ["", "scale = tl.where(scale == 0, 1.0, scale)\n    "])
def test_a_kernel_without_a_guard(program, write, guard):
    "check of a Triton kernel: a scale that is 0 over a row of zeros, its line, the guard, and the cache to clear"
    shown = told(program, write, KERNEL.format(guard=guard), "quant.py")
    assert ("tl.where(scale == 0, 1.0, scale)" in shown) == (not guard), shown
    assert ("rm -rf ~/.triton/cache" in shown) == (not guard), shown


@pytest.mark.row("A11", "A12", "A13", "G2")
def test_fp8_from_its_log_alone(diagnose):
    "NaN from the first step behind FineGrainedFP8Config: guard, cache, packing, the net, bf16, in this order"
    lines = ["quantization_config: FineGrainedFP8Config(weight_block_size=(128, 128))"]
    lines += [f"{{'loss': nan, 'grad_norm': nan, 'learning_rate': 1e-05, 'epoch': {at / 100}}}" for at in range(1, 8)]
    answer = diagnose({"train.log": lines})
    assert answer.first == "nan.fp8-zero-scale", answer
    words = ["tl.where", "rm -rf ~/.triton/cache", "pack the", "nan_to_num", "bf16"]
    assert [word.lower() in fix.lower() for word, fix in zip(words, answer.fixes, strict=True)] == [True] * 5, answer.fixes


@pytest.mark.row("A13")
def test_any_kernel_that_was_patched(diagnose):
    "a kernel of another kind that was changed without effect: its cache, before any number format"
    note = "I modified the fused layer norm triton kernel (an epsilon), but the change has no effect, NaN as before."
    answer = diagnose({"report.txt": [note, "step 1 loss nan", "step 2 loss nan"]})
    assert answer.first == "nan.stale-kernel-cache" and "~/.triton/cache" in answer.fixes[0], answer


@pytest.mark.row("A14", "C4")
def test_out_of_memory_of_the_stable_baseline(diagnose):
    "out of memory with eager attention as the baseline: batch and checkpointing before another kernel"
    answer = diagnose({"train.log": [*START, "Step 0: loss: 2.33, grad_norm: 0.8", "RuntimeError: CUDA out of memory"]})
    assert answer.first.startswith("oom.") and '"batch.micro": 1' in answer.fixes[0], answer.fixes
    assert "memory.gradient_checkpointing" in answer.fixes[1], answer.fixes


@pytest.mark.row("A15")
@pytest.mark.parametrize(("deepspeed", "warned"), [("deepspeed: deepspeed_configs/zero3_bf16.json\n", False), ("", True)])
def test_reentrant_where_it_has_to_be(program, write, deepspeed, warned):
    "re-entrant checkpointing of an adapter under ZeRO-3 is what is asked for; elsewhere it is warned of"
    config = (
        "base_model: a/b\nadapter: lora\nlora_r: 8\nlearning_rate: 1e-4\nmicro_batch_size: 1\nbf16: true\n"
        "gradient_checkpointing: true\ngradient_checkpointing_kwargs:\n  use_reentrant: true\n"
    )
    shown = told(program, write, config + deepspeed, "c.yaml")
    assert ("Re-entrant checkpointing over frozen weights" in shown) == warned, shown


@pytest.mark.row("A16")
def test_the_numbers_of_the_message(diagnose):
    "generation_batch_size that num_generations does not divide: a micro-batch of num_generations, as the message says it"
    answer = diagnose({"train.log": ["ValueError: generation_batch_size (4) must be divisible by num_generations (12)."]})
    assert answer.first == "setup.generation-batch-not-divisible" and '"batch.micro": 12' in answer.fixes[0], answer.fixes


HIDES = """import torch
for batch in loader:
    logits = model(batch["ids"]).logits
    {output}
    loss = torch.nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), batch["ids"][:, 1:].flatten())
    {loss}
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


@pytest.mark.row("G2")
@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ({"output": "pass", "loss": "loss = torch.nan_to_num(loss)"}, "A loss without a value is made a number"),
        ({"output": "logits = logits.nan_to_num(nan=0.0)", "loss": "pass"}, "A net under values that are not finite"),
        ({"output": "ids = torch.nan_to_num(batch['extra'])", "loss": "pass"}, None),
    ],
)
def test_what_nan_to_num_hides(program, write, lines, said):
    "nan_to_num over the loss is a warning, over the logits a note that it is a net only, over the data nothing"
    shown = told(program, write, HIDES.format(**lines), "train.py")
    for title in ("A loss without a value is made a number", "A net under values that are not finite"):
        assert (title in shown) == (title == said), shown


@pytest.mark.row("G2")
def test_replaced_values_in_a_log(diagnose):
    "a log that says how many values nan_to_num replaced is not healthy, and the cause is the operation behind it"
    lines = ["nan_to_num replaced 380 of 98304 logits", *plain(falling(60))]
    answer = diagnose({"train.log": lines})
    assert answer.verdict == "warning" and answer.first == "nan.unstable-op", answer


# --- 003


@pytest.mark.row("D1", "D6")
@pytest.mark.parametrize("line", ["dist.all_reduce(total)", "print(total)"])
def test_stopped_by_hand(diagnose, line):
    "a run that somebody stopped while it stood in a collective is a hang and not healthy; stopped elsewhere it is as it was"
    end = [
        "^CTraceback (most recent call last):",
        '  File "train.py", line 71, in <module>',
        f"    {line}",
        "KeyboardInterrupt",
    ]
    answer = diagnose({"train.log": [*plain(falling(40)), *end]})
    assert (answer.verdict == "healthy") == ("print" in line), answer
    if "print" not in line:
        assert answer.first.startswith("hang."), answer


@pytest.mark.row("D3")
@pytest.mark.parametrize("norm", [1.7, None])
def test_a_loss_that_bounces(diagnose, norm):
    "a loss that bounces at 5e-3, with a gradient norm of 1.7 or none logged: the rate first, then a range test"
    draw = random.Random(9)
    tail = lambda: f" | grad_norm {norm + abs(draw.gauss(0, 0.4)):.2f}" if norm else ""  # noqa: E731
    lines = [f"step {s} | loss {2.6 + draw.gauss(0, 0.33):.4f}{tail()} | lr 5.0e-03" for s in range(1, 170)]
    answer = diagnose({"train.log": lines})
    assert answer.verdict == "warning" and answer.first == "diverge.lr-too-high", answer
    assert '"optim.lr": 0.0005' in answer.fixes[0] and "range test" in answer.fixes[0], answer.fixes


UNSHIFTED = """from torch.nn.functional import cross_entropy
def step(model, optimizer, batch):
    ids = batch["input_ids"]
    labels = ids.clone()
    labels[batch["prompt"]] = -100
    logits = model(ids).logits
    loss = cross_entropy(logits{logits}.reshape(-1, logits.size(-1)), labels{labels}.reshape(-1), ignore_index=-100)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


@pytest.mark.row("D3")
@pytest.mark.parametrize(
    ("logits", "labels", "said"),
    [
        ("", "", "Each token is its own label"),
        ("[:, 1:]", "[:, :-1]", "Each place is asked for the token before it"),
        ("[:, :-1]", "[:, 1:]", None),
    ],
)
def test_targets_that_are_shifted_wrong(program, write, logits, labels, said):
    "labels copied from the ids and not shifted, or shifted the wrong way, are told from the program; shifted right, nothing"
    shown = told(program, write, UNSHIFTED.format(logits=logits, labels=labels), "train.py")
    assert said in shown if said else "READY" in shown, shown


@pytest.mark.row("D5")
@pytest.mark.parametrize(
    ("line", "first"),
    [
        ("step {s} loss {loss:.3f} step_time 2.9s comm 1.8s", "slow.communication-bound"),
        ("step {s} loss {loss:.3f} data 0.44s fwd+bwd 0.21s", "slow.data-starvation"),
        ("step {s} loss {loss:.3f} data 0.02s fwd+bwd 0.21s", None),
    ],
)
def test_parts_of_a_step(diagnose, line, first):
    "time in collectives, and a wait for data beside forward and backward, however the parts are called"
    answer = diagnose({"train.log": [line.format(s=s, loss=loss) for s, loss, _ in falling(70)]})
    assert (answer.first == first and answer.verdict == "warning") if first else answer.verdict == "healthy", answer


@pytest.mark.row("D5")
@pytest.mark.parametrize("real", [290, 1790])
def test_padding_in_words(diagnose, real):
    "290 real tokens of 2048 in a padded sequence are waste, 1790 are none"
    lines = [f"average real tokens per padded sequence: {real} of 2048", *plain(falling(80))]
    assert (diagnose({"train.log": lines}).verdict == "healthy") == (real > 1000)


@pytest.mark.row("D6")
def test_lengths_of_loaders(diagnose):
    "len(train_loader) that differs between ranks before a time-out: uneven data"
    waits = (
        "[rank0]:[E ProcessGroupNCCL.cpp:616] [Rank 0] Watchdog caught collective operation timeout: "
        "WorkNCCL(SeqNum=731, OpType=ALLREDUCE, NumelIn=64, NumelOut=64, Timeout(ms)=600000) ran for 600014 milliseconds "
        "before timing out."
    )
    lines = ["[rank 0] len(train_loader) = 731", "[rank 1] len(train_loader) = 730", *plain(falling(30)), waits]
    answer = diagnose({"train.log": lines})
    assert answer.first == "hang.uneven-data" and '"data.drop_last": true' in answer.fixes[0], answer


def cosine(step, peak=3e-4, warm=40, whole=900):
    if step <= warm:
        return peak * step / warm
    return peak * 0.5 * (1 + math.cos(math.pi * (step - warm) / (whole - warm)))


@pytest.mark.row("D7")
def test_a_schedule_that_warms_up_again(diagnose):
    "a rate that drops to a warm-up's in mid-course while the loss rises, without a line that says resumed: the schedule"
    rows = falling(380, 2.7, 1.3, settles=120)
    lines = plain(rows[:190], cosine)
    after = [(s, loss + 0.6 * math.exp(-(s - 190) / 20), norm) for s, loss, norm in rows[190:]]
    lines += plain(after, lambda step: cosine(step - 190))
    answer = diagnose({"train.log": lines})
    assert answer.verdict == "warning" and answer.first == "resume.scheduler-lost", answer


@pytest.mark.row("D7")
def test_moments_that_were_lost(diagnose):
    "a loss that rises behind a resume, half of the way to its start, and comes back: the optimizer's state"
    rows = falling(380, 2.7, 1.3, settles=120)
    after = [(s, loss + 0.55 * math.exp(-(s - 190) / 20), norm) for s, loss, norm in rows[190:]]
    lines = [*plain(rows[:190], cosine), "Resuming from checkpoint out/step_190.pt", *plain(after, cosine)]
    answer = diagnose({"train.log": lines})
    assert answer.verdict == "warning" and answer.first == "resume.optimizer-state-lost", answer


SAVES = """import torch
def save(path, model, optimizer, scheduler, step):
    torch.save({{{saved}}}, path)
def train(path=None):
    model = build()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 9000)
    step = 0
    if path:
        ckpt = torch.load(path)
        model.load_state_dict(ckpt["model"])
        {load}
    for batch in loader:
        loss = model(batch).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        step += 1
        if step % 400 == 0:
            save(f"ckpt_{{step}}.pt", model, optimizer, scheduler, step)
"""


@pytest.mark.row("D7", "G4")
def test_what_save_leaves_out(program, write):
    "a save() in a function of its own that keeps weights alone, or no schedule and no step: what to write, in its names"
    weights = told(program, write, SAVES.format(saved='"model": model.state_dict()', load="pass"), "train.py")
    assert "Checkpoints hold the weights and nothing else" in weights, weights
    both = '"model": model.state_dict(), "optimizer": optimizer.state_dict()'
    shown = told(program, write, SAVES.format(saved=both, load='optimizer.load_state_dict(ckpt["optimizer"])'), "train.py")
    assert "'scheduler': scheduler.state_dict()" in shown and 'scheduler.load_state_dict(ckpt["scheduler"])' in shown, shown
    assert "'step': step" in shown and 'step = ckpt["step"]' in shown, shown


@pytest.mark.row("D7", "G4")
def test_checkpoints_that_nothing_goes_on_from(program, write):
    "weights alone every 400 steps and no way back: a note to save the rest and to try the resume before it is needed"
    text = SAVES.format(saved='"model": model.state_dict()', load="pass")
    head, tail = text.split("    if path:\n")
    text = head + tail[tail.index("    for batch") :]
    shown = told(program, write, text, "train.py")
    assert "hold the weights alone" in shown and "try the way back" in shown, shown


@pytest.mark.row("D7")
@pytest.mark.parametrize("key", ["scaler", "grad_scaler", None])
def test_a_loss_scale_in_ones_own_file(program, tmp_path, key):
    "the loss scale counts where it stands in the one file that a loop of one's own writes"
    torch = pytest.importorskip("torch")
    model = torch.nn.Linear(6, 2)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    model(torch.ones(1, 6)).sum().backward()
    optimizer.step()
    held = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": 1}
    scale = {"scale": 32768.0, "growth_factor": 2.0, "backoff_factor": 0.5, "growth_interval": 2000, "_growth_tracker": 9}
    torch.save(held | ({key: scale} if key else {}), tmp_path / "last.pt")
    said = " ".join(program("ckpt", "resume", tmp_path / "last.pt").stdout.split())
    assert ("scaler there" in said) == (key is not None) and ("scaler missing" in said) == (key is None), said
