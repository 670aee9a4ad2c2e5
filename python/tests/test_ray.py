"""RunCallback as Ray Train's controller calls it: with ray where it is installed, else by its documented interface."""

import json
import sys
import types

import pytest


@pytest.fixture
def module(monkeypatch):
    try:
        import ray.train  # noqa: F401
    except ImportError:
        fake = types.ModuleType("ray")
        fake.train = types.ModuleType("ray.train")
        fake.train.UserCallback = object
        monkeypatch.setitem(sys.modules, "ray", fake)
        monkeypatch.setitem(sys.modules, "ray.train", fake.train)
    import aplomb.ray

    yield aplomb.ray
    sys.modules.pop("aplomb.ray", None)


def test_reports_become_logs_that_are_diagnosed(module, tmp_path, capsys):
    callback = module.RunCallback(str(tmp_path / "out"))
    for step in range(1, 60):
        loss = 3.0 / step if step < 50 else float("nan")
        callback.after_report(None, [{"step": step, "loss": loss, "note": "x"}, {"step": step, "loss": loss}], None)
    callback.after_exception(None, {1: RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB.")})
    lines = (tmp_path / "out" / "rank_0.jsonl").read_text().splitlines()
    assert len(lines) == 59 and json.loads(lines[0]) == {"step": 1, "loss": 3.0}
    assert "out of memory" in (tmp_path / "out" / "rank_1.err").read_text()
    assert "aplomb: failed" in capsys.readouterr().out


def test_a_folder_that_cannot_be_written_ends_nothing(module, tmp_path):
    (tmp_path / "out").write_text("a file")
    callback = module.RunCallback(str(tmp_path / "out"), diagnose=False)
    with pytest.warns(UserWarning, match="cannot be written"):
        callback.after_report(None, [{"loss": 1.0}], None)
