"""The verdict in the trackers that are open, with the real packages where they are installed, without a network; %aplomb."""

import os
import pathlib
import subprocess
import sys
import tempfile

import pytest
from aplomb import diagnose, trackers

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def report():
    return diagnose(ROOT / "examples" / "lr-too-high-nan")


def test_nothing_is_opened_and_nothing_imported(report):
    code = (
        "import sys, aplomb; report = aplomb.Report({'verdict': 'failed'});"
        "assert aplomb.trackers.tell(report) == [];"
        "assert not {'wandb', 'mlflow', 'trackio', 'tensorboard'} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_tracker_that_fails_is_left_out(report):
    class Broken:
        def add_text(self, *_):
            raise OSError("disk full")

    assert trackers.tell(report, writer=Broken()) == []


def test_tensorboard(report, tmp_path):
    tensorboard = pytest.importorskip("torch.utils.tensorboard")
    writer = tensorboard.SummaryWriter(str(tmp_path))
    assert trackers.tell(report, writer=writer) == ["tensorboard"]
    assert trackers.tell_numbers({"guard/skipped": 1}, 7, writer) == ["tensorboard"]
    writer.close()
    assert b"lr-too-high" in next(tmp_path.glob("events*")).read_bytes()


def test_wandb(report, tmp_path):
    wandb = pytest.importorskip("wandb")
    with wandb.init(mode="offline", project="p", dir=str(tmp_path)) as run:
        assert trackers.tell(report) == ["wandb"]
        assert run.summary["aplomb/verdict"] == "failed"
        assert trackers.tell_numbers({"guard/skipped": 1}, 7) == ["wandb"]
    assert trackers.tell(report) == [], "closed"


def test_mlflow(report, tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri((tmp_path / "mlruns").as_uri())
    with mlflow.start_run() as run:
        assert trackers.tell(report) == ["mlflow"]
        assert trackers.tell_numbers({"guard/skipped": 1}, 7) == ["mlflow"]
    kept = mlflow.get_run(run.info.run_id).data
    assert kept.tags["aplomb.verdict"] == "failed" and kept.metrics["guard/skipped"] == 1
    assert trackers.tell(report) == [], "closed"


def test_trackio_in_a_process_of_its_own(report):
    """Its run starts threads that outlive a test."""
    pytest.importorskip("trackio")
    code = (
        "import trackio, aplomb\n"
        "assert aplomb.trackers.tell(aplomb.Report({'verdict': 'failed'})) == []\n"
        "run = trackio.init(project='p')\n"
        "assert aplomb.trackers.tell(aplomb.Report({'verdict': 'failed'})) == ['trackio']\n"
        "trackio.finish()\n"
    )
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "TRACKIO_DIR": folder, "HF_HOME": folder, "HF_HUB_OFFLINE": "1"}
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, env=environment, timeout=120, check=False
        )
    assert done.returncode == 0, done.stderr[-2000:]


def test_the_magic_shows_a_report_and_prints_other_commands(capsys):
    testing = pytest.importorskip("IPython.testing.globalipapp")
    shell = testing.start_ipython() or testing.get_ipython()
    shell.run_line_magic("load_ext", "aplomb")
    shown = shell.run_line_magic("aplomb", f"diagnose {ROOT / 'examples' / 'lr-too-high-nan'}")
    assert shown.verdict == "failed" and "lr-too-high" in shown._repr_html_()
    assert shell.run_line_magic("aplomb", "explain loss.spike") is None
    assert "loss.spike" in capsys.readouterr().out
    shell.run_line_magic("aplomb", "run -- true")
    assert "terminal" in capsys.readouterr().err


def test_the_action_and_the_hook_name_what_there_is(tmp_path):
    yaml = pytest.importorskip("yaml")
    step = yaml.safe_load((ROOT / "action.yml").read_text())["runs"]["steps"][0]
    assert "${{" not in step["run"], "inputs reach the shell through the environment alone"
    (tmp_path / "train.yaml").write_text("learning_rate: 0.0001\nbf16: true\nfp16: true\nmax_steps: 10\n")
    program = tmp_path / "bin" / "aplomb"
    program.parent.mkdir()
    program.symlink_to(os.environ["APLOMB_CLI"])
    for fail, status in (("true", 1), ("false", 0)):
        environment = {
            **os.environ,
            "PATH": f"{program.parent}:{os.environ['PATH']}",
            "PATHS": "train.yaml",
            "GPU": "",
            "FAIL": fail,
            "SARIF": "out.sarif",
        }
        done = subprocess.run(
            ["bash", "-e", "-o", "pipefail", "-c", step["run"]],
            cwd=tmp_path,
            env=environment,
            check=False,
            capture_output=True,
            text=True,
        )
        assert done.returncode == status, done.stderr
        assert (tmp_path / "out.sarif").exists()
    hook = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())[0]
    done = subprocess.run(
        [*hook["entry"].split(), "train.yaml"], cwd=tmp_path, env=environment, check=False, capture_output=True
    )
    assert done.returncode == 1
