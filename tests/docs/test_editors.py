"""The problem matcher that docs/trackers.md shows, held to the lines that the program prints."""

import json
import os
import re
import subprocess

from blocks import ROOT


def test_the_matcher_takes_every_line(tmp_path):
    page = (ROOT / "docs" / "trackers.md").read_text()
    shown = re.search(r'```json\n(\{\n  "version": "2\.0\.0".*?)```', page, re.DOTALL)
    matcher = json.loads(shown[1])["tasks"][0]["problemMatcher"]["pattern"]
    (tmp_path / "a folder").mkdir()
    file = tmp_path / "a folder" / "train.yaml"
    file.write_text("learning_rate: 50\nbf16: true\nfp16: true\nmax_steps: 10\n")
    done = subprocess.run([os.environ["APLOMB"], "check", "--lines", file], capture_output=True, text=True, check=False)
    found = [re.match(matcher["regexp"], line) for line in done.stdout.splitlines()]
    assert done.returncode == 1 and found and all(found), done.stdout
    for each in found:
        assert each[matcher["file"]] == str(file) and 1 <= int(each[matcher["line"]]) <= 4
        assert each[matcher["severity"]] in ("error", "warning", "note") and each[matcher["message"]]
        assert "." in each[matcher["code"]]
