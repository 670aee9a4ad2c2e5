"""examples/finetune by the program: the loss falls, the result loads in peft with equal logits, the run is healthy for
`aplomb diagnose`, and `aplomb ckpt` reads its checkpoints. APLOMB_TRAIN, APLOMB and APLOMB_MODEL_PROBE (which runs our
own model) name the programs."""

import json
import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
MODEL = ROOT / "examples/finetune/model"
TRAINER = os.environ.get("APLOMB_TRAIN")
APLOMB = os.environ.get("APLOMB")
PROBE = os.environ.get("APLOMB_MODEL_PROBE")
pytestmark = pytest.mark.skipif(not (TRAINER and APLOMB), reason="APLOMB_TRAIN and APLOMB do not name the programs")


def train(folder, *flags):
    done = subprocess.run([TRAINER, "--config", "examples/finetune/train.yaml", "--output-dir", str(folder), *flags],
                          cwd=ROOT, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("finetune") / "out"
    status, said = train(folder, "--merge-adapter")
    assert status == 0, said
    return folder, said


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
    ids = {each["id"] for each in report["symptoms"]}
    # A busy machine slows steps down, and the report says so: the verdict is then of the speed.
    slowed = {each for each in ids if each.startswith(("time.", "throughput."))}
    assert report["verdict"] == "healthy" or slowed, (report["summary"], report["symptoms"])
    # Every line of the log is taken for what it is: no step is read twice.
    assert {"gate.first_ten", "gate.success", "run.healthy"} <= ids <= slowed | {
        "gate.first_ten", "gate.success", "run.healthy", "lr.shape"}
    assert done.returncode == (0 if report["verdict"] == "healthy" else 1)
    assert report["settings"]["peft.rank"] == 8


@pytest.fixture(scope="module")
def adapted(run):
    """The result as peft loads it, its tokenizer, and the ids of a few questions."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    peft = pytest.importorskip("peft")
    base = transformers.AutoModelForCausalLM.from_pretrained(MODEL, dtype=torch.float32)
    tokenizer = transformers.AutoTokenizer.from_pretrained(run[0] / "adapter")
    model = peft.PeftModel.from_pretrained(base, run[0] / "adapter").eval()
    assert model.peft_config["default"].use_dora
    return model, tokenizer


def prompt_of(row):
    return ("Below is an instruction that describes a task, paired with an input that provides further context. "
            "Write a response that appropriately completes the request.\n\n### Instruction:\n"
            f"{row['instruction']}\n\n### Input:\n{row['input']}\n\n### Response:\n")


def questions(tokenizer, count, length):
    import torch

    rows = json.loads((ROOT / "examples/finetune/questions.json").read_text())[:count]
    return torch.tensor([tokenizer(prompt_of(row) + row["output"]).input_ids[:length] for row in rows])


def test_peft_gives_the_logits_of_our_own_model(run, adapted, tmp_path):
    if not PROBE:
        pytest.skip("APLOMB_MODEL_PROBE does not name the program")
    import torch
    from safetensors.torch import load_file

    model, tokenizer = adapted
    ids = questions(tokenizer, 4, 80)
    (tmp_path / "ids").write_text("".join(" ".join(map(str, row)) + "\n" for row in ids.tolist()))
    subprocess.run([PROBE, "logits", str(MODEL), str(tmp_path / "ids"), str(tmp_path / "out"),
                    f"adapter={run[0] / 'adapter'}"], check=True)
    ours = load_file(tmp_path / "out")["logits"]
    with torch.no_grad():
        theirs = model(ids).logits
    assert ours.shape == theirs.shape
    assert (ours - theirs).abs().max() < 1e-4


def test_the_merged_model_gives_the_logits_of_the_adapter(run, adapted):
    import torch
    import transformers

    model, tokenizer = adapted
    merged = transformers.AutoModelForCausalLM.from_pretrained(run[0] / "merged", dtype=torch.float32).eval()
    plain = transformers.AutoModelForCausalLM.from_pretrained(MODEL, dtype=torch.float32).eval()
    ids = questions(tokenizer, 4, 80)
    with torch.no_grad():
        theirs = model(ids).logits
        assert (merged(ids).logits - theirs).abs().max() < 1e-3
        assert (plain(ids).logits - theirs).abs().max() > 1  # the adapter does something


def test_it_answers_in_sentences(adapted):
    import torch

    model, tokenizer = adapted
    row = json.loads((ROOT / "examples/finetune/questions.json").read_text())[0]
    ids = tokenizer(prompt_of(row), return_tensors="pt").input_ids
    with torch.no_grad():
        made = model.generate(input_ids=ids, max_new_tokens=24, do_sample=False, pad_token_id=2)
    answer = tokenizer.decode(made[0, ids.shape[1]:], skip_special_tokens=True)
    assert answer.strip().endswith("."), answer  # a sentence, and then the end


def ckpt(verb, path):
    done = subprocess.run([APLOMB, "ckpt", verb, "--json", str(path)], capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    return json.loads(done.stdout)


def test_ckpt_reads_weights_and_moments_of_its_checkpoints(run):
    checkpoint = run[0] / "checkpoint-144"
    done = subprocess.run([APLOMB, "ckpt", "optimizer", str(checkpoint)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "84 parameters" in done.stdout and "no optimizer holds" not in done.stdout, done.stdout
    assert "layers.0.self_attn.q_proj.lora_A" in done.stdout, done.stdout
    assert ckpt("resume", checkpoint)["verdict"] == "healthy"
    assert "exp_avg" not in json.dumps(ckpt("scan", checkpoint))
    assert ckpt("precision", checkpoint)["verdict"] == "healthy"


@pytest.mark.parametrize("precision", ["bf16", "fp16"])
def test_it_learns_as_well_in_half_precision(tmp_path, precision):
    # A scale of 2^18 overflows in the first steps, as a large model's would at 2^16.
    status, said = train(tmp_path / "out", f"--precision={precision}", "--loss-scale=262144", "--max-steps=30",
                         "--batch-size=4", "--micro-batch-size=4", "--val-set-size=4", "--eval-step=0",
                         "--save-step=20")
    # Batches of four have norms of 5 to 15, in every precision: that they are clipped at each step is told.
    assert status in (0, 1) and "done: 30 steps" in said, said
    entries = [json.loads(line) for line in (tmp_path / "out/metrics.jsonl").read_text().splitlines()]
    losses = [entry["loss"] for entry in entries if "loss" in entry]
    assert sum(losses[-5:]) < 0.9 * sum(losses[:5])
    scales = [entry["loss_scale"] for entry in entries if "loss_scale" in entry]
    if precision == "bf16":
        assert not scales
        return
    assert scales[0] < 262144 and scales[-1] == min(scales)
    state = json.loads((tmp_path / "out/checkpoint-30/training_state.json").read_text())
    assert state["loss_scale"] == scales[-1] and state["skipped_steps"] > 0
    assert said.count("gradients overflow at loss scale") == 1, said
    done = subprocess.run([APLOMB, "diagnose", "--json", str(tmp_path / "out")], capture_output=True, text=True,
                          check=False)
    # The steps that find the loss scale are no trouble.
    warned = {each["id"] for each in json.loads(done.stdout)["symptoms"] if each["severity"] != "note"}
    assert {each for each in warned if not each.startswith(("time.", "throughput."))} <= {
        "clip.every_step", "grad_norm.large"}, done.stdout


def test_full_weights_are_cut_into_shards_that_transformers_loads(tmp_path):
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    for size in ("5GB", "600KB"):
        status, said = train(tmp_path / size, "--adapter-name=full", "--max-steps=4", "--eval-step=0", "--save-step=2",
                             f"--max-shard-size={size}")
        assert status in (0, 1), said
    shards = sorted((tmp_path / "600KB/model").glob("*.safetensors"))
    assert len(shards) > 2 and all(shard.stat().st_size < 620_000 for shard in shards), shards
    index = json.loads((tmp_path / "600KB/model/model.safetensors.index.json").read_text())
    assert set(index["weight_map"].values()) == {shard.name for shard in shards}
    models = []
    for size in ("5GB", "600KB"):
        model, info = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / size / "model", dtype=torch.float32,
                                                                        output_loading_info=True)
        assert not info["missing_keys"] and not info["unexpected_keys"]
        models.append(model.state_dict())
    assert all(torch.equal(models[0][name], models[1][name]) for name in models[0])
    # A checkpoint in shards is resumed from, too.
    status, said = train(tmp_path / "600KB", "--adapter-name=full", "--max-steps=4", "--eval-step=0",
                         "--max-shard-size=600KB", f"--resume-from-checkpoint={tmp_path / '600KB/checkpoint-2'}")
    assert status in (0, 1) and "at step 2" in said, said
