"""Broken models, data and places: each is refused before the first step where it can be known, in words that say what is
wrong and where; what was written before stays. APLOMB_TRAIN names the program."""

import json
import os
import pathlib
import resource
import shutil
import struct
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
EXAMPLE = ROOT / "examples/finetune"
TRAINER = os.environ.get("APLOMB_TRAIN")
pytestmark = pytest.mark.skipif(not TRAINER, reason="APLOMB_TRAIN does not name the program")
CANNOT = 2


def run(folder, *flags, limits=()):
    """Three steps at most; later flags win. `limits`: (resource, bytes) for the process."""
    def limit():
        for which, value in limits:
            resource.setrlimit(which, (value, value))
    words = [TRAINER, f"--config={EXAMPLE}/train.yaml", f"--base-model={EXAMPLE}/model",
             f"--data-path={EXAMPLE}/questions.json", f"--output-dir={folder}", "--max-steps=3", "--batch-size=4",
             "--micro-batch-size=4", "--val-set-size=4", *flags]
    return subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False, preexec_fn=limit)


def refused(done, *words):
    said = done.stdout + done.stderr
    assert done.returncode == CANNOT, said
    assert "step 1/" not in said, said  # not one step was taken
    assert "report it" not in said, said
    for word in words:
        assert word in said, (word, said)


def copy_of_model(tmp_path, **config):
    folder = tmp_path / "model"
    shutil.copytree(EXAMPLE / "model", folder)
    if config:
        path = folder / "config.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | config))
    return folder


def tensors_of(path):
    """Name -> (entry of the header, bytes)."""
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    header.pop("__metadata__", None)
    body = data[8 + size:]
    return {name: (entry, body[slice(*entry["data_offsets"])]) for name, entry in header.items()}


def write_tensors(path, tensors):
    header, body = {}, b""
    for name, (entry, data) in tensors.items():
        header[name] = entry | {"data_offsets": [len(body), len(body) + len(data)]}
        body += data
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + body)


def sharded_model(tmp_path):
    """The example's model in two shards with an index."""
    folder = copy_of_model(tmp_path)
    tensors = list(tensors_of(folder / "model.safetensors").items())
    (folder / "model.safetensors").unlink()
    weight_map = {}
    for number, part in enumerate((tensors[::2], tensors[1::2]), 1):
        name = f"model-0000{number}-of-00002.safetensors"
        write_tensors(folder / name, dict(part))
        weight_map |= {tensor: name for tensor, _ in part}
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": weight_map}))
    return folder


# --- the model

def test_shards_are_read_and_a_missing_one_is_named(tmp_path):
    folder = sharded_model(tmp_path)
    done = run(tmp_path / "whole", f"--base-model={folder}", "--dry-run")
    assert done.returncode == 0, done.stderr
    (folder / "model-00002-of-00002.safetensors").unlink()
    refused(run(tmp_path / "out", f"--base-model={folder}"), "weights are missing", "model-00002-of-00002.safetensors",
            "is not there")


def test_an_index_that_names_what_no_shard_has_is_refused(tmp_path):
    folder = sharded_model(tmp_path)
    path = folder / "model-00001-of-00002.safetensors"
    tensors = tensors_of(path)
    lost = next(iter(tensors))
    write_tensors(path, {name: each for name, each in tensors.items() if name != lost})
    refused(run(tmp_path / "out", f"--base-model={folder}"), "weights are missing", lost)


def test_weights_of_another_config_are_named_with_both_shapes(tmp_path):
    folder = copy_of_model(tmp_path, intermediate_size=128)
    refused(run(tmp_path / "out", f"--base-model={folder}"), "another shape", "by config.json", "mlp.")


def test_a_torn_file_is_told_as_torn(tmp_path):
    folder = copy_of_model(tmp_path)
    path = folder / "model.safetensors"
    os.truncate(path, path.stat().st_size // 2)
    refused(run(tmp_path / "out", f"--base-model={folder}"), "model.safetensors")
    os.truncate(path, 0)
    refused(run(tmp_path / "out2", f"--base-model={folder}"), "is empty")
    path.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n")
    refused(run(tmp_path / "out3", f"--base-model={folder}"), "git lfs pull")


@pytest.mark.parametrize("config, words", [
    ({"architectures": ["BertForMaskedLM"], "model_type": "bert"}, ["BertForMaskedLM"]),
    ({"num_attention_heads": 7}, ["num_attention_heads"]),
    ({"hidden_size": -1}, ["hidden_size"]),
    ({"vocab_size": 100}, ["tokenizer", "100"]),
])
def test_a_config_that_cannot_be_trained_is_refused_by_its_key(tmp_path, config, words):
    refused(run(tmp_path / "out", f"--base-model={copy_of_model(tmp_path, **config)}"), *words)


def test_a_config_that_is_no_json_and_a_folder_that_is_none(tmp_path):
    folder = copy_of_model(tmp_path)
    (folder / "config.json").write_text('{"hidden_size": 96,')
    refused(run(tmp_path / "out", f"--base-model={folder}"), "config.json", "torn")
    refused(run(tmp_path / "out", "--base-model=meta-llama/Llama-3.2-1B"), "meta-llama/Llama-3.2-1B", "download")
    (folder / "config.json").write_text((EXAMPLE / "model/config.json").read_text())
    (folder / "model.safetensors").unlink()
    refused(run(tmp_path / "out", f"--base-model={folder}"), "holds no weights")


def test_quantised_weights_are_told_as_such(tmp_path):
    folder = copy_of_model(tmp_path, quantization_config={"quant_method": "gptq", "bits": 4})
    name = "model.layers.0.self_attn.q_proj"
    tensors = tensors_of(folder / "model.safetensors")
    tensors.pop(f"{name}.weight")
    tensors[f"{name}.qweight"] = ({"dtype": "I32", "shape": [12, 96]}, bytes(4 * 12 * 96))
    write_tensors(folder / "model.safetensors", tensors)
    refused(run(tmp_path / "out", f"--base-model={folder}"), f"{name}.weight", "quantised (gptq)", "float weights")


def test_weights_that_are_not_finite_are_refused(tmp_path):
    folder = copy_of_model(tmp_path)
    tensors = tensors_of(folder / "model.safetensors")
    name = "model.norm.weight"
    entry, data = tensors[name]
    tensors[name] = (entry, b"\xff" * 4 + data[4:])
    write_tensors(folder / "model.safetensors", tensors)
    refused(run(tmp_path / "out", f"--base-model={folder}"), name, "not finite")


# --- the tokenizer

def test_a_tokenizer_of_another_model_is_refused(tmp_path):
    folder = copy_of_model(tmp_path)
    path = folder / "tokenizer.json"
    tokenizer = json.loads(path.read_text())
    vocab = tokenizer["model"]["vocab"]
    vocab |= {f"more{number}": len(vocab) + number for number in range(100)}
    path.write_text(json.dumps(tokenizer))
    refused(run(tmp_path / "out", f"--base-model={folder}"), "[tokenizer]", "448", "same folder")
    path.write_text(path.read_text()[:2000])
    refused(run(tmp_path / "out", f"--base-model={folder}"), "tokenizer.json")
    path.unlink()
    refused(run(tmp_path / "out", f"--base-model={folder}"), "tokenizer.json")


# --- the data

ROW = {"instruction": "What is this?", "input": "", "output": "A duck."}


@pytest.mark.parametrize("content, words", [
    ("", ["is empty"]),
    ("[]", ["no samples"]),
    (json.dumps(ROW) + '\n{"instruction": "cut\n' * 3, ["3 of 4 rows", "data.json:2", "is not JSON"]),
    (json.dumps([ROW])[:-1], ["does not end", "cut off"]),
    ("instruction,output\na,b\n", ["neither JSON nor JSON Lines"]),
    (json.dumps([{"question": "a", "answer": "b"}]), ["question"]),
    (json.dumps([{"instruction": "a", "input": "", "output": ""}]), ["1 of 1 rows cannot be trained on"]),
    (json.dumps([ROW | {"instruction": "many words " * 200}]), ["1 of 1 rows cannot be trained on"]),
])
def test_data_that_cannot_be_trained_on_are_refused_by_their_place(tmp_path, content, words):
    path = tmp_path / "data.json"
    path.write_text(content)
    refused(run(tmp_path / "out", f"--data-path={path}", "--val-set-size=0"), "[data]", str(path), *words)


def test_a_file_that_is_not_there_and_more_held_out_than_there_is(tmp_path):
    refused(run(tmp_path / "out", "--data-path=no/such.json"), "no/such.json")
    refused(run(tmp_path / "out", "--val-set-size=5000"), "5000", "640")


def test_a_few_bad_rows_are_told_and_left_out(tmp_path):
    path = tmp_path / "data.jsonl"
    path.write_text("\n".join([json.dumps(ROW)] * 200 + ["{broken"] + [json.dumps(ROW)] * 199) + "\n")
    done = run(tmp_path / "out", f"--data-path={path}", "--dry-run")
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    assert "1 rows were left out" in said and f"{path}:201" in said, said


# --- places and memory

def test_a_place_that_cannot_be_written_is_refused(tmp_path):
    (tmp_path / "file").write_text("in the way")
    refused(run(tmp_path / "file/out"), str(tmp_path / "file"), "Not a directory")
    refused(run("/proc/aplomb/out"), "/proc/aplomb")


def test_memory_that_runs_out_is_told_with_what_helps(tmp_path):
    config = json.loads((EXAMPLE / "model/config.json").read_text()) | {
        "hidden_size": 4096, "intermediate_size": 16384, "num_hidden_layers": 8, "vocab_size": 448, "head_dim": 64,
        "num_attention_heads": 64, "num_key_value_heads": 64}
    folder = tmp_path / "large"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config))
    # The plan sees it before anything is asked for; without the plan the allocator does.
    large = [f"--init-random={folder}/config.json", f"--tokenizer={EXAMPLE}/model", "--adapter-name=full"]
    done = run(tmp_path / "out", "--base-model=", *large, "--no-check", limits=[(resource.RLIMIT_AS, 6 << 30)])
    refused(done, "out of memory", "--per-device-train-batch-size")


def test_a_run_that_does_not_fit_is_refused_by_the_plan(tmp_path):
    config = json.loads((EXAMPLE / "model/config.json").read_text()) | {
        "hidden_size": 16384, "intermediate_size": 65536, "num_hidden_layers": 200, "head_dim": 128,
        "num_attention_heads": 128, "num_key_value_heads": 128}
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config))
    refused(run(tmp_path / "out", "--base-model=", f"--init-random={path}", f"--tokenizer={EXAMPLE}/model",
                "--adapter-name=full"), "does not fit", "aplomb plan --fit")


def test_a_disk_that_is_full_while_saving_leaves_the_earlier_checkpoint(tmp_path):
    out = tmp_path / "out"
    first = run(out, "--max-steps=2", "--save-step=2")
    assert first.returncode in (0, 1), first.stderr
    whole = {path.name: path.read_bytes() for path in (out / "checkpoint-2").iterdir()}
    largest = max(len(data) for data in whole.values())
    # Logs fit; the optimizer's state does not.
    done = run(out, "--max-steps=6", "--save-step=1", "--resume-from-checkpoint=auto",
               limits=[(resource.RLIMIT_FSIZE, largest // 2)])
    said = done.stdout + done.stderr
    assert done.returncode == CANNOT, said
    assert "File too large" in said and "checkpoint-3" in said, said
    assert {path.name: path.read_bytes() for path in (out / "checkpoint-2").iterdir()} == whole
    assert not list(out.glob("*.tmp-*"))
    again = run(out, "--max-steps=4", "--resume-from-checkpoint=auto")
    assert again.returncode in (0, 1) and "at step 2" in again.stdout, again.stdout + again.stderr


# --- what is resumed

@pytest.mark.parametrize("flags, words", [
    (["--lora-r=4"], ["[8, 96] there", "[4, 96] here", "other options"]),
    (["--optim=muon"], ["optimizer.state"]),
    (["--seed=8"], ["data"]),
    (["--val-set-size=8"], ["data"]),
    (["--adapter-name=full"], ["weights are missing"]),
    (["--adapter-name=lora"], ["adapter_model.safetensors"]),
])
def test_a_checkpoint_of_other_options_is_refused(tmp_path_factory, tmp_path, flags, words):
    base = tmp_path_factory.getbasetemp() / "resumed"
    if not base.exists():
        done = run(base, "--max-steps=2", "--save-step=2")
        assert done.returncode in (0, 1), done.stderr
    checkpoint = base / "checkpoint-2"
    refused(run(tmp_path / "out", f"--resume-from-checkpoint={checkpoint}", *flags), *words)


def files_of(folder):
    return {str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mtime_ns)
            for path in sorted(folder.rglob("*")) if path.is_file()}


def test_a_refused_run_leaves_every_file_of_the_earlier_one_as_it_was(tmp_path):
    out = tmp_path / "out"
    assert run(out, "--max-steps=4", "--save-step=2").returncode in (0, 1)
    (out / "checkpoint-9.tmp-1").mkdir()  # of a run that was killed while it wrote
    (out / "checkpoint-9.tmp-1" / "part").write_text("half")
    before = files_of(out)
    other = copy_of_model(tmp_path, num_hidden_layers=2)
    early = f"--resume-from-checkpoint={out}/checkpoint-2"  # records of steps 3 and 4 come after it
    for flags, words in [
            ([f"--base-model={other}", early], "another run"),
            (["--seed=8", early], "data"),
            (["--lora-r=4", early], "other options"),
            (["--lora-r=4", "--resume-from-checkpoint=auto"], "other options"),
            ([f"--base-model={tmp_path}/nothing"], "nothing"),
            (["--adapter-name=lora", "--adapter-path=no/such", "--minimal"], "no/such"),
            ([f"--resume-from-checkpoint={tmp_path}/none"], "no such folder"),
            ([f"--resume-from-checkpoint={other}"], "no checkpoint of this program")]:
        refused(run(out, *flags), words)
        assert files_of(out) == before, flags
    # One that is not refused takes the folder over: steps 3 and 4 are cut off and written again.
    done = run(out, "--max-steps=4", "--save-step=2", early)
    assert done.returncode in (0, 1), done.stderr
    steps = [json.loads(line)["step"] for line in (out / "metrics.jsonl").read_text().splitlines() if '"loss"' in line]
    assert steps == [1, 2, 3, 4]
    log = (out / "train.log").read_text()
    assert log.startswith(before["train.log"][0].decode()) and "at step 2" in log
    assert not (out / "checkpoint-9.tmp-1").exists()
    state = out / "checkpoint-2/training_state.json"
    state.write_text(state.read_text()[:100])
    before = files_of(out)
    refused(run(out, early), "training_state.json", "another checkpoint")
    assert files_of(out) == before
