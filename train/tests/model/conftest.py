"""The probe beside transformers and peft: the same folder read by both, tensors compared."""

import os
import pathlib
import subprocess

import pytest
import torch
from safetensors.torch import load_file

PROBE = os.environ.get("APLOMB_MODEL_PROBE", "")


@pytest.fixture
def probe(tmp_path):
    """probe(kind, folder, ids, **options) -> tensors; probe.fails(...) -> what it says."""

    def run(words, options, check=True):
        line = [PROBE, *map(str, words), *(f"{key}={value}" for key, value in options.items())]
        done = subprocess.run(line, capture_output=True, text=True, check=False)
        assert not check or done.returncode == 0, done.stderr
        return done

    def tensors(kind, folder, ids, **options):
        rows, out = tmp_path / "ids.txt", tmp_path / "out.safetensors"
        rows.write_text("\n".join(" ".join(map(str, row)) for row in ids.tolist()))
        run([kind, folder, rows, out], options)
        return load_file(out)

    def fails(folder, **options):
        done = run(["save", folder, tmp_path / "nothing"], options, check=False)
        assert done.returncode == 1, done.stdout
        return done.stderr

    tensors.save = lambda folder, out, **options: run(["save", folder, out], options)
    tensors.fails = fails
    return tensors


@pytest.fixture
def ids():
    torch.manual_seed(0)
    return torch.randint(0, 128, (3, 48))


def pytest_collection_modifyitems(items):
    if not PROBE or not pathlib.Path(PROBE).exists():
        for item in items:
            item.add_marker(pytest.mark.skip(reason="APLOMB_MODEL_PROBE names no program"))
