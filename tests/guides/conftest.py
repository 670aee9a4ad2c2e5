"""What the guides' rows are tested with: inputs are written by the tests themselves, the program is run on them as a user
runs it, and an Answer is what it says.

    @pytest.mark.row("C4")                      # the row of rows.yaml
    def test_loss_of_zero(diagnose):
        "a loss of exactly 0 after the first step is padding or lost labels, and says the fixes in order"
        answer = diagnose({"train.log": lines})
        assert answer.first == "stall.all-labels-masked"

APLOMB names the program; without it the build's own is taken, and without that the tests are skipped."""

import json
import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(os.environ.get("APLOMB", ROOT / "build/dev/aplomb"))


def pytest_configure(config):
    config.addinivalue_line("markers", "row(id, ...): the rows of rows.yaml that a test shows")


def pytest_collection_modifyitems(items):
    if PROGRAM.exists():
        return
    for item in items:
        item.add_marker(pytest.mark.skip(reason=f"there is no program at {PROGRAM}; APLOMB names one"))


class Answer:
    """What `aplomb diagnose --json` said: `verdict` in lower case, causes best first."""

    def __init__(self, done):
        self.status = done.returncode
        assert done.returncode in (0, 1), done.stderr + done.stdout
        self.report = json.loads(done.stdout)
        self.verdict = self.report["verdict"]
        self.causes = self.report["causes"]
        self.symptoms = {each["id"]: each for each in self.report["symptoms"]}

    @property
    def first(self):
        return self.causes[0]["id"] if self.causes else None

    @property
    def fixes(self):
        """The fixes of the first cause in their order: the text for people and what it sets."""
        if not self.causes:
            return []
        return [f"{each['text']} {json.dumps(each['set'], ensure_ascii=False)}" for each in self.causes[0]["remedies"]]

    @property
    def text(self):
        return json.dumps(self.report, ensure_ascii=False)

    def __repr__(self):
        causes = ", ".join(f"{each['id']} {each.get('probability', 0):.2f}" for each in self.causes[:4])
        return f"<{self.verdict}: {causes or 'no cause'}; symptoms {', '.join(self.symptoms)}>"


def run_program(*arguments, status=None, **keywords):
    """Runs `aplomb ARGUMENTS`; where `status` is given it must end with it."""
    done = subprocess.run([str(PROGRAM), *map(str, arguments)], capture_output=True, text=True, timeout=120, check=False,
                          **keywords)
    if status is not None:
        assert done.returncode == status, done.stdout + done.stderr
    return done


def write_files(folder, files):
    """Writes {name: text | list of lines | list of objects (JSON lines) | object (JSON)} below `folder`."""
    for name, content in files.items():
        path = pathlib.Path(folder) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            path.write_bytes(content)
        elif isinstance(content, str):
            path.write_text(content, encoding="utf-8")
        elif isinstance(content, list):
            lines = [each if isinstance(each, str) else json.dumps(each) for each in content]
            path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        else:
            path.write_text(json.dumps(content, indent=1), encoding="utf-8")
    return pathlib.Path(folder)


@pytest.fixture
def program():
    return run_program


@pytest.fixture
def diagnose(tmp_path):
    """diagnose({name: content}, *flags): the files are written to a new folder and diagnosed."""
    made = []

    def run(files, *flags):
        folder = write_files(tmp_path / f"run{len(made)}", files)
        made.append(folder)
        return Answer(run_program("diagnose", "--json", *flags, folder))

    return run


@pytest.fixture
def write(tmp_path):
    """write({name: content}): the folder that they were written to."""
    return lambda files, to="input": write_files(tmp_path / to, files)
