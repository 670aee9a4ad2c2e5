"""Every block of code that README.md and docs/*.md show is run, or stands below with the reason why it is not.

A block that begins with `$ ` is a session: its command is run and what it prints must be what the page shows; a line `...`
stands for any number of lines. A block whose lines begin with `aplomb ` holds commands: each must be understood and end with
0 or 1.
Python is run by python/tests/test_snippets.py, where torch is.
"""

import os
import shutil
import subprocess

import blocks
import playground
import pytest

PROGRAM = os.environ["APLOMB"]
# (page, how the block begins): why it is not run here.
NOT_RUN = {
    ("README.md", "./quickstart"): "installs packages and builds: ./quickstart is how the program came to be here",
    ("README.md", "aplomb::Report report"): "C++: include/aplomb/diagnose.h, tests/api/diagnose_test.cpp",
    ("docs/agents.md", '{"mcpServers"'): "a client's configuration: python/tests/test_mcp.py starts the server so",
    ("docs/agents.md", "aplomb diagnose --reader"): "asks an endpoint of the user's: tests/cli/prose_reader_test.cpp",
    ("docs/architecture.md", "your files"): "a picture",
    ("docs/compare.md", "DIFFERS"): "an answer about a run of the page's author: tests/compare",
    ("docs/guard.md", "autopsy:"): "a line of a training's output: python/tests/test_autopsy.py",
    ("docs/guard.md", "plugins:"): "axolotl's YAML: python/tests/test_axolotl.py",
    ("docs/guard.md", "python -m aplomb experiments"): "Python: python/tests/test_experiments.py",
    ("docs/guard.md", "aplomb run"): "runs trainings: tests/cli/run_test.cpp",
    ("docs/install.md", "tar -xzf"): "packages that packaging/build.sh makes: packaging/check.sh installs each",
    ("docs/lab.md", "aplomb lab"): "needs the trainer: train/tests",
    ("docs/lab.md", "Fault lr_x200"): "C++ of train/lab",
    ("README.md", "aplomb run --live"): "runs a training with its page: tests/cli/live_test.cpp",
    ("docs/live.md", "aplomb run --alert"): "sends alarms: tests/alarm, tests/cli/live_test.cpp",
    ("docs/live.md", "aplomb run --live"): "runs until it is ended: tests/cli/live_test.cpp",
    ("docs/history.md", "aplomb run"): "runs a training: tests/cli/history_test.cpp",
    ("docs/history.md", "Before    Seen"): "a part of an answer: tests/cli/history_test.cpp",
    ("docs/history.md", "aplomb history"): "asks the runs of whoever reads it: tests/cli/history_test.cpp",
    ("docs/trackers.md", "page = aplomb.live"): "Python in a notebook: python/tests/test_live_page.py",
    ("docs/history.md", "aplomb history --store"): "asks a database: tests/store/team_store_test.cpp",
    ("docs/live.md", "aplomb top"): "fills a terminal: tests/cli/top_test.cpp",
    ("docs/plan.md", "aplomb plan config.json [trainer's"): "the shape of the command: the next test runs one of it",
    ("docs/trackers.md", "- uses: aplomb"): "a workflow: python/tests/test_trackers.py runs the action's step",
    ("docs/trackers.md", "{"): "a task of VS Code: tests/docs/test_editors.py",
    ("docs/trackers.md", "repos:"): "pre-commit's configuration: python/tests/test_trackers.py runs the hook's entry",
    ("docs/train.md", "pip install torch"): "needs the trainer: train/tests",
    ("docs/train.md", "aplomb train"): "needs the trainer: train/tests",
    ("docs/train.md", "torchrun"): "needs the trainer: train/tests",
}
PYTHON = ("import ", "from ", "guard = ", "accelerator.", "report = ", "%load_ext", "trainer = ")


def kind_of(page, text):
    for (where, begins), _ in NOT_RUN.items():
        if page == where and text.startswith(begins):
            return "not run"
    if blocks.session_of(text):
        return "session"
    if text.startswith("aplomb "):
        return "commands"
    return "python" if text.startswith(PYTHON) else "unknown"


FOUND = [(page, line, text, kind_of(page, text)) for page, line, text in blocks.all_blocks()]


def of_kind(kind):
    return [pytest.param(page, text, id=f"{page}:{line}") for page, line, text, this in FOUND if this == kind]


@pytest.fixture
def folder(tmp_path):
    playground.make(tmp_path)
    (tmp_path / "examples").symlink_to(blocks.ROOT / "examples")
    return tmp_path


def run(command, folder):
    os.makedirs(folder / ".bin", exist_ok=True)
    program = folder / ".bin" / "aplomb"
    if not program.exists():
        program.symlink_to(PROGRAM)
    environment = dict(os.environ, PATH=f"{program.parent}:{os.environ['PATH']}", LC_ALL="C.UTF-8", NO_COLOR="1")
    return subprocess.run(["bash", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, timeout=120,
                          stdin=subprocess.DEVNULL, check=False)


def test_every_block_is_run_or_says_why_not():
    assert [f"{page}:{line}" for page, line, _, kind in FOUND if kind == "unknown"] == []
    for (page, begins), why in NOT_RUN.items():
        assert any(page == where and text.startswith(begins) for where, _, text, _ in FOUND), (page, begins, why)


@pytest.mark.parametrize("page,text", of_kind("session"))
def test_a_session_prints_what_the_page_shows(folder, page, text):
    command, shown = blocks.session_of(text)
    done = run(command, folder)
    assert done.returncode in (0, 1), done.stderr
    said = [line.rstrip() for line in done.stdout.splitlines()]
    at, gap = 0, False
    for line in shown:
        if line == "...":
            gap = True
            continue
        if gap:
            assert line in said[at:], f"{line!r} is not printed behind line {at}:\n{done.stdout}"
            at = said.index(line, at)
        assert at < len(said) and said[at] == line, f"printed at line {at}:\n{done.stdout}"
        at, gap = at + 1, False


@pytest.mark.parametrize("page,text", of_kind("commands"))
def test_each_command_is_understood(folder, page, text):
    for command in blocks.commands_of(text):
        first, _, piped = command.partition(" | ")
        if piped and not shutil.which(piped.split()[0]):
            command = first  # what it is piped to is not installed
        done = run("set -o pipefail; " + command, folder)
        assert done.returncode in (0, 1), (command, done.returncode, done.stderr)


def test_the_shape_of_plan_is_one_that_it_takes(folder):
    assert run("aplomb plan config.json axolotl.yaml --gpu 8xH100 --fit", folder).returncode in (0, 1)
