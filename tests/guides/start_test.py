"""Guide 002: what the weights are before the first step, and what makes a run repeat itself."""

import json
import math
import re
import sys

import pytest

torch = pytest.importorskip("torch")
save_file = pytest.importorskip("safetensors.torch").save_file

WIDTH, LAYERS = 64, 8
SCALED = 0.02 / math.sqrt(2 * LAYERS)


def gpt(embeddings=0.02, residual=SCALED):
    made = torch.Generator().manual_seed(0)

    def normal(*shape, deviation=0.02):
        return torch.randn(*shape, generator=made) * deviation

    named = {"transformer.wte.weight": normal(500, WIDTH, deviation=embeddings)}
    named["transformer.ln_f.weight"] = torch.ones(WIDTH)
    for layer in range(LAYERS):
        at = f"transformer.h.{layer}"
        named |= {f"{at}.ln_1.weight": torch.ones(WIDTH), f"{at}.ln_2.weight": torch.ones(WIDTH)}
        named |= {
            f"{at}.attn.c_attn.weight": normal(WIDTH, 3 * WIDTH),
            f"{at}.attn.c_proj.weight": normal(WIDTH, WIDTH, deviation=residual),
            f"{at}.mlp.c_fc.weight": normal(WIDTH, 4 * WIDTH),
            f"{at}.mlp.c_proj.weight": normal(4 * WIDTH, WIDTH, deviation=residual),
        }
        named |= {f"{at}.attn.c_proj.bias": torch.zeros(WIDTH), f"{at}.mlp.c_proj.bias": torch.zeros(WIDTH)}
    return named


def saved(folder, named):
    folder.mkdir(parents=True)
    save_file(named, folder / "model.safetensors")
    config = {"model_type": "gpt2", "n_layer": LAYERS, "n_embd": WIDTH, "vocab_size": 500, "n_head": 4}
    (folder / "config.json").write_text(json.dumps(config))
    return folder


@pytest.mark.row("P17")
@pytest.mark.parametrize(
    ("named", "said"),
    [
        (gpt(embeddings=1.0), "embeddings usually have 0.02"),
        (gpt(residual=2.8 * SCALED), "projections into the residual usually have 0.005"),
        (gpt(), None),
    ],
)
def test_initialisation(program, tmp_path, named, said):
    "a checkpoint of step 0: embeddings of deviation 0.02, projections into the residual divided by sqrt(2 layers)"
    done = program("ckpt", "scan", saved(tmp_path / "checkpoint-0", named))
    shown = " ".join(done.stdout.split())
    assert (said in shown if said else "Nothing wrong found" in shown), shown
    assert done.returncode == (1 if said else 0)


@pytest.mark.row("P17")
@pytest.mark.parametrize("first", [False, True])
def test_norms_behind_the_sums(program, tmp_path, first):
    "norms behind the residual sums in a deep stack (post-LN) are told, norms in front of them are not"
    layer = torch.nn.TransformerEncoderLayer(WIDTH, 4, 4 * WIDTH, norm_first=first)
    last = torch.nn.LayerNorm(WIDTH) if first else None
    stack = torch.nn.TransformerEncoder(layer, 12, norm=last, enable_nested_tensor=False)
    path = tmp_path / "step0"
    path.mkdir()
    torch.save({"model": stack.state_dict(), "step": 0}, path / "checkpoint.pt")
    shown = " ".join(program("ckpt", "scan", path).stdout.split())
    assert ("post-LN" in shown) != first, shown


TRAINING = """
import random
import numpy, torch
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Dropout(0.3), torch.nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for step in range(40):
    x = torch.tensor(numpy.random.randn(16, 8), dtype=torch.float32) * random.uniform(0.5, 1.0)
    loss = (model(x) - x.sum(1, keepdim=True)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"step {step} loss {loss.item():.9f}")
"""


@pytest.mark.row("P19")
def test_a_run_that_repeats_itself(program, write):
    "run --deterministic: seeds and deterministic kernels set, said and logged; two runs are equal, another seed is not"
    pytest.importorskip("numpy")
    folder = write({"train.py": TRAINING})
    logs = []
    for name, seed in (("a", 7), ("b", 7), ("c", 8)):
        out = folder / name
        program("run", "--deterministic", "--seed", seed, "--out", out, "--", sys.executable, folder / "train.py", status=0)
        log = (out / "output.log").read_text()
        assert f"seed {seed} for Python, NumPy and torch" in log and "cudnn.benchmark off" in log, log
        asked = json.loads((out / "determinism.json").read_text())
        assert asked["seed"] == seed and asked["torch.use_deterministic_algorithms"] is True
        assert asked["CUBLAS_WORKSPACE_CONFIG"] in (":4096:8", ":16:8")
        # A line of the other stream may stand in front of one: both come through one pipe.
        logs.append(re.findall(r"step \d+ loss \d+\.\d{9}", log))
    assert len(logs[0]) == 40 and logs[0] == logs[1] and logs[0] != logs[2]
    settings = program("diagnose", "--json", folder / "a").stdout
    assert json.loads(settings)["settings"].get("seed.value") == 7, settings[:2000]


@pytest.mark.row("P19")
def test_a_program_that_undoes_it(program, write):
    "what the program itself sets otherwise afterwards is said at its end"
    text = "import torch\ntorch.backends.cudnn.benchmark = True\ntorch.manual_seed(3)\n"
    folder = write({"train.py": text})
    out = folder / "out"
    program("run", "--deterministic", "--out", out, "--", sys.executable, folder / "train.py", status=0)
    log = (out / "output.log").read_text()
    assert "cudnn.benchmark on" in log and "seed to 3" in log, log


STACK = """
import torch
layer = torch.nn.TransformerEncoderLayer(64, 4, batch_first=True, norm_first={first})
model = torch.nn.TransformerEncoder(layer, num_layers=24, enable_nested_tensor=False)
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
for x, y in loader:
    loss = torch.nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


@pytest.mark.row("P17")
@pytest.mark.parametrize("first", [False, True])
def test_norms_behind_the_sums_of_a_program(program, write, first):
    "the same in a program that builds the stack, where nothing warms it up"
    folder = write({"train.py": STACK.format(first=first)})
    shown = " ".join(program("check", folder / "train.py").stdout.split())
    assert ("normalises behind the sum" in shown) != first, shown


REPEATED = """
import os
import torch
{before}
torch.use_deterministic_algorithms(True)
model = torch.nn.Linear(4, 2).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in loader:
    loss = torch.nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
KNOBS = 'os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"\ntorch.manual_seed(0)'


@pytest.mark.row("P19")
@pytest.mark.parametrize("before", ["", KNOBS])
def test_a_program_that_asks_for_deterministic_kernels(program, write, before):
    "a program that demands deterministic kernels without a seed or a workspace for cuBLAS is told before it starts"
    folder = write({"train.py": REPEATED.format(before=before)})
    shown = " ".join(program("check", folder / "train.py").stdout.split())
    for said in ("CUBLAS_WORKSPACE_CONFIG", "no seed"):
        assert (said in shown) == (not before), shown
