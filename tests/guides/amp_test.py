"""Guide 002 in programs: autocast as it should be, the loss scale taken out once, seeds, clipping, initialisation."""

import pytest

HEAD = """import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader
from corpus import Corpus
from network import Network
{seed}
torch.set_float32_matmul_precision("{matmul}")
model = Network(depth=8).to("cuda")
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-4, weight_decay=0.05)
{scaler}
loader = DataLoader(Corpus("train.bin"), batch_size=12, shuffle=True, num_workers=2, pin_memory=True)
model.train()
for x, y in loader:
    x, y = x.to("cuda", non_blocking=True), y.to("cuda", non_blocking=True)
    optimizer.zero_grad(set_to_none=True)
    with torch.autocast("cuda", dtype={format}):
        loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
{update}
"""
CLIP = "    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n"
NORM = "    print(torch.stack([p.grad.norm() for p in model.parameters()]).norm().item())\n"
UNSCALE = "    scaler.unscale_(optimizer)\n"


def program_of(form="bf16", seed="torch.manual_seed(11)", matmul="high", clip=CLIP, update=None):
    scaled = form == "fp16"
    inner = "    scaler.scale(loss).backward()\n" + UNSCALE if scaled else "    loss.backward()\n"
    last = "    scaler.step(optimizer)\n    scaler.update()\n" if scaled else "    optimizer.step()\n"
    return HEAD.format(
        seed=seed,
        matmul=matmul,
        scaler='scaler = torch.amp.GradScaler("cuda")' if scaled else "",
        format="torch.float16" if scaled else "torch.bfloat16",
        update=update if update is not None else inner + clip + last,
    )


def told(program, folder, *flags):
    done = program("check", "-v", *flags, folder)
    return done.returncode, " ".join(done.stdout.split())


@pytest.mark.row("P2", "P4")
@pytest.mark.parametrize("matmul", ["high", "medium"])
@pytest.mark.parametrize("form", ["bf16", "fp16"])
def test_a_loop_as_it_should_be(program, write, form, matmul):
    "autocast around forward and loss, and TF32 switched on: ready, and nothing is said of TF32"
    status, shown = told(program, write({"train.py": program_of(form, matmul=matmul)}), "--gpu", "A100")
    assert "TF32" not in shown and "TensorFloat" not in shown and "FAILED" not in shown, shown
    assert form == "fp16" or status == 0, shown


@pytest.mark.row("P5+P7")
@pytest.mark.parametrize(
    ("update", "said"),
    [
        (UNSCALE + NORM + UNSCALE + CLIP, "unscaled twice before the scale is updated"),
        (NORM + UNSCALE + CLIP, "norm is read while the gradients are still scaled"),
        (CLIP + UNSCALE, "clipped while they are still scaled"),
        (UNSCALE + NORM + CLIP, None),
    ],
)
def test_the_scale_is_taken_out_once_and_first(program, write, update, said):
    "unscale_ called twice, a norm read or gradients clipped in front of it: each with its line; once, and first, is right"
    rest = "    scaler.step(optimizer)\n    scaler.update()\n"
    code = program_of("fp16", update="    scaler.scale(loss).backward()\n" + update + rest)
    status, shown = told(program, write({"train.py": code}))
    if said:
        assert said in shown and status == 1, shown
    else:
        assert "scaled" not in shown, shown


@pytest.mark.row("P5+P7")
def test_unscaled_with_each_micro_batch(program, write):
    "unscale_ with each micro-batch raises at the second one: told before it runs"
    update = (
        "    scaler.scale(loss / 8).backward()\n" + UNSCALE + "    micro = micro + 1 if 'micro' in dir() else 1\n"
        "    if micro % 8 == 0:\n    " + CLIP + "        scaler.step(optimizer)\n        scaler.update()\n"
    )
    shown = told(program, write({"train.py": program_of("fp16", update=update)}))[1]
    assert "unscaled twice before the scale is updated" in shown, shown


@pytest.mark.row("P13")
@pytest.mark.parametrize("clip", ["", CLIP])
def test_a_loop_that_never_clips(program, write, clip):
    "a loop that nothing clips in is noted, with the call to put in front of the step"
    shown = told(program, write({"train.py": program_of(clip=clip)}))[1]
    assert ("Nothing bounds the gradients" in shown) == (not clip), shown


@pytest.mark.row("P14", "G2")
@pytest.mark.parametrize("hidden", [True, False])
def test_a_nan_that_is_papered_over(program, write, hidden):
    "nan_to_num on the loss is a warning: such a step is to be left out and counted; one that is left out is fine"
    if hidden:
        update = "    torch.nan_to_num(loss).backward()\n" + CLIP + "    optimizer.step()\n"
    else:
        update = (
            "    loss.backward()\n    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n"
            "    if torch.isfinite(norm):\n        optimizer.step()\n    else:\n        skipped += 1\n"
        )
    status, shown = told(program, write({"train.py": program_of(update=update)}))
    assert ("is made a number" in shown) == hidden and status == int(hidden), shown


CUDNN = "torch.backends.cudnn.{} = True\n"


@pytest.mark.row("P19")
@pytest.mark.parametrize(
    ("seed", "said"),
    [
        ("", "No seed is set"),
        ("import numpy as np\ntorch.manual_seed(3)\norder = np.random.permutation(64)", "another generator"),
        ("torch.manual_seed(3)\n" + CUDNN.format("deterministic") + CUDNN.format("benchmark"), "by the clock"),
        ("torch.manual_seed(3)", None),
    ],
)
def test_what_two_runs_have_in_common(program, write, seed, said):
    "no seed, a generator without one, and kernels picked by the clock beside deterministic ones are told"
    shown = told(program, write({"train.py": program_of(seed=seed)}))[1]
    for each in ("No seed is set", "another generator", "by the clock"):
        assert (each in shown) == (each == said), shown


MODEL = """
class Tower(nn.Module):
    def __init__(self, vocabulary=32000, width=512):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.norm = nn.LayerNorm(width)
        self.out = nn.Linear(width, vocabulary, bias=False)
        self.out.weight = self.tokens.weight
        {start}
    def forward(self, x):
        return self.out(self.norm(self.tokens(x)))
"""


@pytest.mark.row("P17")
@pytest.mark.parametrize("start", ["pass", "nn.init.normal_(self.tokens.weight, std=0.02)"])
def test_a_tied_embedding_as_torch_draws_it(program, write, start):
    "an embedding that is the output layer and keeps torch's spread of 1 is told, with the 0.02 to draw it at"
    code = program_of().replace("model = Network(depth=8)", MODEL.format(start=start) + "\nmodel = Tower()")
    shown = told(program, write({"train.py": code}))[1]
    assert ("as torch draws it" in shown and "std=0.02" in shown) == (start == "pass"), shown


@pytest.mark.row("F6")
@pytest.mark.parametrize(
    ("end", "place"), [("return net.to(torch.bfloat16)", "making.py:6"), ("return net", None)]
)
def test_a_cast_in_another_file(program, write, end, place):
    "the cast that a function of another file makes is named there; a model in fp32 is left alone"
    code = program_of().replace("from network import Network", "from making import made")
    code = code.replace('Network(depth=8).to("cuda")', "made()")
    making = f"import torch\nfrom network import Network\n\ndef made():\n    net = Network(depth=8).to('cuda')\n    {end}\n"
    shown = told(program, write({"train.py": code, "making.py": making}))[1]
    assert ("cast to bf16" in shown) == bool(place), shown
    assert not place or place in shown, shown


@pytest.mark.row("F6")
@pytest.mark.parametrize(
    ("cast", "line"),
    [
        ("for p in model.parameters():\n    p.data = p.data.to(torch.bfloat16)", "p.data = "),
        ("teacher = Network(depth=24).to('cuda', torch.bfloat16).eval()", None),
    ],
)
def test_a_cast_parameter_by_parameter(program, write, cast, line):
    "weights cast one by one are the same; a teacher that no optimizer holds may be cast"
    code = program_of().replace("optimizer =", cast + "\noptimizer =", 1)
    shown = told(program, write({"train.py": code}))[1]
    assert ("cast to bf16" in shown) == bool(line), shown


@pytest.mark.row("P17")
@pytest.mark.parametrize(
    ("place", "warmup", "kind"), [("post", 0, "WARNING"), ("pre", 0, None), ("post", 2000, "post-LN")]
)
def test_norms_behind_the_sums_in_a_configuration(program, write, place, warmup, kind):
    "a configuration of 30 layers with the norm behind each sum: a warning without warm-up, a note with one"
    config = (
        f"model:\n  n_layers: 30\n  d_model: 1024\n  n_heads: 16\n  norm_position: {place}\n  init_std: 0.02\n"
        f"train:\n  lr: 3e-4\n  batch_size: 32\n  warmup_steps: {warmup}\n  max_steps: 40000\n  grad_clip: 1.0\n"
    )
    shown = told(program, write({"config.yaml": config}))[1]
    assert ("ost-LN" in shown) == (kind is not None) and (kind != "WARNING" or "WARNING" in shown), shown
