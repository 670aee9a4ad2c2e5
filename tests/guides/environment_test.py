"""Guide 000's configuration, environment and baseline before and beside a run: check and compare."""

import json
import math

import pytest
from conftest import run_program, write_files


def checked(tmp_path, files, *flags):
    folder = write_files(tmp_path / "checked", files)
    done = run_program("check", "--json", *flags, folder)
    report = json.loads(done.stdout)
    return done.returncode, report


def text_of(report):
    return json.dumps(report, ensure_ascii=False)


COMMAND = ("python finetune.py --base_model=meta-llama/Llama-3.1-8B --data_path=./data.json --adapter_name=lora --bf16=True "
           "--learning_rate=2e-5 --batch_size=32 --per_device_train_batch_size=2 --num_epochs=1 ")
WRONG = {
    "run.sh": COMMAND + "--attn_implementation=sdpa --disable_cudnn_sdpa=False --enable_torch_compile=True "
                        "--device_map=auto\n",
    "train.yaml": "base_model: meta-llama/Llama-3.1-8B\nadapter: lora\nlora_r: 16\nbf16: true\nattn_implementation: sdpa\n"
                  "torch_compile: true\ndevice_map: auto\nlearning_rate: 2.0e-5\nmicro_batch_size: 2\n",
    "training_args.json": json.dumps({"model_name_or_path": "meta-llama/Llama-3.1-8B", "bf16": True, "device_map": "auto",
                                      "attn_implementation": "sdpa", "torch_compile": True, "learning_rate": 2e-5,
                                      "per_device_train_batch_size": 2, "pad_token_id": 0}),
}


@pytest.mark.row("C1", "G1")
@pytest.mark.parametrize("name", WRONG)
def test_configuration_turned_wrong(tmp_path, name):
    "sdpa, compilation and device_map=auto at once: not ready, with eager, cuDNN's kernel and compile in the ladder's order"
    status, report = checked(tmp_path, {name: WRONG[name]})
    assert status == 1
    said = text_of(report)
    assert "Fused attention and torch.compile at once" in said
    assert "device_map" in said
    at = [said.index(word) for word in ("Eager attention first", "cuDNN's kernel off", "torch.compile last")]
    assert at == sorted(at)


@pytest.mark.row("C1")
def test_padding_of_llama_3(tmp_path):
    "padding with id 0 in a Llama 3 vocabulary is an instability, and bf16 weights a warning"
    arguments = json.loads(WRONG["training_args.json"]) | {"torch_dtype": "bfloat16"}
    status, report = checked(tmp_path, {"training_args.json": arguments})
    assert status == 1
    assert "Padding has id 0" in text_of(report)
    assert "stored in bf16" in text_of(report)


@pytest.mark.row("C1")
def test_cudnn_kernel_switched_on(tmp_path):
    "cuDNN's attention kernel switched on by itself is a warning that names the flag"
    status, report = checked(tmp_path, {"run.sh": COMMAND + "--attn_implementation=sdpa --disable_cudnn_sdpa=False\n"})
    assert status == 1
    assert "cuDNN's attention kernel is switched on" in text_of(report)


@pytest.mark.row("C1")
def test_baseline_is_ready(tmp_path):
    "eager, cuDNN's kernel off, no compilation: ready"
    baseline = COMMAND + "--attn_implementation=eager --disable_cudnn_sdpa=True --enable_torch_compile=False\n"
    status, _ = checked(tmp_path, {"run.sh": baseline})
    assert status == 0


# --- C7: the environment

PRINTED = "PyTorch: {torch}\nCUDA: {cuda}\ncuDNN: 90100\nBF16 supported: {bf16}\nGPU: {gpu}\n"
COLLECTED = ("Collecting environment information...\nPyTorch version: {torch}\nIs debug build: False\n"
             "CUDA used to build PyTorch: {cuda}\nGPU models and configuration: GPU 0: {gpu}\n"
             "Nvidia driver version: {driver}\n[pip3] torch=={torch}\n[pip3] peft=={peft}\n"
             "[pip3] transformers=={transformers}\n")


@pytest.mark.row("C7")
def test_environment_as_printed(tmp_path):
    "guide 000's own print is read, and told as one line"
    printed = PRINTED.format(torch="2.6.0", cuda="12.4", bf16=True, gpu="NVIDIA GH200")
    status, report = checked(tmp_path, {"env.txt": printed})
    assert status == 0
    said = text_of(report)
    assert "PyTorch 2.6.0" in said and "CUDA 12.4" in said and "GH200" in said


@pytest.mark.row("C7", "G1")
@pytest.mark.parametrize("text", ["peft 0.6.2\ntransformers 4.33.1\n", "peft==0.6.2\ntransformers==4.33.1\n",
                                  "PEFT: 0.6.2\nTransformers: 4.33.1\n"])
def test_versions_below_the_floor(tmp_path, text):
    "peft before 0.8.0 and transformers before 4.35.0 are warnings"
    printed = PRINTED.format(torch="2.5.1", cuda="12.1", bf16=True, gpu="NVIDIA A100")
    status, report = checked(tmp_path, {"env.txt": printed + text})
    assert status == 1
    assert "PEFT 0.6.2 is older" in text_of(report)
    assert "transformers 4.33.1 is older" in text_of(report)


@pytest.mark.row("C7")
@pytest.mark.parametrize("driver, old", [("470.129.06", True), ("515.65.01", True), ("535.104.05", False),
                                         ("550.54.14", False)])
def test_driver_against_cuda(tmp_path, driver, old):
    "a driver from before the major version of CUDA that PyTorch was built for is a failure"
    text = COLLECTED.format(torch="2.6.0+cu124", cuda="12.4", gpu="NVIDIA A100-SXM4-80GB", driver=driver, peft="0.13.0",
                            transformers="4.46.0")
    status, report = checked(tmp_path, {"env.txt": text})
    assert ("driver is older" in text_of(report)) == old
    assert status == (1 if old else 0)


@pytest.mark.row("C7")
def test_capability_against_number_format(tmp_path):
    "bf16 asked for on a card before Ampere is no clean bill"
    files = {"env.txt": PRINTED.format(torch="2.3.0", cuda="12.1", bf16=False, gpu="Tesla T4"),
             "training_args.json": {"bf16": True, "learning_rate": 2e-5, "per_device_train_batch_size": 2}}
    status, report = checked(tmp_path, files)
    assert status == 1
    assert "bf16" in text_of(report)


@pytest.mark.row("C7")
def test_card_without_bf16(tmp_path):
    "a card that does not compute bf16 is told to take fp16 with loss scaling"
    printed = PRINTED.format(torch="2.3.0", cuda="12.1", bf16=False, gpu="Tesla V100-SXM2-16GB")
    _, report = checked(tmp_path, {"env.txt": printed})
    assert "fp16 with loss scaling" in text_of(report)


# --- C3: against a baseline

def metrics(speed, memory, phase, count=120):
    return [{"step": step, "loss": round(1.3 + math.exp(-4 * step / count) + 0.03 * math.sin(7 * step + phase), 4),
             "grad_norm": round(0.7 + 0.1 * math.sin(3 * step + phase), 3),
             "tokens_per_sec": round(speed * (1 + 0.01 * math.sin(5 * step + phase)), 1),
             "memory/max_alloc": round(memory + 0.01 * math.sin(step + phase), 3)} for step in range(1, count + 1)]


def compared(tmp_path, a, b):
    folder = write_files(tmp_path, {"a.jsonl": a, "b.jsonl": b})
    return run_program("compare", folder / "a.jsonl", folder / "b.jsonl")


@pytest.mark.row("C3")
@pytest.mark.parametrize("factor", [0.4, 0.55])
def test_half_the_speed(tmp_path, factor):
    "about half the tokens per second of the baseline differs, by how much, and what to look at"
    done = compared(tmp_path, metrics(5200, 31, 0), metrics(5200 * factor, 31, 1))
    assert done.returncode == 1
    assert done.stdout.startswith("DIFFERS")
    assert "times as long" in done.stdout and "tokens_per_s" in done.stdout
    assert "attention kernel" in " ".join(done.stdout.split())


@pytest.mark.row("C3")
def test_more_memory(tmp_path):
    "half as much memory again differs; a tenth does not"
    assert compared(tmp_path / "more", metrics(5200, 30, 0), metrics(5200, 45, 1)).stdout.startswith("DIFFERS")
    assert compared(tmp_path / "alike", metrics(5200, 30, 0), metrics(5000, 32, 1)).stdout.startswith("SAME")


@pytest.mark.row("C3")
def test_run_that_slows_down(diagnose):
    "tokens per second that fall within the run are found"
    run = metrics(5200, 31, 0)
    for record in run[70:]:
        record["tokens_per_sec"] = round(record["tokens_per_sec"] / 2, 1)
    answer = diagnose({"metrics.jsonl": run})
    assert answer.verdict == "warning"
    assert "throughput.drop" in answer.symptoms


# --- C1: further ways to say the same

LLAMA_FACTORY = ("model_name_or_path: meta-llama/Llama-3.1-8B\nstage: sft\nfinetuning_type: {kind}\ndataset: mine\n"
                 "template: llama3\ncutoff_len: 2048\nper_device_train_batch_size: 2\ngradient_accumulation_steps: 8\n"
                 "learning_rate: 1.0e-4\nlr_scheduler_type: cosine\nwarmup_ratio: 0.05\noutput_dir: out\n{more}")


@pytest.mark.row("P1+P3", "C1")
@pytest.mark.parametrize("gpu, wrong, right", [("T4", "bf16: true", "fp16: true"), ("A100", "fp16: true", "bf16: true")])
def test_a_file_of_llama_factory(tmp_path, gpu, wrong, right):
    "a LLaMA-Factory file is known by its own keys, without do_train: the fix is written in them"
    files = {"sft.yaml": LLAMA_FACTORY.format(kind="full", more=wrong + "\n")}
    status, report = checked(tmp_path, files, "--gpu", gpu)
    assert status == 1 and report["summary"]["framework"] == "llamafactory"
    fixes = [each["rendered"].get("llamafactory", "") for found in report["findings"] for each in found["remedies"]]
    assert any(right in each for each in fixes), fixes


@pytest.mark.row("C1")
@pytest.mark.parametrize("kind, found", [("lora", True), ("full", True), ("lora", False)])
def test_pure_bf16(tmp_path, kind, found):
    "pure_bf16 of LLaMA-Factory keeps adapter or weights in bf16: a warning, whose fix switches it off"
    more = "bf16: true\n" + ("pure_bf16: true\n" if found else "")
    status, report = checked(tmp_path, {"sft.yaml": LLAMA_FACTORY.format(kind=kind, more=more)})
    said = text_of(report)
    assert ("is stored in 16 bits" in said or "are stored in bf16" in said) == found, said
    assert ("pure_bf16: false" in said) == found


@pytest.mark.row("C1", "G1")
def test_startup_lines_of_a_bad_start(tmp_path):
    "check of a log whose first lines show fused attention, compilation and padding with id 0 names them"
    lines = ["2025-06-01 08:00:01 INFO Loading base model meta-llama/Llama-3.1-8B",
             "2025-06-01 08:00:01 INFO attn_implementation: sdpa", "2025-06-01 08:00:01 INFO disable_cudnn_sdpa: False",
             "2025-06-01 08:00:30 INFO Model loaded successfully. dtype: torch.bfloat16",
             "2025-06-01 08:00:31 INFO tokenizer.pad_token_id set to 0", "2025-06-01 08:00:31 INFO device_map: auto",
             "2025-06-01 08:00:32 INFO torch.compile enabled",
             *[f"{{'loss': {2.3 - step / 50:.2f}, 'grad_norm': 0.8, 'learning_rate': 1e-05}}" for step in range(4)]]
    status, report = checked(tmp_path, {"start.log": lines})
    said = text_of(report)
    assert status == 1, said
    assert "Fused attention and torch.compile at once" in said and "Padding has id 0" in said and "device_map" in said, said


@pytest.mark.row("C1")
def test_compilation_with_flash_attention(tmp_path):
    "torch.compile and FlashAttention-2 from the first step are two rungs at once: a note"
    config = ("base_model: meta-llama/Llama-3.1-8B\nbf16: true\nlearning_rate: 1e-5\nmicro_batch_size: 2\n"
              "sequence_len: 2048\nflash_attention: true\ntorch_compile: true\n")
    _, report = checked(tmp_path, {"c.yaml": config})
    assert "FlashAttention-2 and torch.compile from the first step" in text_of(report)


@pytest.mark.row("C7")
@pytest.mark.parametrize("name, text", [("v.txt", "peft 0.6.2\ntransformers 4.33.1\ntorch 2.4.0\n"),
                                        ("shown.txt", "Name: peft\nVersion: 0.6.2\nSummary: adapters\n---\n"
                                                      "Name: transformers\nVersion: 4.33.1\n"),
                                        ("list.txt", "Package      Version\n------------ -------\npeft         0.6.2\n"
                                                     "transformers 4.33.1\n"),
                                        ("req.txt", "torch==2.4.0\npeft==0.6.2\ntransformers==4.33.1\n")])
def test_versions_in_any_list(tmp_path, name, text):
    "pip list, pip show and requirements are read by what stands in them, whatever the file is called"
    status, report = checked(tmp_path, {name: text})
    assert status == 1
    assert "PEFT 0.6.2 is older" in text_of(report) and "transformers 4.33.1 is older" in text_of(report)


@pytest.mark.row("C7")
@pytest.mark.parametrize("name", ["env.txt", "machine_one.txt"])
def test_environment_on_the_screen(program, write, name):
    "the environment is one line of the screen, with what it means, whatever the file is called"
    printed = PRINTED.format(torch="2.6.0", cuda="12.4", bf16=True, gpu="NVIDIA GH200")
    printed += "peft 0.13.2\ntransformers 4.46.1\n"
    said = " ".join(program("check", write({name: printed}) / name, status=0).stdout.split())
    assert "PyTorch 2.6.0" in said and "CUDA 12.4" in said and "PEFT 0.13.2" in said and "GH200" in said, said


@pytest.mark.row("P1+P3")
@pytest.mark.parametrize("gpu, found", [("2080Ti", True), ("RTX 2080 Ti", True), ("RTX2080Ti", True), ("4090", False),
                                        ("RTX 3090", False), ("A100-SXM4-80GB", False)])
def test_names_of_cards(tmp_path, gpu, found):
    "a card is known however its name is written: 2080Ti has no bf16, 4090, RTX 3090 and A100-SXM4-80GB have"
    config = ("base_model: a/b\nbf16: true\nlearning_rate: 1e-5\nmicro_batch_size: 1\nsequence_len: 512\n"
              "warmup_ratio: 0.05\n")
    _, report = checked(tmp_path, {"c.yaml": config}, "--gpu", gpu)
    assert ("bf16 on a card without bf16 units" in text_of(report)) == found


# --- what a configuration of policy training, of logs and of sizes says before it starts

GRPO = ("base_model: Qwen/Qwen2.5-1.5B-Instruct\nrl: grpo\ntrl:\n  num_generations: {n}\n  temperature: {t}\n  beta: {b}\n"
        "  max_completion_length: 1024\nlearning_rate: {lr}\nmicro_batch_size: 16\nbf16: auto\n")


@pytest.mark.row("A8")
@pytest.mark.parametrize("n, t, b, lr, found", [(4, 0.6, 0.0, "1e-5", True), (8, 0.7, 0.04, "1e-6", True),
                                                (16, 1.0, 0.0, "1e-6", False), (8, 1.0, 0.04, "1e-6", False)])
def test_entropy_at_risk(tmp_path, n, t, b, lr, found):
    "few completions at a low temperature, or neither a KL term nor a low rate: 16, 0.8 to 1.0, in the file's own keys"
    _, report = checked(tmp_path, {"g.yaml": GRPO.format(n=n, t=t, b=b, lr=lr)})
    risk = [each for each in report["findings"] if each["id"] == "rl.entropy-at-risk"]
    assert bool(risk) == found, text_of(report)
    if found and b == 0:
        written = " ".join(each["rendered"].get("axolotl", "") for each in risk[0]["remedies"])
        assert "num_generations: 16" in written and "beta: 0.001" in written and "rl_beta" not in written, written


@pytest.mark.row("G2")
@pytest.mark.parametrize("every, found", [(50, True), (1, False)])
def test_logs_of_a_policy(tmp_path, every, found):
    "metrics of a policy every 50 steps are too rare: every step"
    config = GRPO.format(n=16, t=1.0, b=0.04, lr="1e-6") + f"logging_steps: {every}\n"
    _, report = checked(tmp_path, {"g.yaml": config})
    assert ("rl.logs-rarely" in text_of(report)) == found


@pytest.mark.row("A18")
def test_logging_switched_off(tmp_path):
    "a run that logs nothing is a warning"
    text = ("from transformers import TrainingArguments\nargs = TrainingArguments('out', learning_rate=1e-5, bf16=True, "
            "report_to='none', logging_strategy='no')\n")
    folder = write_files(tmp_path, {"args.py": text})
    done = run_program("check", "--json", folder / "args.py")
    status, report = done.returncode, json.loads(done.stdout)
    assert status == 1 and "Nothing is logged" in text_of(report)


@pytest.mark.row("G4")
@pytest.mark.parametrize("width, vocabulary, found", [(1001, 50257, True), (1024, 50304, False)])
def test_dimensions_of_tensor_cores(tmp_path, width, vocabulary, found):
    "dimensions that are no multiple of 8 are noted, with the number to round up to"
    model = {"architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "n_embd": width, "n_layer": 12,
             "n_head": 16 if width == 1024 else 7, "vocab_size": vocabulary, "n_positions": 1024}
    _, report = checked(tmp_path, {"config.json": model})
    assert ("Dimensions that are no multiple of 8" in text_of(report)) == found, text_of(report)


LOOP = """import torch, torch.nn as nn, torch.nn.functional as F
from torch.utils.data import DataLoader
{first}
def main(data):
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(512, 2048), nn.GELU(), nn.Linear(2048, 10)).cuda()
    opt = torch.optim.AdamW(net.parameters(), lr=3e-4)
    for x, y in DataLoader(data, 64, shuffle=True, num_workers=4):
        opt.zero_grad(set_to_none=True)
        loss = F.cross_entropy(net(x.cuda()), y.cuda())
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        opt.step()
"""


@pytest.mark.row("P2")
@pytest.mark.parametrize("gpu, first, found", [("A100", "torch.backends.cuda.matmul.allow_tf32 = False", True),
                                               ("A100", "", True), ("V100", "", False), ("T4", "", False),
                                               ("A100", 'torch.set_float32_matmul_precision("high")', False)])
def test_tf32_of_a_program(program, write, gpu, first, found):
    "fp32 products of a program without TF32: the line and the call, on cards that have it and on no others"
    said = " ".join(program("check", "--gpu", gpu, write({"train.py": LOOP.format(first=first)})).stdout.split())
    assert ("TF32 is off" in said) == found, said
    assert ("train.py:" in said and ("allow_tf32 = True" in said or 'precision("high")' in said)) == found, said


HALF = """import torch
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
model = AutoModelForCausalLM.from_pretrained("some/model", torch_dtype=torch.bfloat16, attn_implementation="sdpa")
model = torch.compile(model)
args = TrainingArguments("out", bf16=True, learning_rate=2e-5, per_device_train_batch_size=2, warmup_ratio=0.05)
Trainer(model=model, args=args, train_dataset=data).train()
"""


@pytest.mark.row("C1")
def test_bf16_weights_are_told_once(program, write):
    "weights that a program loads in bf16 are told once; cuDNN's kernel is switched off by its call"
    said = " ".join(program("check", "--verbose", write({"train.py": HALF})).stdout.split())
    assert said.count("The weights that the optimizer updates are") == 1, said
    assert "enable_cudnn_sdp(False)" in said or "cuDNN's kernel off" not in said, said
