"""The program, killed by SIGKILL at random moments and resumed, beside the run that nobody disturbed: the same losses.

Run by ctest; APLOMB_TRAIN names the program, APLOMB_KILLS how often it is killed (default 4).
"""

import json
import os
import pathlib
import random
import signal
import subprocess
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
TRAINER = os.environ.get("APLOMB_TRAIN")
KILLS = int(os.environ.get("APLOMB_KILLS", "4"))
CLOCK = {"tokens_per_s", "step_time_s", "host_memory_bytes", "memory_bytes"}
pytestmark = pytest.mark.skipif(not TRAINER, reason="APLOMB_TRAIN does not name the program")


def command(folder: pathlib.Path, adapter: str) -> list[str]:
    # A checkpoint every second step: many of the kills fall into one. Dropout is on, the attention climbs on the way.
    return [TRAINER, "--config=examples/finetune/train.yaml", f"--output-dir={folder}", f"--adapter-name={adapter}",
            "--max-steps=60", "--batch-size=4", "--micro-batch-size=2", "--save-step=2", "--save-total-limit=2",
            "--eval-step=25", "--val-set-size=8", "--attention-rung-steps=20", "--attention-by-speed=false",
            "--guard-snapshot-steps=10",
            "--resume-from-checkpoint=auto", "--threads=1", "--quiet"]


def records(folder: pathlib.Path) -> list[dict]:
    lines = (folder / "metrics.jsonl").read_text().splitlines()
    return [{key: value for key, value in json.loads(line).items() if key not in CLOCK} for line in lines]


@pytest.mark.parametrize("adapter", ["dora", "full"])
def test_losses_after_kills_are_those_of_the_undisturbed_run(tmp_path, adapter):
    began = time.monotonic()
    done = subprocess.run(command(tmp_path / "whole", adapter), cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    took = time.monotonic() - began
    rng = random.Random(1)
    killed = 0
    while killed < KILLS:
        process = subprocess.Popen(command(tmp_path / "killed", adapter), cwd=ROOT, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE, text=True)
        try:
            _, said = process.communicate(timeout=rng.uniform(0.3, 0.4 * took + 1))
            assert process.returncode in (0, 1), said
            # It came to its end before all kills were spent: once more from an earlier checkpoint, if there is one.
            steps = sorted(int(each.name.split("-")[1]) for each in (tmp_path / "killed").glob("checkpoint-*"))
            for each in (f"checkpoint-{step}" for step in steps[1:]):
                subprocess.run(["rm", "-r", str(tmp_path / "killed" / each)], check=True)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.communicate()
            killed += 1
    last = subprocess.run(command(tmp_path / "killed", adapter), cwd=ROOT, capture_output=True, text=True, check=False)
    assert last.returncode in (0, 1), last.stderr
    assert records(tmp_path / "killed") == records(tmp_path / "whole")
    weights = "adapter/adapter_model.safetensors" if adapter != "full" else "model/model.safetensors"
    assert (tmp_path / "killed" / weights).read_bytes() == (tmp_path / "whole" / weights).read_bytes()
    assert not list((tmp_path / "killed").glob("*.tmp-*"))
