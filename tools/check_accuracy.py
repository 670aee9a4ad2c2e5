#!/usr/bin/env python3
"""Hold the diagnosis to its floors on the casebook and the corpus, which lie beside the project (not in it).

usage: check_accuracy.py APLOMB SHARED_FOLDER

The floors stand in tests/accuracy_floor.json and only rise. Prints the figures of both scoring tools; exit status 1 if
one is below its floor.
"""

import json
import pathlib
import re
import subprocess
import sys


def run(tool: pathlib.Path, *arguments: str) -> str:
    done = subprocess.run([sys.executable, str(tool), *arguments], capture_output=True, text=True, check=False)
    print(done.stdout, end="")
    return done.stdout


def casebook_figures(text: str) -> dict[str, float]:
    last = text.strip().splitlines()[-1]
    figures = {}
    for name, pattern in {"top1": r"top-1 ([\d.]+)", "top3": r"top-3 ([\d.]+)", "family": r"family ([\d.]+)",
                          "ece": r"ece ([\d.]+)", "errors": r"errors (\d+)"}.items():
        found = re.search(pattern, last)
        figures[name] = float(found.group(1)) if found else float("nan")
    for name in ("honest", "false alarms", "told healthy", "told ill"):
        found = re.search(name + r" (\d+)/(\d+)", last)
        count, of = (int(found.group(1)), int(found.group(2))) if found else (0, 0)
        figures[name.replace(" ", "_")] = (count / of if of else 1.0) if name == "honest" else count
    return figures


def corpus_figures(text: str) -> dict[str, float]:
    figures = {}
    for line in text.splitlines():
        kind = line.split()[0] if line.split() else ""
        for name in ("read", "points", "broken found", "usable", "false alarms"):
            found = re.search(name + r" (\d+)/(\d+)", line)
            if found and int(found.group(2)):
                figures[f"{kind}.{name.replace(' ', '_')}"] = int(found.group(1)) / int(found.group(2))
    return figures


def main() -> int:
    if len(sys.argv) != 3:
        print(__doc__)
        return 2
    aplomb, shared = sys.argv[1], pathlib.Path(sys.argv[2])
    floors = json.loads((pathlib.Path(__file__).parent.parent / "tests" / "accuracy_floor.json").read_text())
    runs = ["--cases", str(shared / "runs")]
    sets = {"casebook": [], "runs": runs, "runs_log": [*runs, "--log-only"]}
    figures = {f"{name}.{key}": value for name, where in sets.items()
               for key, value in casebook_figures(run(shared / "tools/casebook.py", "--aplomb", aplomb, *where)).items()}
    figures |= {f"corpus.{key}": value
                for key, value in corpus_figures(run(shared / "tools/corpus.py", "--aplomb", aplomb)).items()}
    low = []
    for name, bound in floors.items():
        value = figures.get(name, float("nan"))
        at_most = name.endswith(("ece", "errors", "false_alarms", "told_healthy", "told_ill"))
        good = value <= bound if at_most else value >= bound
        if not good:
            low.append(f"{name} is {value:.3f}, {'ceiling' if at_most else 'floor'} {bound}")
    print("\n".join(low) if low else f"{len(floors)} floors held")
    return 1 if low else 0


if __name__ == "__main__":
    sys.exit(main())
