"""Guide 001, policies: GRPO and EBFT, their ranges and red flags, and the knobs that mend them."""

import math

import pytest

HEALTHY = {
    "loss": (0.0, 0.0, 0.002),
    "grad_norm": (0.2, 0.15, 0.03),
    "rewards/solves/mean": (0.03, 0.55, 0.03),
    "reward": (0.03, 0.55, 0.03),
    "reward_std": (0.25, 0.22, 0.03),
    "frac_reward_zero_std": (0.4, 0.3, 0.05),
    "entropy": (0.42, 0.24, 0.01),
    "kl": (0.004, 0.08, 0.002),
    "clip_ratio/region_mean": (0.02, 0.02, 0.004),
    "completions/mean_length": (210, 190, 15),
    "completions/clipped_ratio": (0.05, 0.05, 0.01),
    "sampling/sampling_logp_difference/mean": (0.03, 0.03, 0.004),
    "sampling/importance_sampling_ratio/min": (0.6, 0.6, 0.03),
}

GRPO = """base_model: Qwen/Qwen2.5-1.5B-Instruct
rl: grpo
bf16: true
learning_rate: 1e-6
micro_batch_size: 16
gradient_accumulation_steps: 1
trl:
  num_generations: 16
  max_completion_length: 512
  use_vllm: true
"""


def course(count=60, **changed):
    """Each metric goes from its first to its last value, with a noise that is the same each time; or is what a function of
    the step says."""
    rows = []
    for step in range(1, count + 1):
        row = {"step": step, "learning_rate": 1e-6}
        for at, (name, value) in enumerate({**HEALTHY, **changed}.items()):
            if callable(value):
                row[name] = value(step)
                continue
            first, last, noise = value
            row[name] = round(first + (last - first) * step / count + noise * math.sin((2.3 + at) * step), 5)
        rows.append(row)
    return rows


@pytest.mark.row("A2", "G2")
def test_healthy_policy(diagnose):
    "reward, entropy, grad_norm and kl as a healthy run has them: healthy, each criterion told, and the loss is none of them"
    answer = diagnose({"metrics.jsonl": course()})
    assert answer.verdict == "healthy" and answer.status == 0, answer
    told = answer.symptoms["gate.policy"]["summary"]
    assert "reward" in told and "entropy" in told and "as a healthy policy run goes" in told
    assert "the loss falls" not in answer.text


@pytest.mark.row("G2")
def test_criteria_that_fail(diagnose):
    "a reward that does not reach 0.15 in 20 steps and stays there is told as a criterion that is not met"
    flat = (0.05, 0.05, 0.01)
    answer = diagnose({"metrics.jsonl": course(**{"reward": flat, "rewards/solves/mean": flat})})
    assert answer.verdict != "healthy", answer
    assert "the reward exceeds 0.15 within 20 steps" in answer.symptoms["gate.policy"]["summary"]


@pytest.mark.row("A2")
@pytest.mark.parametrize(
    ("metric", "values", "symptom"),
    [
        ("rewards/solves/mean", (0, 0, 0), "reward.zero"),
        ("reward_std", (0, 0, 0), "reward.no_spread"),
        ("frac_reward_zero_std", (1, 1, 0), "rl.zero_advantage"),
        ("grad_norm", (16, 17, 2), "grad_norm.large"),
        ("entropy", lambda step: round(0.35 * math.exp(-step / 8), 6), "entropy.collapse"),
        ("entropy", (0.9, 2.2, 0.05), "entropy.high"),
        ("kl", (0.1, 4.0, 0.05), "kl.high"),
        ("sampling/sampling_logp_difference/mean", (0.1, 1.8, 0.05), "logp_difference.high"),
        ("sampling/importance_sampling_ratio/min", lambda step: round(0.3 * math.exp(-step / 7), 6), "is_ratio.low"),
        ("clip_ratio/region_mean", (0.36, 0.42, 0.02), "clip_ratio.high"),
        ("completions/mean_length", (200, 505, 3), "completion_length.growth"),
        ("completions/clipped_ratio", (0.85, 0.93, 0.02), "completion.truncated"),
    ],
)
def test_red_flags(diagnose, metric, values, symptom):
    "each of the eleven metrics at its red flag is a symptom by its name, grad_norm above 10 among them"
    changed = {metric: values}
    if metric.startswith("rewards/"):
        changed |= {"reward": values, "reward_std": (0, 0, 0)}
    if metric == "completions/mean_length":
        changed |= {"completions/clipped_ratio": (0.05, 0.9, 0.01)}
    answer = diagnose({"log.jsonl": course(**changed)})
    assert symptom in answer.symptoms, answer
    assert answer.verdict not in ("healthy", "insufficient-evidence"), answer


@pytest.mark.row("A2", "G2")
@pytest.mark.parametrize("end", [0.11, 0.14])
def test_reward_that_is_low(diagnose, end):
    "a reward that rises and is still below 0.15 after 20 steps is a warning: reward function first, then an easier start"
    low = (0.04, end, 0.004)
    answer = diagnose({"log.jsonl": course(40, **{"reward": low, "rewards/solves/mean": low})})
    assert answer.verdict == "warning" and "reward.low" in answer.symptoms, answer
    assert "reward function alone" in answer.fixes[0], answer.fixes


@pytest.mark.row("A7")
def test_reward_of_a_few_hits(diagnose):
    "a reward of nearly 0 beside a gradient that is not: the ladder of the reward, and no talk of a missing gradient"
    changed = {
        "reward": lambda step: 0.001 if step % 9 == 0 else 0.0,
        "rewards/solves/mean": (0, 0, 0),
        "reward_std": (0.002, 0.002, 0),
        "frac_reward_zero_std": (0.95, 0.95, 0),
        "grad_norm": (0.001, 0.001, 0),
    }
    answer = diagnose({"log.jsonl": course(**changed)})
    assert answer.verdict in ("warning", "unstable"), answer
    assert "reward function" in answer.fixes[0] and "DeepSpeed" not in " ".join(answer.fixes), answer.fixes


@pytest.mark.row("A3")
@pytest.mark.parametrize(
    ("changed", "symptom"),
    [
        ({}, None),
        ({"ebft/alignment": (0.1, 0.05, 0.01)}, "ebft.alignment_low"),
        ({"ebft/diversity": (0.8, 1.6, 0.05)}, "ebft.diversity_high"),
        ({"ebft/cfm_loss": (15, 18, 0.5)}, "ebft.cfm_high"),
    ],
)
def test_feature_matching(diagnose, changed, symptom):
    "alignment, diversity and cfm_loss of EBFT are judged against their ranges"
    sound = {"ebft/alignment": (0.3, 0.7, 0.02), "ebft/diversity": (0.08, 0.04, 0.004), "ebft/cfm_loss": (8, 3, 0.2)}
    rows = [
        {key: value for key, value in row.items() if "sampling" not in key and "entropy" not in key}
        for row in course(loss=(2.2, 1.6, 0.02), **{**sound, **changed})
    ]
    answer = diagnose({"log.jsonl": rows})
    if symptom is None:
        assert not any(name.startswith("ebft.") for name in answer.symptoms), answer
    else:
        assert symptom in answer.symptoms and answer.verdict != "healthy", answer


@pytest.mark.row("A7")
def test_reward_never_rises(diagnose):
    "a reward of 0: test the function alone, then the columns, the completions, and the model that the engine serves"
    none = (0, 0, 0)
    answer = diagnose(
        {
            "log.jsonl": course(
                reward=none, reward_std=none, grad_norm=none, frac_reward_zero_std=(1, 1, 0), **{"rewards/solves/mean": none}
            ),
            "grpo.yaml": GRPO,
        }
    )
    assert answer.verdict in ("unstable", "failed") and answer.first == "rl.reward-function-broken", answer
    assert [
        "alone" in answer.fixes[0],
        "column" in answer.fixes[1],
        "ompletions" in answer.fixes[2],
        "/v1/models" in answer.fixes[3],
    ] == [True] * 4, answer.fixes


@pytest.mark.row("A8")
@pytest.mark.parametrize("generations", [4, 16])
def test_entropy_collapse(diagnose, generations):
    "an entropy below 0.01: temperature, lower rate, a KL term, 16 completions, in this order and none in force"
    answer = diagnose(
        {
            "log.jsonl": course(entropy=lambda step: round(0.4 * math.exp(-step / 9), 5)),
            "grpo.yaml": GRPO.replace("num_generations: 16", f"num_generations: {generations}"),
        }
    )
    assert answer.verdict == "unstable" and answer.first == "rl.entropy-collapse", answer
    words = ["rl.temperature", "optim.lr", "rl.beta"] + ["rl.num_generations"] * (generations < 16)
    assert [next((word for word in words if word in fix), "") for fix in answer.fixes[: len(words)]] == words, answer.fixes
    assert ("rl.num_generations" in " ".join(answer.fixes)) == (generations < 16)


@pytest.mark.row("A9")
@pytest.mark.parametrize("interval", [8, 20])
def test_stale_sampler(diagnose, program, write, interval):
    "a sampler synced too rarely: vllm_sync_interval 1, off_policy_mask_threshold, ratios per token, by axolotl's keys"
    stale = {
        "sampling/sampling_logp_difference/mean": (0.05, 1.6, 0.03),
        "sampling/importance_sampling_ratio/min": lambda step: round(0.4 * math.exp(-step / 7), 6),
    }
    files = {"log.jsonl": course(**stale), "grpo.yaml": GRPO + f"  vllm_sync_interval: {interval}\n"}
    answer = diagnose(files)
    assert answer.first == "rl.stale-inference-weights" and answer.verdict == "unstable", answer
    assert [
        "rl.sync_interval" in answer.fixes[0],
        "rl.off_policy_mask" in answer.fixes[1],
        '"rl.is_level": "token"' in answer.fixes[2],
    ] == [True] * 3, answer.fixes
    shown = " ".join(program("diagnose", write(files)).stdout.split())
    assert "vllm_sync_interval: 1" in shown and "off_policy_mask_threshold: 0.5" in shown, shown
    assert "ref_model_sync_steps" not in shown


@pytest.mark.row("A9")
def test_ratios_alone(diagnose):
    "importance ratios near 0 alone are enough"
    answer = diagnose(
        {
            "log.jsonl": course(
                **{"sampling/importance_sampling_ratio/min": lambda step: round(0.3 * math.exp(-step / 7), 6)}
            ),
            "grpo.yaml": GRPO + "  vllm_sync_interval: 8\n",
        }
    )
    assert answer.first == "rl.stale-inference-weights" and answer.verdict != "healthy", answer


@pytest.mark.row("A9")
def test_knobs_of_trl(diagnose, program, write):
    "the reference model's ref_model_sync_steps is no fix for a stale sampler in TRL"
    files = {
        "log.jsonl": course(**{"sampling/sampling_logp_difference/mean": (0.05, 1.6, 0.03)}),
        "train.py": "from trl import GRPOConfig, GRPOTrainer\nargs = GRPOConfig(output_dir='o', learning_rate=1e-6,\n"
        "    use_vllm=True, num_generations=8, per_device_train_batch_size=8, bf16=True)\n"
        "trainer = GRPOTrainer(model='Qwen/Qwen2.5-0.5B', reward_funcs=[f], args=args, train_dataset=d)\n",
    }
    shown = " ".join(program("diagnose", write(files)).stdout.split())
    assert "ref_model_sync_steps" not in shown and "off_policy_mask_threshold" in shown, shown


@pytest.mark.row("A9")
def test_known_before_the_run(program, write):
    "check says an interval of 8 steps beforehand, with the key that mends it"
    said = program("check", write({"grpo.yaml": GRPO + "  vllm_sync_interval: 8\n"})).stdout
    assert "The sampler gets new weights every 8 steps only" in said and "vllm_sync_interval: 1" in said
