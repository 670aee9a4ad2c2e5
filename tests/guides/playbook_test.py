"""Guide 003's families: loss, memory, speed, hangs, resumes; and guide 000's bundle and diagnostic runs."""

import json
import math
import random
import subprocess
import tarfile

import pytest
from conftest import PROGRAM, run_program, write_files


def curve(count, start=2.4, end=1.4, phase=0.0, noise=0.02, **more):
    """A loss that falls; `more`: functions of the step."""
    made = []
    for step in range(1, count + 1):
        record = {"step": step, "loss": round(end + (start - end) * math.exp(-4 * step / count) +
                                              noise * random.Random(f"{step} {phase}").uniform(-1, 1), 4),
                  "grad_norm": round(0.7 + 0.1 * math.sin(3 * step + phase), 3), "learning_rate": 2e-5}
        record |= {name: value(step) for name, value in more.items()}
        made.append(record)
    return made


def lines(records):
    return [f"step {each['step']} loss {each['loss']} grad_norm {each['grad_norm']} lr {each['learning_rate']:.3e}"
            for each in records]


OUT_OF_MEMORY = ("torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate {asked}. GPU 0 has a total capacity of "
                 "79.15 GiB of which 0.60 GiB is free. Of the allocated memory {used} GiB is allocated by PyTorch, and "
                 "{slack} GiB is reserved by PyTorch but unallocated.")


def ran_out(frames, asked="1.00 GiB", used=77.4, slack=0.3):
    return ["Traceback (most recent call last):", *frames, OUT_OF_MEMORY.format(asked=asked, used=used, slack=slack)]


# --- D1 and D2

@pytest.mark.row("D1")
def test_families(diagnose):
    "NaN, out of memory, a slow-down and a time-out are told apart"
    broken = curve(120)
    for record in broken[90:]:
        record["loss"] = record["grad_norm"] = float("nan")
    slow = curve(120, tokens_per_sec=lambda step: 4000 if step < 60 else 1500)
    waits = ("[rank1]:[E ProcessGroupNCCL.cpp:616] [Rank 1] Watchdog caught collective operation timeout: "
             "WorkNCCL(SeqNum=77, OpType=ALLREDUCE, NumelIn=1024, NumelOut=1024, Timeout(ms)=600000) ran for 600009 "
             "milliseconds before timing out.")
    assert diagnose({"m.jsonl": broken}).first.startswith("nan.")
    memory = lines(curve(30)) + ran_out(['  File "t.py", line 9, in <module>', "    loss.backward()"])
    assert diagnose({"t.log": memory}).first.startswith("oom.")
    assert "throughput.drop" in diagnose({"m.jsonl": slow}).symptoms
    assert diagnose({"t.log": [*lines(curve(30)), waits]}).first.startswith("hang.")


@pytest.mark.row("D2")
def test_spike_before_nan(diagnose):
    "a gradient norm that leaps before the NaN is an optimisation that blew up: warm-up, clipping, a lower rate"
    run = curve(160)
    for record, norm in zip(run[117:120], (4, 22, 190), strict=True):
        record["grad_norm"] = norm
    for record in run[120:]:
        record["loss"] = record["grad_norm"] = float("nan")
    answer = diagnose({"m.jsonl": run})
    assert answer.verdict == "failed"
    assert answer.first in ("nan.lr-too-high", "nan.no-grad-clip"), answer
    assert any("grad_clip" in fix for fix in answer.fixes)


@pytest.mark.row("D2")
def test_flat_norm_before_nan(diagnose):
    "a NaN behind flat gradient norms is a batch or numerics: the batch of that step first"
    run = curve(160)
    for record in run[120:]:
        record["loss"] = record["grad_norm"] = float("nan")
    answer = diagnose({"m.jsonl": run})
    assert answer.first == "nan.bad-data-nonfinite", answer
    assert "eplay the batch" in answer.fixes[0]


# --- D3: not decreasing

@pytest.mark.row("D3")
def test_rate_too_low(diagnose):
    "a loss that crawls in a straight line at a tiny rate: the rate is too low"
    run = [{"step": i, "loss": round(2.31 - 0.0003 * i + 0.002 * math.sin(7 * i), 4), "grad_norm": 0.7,
            "learning_rate": 2e-8} for i in range(1, 201)]
    answer = diagnose({"m.jsonl": run})
    assert answer.first == "stall.lr-too-low", answer


@pytest.mark.row("D3")
def test_rate_too_high_bounces(diagnose):
    "a loss that bounces at a high rate with large gradients: a tenth of the rate, then a range test"
    run = [{"step": i, "loss": round(2.4 + 0.6 * math.sin(i * i * 0.37) + 0.3 * math.sin(11 * i), 4),
            "grad_norm": round(10 + 4 * math.sin(i * i * 0.71), 2), "learning_rate": 6e-3} for i in range(1, 201)]
    answer = diagnose({"m.jsonl": run})
    assert answer.verdict != "healthy"
    assert answer.first == "diverge.lr-too-high", answer
    assert '"optim.lr": 0.0006' in answer.fixes[0]
    assert "range test" in answer.fixes[0]


@pytest.mark.row("D3")
def test_no_gradient(diagnose):
    "a loss that stays with gradients of exactly 0: frozen weights, or an optimizer without them"
    run = [{"step": i, "loss": round(10.8 + 0.03 * math.sin(7 * i), 4), "grad_norm": 0.0, "learning_rate": 2e-5}
           for i in range(1, 161)]
    answer = diagnose({"m.jsonl": run})
    assert answer.first == "stall.frozen-params", answer
    assert any("optimizer" in fix for fix in answer.fixes)


# --- D4: out of memory, by its place

PLACES = {
    "backward": (ran_out(['  File "t.py", line 9, in <module>', "    loss.backward()"]), "oom.activations"),
    "forward": (ran_out(['  File "/x/modeling_llama.py", line 210, in forward',
                         "    down_proj = self.down_proj(self.act_fn(self.gate_proj(x)) * self.up_proj(x))"]),
                "oom.activations"),
    "optimizer": (ran_out(['  File "t.py", line 12, in <module>', "    optimizer.step()",
                           '  File "/x/torch/optim/adamw.py", line 130, in _init_group',
                           '    state["exp_avg"] = torch.zeros_like('], "220.00 MiB"), "oom.optimizer-states"),
    "pieces": (ran_out(['  File "t.py", line 9, in <module>', "    loss.backward()"], "2.00 GiB", 55.0, 21.5),
               "oom.fragmentation"),
    "evaluation": (ran_out(['  File "t.py", line 40, in evaluate', "    logits = model(batch)"], "2.00 GiB"),
                   "oom.eval-keeps-graph"),
    "trainer's evaluation": (ran_out(['  File "/x/transformers/trainer.py", line 4322, in evaluation_loop',
                                      "    losses, logits, labels = self.prediction_step(model, inputs, True)"],
                                     "2.00 GiB"), "oom.eval-keeps-graph"),
}


@pytest.mark.row("D4")
@pytest.mark.parametrize("place", PLACES)
def test_out_of_memory_by_place(diagnose, place):
    "activations, optimizer states, fragmentation and evaluation without no_grad by where the allocation failed"
    text, cause = PLACES[place]
    answer = diagnose({"t.log": lines(curve(30)) + text})
    assert answer.verdict == "failed"
    assert answer.first == cause, answer
    words = {"oom.activations": "gradient_checkpointing", "oom.optimizer-states": "adamw_8bit",
             "oom.fragmentation": "expandable_segments:True", "oom.eval-keeps-graph": "no_grad"}
    assert any(words[cause] in fix for fix in answer.fixes)


# --- D5: too slow

LLAMA_8B = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336,
            "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256}


@pytest.mark.row("D5", "G4")
@pytest.mark.parametrize("speed, low", [(600, True), (9000, False)])
def test_utilisation_from_tokens_weights_and_card(diagnose, speed, low):
    "utilisation is computed from tokens per second, weights and card, and below a tenth the run is not healthy"
    answer = diagnose({"m.jsonl": curve(120, tokens_per_sec=lambda _: speed), "config.json": LLAMA_8B,
                       "training_args.json": {"bf16": True, "per_device_train_batch_size": 1, "learning_rate": 2e-5},
                       "env.txt": "GPU: NVIDIA H100 80GB HBM3\ntorch==2.6.0\n"})
    assert (answer.verdict == "warning") == low, answer
    if low:
        assert "model FLOPs utilisation" in answer.text
        assert all(each["id"].startswith("slow.") for each in answer.causes), answer


@pytest.mark.row("D5", "G4")
def test_utilisation_as_logged(diagnose):
    "a logged utilisation of a few per cent is no healthy run, as a share or per cent"
    for value in (0.05, 5.0):
        answer = diagnose({"m.jsonl": curve(120, mfu=lambda _, value=value: value)})
        assert answer.verdict == "warning", (value, answer)


@pytest.mark.row("D5")
def test_starved_for_data(diagnose):
    "most of a step spent waiting for the loader: workers first, then pinned memory"
    answer = diagnose({"m.jsonl": curve(120, data_time=lambda _: 0.7, step_time=lambda _: 0.9)})
    assert answer.first == "slow.data-starvation", answer
    assert "data.workers" in answer.fixes[0]
    assert "pin_memory" in answer.fixes[1]


def kernel(name, at, length, stream, number):
    return {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": stream, "ts": at, "dur": length,
            "args": {"stream": stream, "correlation": number, "device": 0}}


def call(name, at, length, number):
    return {"ph": "X", "cat": "cuda_runtime", "name": name, "pid": 1, "tid": 1, "ts": at, "dur": length,
            "args": {"correlation": number}}


def trace(parts, steps=4):
    """`parts`: (kernel or None, length of it, length of the host's wait)."""
    events, at, number = [], 1000.0, 0
    for step in range(steps):
        began = at
        for name, length, wait in parts:
            number += 1
            events.append(call("cudaLaunchKernel", at, 10, number))
            if name is not None:
                events.append(kernel(name, at + 20, length, 7, number))
            at += 20 + (length if name is not None else 0)
            if wait:
                events.append(call("cudaStreamSynchronize", at, wait, 100000 + number))
                at += wait
        events.append({"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}", "pid": 1, "tid": 1,
                       "ts": began, "dur": at - began, "args": {}})
    return {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA A100-SXM4-80GB"}], "traceEvents": events}


@pytest.mark.row("D5", "G4")
def test_communication_that_nothing_overlaps(diagnose):
    "collectives that nothing overlaps are a finding: accumulation, a lower ZeRO stage, nvidia-smi topo -m"
    made = trace([("ampere_bf16_s16816gemm", 3000, 0), ("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 5000, 0)])
    answer = diagnose({"trace.json": made})
    assert answer.verdict == "warning", answer
    assert answer.first == "slow.communication-bound", answer
    assert any("ZeRO stage" in fix for fix in answer.fixes)
    assert any("nvidia-smi topo -m" in fix for fix in answer.fixes)


@pytest.mark.row("D5", "G4")
def test_waits_for_the_card(diagnose):
    "a host that waits for the card at every step is a finding: .item() and prints out of the loop"
    made = trace([("ampere_bf16_s16816gemm", 300, 4000)] * 6)
    answer = diagnose({"trace.json": made})
    assert answer.verdict != "healthy", answer
    assert answer.first == "slow.host-device-sync", answer
    assert any(".item()" in fix for fix in answer.fixes)


# --- D6: hangs

WATCHDOG = ("[rank0]:[E ProcessGroupNCCL.cpp:616] [Rank 0] Watchdog caught collective operation timeout: "
            "WorkNCCL(SeqNum=812, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600012 milliseconds "
            "before timing out.")


@pytest.mark.row("D6")
@pytest.mark.parametrize("first, second", [("[rank0] dataloader has 812 batches", "[rank1] dataloader has 811 batches"),
                                           ("rank 0: 412 batches per epoch", "rank 1: 411 batches per epoch")])
def test_ranks_of_unequal_batches(diagnose, first, second):
    "batch counts that differ between ranks: uneven data; drop_last or join()"
    answer = diagnose({"t.log": [*lines(curve(40)), first, second, WATCHDOG]})
    assert answer.verdict == "failed"
    assert answer.first == "hang.uneven-data", answer
    assert '"data.drop_last": true' in answer.fixes[0]
    assert any("join()" in fix for fix in answer.fixes)


@pytest.mark.row("D6")
def test_mismatch_and_rendezvous(diagnose):
    "ranks that call different collectives, and processes that do not find each other"
    mismatch = ("[rank0]: RuntimeError: Detected mismatch between collectives on ranks. Rank 0 is running collective: "
                "CollectiveFingerPrint(SequenceNumber=31, OpType=ALLREDUCE, TensorShape=[8]), but Rank 1 is running "
                "collective: CollectiveFingerPrint(SequenceNumber=31, OpType=BROADCAST).")
    assert diagnose({"t.log": [mismatch]}).first == "hang.collective-mismatch"
    late = "The client socket has timed out after 900000ms while trying to connect to (n0, 29500)."
    nobody = [f"[E socket.cpp:957] [c10d] {late}", f"torch.distributed.DistNetworkError: {late}"]
    answer = diagnose({"t.log": nobody})
    assert answer.first == "hang.rendezvous"
    assert any("MASTER_PORT" in fix for fix in answer.fixes)


@pytest.mark.row("D6")
def test_rank_that_died(diagnose):
    "one rank's log holds the error, the others' a time-out: every rank's log is searched"
    files = {}
    for rank in range(3):
        waits = WATCHDOG.replace("ank 0", f"ank {rank}").replace("rank0", f"rank{rank}")
        files[f"rank_{rank}.log"] = [*lines(curve(40)), waits]
    files["rank_3.log"] = [*lines(curve(40)), "Traceback (most recent call last):", '  File "t.py", line 31, in <module>',
                           "    batch = next(it)", "ValueError: image file is truncated (7 bytes not processed)"]
    answer = diagnose(files)
    assert answer.verdict == "failed"
    assert answer.first == "hang.dead-rank", answer


@pytest.mark.row("D6")
def test_log_that_ends_in_killed(diagnose):
    "a log that ends in Killed is a failure, however well the loss fell"
    answer = diagnose({"t.log": [*lines(curve(90)), "Killed"]})
    assert answer.verdict == "failed", answer


@pytest.mark.row("D6")
def test_program_that_stands_still(tmp_path):
    "a program that falls silent is seen to hang, stopped where asked, and never reported as healthy"
    (tmp_path / "still.py").write_text("import time\nfor i in range(8):\n    print(f'step {i} loss {2 - 0.1 * i:.3f} "
                                       "grad_norm 0.7', flush=True)\n    time.sleep(0.1)\ntime.sleep(90)\n")
    out = tmp_path / "out"
    command = [str(PROGRAM), "run", "--out", str(out), "--hang-after", "2", "--grace", "1", "--stop-on", "hang", "--",
               "python3", str(tmp_path / "still.py")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=80, check=False)
    assert "seems to hang" in done.stderr
    report = json.loads((out / "report.json").read_text())
    assert report["verdict"] not in ("healthy", "insufficient-evidence")
    assert report["causes"][0]["id"].startswith("hang.")


# --- D7: resumes

def resumed(drop):
    """The schedule begins anew at step 101, and the loss leaps; no line says so."""
    run = curve(200, start=2.4, end=1.45)
    for record in run:
        step = record["step"]
        since = step - 1 if step <= 100 else step - 101
        record["learning_rate"] = min(2e-4, 1e-5 * (since + 1))
        if step > 100:
            record["loss"] = round(record["loss"] + drop * math.exp(-since / 25), 4)
    return run


@pytest.mark.row("D7")
@pytest.mark.parametrize("drop", [0.5, 1.6])
def test_resume_that_nothing_announces(diagnose, drop):
    "rate and loss that leap together in mid-run: the schedule was not restored, without a line that says resumed"
    answer = diagnose({"m.jsonl": resumed(drop)})
    assert answer.verdict == "warning", answer
    assert answer.first == "resume.scheduler-lost", answer
    assert "scheduler.state_dict()" in answer.fixes[0]


@pytest.mark.row("D7")
def test_samples_seen_again(diagnose):
    "a loss that is lower behind the resume and comes back later: the position in the data was lost"
    run = curve(200, start=2.4, end=1.45)
    for record in run:
        record["learning_rate"] = min(2e-4, 1e-5 * record["step"])
        if 100 < record["step"] <= 135:
            record["loss"] = round(record["loss"] - 0.4, 4)
    text = lines(run)
    answer = diagnose({"t.log": [*text[:100], "Resumed from checkpoint step 100", *text[100:]]})
    assert answer.verdict == "warning", answer
    assert answer.first == "resume.data-position-lost", answer


@pytest.mark.row("D7")
def test_resume_that_goes_on(diagnose):
    "a run that goes on from its checkpoint as it stopped is healthy"
    text = lines(curve(200, start=2.4, end=1.2))
    answer = diagnose({"t.log": [*text[:100], "Resumed from checkpoint step 100", *text[100:]]})
    assert answer.verdict == "healthy", answer


# --- C5: where the loss starts

@pytest.mark.row("C5")
@pytest.mark.parametrize("start, end", [(12.3, 11.6), (0.21, 0.15)])
def test_adapter_that_starts_elsewhere(diagnose, start, end):
    "an adapter on a language model whose loss starts far from 1.5 to 3.0 is not told to be healthy"
    answer = diagnose({"m.jsonl": curve(60, start=start, end=end, noise=0.004),
                       "training_args.json": {"model_name_or_path": "meta-llama/Llama-3.1-8B", "bf16": True,
                                              "learning_rate": 2e-5},
                       "adapter_config.json": {"peft_type": "LORA", "r": 16, "lora_alpha": 32,
                                               "base_model_name_or_path": "meta-llama/Llama-3.1-8B"}})
    assert answer.verdict != "healthy", answer


# --- C6 and C11

@pytest.mark.row("C6")
def test_fp16_against_bf16(tmp_path):
    "of two runs that differ in the number format compare says which breaks, and from where"
    broken = curve(120)
    for record in broken[70:]:
        record["loss"] = record["grad_norm"] = float("nan")
    folder = write_files(tmp_path, {"fp16/metrics.jsonl": curve(120, phase=1), "fp16/training_args.json": {"fp16": True},
                                    "bf16/metrics.jsonl": broken, "bf16/training_args.json": {"bf16": True}})
    done = run_program("compare", folder / "fp16", folder / "bf16", status=1)
    text = " ".join(done.stdout.split())
    assert text.startswith("DIFFERS B breaks")
    assert "step 71" in text
    assert "precision.compute" in text


@pytest.mark.row("C11")
def test_bundle(tmp_path):
    "one archive: report, first steps, settings and versions; keys, mail, homes and accounts replaced"
    log = ["wandb: Currently logged in as: carol (team-rocket)",
           "wandb: View run at https://wandb.ai/carol/private-project/runs/x1",
           "HF_TOKEN=hf_abcdefghijklmnopqrstuvwxyz012345", "saving to /home/carol/out, questions to carol@example.org",
           *lines(curve(40)), *lines([curve(41)[-1] | {"loss": float("nan"), "grad_norm": float("nan")}])]
    folder = write_files(tmp_path / "run", {"train.log": log, "training_args.json": {"learning_rate": 2e-5, "bf16": True},
                                            "env.txt": "PyTorch version: 2.5.1\ntransformers==4.46.0\npeft==0.13.0\n"})
    archive = tmp_path / "b.tar.gz"
    run_program("bundle", "--yes", "-o", archive, folder, status=0)
    with tarfile.open(archive) as packed:
        text = "\n".join(packed.extractfile(each).read().decode() for each in packed if each.isfile())
        names = [each.name for each in packed]
    for secret in ("carol", "private-project", "team-rocket", "hf_abcdef", "example.org"):
        assert secret not in text, secret
    assert any(name.endswith("report.json") for name in names)
    assert "step 20 loss" in text and "2.5.1" in text and "0.13.0" in text


# --- G1: the startup lines

@pytest.mark.row("G1", "C1")
def test_startup_lines(diagnose):
    "the startup lines are settings: of a bad start the fixes name what was printed, of a good one nothing is told"
    bad = ["attn_implementation: sdpa", "disable_cudnn_sdpa: False", "Model loaded successfully. dtype: torch.bfloat16",
           "Step 0: loss: nan, grad_norm: nan", "Step 1: loss: nan, grad_norm: nan"]
    answer = diagnose({"t.log": bad})
    assert answer.first == "nan.attention-overflow"
    assert '"attn.impl": "eager"' in answer.fixes[0]
    good = ["attn_implementation: eager", "disable_cudnn_sdpa: True", "Disabled cuDNN SDPA for bf16 stability",
            "Adding dedicated PAD token", "Model loaded successfully. dtype: torch.float32"]
    steps = [f"Step {each['step']}: loss: {each['loss']}, grad_norm: {each['grad_norm']}" for each in curve(30)]
    answer = diagnose({"t.log": good + steps})
    assert answer.verdict == "healthy", answer
    settings = json.dumps(answer.report["settings"])
    assert "attn.impl" in settings and "eager" in settings and "precision.params" in settings


EARLY = """
import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM
model = AutoModelForCausalLM.from_pretrained("gpt2")
{before}
model = get_peft_model(model, LoraConfig(r=8, task_type="CAUSAL_LM"))
{after}
for batch in loader:
    loss = model(**batch).loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
MADE = "optimizer = torch.optim.AdamW(model.parameters(), lr=2e-4)"


@pytest.mark.row("D3")
@pytest.mark.parametrize("late", [False, True])
def test_an_optimizer_made_before_the_adapter(program, write, late):
    "an optimizer that is made before PEFT wraps the model holds none of the adapter's weights: told from the program"
    folder = write({"train.py": EARLY.format(before="" if late else MADE, after=MADE if late else "")})
    shown = " ".join(program("check", folder / "train.py").stdout.split())
    assert ("optimizer holds weights that the model no longer has" in shown) != late, shown


RANDOM = {
    "rng": lambda torch: {"python": (3, tuple(range(625)), None), "torch": torch.get_rng_state()},
    "torch_rng_state": lambda torch: torch.get_rng_state(),
    "cuda_rng_states": lambda torch: [torch.zeros(16, dtype=torch.uint8)],
    "prng": lambda torch: ("MT19937", list(range(624)), 624, 0, 0.0),
    "generator": lambda torch: torch.get_rng_state(),
}
POSITION = {"sampler": {"epoch": 1, "position": 96}, "sampler_state": {"index": 4}, "dataloader": {"num_yielded": 12},
            "data_position": 96, "consumed_samples": 9600, "tokens_seen": 1e6, "batch_idx": 12}


def home_made(torch, **further):
    """What somebody saves by hand: weights, Adam's state, a schedule and a count, and what `further` names."""
    model = torch.nn.Linear(6, 3)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, total_iters=100)
    for _ in range(3):
        model(torch.ones(2, 6)).sum().backward()
        optimizer.step()
        schedule.step()
    return {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "scheduler": schedule.state_dict(),
            "step": 3} | further


@pytest.mark.row("D7", "G5")
@pytest.mark.parametrize("key", [*RANDOM, *POSITION, None])
def test_what_a_loop_of_ones_own_keeps(program, tmp_path, key):
    "random states and the position in the data count under any usual key; without a position a resume is not whole"
    torch = pytest.importorskip("torch")
    value = RANDOM[key](torch) if key in RANDOM else POSITION.get(key)
    path = tmp_path / "latest.pt"
    torch.save(home_made(torch, **({key: value} if key else {})), path)
    done = program("ckpt", "resume", path)
    said = " ".join(done.stdout.split())
    assert ("rng there" in said) == (key in RANDOM), said
    assert ("data-position there" in said) == (key in POSITION), said
    assert ("no data-position" in said) == (key not in POSITION), said
    assert done.returncode == (0 if key in POSITION else 1)


SAVED = """
import torch
def keep(model, opt, sched, step, path):
    torch.save({{"net": model.state_dict(), {saved}"step": step}}, path)
def train(model, data, path):
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 1000)
    state = torch.load(path)
    model.load_state_dict(state["net"])
    start = state["step"]
    for step in range(start, 1000):
        loss = model(next(data)).mean()
        opt.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        sched.step()
        if step % 100 == 0:
            keep(model, opt, sched, step, path)
"""


@pytest.mark.row("D7")
@pytest.mark.parametrize("saved", ["", '"adam": opt.state_dict(), "plan": sched.state_dict(), '])
def test_what_a_program_has_to_save(program, write, saved):
    "an optimizer that is not put back: what to load, under the keys that are saved, and what to save where it is not"
    report = json.loads(program("check", "--json", write({"train.py": SAVED.format(saved=saved)})).stdout)
    found = [each for each in report["findings"] if each["id"] == "code.optimizer-not-restored"]
    assert found, report["findings"]
    fix = json.dumps(found[0]["remedies"])
    key, plan = ("adam", "plan") if saved else ("optimizer", "scheduler")
    assert f'opt.load_state_dict(state[\\"{key}\\"])' in fix and f'sched.load_state_dict(state[\\"{plan}\\"])' in fix, fix
    assert ("'optimizer': opt.state_dict()" in fix) == (not saved), fix


@pytest.mark.row("P19")
def test_what_run_made_deterministic(diagnose):
    "what aplomb run --deterministic said and set is a setting of the run, and no sign of kernels that differ"
    banner = ("aplomb: deterministic: seed 7 for Python, NumPy and torch; use_deterministic_algorithms and "
              "cudnn.deterministic on, cudnn.benchmark off")
    steps = [f"step {each['step']} loss {each['loss']} grad_norm {each['grad_norm']}" for each in curve(30)]
    answer = diagnose({"output.log": [*steps, banner]})
    assert answer.first != "resume.nondeterministic-kernels", answer
    assert answer.report["settings"]["seed.deterministic"] is True
    assert answer.report["settings"]["seed.value"] == 7
