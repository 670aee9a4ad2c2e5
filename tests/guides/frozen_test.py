"""Guide 004: norm weights that stay at 1.0 while everything else trains. Small checkpoints, written here."""

import json

import pytest

torch = pytest.importorskip("torch")
save_file = pytest.importorskip("safetensors.torch").save_file

WIDTH = 16


def weights(layers, seed=0):
    made = torch.Generator().manual_seed(seed)
    named = {"embed_tokens.weight": torch.randn(64, WIDTH, generator=made) * 0.02, "final_norm.weight": torch.ones(WIDTH)}
    for layer in range(layers):
        named[f"layers.{layer}.attn_norm.weight"] = torch.ones(WIDTH)
        named[f"layers.{layer}.mlp_norm.weight"] = torch.ones(WIDTH)
        for part in ("attn.q_proj", "attn.k_proj", "attn.o_proj", "mlp.up_proj", "mlp.down_proj"):
            named[f"layers.{layer}.{part}.weight"] = torch.randn(WIDTH, WIDTH, generator=made) * 0.03
    return named


def trained(named, updates, size, dtype):
    """After `updates` of Adam's size, each rounded to the format of the weights as the optimizer would."""
    made = torch.Generator().manual_seed(7)
    moved = {}
    for name, value in named.items():
        weight = value.to(dtype)
        for _ in range(updates):
            weight = (weight.float() - torch.randn(value.shape, generator=made).sign() * size).to(dtype)
        moved[name] = weight
    return moved


def adam_state(named, step, rate=3e-4, betas=(0.9, 0.95)):
    made = torch.Generator().manual_seed(9)
    state = {
        at: {
            "step": torch.tensor(float(step)),
            "exp_avg": torch.randn(value.shape, generator=made) * 1e-4,
            "exp_avg_sq": torch.rand(value.shape, generator=made) * 1e-6 + 1e-6,
        }
        for at, value in enumerate(named.values())
    }
    group = {"lr": rate, "betas": betas, "eps": 1e-8, "weight_decay": 0.1, "params": list(range(len(named)))}
    return {"state": state, "param_groups": [group]}


def save(folder, named, dtype=None, step=None, state=None):
    folder.mkdir(parents=True)
    save_file(
        {name: value.to(dtype or value.dtype).contiguous() for name, value in named.items()}, folder / "model.safetensors"
    )
    if state is not None:
        torch.save(state, folder / "optimizer.pt")
    if step is not None:
        (folder / "trainer_state.json").write_text(json.dumps({"global_step": step, "log_history": []}))
    return folder


@pytest.mark.row("F1")
@pytest.mark.parametrize("layers", [3, 12])
def test_what_moved(program, tmp_path, layers):
    "of all tensors, so many moved and so many did not, and those are all the norm weights"
    start = weights(layers)
    before = save(tmp_path / "checkpoint-0", start, torch.bfloat16)
    after = save(tmp_path / "checkpoint-754", trained(start, 40, 3e-5, torch.bfloat16))
    said = " ".join(program("ckpt", "diff", before, after, status=1).stdout.split())
    norms = 2 * layers + 1
    assert f"{len(start) - norms} of {len(start)} tensors moved" in said, said
    assert f"all {norms} norm weights" in said


@pytest.mark.row("F5")
def test_predicted_from_one_checkpoint(program, tmp_path):
    "from one checkpoint with Adam's state: which weights the next updates would not move, and the spacing at 1.0"
    start = weights(6)
    folder = save(tmp_path / "checkpoint-100", start, torch.bfloat16, 100, adam_state(start, 100))
    said = " ".join(program("ckpt", "precision", folder, status=1).stdout.split())
    assert "13" in said and "0.0078" in said, said


@pytest.mark.row("F3")
def test_optimizer_state(program, tmp_path):
    "groups, learning rate, betas, step count, and that each parameter has its moments"
    start = weights(3)
    folder = save(tmp_path / "checkpoint-188", start, torch.float32, 188, adam_state(start, 188))
    said = " ".join(program("ckpt", "optimizer", folder).stdout.split())
    assert "0.0003" in said or "3e-4" in said or "3e-04" in said, said
    assert "188" in said and "0.95" in said


@pytest.mark.row("F7")
def test_after_the_fix(program, tmp_path):
    "with fp32 weights the same updates move every tensor"
    start = weights(3)
    before = save(tmp_path / "checkpoint-0", start)
    after = save(tmp_path / "checkpoint-100", trained(start, 100, 1e-5, torch.float32))
    said = " ".join(program("ckpt", "diff", before, after, status=0).stdout.split())
    assert f"{len(start)} of {len(start)}" in said or f"all {len(start)}" in said.lower(), said


@pytest.mark.row("F7", "G5")
@pytest.mark.parametrize("moves", [True, False])
def test_the_old_checkpoint_goes_on_in_fp32(program, tmp_path, moves):
    "a bf16 checkpoint and the fp32 one that went on from it are compared by their numbers: the norms move, or still do not"
    start = weights(4)
    before = save(tmp_path / "checkpoint-754", start, torch.bfloat16)
    held = {name: value.to(torch.bfloat16).float() for name, value in start.items()}
    after = trained(held, 100, 1e-5, torch.float32)
    if not moves:
        after = {name: held[name] if "norm" in name else value for name, value in after.items()}
    done = program("ckpt", "diff", before, save(tmp_path / "checkpoint-854", after))
    said = " ".join(done.stdout.split())
    moved = len(start) if moves else len(start) - 9
    assert f"{moved} of {len(start)} tensors moved" in said and done.returncode == int(not moves), said


@pytest.mark.row("F7")
def test_memory_of_the_fix(program, write):
    "what fp32 weights cost is computed for the model at hand"
    model = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": 2560,
        "intermediate_size": 6912,
        "num_hidden_layers": 32,
        "num_attention_heads": 20,
        "num_key_value_heads": 20,
        "vocab_size": 100352,
        "tie_word_embeddings": False,
    }
    sizes = {}
    for number_format in ("bf16", "fp32"):
        folder = write(
            {
                "config.json": model,
                "c.yml": "per_device_train_batch_size: 1\nlearning_rate: 1e-4\nbf16: true\n"
                f"torch_dtype: {'bfloat16' if number_format == 'bf16' else 'float32'}\n"
                "max_length: 512\noutput_dir: o\nnum_train_epochs: 1\n",
            },
            number_format,
        )
        said = program("plan", folder / "config.json", folder / "c.yml").stdout
        line = next(each for each in said.splitlines() if "parameters as stored" in each)
        words = line.split()
        sizes[number_format] = float(words[words.index("GiB") - 1])
    assert sizes["fp32"] == pytest.approx(2 * sizes["bf16"], rel=0.02)


@pytest.mark.row("F6")
@pytest.mark.parametrize(
    "cast",
    ["model = model.to(dtype=torch.bfloat16)", "model = model.bfloat16()", "model.to(torch.bfloat16)", "model.half()"],
)
def test_line_of_the_cast(program, write, cast):
    "the line that casts the whole model is named with file and line, and the fix beside it"
    code = [
        "import torch",
        "",
        "def main():",
        "    model = build()",
        "    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)",
        f"    {cast}",
        "    for x, y in loader:",
        "        with torch.autocast('cuda', dtype=torch.bfloat16):",
        "            loss = model(x, y)",
        "        loss.backward()",
        "        optimizer.step()",
        "        optimizer.zero_grad()",
    ]
    said = " ".join(program("check", write({"scripts/train.py": code}), status=1).stdout.split())
    assert "train.py:6" in said and "are cast to" in said and "autocast" in said, said


def muon_and_adamw(named):
    """A self-written trainer's state of step 754, four micro-batches a step: Muon for matrices, AdamW for the rest."""
    rest = {name: value for name, value in named.items() if "norm" in name or "embed" in name}
    matrices = [value for name, value in named.items() if name not in rest]
    made = torch.Generator().manual_seed(3)
    muon = {
        "state": {i: {"momentum_buffer": torch.randn(each.shape, generator=made) * 1e-4} for i, each in enumerate(matrices)},
        "param_groups": [
            {"lr": 1e-3, "momentum": 0.95, "weight_decay": 0.0, "nesterov": True, "params": list(range(len(matrices)))}
        ],
    }
    schedules = [{"last_epoch": 754, "_last_lr": [rate], "base_lrs": [rate]} for rate in (1e-3, 3e-4)]
    return [muon, adam_state(rest, 188)], schedules


@pytest.mark.row("F4", "G5")
@pytest.mark.parametrize("named_states", [False, True])
def test_two_optimizers_with_their_schedules(program, tmp_path, named_states):
    "Muon beside AdamW, each with its schedule, in one file: both are there; 188 steps of 754 are accumulation"
    start = weights(4)
    optimizers, schedules = muon_and_adamw(start)
    parts = {"optimizers": optimizers, "schedulers": schedules}
    if named_states:
        names = ("muon", "adamw")
        parts = {
            "optimizer_states": dict(zip(names, optimizers, strict=True)),
            "scheduler_states": dict(zip(names, schedules, strict=True)),
        }
    made = trained(start, 40, 3e-4, torch.float32)
    path = tmp_path / "checkpoint_754.pt"
    torch.save({"model_state_dict": made, **parts, "step": 754, "gradient_accumulation_steps": 4}, path)
    held = " ".join(program("ckpt", "optimizer", path).stdout.split())
    assert "0.001" in held and "0.0003" in held, held
    said = json.loads(program("ckpt", "resume", "--json", path).stdout)
    text = json.dumps(said)
    assert "disagree" not in text and "no scheduler" not in text, text
    shown = " ".join(program("ckpt", "resume", path).stdout.split())
    assert "scheduler there" in shown and "188 of the optimizer: 4 micro-batches each" in shown, shown


@pytest.mark.row("G5")
@pytest.mark.parametrize(("step", "found"), [(754, True), (0, False)])
def test_norms_of_exactly_one(program, tmp_path, step, found):
    "one checkpoint after 754 steps whose norm weights are all exactly 1.0: frozen; before the first step their start"
    start = weights(6)
    moved = {
        name: value
        if "norm" in name
        else value + 0.01 * torch.sign(torch.sin(torch.arange(value.numel()).reshape(value.shape)))
        for name, value in start.items()
    }
    folder = save(tmp_path / f"checkpoint-{step}", moved if step else start, torch.bfloat16, step)
    done = program("ckpt", "scan", folder)
    said = " ".join(done.stdout.split())
    assert ("all 13 norm weights" in said or "13 norm" in said) == found, said
    assert (done.returncode == 1) == found, said


@pytest.mark.row("F3")
@pytest.mark.parametrize("given", ["attention alone", "everything", "an adapter"])
def test_weights_that_no_optimizer_holds(program, tmp_path, given):
    "weights that the optimizer was not given are a finding, by number and kind; an adapter's frozen base is none"
    start = weights(3)
    held = start if given == "everything" else {name: value for name, value in start.items() if "attn." in name}
    if given == "an adapter":
        held = {
            f"layers.{layer}.q_proj.lora_{part}.weight": torch.full((4, WIDTH) if part == "A" else (WIDTH, 4), 0.1)
            for layer in range(3)
            for part in "AB"
        }
        start = start | held
    path = tmp_path / "latest.pt"
    torch.save({"model": start, "optimizer": adam_state(held, 40), "step": 40}, path)
    done = program("ckpt", "optimizer", path)
    said = " ".join(done.stdout.split())
    left = len(start) - len(held)
    assert (f"{left} of {len(start)} weights are in no parameter group" in said) == (given == "attention alone"), said
    assert done.returncode == (1 if given == "attention alone" else 0), said


@pytest.mark.row("F1", "F5")
def test_certainty_of_what_was_computed(program, tmp_path):
    "norms that stand still while the rest moves, and updates computed to round away, leave little doubt of the cause"
    start = weights(6)
    before = save(tmp_path / "checkpoint-0", start, torch.bfloat16, 0)
    moved = trained(start, 40, 3e-5, torch.bfloat16)
    after = save(tmp_path / "checkpoint-754", moved, torch.bfloat16, 754)
    whole = save(tmp_path / "whole-754", moved, torch.bfloat16, 754, adam_state(start, 754))
    for arguments in (("diff", before, after), ("precision", whole)):
        first = json.loads(program("ckpt", arguments[0], "--json", *arguments[1:]).stdout)["causes"][0]
        assert first["id"] == "stall.bf16-update-underflow", first
        assert first["probability"] >= 0.85, first


@pytest.mark.row("F1")
@pytest.mark.parametrize("names", [("a", "b"), ("init", "step754"), ("base", "merged")])
def test_two_checkpoints_side_by_side(program, tmp_path, names):
    "diagnose of a folder with two checkpoints, numbered or not: what moved between them; a merged adapter is no training"
    start = weights(4)
    after = trained(start, 40, 3e-5, torch.bfloat16)
    if names[1] == "merged":
        after = {name: value if "proj" in name else start[name] for name, value in after.items()}
    save(tmp_path / "both" / names[0], start, torch.bfloat16)
    save(tmp_path / "both" / names[1], after, torch.bfloat16)
    report = json.loads(program("diagnose", "--json", tmp_path / "both").stdout)
    moved = [each["summary"] for each in report["symptoms"] if each["id"] == "tensor.frozen"]
    assert (moved != []) == (names[1] != "merged"), report["symptoms"]
    if moved:
        assert "9 of 30 tensors did not move" in moved[0] and "all 9 norm weights" in moved[0], moved


@pytest.mark.row("F4")
@pytest.mark.parametrize("first, second", [("optimizer.bin", "optimizer_1.bin"), ("optimizer_0.pt", "optimizer_1.pt")])
def test_optimizers_in_files_of_their_own(program, tmp_path, first, second):
    "two optimizers in two files, as accelerate saves them: both are read, and 188 updates of 754 steps are accumulation"
    start = weights(2)
    folder = save(tmp_path / "checkpoint-754", start, torch.float32, 754)
    state = adam_state(start, 188)
    half = len(start) // 2
    for name, numbers, rate in ((first, range(half), 1e-3), (second, range(half, len(start)), 3e-4)):
        group = state["param_groups"][0] | {"lr": rate, "params": list(range(len(numbers)))}
        held = {at: state["state"][number] for at, number in enumerate(numbers)}
        torch.save({"state": held, "param_groups": [group]}, folder / name)
    torch.save({"last_epoch": 188, "_last_lr": [1e-3]}, folder / "scheduler.bin")
    torch.save({"last_epoch": 188, "_last_lr": [3e-4]}, folder / "scheduler_1.bin")
    told = program("ckpt", "resume", folder).stdout
    assert f"2 groups, state of {len(start)} parameters" in told and "disagree" not in told, told
