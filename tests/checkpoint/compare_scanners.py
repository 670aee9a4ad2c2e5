#!/usr/bin/env python3
"""Hold `aplomb ckpt scan` against picklescan, fickling and modelscan on the same files.

usage: compare_scanners.py APLOMB SCANNERS ZOO EVERY HONEST [HONEST ...]

SCANNERS: the bin folder of an environment with picklescan, fickling and modelscan. ZOO: what pickle_zoo.py --verify wrote. HONEST:
what make_benign.py wrote; each EVERY-th file is taken (the peers need a second a file). Prints the table of docs/checkpoints.md: exploits that were seen to run and were named, all exploits, and
honest files that were named (dangerous, then any word).
"""

import json
import pathlib
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor


def run(*words):
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=300)
    except subprocess.TimeoutExpired:
        return -1, ""
    return done.returncode, done.stdout + done.stderr


def aplomb(program, path):
    said = subprocess.run([program, "ckpt", "scan", "--json", str(path)], capture_output=True, text=True).stdout
    words = {s["id"] for s in json.loads(said)["symptoms"]} if said.startswith("{") else set()
    return "pickle.dangerous" in words, any(w.startswith("pickle.") for w in words)


def picklescan(folder, path):
    status, _ = run(f"{folder}/picklescan", "-p", str(path))
    return status == 1, status in (1, 2)  # 2: it failed, and says so


def fickling(folder, path):
    import os
    import tempfile

    handle, out = tempfile.mkstemp(suffix=".json")
    os.close(handle)
    status, said = run(f"{folder}/fickling", "--check-safety", "--json-output", out, str(path))
    os.unlink(out)
    crashed = "Traceback" in said
    return status != 0 and not crashed, status != 0


def modelscan(folder, path):
    status, said = run(f"{folder}/modelscan", "-p", str(path))
    return status == 1, status == 1


def main():
    program, folder, zoo, every, *honest = sys.argv[1:]
    manifest = json.loads((pathlib.Path(zoo) / "manifest.json").read_text())
    exploits = [pathlib.Path(zoo) / "exploits" / name for name in manifest]
    skip = {".json", ".yaml", ".txt", ".py"}
    files = [f for each in honest for f in sorted(pathlib.Path(each).rglob("*")) if f.is_file() and f.suffix not in skip][:: int(every)]
    scanners = {"aplomb": lambda f: aplomb(program, f), "picklescan": lambda f: picklescan(folder, f),
                "fickling": lambda f: fickling(folder, f), "modelscan": lambda f: modelscan(folder, f)}
    print("| | exploits seen to run | all exploits | honest files called dangerous | honest files with any word |")
    print("| --- | --- | --- | --- | --- |")
    for name, ask in scanners.items():
        with ThreadPoolExecutor(2) as pool:
            named = list(pool.map(ask, exploits))
            false = list(pool.map(ask, files))
        effective = [bool(n[1]) for n, e in zip(named, manifest.values(), strict=True) if e.get("effective")]
        print(f"| {name} | {sum(effective)} of {len(effective)} | {sum(bool(n[1]) for n in named)} of {len(named)} | "
              f"{sum(bool(n[0]) for n in false)} of {len(files)} | {sum(bool(n[1]) for n in false)} |", flush=True)


if __name__ == "__main__":
    main()
