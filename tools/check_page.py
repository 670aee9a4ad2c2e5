#!/usr/bin/env python3
"""Open the HTML report in a real headless browser and see that it stands.

usage: check_page.py APLOMB [FOLDER_FOR_PICTURES]

For each run of examples/: writes the page, loads it in Chromium, and checks that the scripts ran without an error, that
the verdict and the first cause are to be seen, that charts were drawn, and that nothing asks for the network. Pictures
(wide, phone, dark) are left in build/check/pages for people to look at.
"""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars",
         "--disable-background-networking", "--disable-component-update", "--disable-sync"]


def browse(page: pathlib.Path, *flags: str) -> subprocess.CompletedProcess:
    with tempfile.TemporaryDirectory() as profile:
        return subprocess.run(["chromium", *FLAGS, f"--user-data-dir={profile}", *flags, page.as_uri()],
                              capture_output=True, text=True, timeout=120, check=False)


def faults_of(page: pathlib.Path, report: dict) -> list[str]:
    text = page.read_text()
    faults = []
    outside = re.findall(r'(?:src|href)\s*=\s*"(https?://[^"]+)"', text)
    loads = [url for url in outside if f'href="{url}"' not in text]
    if loads:
        faults.append(f"loads from the network: {loads[:2]}")
    seen = browse(page, "--dump-dom", "--enable-logging=stderr", "--virtual-time-budget=3000")
    errors = [line for line in seen.stderr.splitlines() if "CONSOLE" in line and "rror" in line]
    faults += [f"script: {line[-160:]}" for line in errors[:3]]
    words = re.sub(r"<[^>]+>", " ", seen.stdout)
    if report["verdict"] != "healthy" and report["causes"] and report["causes"][0]["title"][:30] not in words:
        faults.append("the first cause's title is not to be seen")
    if any(series["points"] > 2 for series in report["series"]) and "<svg" not in seen.stdout:
        faults.append("no chart was drawn")
    return faults


def main() -> int:
    if len(sys.argv) < 2 or shutil.which("chromium") is None:
        print(__doc__ if len(sys.argv) < 2 else "chromium is not installed")
        return 2
    pictures = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else ROOT / "build/check/pages"
    pictures.mkdir(parents=True, exist_ok=True)
    bad = 0
    runs = sorted(path for path in (ROOT / "examples").iterdir() if (path / "train.log").exists())
    for run in runs:
        page = pictures / f"{run.name}.html"
        done = subprocess.run([sys.argv[1], "diagnose", "--json", "--html", str(page), str(run)],
                              capture_output=True, text=True, check=False)
        if done.returncode not in (0, 1) or not page.exists():
            print(f"{run.name}: no page (exit {done.returncode}) {done.stderr[:200]}")
            bad += 1
            continue
        faults = faults_of(page, json.loads(done.stdout))
        bad += bool(faults)
        print(f"{run.name}: {'; '.join(faults) or 'ok'}")
    if runs:
        page = pictures / f"{runs[0].name}.html"
        for name, flags in {"wide": ["--window-size=1280,2200"], "phone": ["--window-size=500,2600"],
                            "dark": ["--window-size=1280,2200", "--blink-settings=preferredColorScheme=0"]}.items():
            browse(page, f"--screenshot={pictures / name}.png", *flags)
    return 1 if bad or not runs else 0


if __name__ == "__main__":
    sys.exit(main())
