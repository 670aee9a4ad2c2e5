"""The Python that README.md and docs/*.md show runs as it stands there, in a small training."""

import pathlib
import subprocess
import sys

import pytest
import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests" / "docs"))
import blocks  # noqa: E402

# What a page takes for granted: a model, its optimizer, one batch, and names that a reader has imported.
BEFORE = """
import aplomb, contextlib, torch
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.ReLU(), torch.nn.Linear(16, 3))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
criterion = torch.nn.functional.cross_entropy
x, y = torch.randn(32, 4), torch.randint(0, 3, (32,))
loss = criterion(model(x), y)
"""
TRAINERS = """
import functools, lightning, transformers
arguments = transformers.TrainingArguments("out", max_steps=2, report_to=[], use_cpu=True, save_strategy="no")
Trainer = functools.partial(transformers.Trainer, model, arguments)
lightning.Trainer = functools.partial(lightning.Trainer, max_steps=2, logger=False, accelerator="cpu",
                                      enable_progress_bar=False, enable_checkpointing=False)
"""
ACCELERATE = """
import accelerate
accelerator = accelerate.Accelerator(cpu=True)
model, optimizer = accelerator.prepare(model, optimizer)
guard = aplomb.Guard(model, optimizer.optimizer)
loss = criterion(model(x), y)
"""
STARTS = ("guard = ", "accelerator.", "from aplomb", "report = ", "%load_ext")


def python_blocks():
    found = [each for each in blocks.all_blocks() if each[2].startswith(STARTS)]
    return [pytest.param(page, text, id=f"{page}:{line}") for page, line, text in found]


def runnable(text):
    """Calls with `...` for the rest of their arguments are made with those of BEFORE; `...` alone is Python already."""
    return text.replace("(..., ", "(").replace("%load_ext", "# %load_ext").replace("\n%", "\n# %")


def test_there_is_something_to_run():
    assert len(python_blocks()) >= 4


@pytest.mark.parametrize("page,text", python_blocks())
def test_the_block_runs(page, text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = BEFORE
    if "steps.aplomb" in text and "Guard(" not in text:
        before += 'aplomb.Guard(model, optimizer, record="steps.aplomb").step(loss)\n'
    if "Trainer(" in text:
        pytest.importorskip("transformers")
        pytest.importorskip("lightning")
        before += TRAINERS
    if "accelerator." in text:
        pytest.importorskip("accelerate")
        before += ACCELERATE
    exec(compile(before, "before", "exec"), names := {})  # noqa: S102
    try:
        exec(compile(runnable(text), page, "exec"), names)  # noqa: S102
    finally:
        sys.modules.pop("__snippet__", None)
        if "Trainer(" in text:
            sys.modules["lightning"].Trainer = names["lightning"].Trainer.func
    assert torch.isfinite(names["loss"])


@pytest.mark.parametrize("name", ["transformers", "lightning", "axolotl", "experiments"])
def test_import_aplomb_alone_is_enough(name):
    """Each in a Python of its own: another test's import would make the name there."""
    code = (
        "import sys, aplomb\n"
        "assert 'torch' not in sys.modules\n"
        f"assert {name!r} in dir(aplomb)\n"
        f"assert aplomb.{name}.__name__ == 'aplomb.{name}'\n"
    )
    if name in ("transformers", "lightning"):
        pytest.importorskip(name)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
