"""`aplomb run` around a real training script: output unchanged, status exact, told and stopped when it fails."""

import json
import os
import subprocess
import sys

import pytest
from aplomb.report import _program

SCRIPT = """
import sys, time, torch
torch.manual_seed(0)
torch.set_num_threads(1)
model = torch.nn.Sequential(torch.nn.Linear(16, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=float(sys.argv[1]))
steps = int(sys.argv[2])
for step in range(steps):
    x = torch.randn(64, 16)
    loss = (model(x)[:, 0] - x.sum(1)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1e9)
    optimizer.step()
    print({"loss": round(loss.item(), 4), "grad_norm": round(norm.item(), 4), "learning_rate": 0.01, "step": step})
    time.sleep(0.01)
print("saved", file=sys.stderr)
sys.exit(3)
"""


def run(folder, rate, steps, *options):
    script = folder / "train.py"
    script.write_text(SCRIPT)
    command = [sys.executable, str(script), str(rate), str(steps)]
    wrapped = [_program(), "run", "--out", str(folder / "out"), *options, "--", *command]
    done = subprocess.run(wrapped, capture_output=True, text=True, timeout=240, check=False)
    return done, command


@pytest.fixture(autouse=True)
def needs_run():
    if b"run" not in subprocess.run([_program(), "--help"], capture_output=True, check=False).stdout:
        pytest.skip("this program has no `run`")


def test_a_healthy_training_passes_through(tmp_path):
    done, command = run(tmp_path, 0.01, 80)
    plain = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == plain.returncode == 3
    assert done.stdout == plain.stdout
    assert "saved\n" in done.stderr and "the first 10 records pass" in done.stderr
    assert (tmp_path / "out" / "output.log").read_text().count("loss") == 80
    assert "failed" not in done.stderr and "unstable" not in done.stderr


def test_a_training_that_diverges_is_told_of_and_stopped(tmp_path):
    done, _ = run(tmp_path, 5.0, 2000, "--stop-on", "failed", "--grace", "5")
    assert done.returncode == -15, "as the program ended: by SIGTERM"
    assert "aplomb: failed: " in done.stderr
    assert done.stdout.count("\n") < 2000
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    assert report["verdict"] == "failed"
    assert os.path.getsize(tmp_path / "out" / "report.html") > 1000
