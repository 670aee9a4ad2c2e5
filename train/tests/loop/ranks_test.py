"""Several ranks: the losses of one process, and an end with a reason whatever happens to one of them.

Most tests start the ranks themselves, as a launcher does (RANK, WORLD_SIZE, ...); torchrun and mpirun start one each
where they are. Ranks that are started without MASTER_PORT find a free one. APLOMB_TRAIN names the program.
"""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
TRAINER = os.environ.get("APLOMB_TRAIN")
TORCHRUN = pathlib.Path(sys.executable).parent / "torchrun"
DATA = pathlib.Path()
PATIENCE_S = 120  # for an end that takes a second on a machine with nothing else to do
LAUNCHER = re.compile(r"^(RANK|WORLD_SIZE|LOCAL_|MASTER_|OMPI_|PMI|MPI_|TORCHELASTIC)")
pytestmark = pytest.mark.skipif(not TRAINER, reason="APLOMB_TRAIN does not name the program")


@pytest.fixture(scope="module", autouse=True)
def _data(tmp_path_factory):
    global DATA
    DATA = tmp_path_factory.mktemp("data") / "data.json"
    DATA.write_text(json.dumps(json.loads((ROOT / "examples/finetune/questions.json").read_text())[:120]))


def words(folder: pathlib.Path, *more: str) -> list[str]:
    # 120 - 23 = 97 samples are 8 batches of 12 and one of a single sample, in which all ranks but one have nothing.
    return [TRAINER, "--config=examples/finetune/train.yaml", f"--data-path={DATA}", f"--output-dir={folder}",
            "--batch-size=12",
            "--micro-batch-size=2", "--val-set-size=23", "--lora-dropout=0", "--threads=1", "--save-step=0",
            "--eval-step=20", "--attention=eager", *more]


def surroundings() -> dict[str, str]:
    return {key: value for key, value in os.environ.items() if not LAUNCHER.match(key)}


class Ranks:
    """The ranks of a run, started by hand; `own` are words of single ranks."""

    def __init__(self, count: int, command: list[str], own: dict[int, list[str]] | None = None,
                 before: dict[int, list[str]] | None = None):
        self.processes = []
        for rank in range(count):
            env = {**surroundings(), "RANK": str(rank), "WORLD_SIZE": str(count), "LOCAL_RANK": str(rank),
                   "LOCAL_WORLD_SIZE": str(count)}
            run = [*(before or {}).get(rank, []), *command, *(own or {}).get(rank, [])]
            self.processes.append(subprocess.Popen(run, cwd=ROOT, env=env, text=True, stdout=subprocess.PIPE,
                                                   stderr=subprocess.PIPE))

    def end(self) -> list[tuple[int, str, str]]:
        """Exit status, standard output and error of each rank."""
        try:
            deadline = time.monotonic() + PATIENCE_S * 5
            return [(p.returncode, out, err) for p in self.processes
                    for out, err in [p.communicate(timeout=deadline - time.monotonic())]]
        finally:
            for process in self.processes:
                process.kill()


def records(folder: pathlib.Path) -> list[dict]:
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def wait_for_records(folder: pathlib.Path, count: int) -> None:
    deadline = time.monotonic() + 5 * PATIENCE_S
    file = folder / "metrics.jsonl"
    while not file.exists() or file.read_text().count("\n") < count:
        assert time.monotonic() < deadline, "the run did not begin"
        time.sleep(0.05)


def assert_same(folder: pathlib.Path, whole: list[dict], tolerance: float = 2e-5) -> None:
    found = records(folder)
    assert [each["step"] for each in found] == [each["step"] for each in whole]
    for one, other in zip(found, whole):
        for key in ("loss", "eval_loss"):
            if key in other:
                assert one[key] == pytest.approx(other[key], rel=tolerance), (one["step"], key)
        assert one.get("learning_rate") == other.get("learning_rate")
        if "grad_norm" in other:
            assert one["grad_norm"] == pytest.approx(other["grad_norm"], rel=50 * tolerance), one["step"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """What one process says, 54 steps: six epochs."""
    folder = tmp_path_factory.mktemp("ranks") / "one"
    done = subprocess.run(words(folder, "--max-steps=54", "--quiet"), cwd=ROOT, env=surroundings(), text=True,
                          capture_output=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    found = records(folder)
    assert sum("loss" in each for each in found) == 54
    return found


def test_three_ranks_have_the_losses_of_one_process(tmp_path, whole):
    ends = Ranks(3, words(tmp_path / "out", "--max-steps=54")).end()
    assert {code for code, _, _ in ends} <= {0, 1}, ends
    assert "2 passes of 2 on each of 3 ranks" in ends[0][1]
    assert ends[1][1:] == ends[2][1:] == ("", "")  # rank 0 alone speaks
    assert_same(tmp_path / "out", whole)


@pytest.mark.skipif(not TORCHRUN.exists(), reason="torchrun is not there")
def test_torchrun(tmp_path, whole):
    command = [str(TORCHRUN), "--standalone", "--no-python", "--nproc-per-node", "2",
               *words(tmp_path / "out", "--max-steps=54")]
    done = subprocess.run(command, cwd=ROOT, env=surroundings(), text=True, capture_output=True, check=False,
                          timeout=10 * PATIENCE_S)
    assert "3 passes of 2 on each of 2 ranks" in done.stdout, done.stdout + done.stderr
    assert_same(tmp_path / "out", whole)
    assert (tmp_path / "out/adapter/adapter_model.safetensors").exists()


@pytest.mark.skipif(shutil.which("mpirun") is None, reason="mpirun is not there")
def test_mpirun(tmp_path, whole):
    command = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2", *words(tmp_path / "out", "--max-steps=54")]
    done = subprocess.run(command, cwd=ROOT, env=surroundings(), text=True, capture_output=True, check=False,
                          timeout=10 * PATIENCE_S)
    assert "3 passes of 2 on each of 2 ranks" in done.stdout, done.stdout + done.stderr
    assert_same(tmp_path / "out", whole)


@pytest.mark.parametrize("killed", [0, 1])
def test_a_killed_rank_ends_all_with_its_reason(tmp_path, killed):
    ranks = Ranks(2, words(tmp_path / "out", "--max-steps=100000", "--save-step=2"))
    wait_for_records(tmp_path / "out", 3)
    ranks.processes[killed].send_signal(signal.SIGKILL)
    began = time.monotonic()
    other = ranks.processes[1 - killed]
    _, said = other.communicate(timeout=PATIENCE_S)
    assert other.returncode == 2
    assert f"rank {killed} ended without a word" in said
    assert time.monotonic() - began < PATIENCE_S
    ranks.end()
    assert list((tmp_path / "out").glob("checkpoint-*/training_state.json"))


def test_rank_zero_tells_what_only_another_rank_met(tmp_path):
    ends = Ranks(2, words(tmp_path / "out", "--max-steps=4"), own={1: ["--data-path=/nowhere.json"]}).end()
    assert [code for code, _, _ in ends] == [2, 2]
    assert re.search(r"rank 1: .*nowhere\.json", ends[0][2])
    assert ends[1][2] == ""


def test_other_data_on_a_rank_are_noticed(tmp_path):
    ends = Ranks(2, words(tmp_path / "out", "--max-steps=4"), own={1: ["--seed=8"]}).end()
    assert [code for code, _, _ in ends] == [2, 2]
    assert "rank 1: [ranks] this rank reads other data than rank 0" in ends[0][2]


def test_a_full_disk_of_rank_zero_ends_all(tmp_path):
    # Files of more than 64 blocks cannot be written: logs can, weights cannot.
    limit = ["sh", "-c", "trap '' XFSZ; ulimit -f 64; exec \"$@\"", "sh"]
    ends = Ranks(2, words(tmp_path / "out", "--max-steps=100000", "--save-step=2", "--tensorboard=false"),
                 before={0: limit}).end()
    assert [code for code, _, _ in ends] == [2, 2], ends
    assert "File too large" in ends[0][2]
    assert ends[1][2] == ""
    assert not list((tmp_path / "out").glob("checkpoint-*/training_state.json"))


def test_a_signal_to_one_rank_ends_all_with_a_checkpoint_to_go_on_from(tmp_path):
    dropout = ["--lora-dropout=0.1", "--max-steps=30"]
    undisturbed = Ranks(2, words(tmp_path / "whole", *dropout)).end()
    assert {code for code, _, _ in undisturbed} <= {0, 1}
    ranks = Ranks(2, words(tmp_path / "out", *dropout))
    wait_for_records(tmp_path / "out", 3)
    ranks.processes[1].send_signal(signal.SIGTERM)
    ends = ranks.end()
    assert [code for code, _, _ in ends] == [1, 1], ends
    assert "interrupted at step" in ends[0][2]
    again = ["--resume-from-checkpoint=auto", *dropout]
    refused = Ranks(3, words(tmp_path / "out", *again)).end()
    assert {code for code, _, _ in refused} == {2}
    assert "written by 2 ranks, this run has 3" in refused[0][2]
    ends = Ranks(2, words(tmp_path / "out", *again)).end()
    assert {code for code, _, _ in ends} <= {0, 1}, ends
    one, other = ([each["loss"] for each in records(tmp_path / name) if "loss" in each] for name in ("out", "whole"))
    assert one == other  # bit for bit, dropout and all


def test_what_cannot_be_cut_among_the_ranks_is_said_once(tmp_path):
    for count, size, says in ((3, 14, "--batch-size 14 is no multiple of 3 ranks times"), (2, 7, "--batch-size 7 is no")):
        ends = Ranks(count, words(tmp_path / "out", f"--batch-size={size}")).end()
        assert {code for code, _, _ in ends} == {2}
        assert says in ends[0][2]
        assert {said for _, _, said in ends[1:]} == {""}
