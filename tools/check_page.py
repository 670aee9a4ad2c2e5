#!/usr/bin/env python3
"""Open the HTML pages in a real headless browser and see that they stand.

usage: check_page.py APLOMB [FOLDER_FOR_PICTURES]

For each run of examples/: writes the page, loads it in Chromium, and checks that the scripts ran without an error, that
the verdict and the first cause are to be seen, that charts were drawn, and that nothing asks for the network. The pages
of `plan`, `check` and `compare` likewise, for the words that must be on them.
Pictures (wide, phone, dark) are left in build/check/pages for people to look at.
"""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--hide-scrollbars",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def browse(page: pathlib.Path, *flags: str) -> subprocess.CompletedProcess:
    with tempfile.TemporaryDirectory() as profile:
        return subprocess.run(
            ["chromium", *FLAGS, f"--user-data-dir={profile}", *flags, page.as_uri()],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )


LLAMA = {
    "model_type": "llama",
    "hidden_size": 4096,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "intermediate_size": 14336,
    "vocab_size": 128256,
}
TRAINING = {
    "per_device_train_batch_size": 4,
    "learning_rate": 0.01,
    "fp16": True,
    "bf16": True,
    "num_train_epochs": 3,
    "gradient_accumulation_steps": 4,
    "max_length": 2048,
    "save_steps": 100,
    "lr_scheduler_type": "cosine",
}
LOOP = """import torch
for x, y in loader:
    loss = -torch.log(torch.softmax(model(x), dim=-1)).mean()
    loss.backward()
    optimizer.step()
"""
SEEDS = ROOT / "tests/compare/runs"


def other_pages(folder: pathlib.Path) -> dict[str, tuple[list[str], list[str]]]:
    """By name: what makes a page, and words that must be seen on it."""
    model = folder / "config.json"
    model.write_text(json.dumps(LLAMA))
    training = folder / "training_args.json"
    training.write_text(json.dumps(TRAINING))
    loop = folder / "loop.py"
    loop.write_text(LOOP)
    runs = [str(SEEDS / f"seed{number}.jsonl") for number in range(5)]
    return {
        "plan": (["plan", str(model), str(training), "--gpu", "8xH100", "--fit"], ["Memory", "Through the step"]),
        "check": (["check", str(training), str(loop), "--gpu", "A100"], ["zero", "softmax"]),
        "compare": (["compare", runs[0], str(SEEDS / "labels.jsonl")], ["the runs differ", "Charts"]),
        "compare-seeds": (["compare", "--a", *runs[:3], "--b", *runs[3:]], ["seed of B", "Welch"]),
    }


def words_of(page: pathlib.Path) -> tuple[str, str, list[str]]:
    """The page after its scripts ran: as it stands, as words, and what the scripts complained of."""
    seen = browse(page, "--dump-dom", "--enable-logging=stderr", "--virtual-time-budget=3000")
    errors = [line for line in seen.stderr.splitlines() if "CONSOLE" in line and "rror" in line]
    return seen.stdout, re.sub(r"<[^>]+>", " ", seen.stdout), [f"script: {line[-160:]}" for line in errors[:3]]


def check_others(program: str, pictures: pathlib.Path) -> int:
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, (arguments, wanted) in other_pages(pathlib.Path(folder)).items():
            page = pictures / f"{name}.html"
            page.unlink(missing_ok=True)
            done = subprocess.run([program, *arguments, "--html", str(page)], capture_output=True, text=True, check=False)
            if done.returncode not in (0, 1) or not page.exists():
                faults = [f"no page (exit {done.returncode}) {done.stderr[:200]}"]
            else:
                _, words, faults = words_of(page)
                faults += network_faults(page.read_text())
                faults += [f"'{each}' is not to be seen" for each in wanted if each not in words]
                for size, flags in {"wide": "1280,1800", "phone": "500,2200"}.items():
                    browse(page, f"--screenshot={pictures / name}-{size}.png", f"--window-size={flags}")
            bad += bool(faults)
            print(f"{name}: {'; '.join(faults) or 'ok'}")
    return bad


def network_faults(text: str) -> list[str]:
    outside = re.findall(r'(?:src|href)\s*=\s*"(https?://[^"]+)"', text)
    loads = [url for url in outside if f'href="{url}"' not in text]
    return [f"loads from the network: {loads[:2]}"] if loads else []


def faults_of(page: pathlib.Path, report: dict) -> list[str]:
    faults = network_faults(page.read_text())
    dom, words, complaints = words_of(page)
    faults += complaints
    if report["verdict"] != "healthy" and report["causes"] and report["causes"][0]["title"][:30] not in words:
        faults.append("the first cause's title is not to be seen")
    if any(series["points"] > 2 for series in report["series"]) and "<svg" not in dom:
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
        done = subprocess.run(
            [sys.argv[1], "diagnose", "--json", "--html", str(page), str(run)], capture_output=True, text=True, check=False
        )
        if done.returncode not in (0, 1) or not page.exists():
            print(f"{run.name}: no page (exit {done.returncode}) {done.stderr[:200]}")
            bad += 1
            continue
        faults = faults_of(page, json.loads(done.stdout))
        bad += bool(faults)
        print(f"{run.name}: {'; '.join(faults) or 'ok'}")
    if runs:
        page = pictures / f"{runs[0].name}.html"
        for name, flags in {
            "wide": ["--window-size=1280,2200"],
            "phone": ["--window-size=500,2600"],
            "dark": ["--window-size=1280,2200", "--blink-settings=preferredColorScheme=0"],
        }.items():
            browse(page, f"--screenshot={pictures / name}.png", *flags)
    bad += check_others(sys.argv[1], pictures)
    return 1 if bad or not runs else 0


if __name__ == "__main__":
    sys.exit(main())
