"""examples/finetune by the program: the loss falls, the result loads in peft with the same held-out loss, the run is
healthy for `aplomb diagnose`. APLOMB_TRAIN and APLOMB name the programs."""

import json
import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
TRAINER = os.environ.get("APLOMB_TRAIN")
APLOMB = os.environ.get("APLOMB")
pytestmark = pytest.mark.skipif(not (TRAINER and APLOMB), reason="APLOMB_TRAIN and APLOMB do not name the programs")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("finetune") / "out"
    done = subprocess.run([TRAINER, "--config", "examples/finetune/train.yaml", "--output-dir", str(folder)], cwd=ROOT,
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder, done.stdout + done.stderr


def test_it_learns_and_says_so(run):
    folder, said = run
    entries = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    losses = [entry["loss"] for entry in entries if "loss" in entry]
    evals = [entry["eval_loss"] for entry in entries if "eval_loss" in entry]
    assert sum(losses[-10:]) < 0.6 * sum(losses[:10])
    assert evals[-1] < 0.8 * evals[0]
    assert "the first 10 records pass" in said
    assert "success criteria: every success criterion" in said


def test_diagnose_calls_it_healthy(run):
    done = subprocess.run([APLOMB, "diagnose", "--json", str(run[0])], capture_output=True, text=True, check=False)
    report = json.loads(done.stdout)
    assert report["verdict"] == "healthy", (report["summary"], report["symptoms"])
    assert done.returncode == 0
    assert report["settings"]["peft.rank"] == 8


def test_peft_loads_the_result(run):
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    peft = pytest.importorskip("peft")
    base = transformers.AutoModelForCausalLM.from_pretrained(ROOT / "examples/finetune/model", dtype=torch.float32)
    tokenizer = transformers.AutoTokenizer.from_pretrained(run[0] / "adapter")
    model = peft.PeftModel.from_pretrained(base, run[0] / "adapter").eval()
    assert model.peft_config["default"].use_dora
    row = json.loads((ROOT / "examples/finetune/questions.json").read_text())[0]
    prompt = ("Below is an instruction that describes a task, paired with an input that provides further context. "
              "Write a response that appropriately completes the request.\n\n### Instruction:\n"
              f"{row['instruction']}\n\n### Input:\n{row['input']}\n\n### Response:\n")
    ids = tokenizer(prompt, return_tensors="pt").input_ids
    with torch.no_grad():
        made = model.generate(input_ids=ids, max_new_tokens=24, do_sample=False, pad_token_id=2)
    answer = tokenizer.decode(made[0, ids.shape[1]:], skip_special_tokens=True)
    assert answer.strip().endswith("."), answer  # a sentence, and then the end
