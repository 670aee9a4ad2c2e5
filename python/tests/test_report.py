"""Report objects, and what a notebook shows of them."""

import json
import subprocess
import sys
from html.parser import HTMLParser

import aplomb
import pytest
from aplomb.notebook import COLOURS

DATA = {
    "verdict": "failed",
    "inputs": [{"path": "out/<log>.txt"}],
    "causes": [
        {
            "id": "nan.lr-too-high",
            "title": "A rate <script>alert(1)</script>",
            "probability": 0.83,
            "because": "5 > 3 & so on",
            "evidence": [{"text": "{'loss': '<nan>'}"}],
            "remedies": [{"text": "set learning_rate: 1e-5"}],
        }
    ],
    "symptoms": [
        {"id": f"seen.{i}", "severity": "failed", "summary": "a <b>", "first_step": i, "last_step": i + 1} for i in range(15)
    ],
}


class Tags(HTMLParser):
    """Every tag that is opened is closed, in order."""

    def __init__(self):
        super().__init__()
        self.open, self.seen, self.text = [], set(), ""

    def handle_starttag(self, tag, attributes):
        self.open.append(tag)
        self.seen.add(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def test_a_notebook_shows_causes_and_symptoms_and_runs_nothing():
    page = Tags()
    page.feed(aplomb.Report(DATA)._repr_html_())
    assert not page.open and "script" not in page.seen
    assert page.seen <= {"div", "p", "b", "span", "details", "summary", "code", "ul", "li", "table", "tr", "th", "td"}
    for text in ("failed", "83%", "<script>alert(1)</script>", "5 > 3 & so on", "set learning_rate: 1e-5", "3 more"):
        assert text in page.text
    assert "0 to 1" in page.text and "seen.12" not in page.text


@pytest.mark.parametrize("verdict", [*COLOURS, "insufficient-evidence"])
def test_every_verdict_has_a_page(verdict):
    page = Tags()
    page.feed(aplomb.Report({"verdict": verdict})._repr_html_())
    assert not page.open and verdict in page.text


def test_python_m_aplomb_is_the_program_and_the_tools_of_the_package(tmp_path):
    def run(*words):
        return subprocess.run([sys.executable, "-m", "aplomb", *words], capture_output=True, text=True, check=False)

    assert "diagnose" in run("--help").stdout
    assert run("diagnose", str(tmp_path / "missing")).returncode == 2
    (tmp_path / "train.py").write_text("print('never run')\n")
    audited = run("audit", str(tmp_path / "train.py"))
    assert json.loads(audited.stdout)["findings"] == []
