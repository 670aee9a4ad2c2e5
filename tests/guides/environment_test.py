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
