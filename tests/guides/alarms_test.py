"""What must not raise an alarm, and what must not be called healthy: starts, slow runs, tests of overfitting, prints."""

import json
import math
import pickle

import pytest
from conftest import run_program, write_files

GIB = 1 << 30
WAITS = (
    "[rankRANK]:[E ProcessGroupNCCL.cpp:616] [Rank RANK] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum=NUMBER, OpType=THE_OP, NumelIn=8, NumelOut=8, Timeout(ms)=600000) ran for 600019 milliseconds "
    "before timing out."
)


def hugging_face(losses, rate=2e-4, norm=0.9):
    return [
        f"{{'loss': {loss:.4f}, 'grad_norm': {norm * (1 + 0.1 * math.sin(3 * at)):.3f}, 'learning_rate': {rate}, "
        f"'epoch': {(at + 1) / 1000}}}"
        for at, loss in enumerate(losses)
    ]


@pytest.mark.row("C5")
@pytest.mark.parametrize("end", [13.1, 2.4])
def test_start_at_a_guess(diagnose, end):
    "an adapter whose loss starts at ln(vocabulary) stands on no trained model, learn it or not: no rate is blamed"
    losses = [end + (13.3 - end) * math.exp(-at / 40) + 0.05 * math.sin(5 * at) for at in range(120)]
    config = "base_model: Qwen/Qwen2.5-7B\nadapter: lora\nlora_r: 16\nlearning_rate: 2e-4\nmicro_batch_size: 2\n"
    answer = diagnose({"train.log": hugging_face(losses), "config.yaml": config})
    assert answer.verdict == "warning" and answer.first == "stall.base-not-trained", answer
    assert "tokenizer" in " ".join(answer.fixes)


@pytest.mark.row("C5", "D5")
@pytest.mark.parametrize("start", [2.31, 2.08, 1.61])
def test_slow_and_sound(diagnose, start):
    "a loss of a fine-tuning run that falls in a straight line by a tenth, at a usual rate, is healthy"
    rows = [
        {
            "step": 10 * at,
            "loss": round(start * (1 - 0.0015 * at) + 0.008 * math.sin(7 * at), 4),
            "grad_norm": 0.6,
            "learning_rate": 1e-4,
        }
        for at in range(1, 71)
    ]
    answer = diagnose({"log.jsonl": rows})
    assert answer.verdict == "healthy", answer


@pytest.mark.row("C6", "D3")
@pytest.mark.parametrize("learnt", [True, False])
def test_overfitting_of_a_few_samples(diagnose, learnt):
    "ten samples passed over many times: a loss near 0 is the aim, a flat one is a bug in model, loss or data, and no rate"
    losses = [2.4 * math.exp(-at / 12) + 0.004 if learnt else 2.4 + 0.01 * math.sin(3 * at) for at in range(80)]
    lines = [
        "num_epochs: 80",
        "val_set_size: 0",
        "Num examples = 8",
        *(
            f"{{'loss': {loss:.4f}, 'grad_norm': 0.7, 'learning_rate': 0.0002, 'epoch': {at + 1}.0}}"
            for at, loss in enumerate(losses)
        ),
    ]
    answer = diagnose({"train.log": lines})
    if learnt:
        assert answer.verdict == "healthy", answer
        assert "overfitting test is passed" in answer.text
    else:
        assert answer.verdict == "warning" and answer.first == "stall.cannot-memorise", answer
        assert "labels" in answer.fixes[0]
        assert not any("overfit one batch" in each["text"].lower() for each in answer.report["experiments"]), answer.report


@pytest.mark.row("D5", "G4")
@pytest.mark.parametrize("pairs", [True, False])
def test_time_in_collectives(diagnose, pairs):
    "most of each step in collectives: that is the finding, with a lower ZeRO stage and the links between the cards"
    lines = [
        f"step={at} loss={2.4 - 0.01 * at:.3f} grad_norm=0.7 step_time=2.6s comm_time=1.7s tokens/s=1400"
        for at in range(1, 31)
    ]
    head = [
        "DeepSpeed ZeRO stage 3, 4 x NVIDIA A100-PCIE-40GB",
        "        GPU0    GPU1",
        "GPU0     X      SYS",
        "GPU1    SYS      X",
    ]
    answer = diagnose({"train.log": [*head, *lines] if pairs else lines})
    assert answer.verdict == "warning" and answer.first == "slow.communication-bound", answer
    assert "65 %" in answer.text
    assert any("ZeRO stage" in each for each in answer.fixes) and any("topo -m" in each for each in answer.fixes), (
        answer.fixes
    )


@pytest.mark.row("D5", "G4")
def test_utilisation_is_no_learning_rate(diagnose):
    "a card that does a twelfth of what it could is slow, whatever the loss does: loader, syncs, fast paths"
    lines = [f"iter {at}: loss {2.9 - 0.006 * at:.4f}, time 700.00ms, mfu 8.20%" for at in range(1, 81)]
    answer = diagnose({"train.log": lines})
    assert answer.verdict == "warning" and answer.first.startswith("slow."), answer


@pytest.mark.row("P14")
def test_steps_without_a_value_that_come_more_often(diagnose):
    "NaN in more and more single steps is systematic: the rate and the warm-up, no bad batch"
    rows = []
    for step in range(1, 401):
        bad = step > 120 and step % max(3, 24 - step // 20) == 0
        rows.append(
            {
                "step": step,
                "loss": math.nan if bad else round(3.2 - 0.004 * step, 4),
                "grad_norm": math.nan if bad else round(0.7 + step / 400, 3),
                "lr": 3e-4,
            }
        )
    answer = diagnose({"log.jsonl": rows})
    assert answer.verdict == "failed" and answer.first == "nan.lr-too-high", answer
    assert "warm-up" in answer.fixes[0]


@pytest.mark.row("P10", "P5+P7")
def test_gradients_of_fp16_without_a_scale(diagnose):
    "fp16, a loss scale of 1 and norms near its smallest number: underflow, and a scaler is the fix"
    rows = [
        {
            "step": at,
            "loss": round(2.7 + 0.01 * math.sin(at), 4),
            "grad_norm": 4e-8 * (1.5 + math.sin(2 * at)),
            "loss_scale": 1.0,
            "lr": 2e-4,
        }
        for at in range(1, 151)
    ]
    answer = diagnose({"log.jsonl": rows, "run.yaml": "fp16: true\nlearning_rate: 2e-4\n"})
    assert answer.first == "stall.fp16-grad-underflow" and "GradScaler" in answer.fixes[0], answer


@pytest.mark.row("C2", "A10")
def test_one_jump_is_no_sum(diagnose):
    "a norm that jumps once and stays there is unstable; it does not add up from step to step"
    lines = [
        f"step {at} | loss {2.6 - 0.02 * at:.3f} | grad_norm {0.6 if at < 7 else 160.0:.2f} | lr 1e-5" for at in range(1, 17)
    ]
    answer = diagnose({"train.log": lines})
    assert answer.verdict in ("warning", "unstable"), answer
    assert answer.first != "diverge.missing-zero-grad", answer
    assert "grad_norm.piles_up" not in answer.symptoms and "grad_norm.climb" not in answer.symptoms, answer


@pytest.mark.row("F2")
def test_flow_of_gradients(diagnose):
    "a test of the gradient flow: a router that says it is detached is expected, the norm without a gradient is the finding"
    lines = [
        "gradient flow, one backward pass",
        "blocks.0.norm.weight grad_norm=2.1e-03 OK",
        "blocks.0.attn.wk.weight grad_norm=3.0e-02 OK",
        "blocks.0.router.weight grad=None (detached)",
    ]
    assert diagnose({"flow.log": lines}).verdict == "insufficient-evidence"
    answer = diagnose({"flow.log": [*lines, "blocks.3.norm.weight grad_norm=0.0e+00 NO GRADIENT"]})
    assert answer.first == "stall.detached-graph" and "blocks.3.norm.weight gets no gradient" in answer.text, answer


@pytest.mark.row("G5", "F1")
@pytest.mark.parametrize("moves", [True, False])
def test_a_norm_weight_printed_now_and_then(diagnose, moves):
    "a norm weight that the log prints as exactly 1 every hundred steps does not move: updates lost in bf16"
    lines = []
    for step in range(0, 901, 10):
        if step % 100 == 0:
            lines.append(f"  Norm value: {1 - (0.00004 * step if moves else 0):.6f}")
        lines.append(f"step {step} | loss {4.1 + 0.03 * math.sin(step):.3f} | grad_norm 0.8 | lr 3e-4")
    answer = diagnose({"train.log": lines})
    assert (answer.first == "stall.bf16-update-underflow") != moves, answer


@pytest.mark.row("P2")
def test_tf32_off_in_a_log(diagnose):
    "an fp32 run on a card with TF32 whose log says that it is off: found, with the call that switches it on"
    lines = ["NVIDIA A100-SXM4-40GB", "torch.backends.cuda.matmul.allow_tf32: False", "fp32"]
    lines += [f"step {at} loss {2.4 - 0.01 * at:.3f} grad_norm 0.7 step_time 0.9" for at in range(1, 40)]
    answer = diagnose({"env.txt": lines})
    assert answer.verdict == "warning" and answer.first == "slow.no-fast-path", answer
    assert "set_float32_matmul_precision" in answer.fixes[0]


@pytest.mark.row("A17")
def test_what_steps_leave_behind(diagnose):
    "a memory snapshot in which one line of the user's holds most of it in many tensors: that line is the finding"
    here = [
        {"name": "note_loss", "filename": "/srv/job/fit.py", "line": 88},
        {"name": "run", "filename": "/srv/job/fit.py", "line": 12},
    ]
    address, blocks, entries = 0x7F2000000000, [], []
    for _ in range(18):
        blocks.append(
            {"address": address, "size": 2 * GIB, "requested_size": 2 * GIB, "state": "active_allocated", "frames": here}
        )
        entries.append({"action": "alloc", "addr": address, "size": 2 * GIB, "stream": 0, "frames": here})
        address += 2 * GIB
    entries.append(
        {
            "action": "oom",
            "size": 3 * GIB,
            "device_free": GIB,
            "stream": 0,
            "frames": [{"name": "cross_entropy", "filename": "/srv/job/fit.py", "line": 61}],
        }
    )
    segment = {
        "device": 0,
        "address": 0x7F2000000000,
        "total_size": 36 * GIB,
        "allocated_size": 36 * GIB,
        "stream": 0,
        "segment_type": "large",
        "blocks": blocks,
    }
    answer = diagnose(
        {"oom.pickle": pickle.dumps({"segments": [segment], "device_traces": [entries], "allocator_settings": {}})}
    )
    assert answer.first == "oom.graph-retained-leak", answer
    assert "fit.py:88 note_loss" in answer.causes[0]["title"], answer.causes[0]


@pytest.mark.row("P9", "P11")
def test_the_module_that_a_hook_names(diagnose):
    "a hook's line names the first module whose output is not finite: it is the headline, and the fix looks there"
    lines = [f"step {at} loss {2.2 - 0.01 * at:.2f} grad_norm 0.6 lr 1e-4" for at in range(40)]
    lines += [
        "NaN in decoder.blocks.11.ffn.w2",
        "NaN in decoder.blocks.11",
        "NaN in decoder.blocks.12.norm",
        "step 40 loss nan grad_norm nan lr 1e-4",
    ]
    answer = diagnose({"train.log": lines})
    assert answer.verdict == "failed" and answer.first == "nan.layer-output", answer
    assert "decoder.blocks.11.ffn.w2" in answer.causes[0]["title"]
    assert "forward pass" in answer.symptoms["loss.nonfinite"]["summary"]


@pytest.mark.row("A11")
@pytest.mark.parametrize("first", ["loss", "grad_norm"])
def test_which_pass(diagnose, first):
    "a loss without a value after a sound norm: the forward pass; a norm without one beside a sound loss: the backward"
    rows = []
    for step in range(1, 71):
        lost = step >= 50
        early = step == 49 and first == "grad_norm"
        rows.append(
            {
                "step": step,
                "loss": math.nan if lost else round(2 - 0.01 * step, 3),
                "grad_norm": math.nan if lost or early else 0.6,
                "lr": 1e-5,
            }
        )
    answer = diagnose({"log.jsonl": rows})
    told = answer.symptoms["loss.nonfinite" if first == "loss" else "grad_norm.nonfinite"]["summary"]
    assert ("forward pass" if first == "loss" else "backward pass") in told, told


@pytest.mark.row("D6")
def test_the_rank_that_failed_alone(diagnose):
    "one rank's data set raised, the others timed out: that rank and its error are the headline"
    waits = WAITS.replace("NUMBER", "91").replace("THE_OP", "ALLREDUCE")
    steps = [f"step {at} loss {2.2 - 0.01 * at:.2f} grad_norm 0.6" for at in range(12)]
    files = {f"rank{rank}.log": [*steps, waits.replace("RANK", str(rank))] for rank in (0, 1, 3)}
    files["rank2.log"] = [
        *steps,
        "Traceback (most recent call last):",
        '  File "/srv/rows.py", line 19, in __getitem__',
        "    return self.table[at]['prompt']",
        "KeyError: 'prompt'",
    ]
    answer = diagnose(files)
    assert answer.first == "hang.dead-rank", answer
    assert "Rank 2" in answer.causes[0]["title"] and "prompt" in answer.causes[0]["title"], answer.causes[0]["title"]


@pytest.mark.row("P13")
@pytest.mark.parametrize("threshold", [0.02, 1.0])
def test_a_threshold_that_cuts_every_step(diagnose, threshold):
    "clipping at every step is told as that and not as unstable norms; a threshold of 0.02 is to be raised"
    rows = [
        {"step": at, "loss": round(3.1 - 0.003 * at, 4), "grad_norm": round(5.2 + 0.4 * math.sin(3 * at), 3), "lr": 1e-4}
        for at in range(1, 251)
    ]
    answer = diagnose({"log.jsonl": rows, "run.yaml": f"max_grad_norm: {threshold}\nlearning_rate: 1e-4\n"})
    assert answer.first == "diverge.clipped-every-step", answer
    assert ("the clipping threshold" in answer.fixes[0]) == (threshold < 0.1), answer.fixes


@pytest.mark.row("A1", "A10")
def test_spikes_at_equal_distances(diagnose):
    "norms above 100 in every twelfth record: instability, its period, and clipping, rate and accumulation as fixes"
    rows = [
        {
            "step": at,
            "train/loss": round(2.1 - 0.003 * at, 4),
            "train/grad_norm": 210.0 + at / 10 if at % 12 == 0 else 0.8,
            "train/learning_rate": 2e-5,
        }
        for at in range(1, 301)
    ]
    answer = diagnose({"log.jsonl": rows})
    assert answer.verdict == "warning" and answer.first == "diverge.unstable-gradients", answer
    assert "every 12th record" in answer.symptoms["grad_norm.high"]["summary"]
    assert "lip" in answer.fixes[0] and "rate" in answer.fixes[1] and "accumulation" in answer.fixes[2], answer.fixes


@pytest.mark.row("C8", "A6")
def test_a_held_out_loss_that_only_rises(diagnose):
    "a held-out loss that is never better than at first while the training loss falls is overfitting, after one pass too"
    rows = [
        {"step": at, "loss": round(2.4 - 0.006 * at, 4), "grad_norm": 0.6, "lr": 1e-5, "epoch": at / 150}
        for at in range(1, 151)
    ]
    for step, loss in ((50, 2.1), (100, 2.19), (150, 2.27)):
        rows[step - 1]["eval_loss"] = loss
    answer = diagnose({"log.jsonl": rows})
    assert answer.verdict == "warning" and answer.first.startswith("overfit."), answer
    assert "Overfitting" in answer.causes[0]["title"]


@pytest.mark.row("A1")
def test_a_gap_that_is_there_and_no_alarm(diagnose):
    "a held-out loss that still falls at more than twice the training loss is told beside a healthy verdict"
    rows = [
        {"step": at, "train/loss": round(0.85 + 1.1 * math.exp(-at / 60), 4), "train/grad_norm": 0.7} for at in range(1, 301)
    ]
    rows += [{"step": at, "eval/loss": round(1.86 + 0.3 * math.exp(-at / 60), 4)} for at in (60, 120, 180, 240, 300)]
    rows.sort(key=lambda row: row["step"])
    answer = diagnose({"log.jsonl": rows})
    assert answer.verdict in ("healthy", "insufficient-evidence") and "eval.gap_large" in answer.symptoms, answer


@pytest.mark.row("C5", "G1")
def test_figures_are_those_of_the_log(diagnose):
    "first and last loss, least and largest norm and the steps of the summary stand in the log"
    rows = [{"step": at, "loss": round(2.4 - 0.03 * at, 4), "grad_norm": round(0.9 - 0.02 * at, 3)} for at in range(1, 14)]
    told = diagnose({"log.jsonl": rows}).symptoms["run.healthy"]["summary"]
    for figure in ("2.37 -> 2.01", "13 records (step 1 to 13)", "0.64 to 0.88"):
        assert figure in told, told


@pytest.mark.row("P11")
def test_two_runs_that_break_at_one_step(tmp_path):
    "compare's first lines say that both break at one step, and that its batch is to be replayed"
    for name, seed in (("a", 1), ("b", 2)):
        rows = [
            {
                "step": at,
                "loss": math.nan if at >= 88 else round(2.2 - 0.004 * at + 0.02 * math.sin(seed * at), 4),
                "grad_norm": math.nan if at >= 88 else 0.6,
            }
            for at in range(1, 101)
        ]
        write_files(tmp_path, {f"{name}.jsonl": [json.dumps(row) for row in rows]})
    said = run_program("compare", tmp_path / "a.jsonl", tmp_path / "b.jsonl").stdout
    head = " ".join(said.split("\n\n")[0].split())
    assert "both break at the same step" in head and "replay the batch of step 88" in head, said


@pytest.mark.row("A16")
def test_prefetching_beside_a_time_out(diagnose):
    "ranks in different collectives while completions are prefetched under FSDP: the prefetching, by the log's own settings"

    def waits(rank, number, op):
        return WAITS.replace("RANK", str(rank)).replace("NUMBER", str(number)).replace("THE_OP", op)

    lines = ["fsdp: full_shard, async_prefetch: true, rl: grpo, world_size 2"]
    lines += [f"{{'loss': 0.01, 'grad_norm': 0.2, 'reward': {0.2 + at / 100}, 'epoch': {at / 100}}}" for at in range(5)]
    answer = diagnose({"train.log": [*lines, waits(1, 640, "_ALLGATHER_BASE"), waits(0, 641, "ALLREDUCE")]})
    assert answer.first == "hang.async-prefetch-deadlock" and "async_prefetch" in answer.fixes[0], answer
