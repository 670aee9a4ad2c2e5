#!/usr/bin/env python3
"""How fast `aplomb run` passes a program's output on, beside `cat` and `tee`.

usage: python3 bench/run_pass.py APLOMB [--gib 1] [--rounds 7] [--folder DIR]

The program writes lines of a training log as fast as a pipe takes them; the reader at the other end takes the time from
its first byte to its last. Each round has the three one after another, and what is told are medians of the rounds' ratios:
what else the machine does meanwhile slows all of them. `tee` and `aplomb run` also write a file of it, in DIR.
"""

import argparse
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

PART = 1 << 20
WRITER = """
import os, sys
line = b"{'loss': 2.3456, 'grad_norm': 1.25, 'learning_rate': 2e-05, 'epoch': 0.01}\\n"
part = (line * (1 + (1 << 20) // len(line)))[: 1 << 20]
for _ in range(int(sys.argv[1])):
    at = 0
    while at < len(part):
        at += os.write(1, part[at:] if at else part)
"""


def seconds(words, parts, folder):
    """Of passing on so many MiB, as the reader sees it; all of them have to come."""
    writer = [sys.executable, "-c", WRITER, str(parts)]
    if "--" in words:
        first = subprocess.Popen(words + writer, stdout=subprocess.PIPE, cwd=folder)
        stages = [first]
    else:
        source = subprocess.Popen(writer, stdout=subprocess.PIPE)
        first = subprocess.Popen(words, stdin=source.stdout, stdout=subprocess.PIPE, cwd=folder)
        source.stdout.close()
        stages = [source, first]
    pipe, want, seen, begin = first.stdout.fileno(), parts * PART, 0, None
    while part := os.read(pipe, PART):
        begin = begin or time.perf_counter()
        seen += len(part)
        if seen == want:
            end = time.perf_counter()
    for each in stages:
        each.wait()
    if seen != want:
        sys.exit(f"{words}: {seen} of {want} bytes came")
    return end - begin


def main():
    about = argparse.ArgumentParser()
    about.add_argument("program")
    about.add_argument("--gib", type=float, default=1)
    about.add_argument("--rounds", type=int, default=7)
    about.add_argument("--folder", default=None)
    given = about.parse_args()
    program = str(pathlib.Path(given.program).resolve())
    parts = int(given.gib * 1024)
    ways = {
        "cat": ["cat"],
        "tee FILE": ["tee", "copy.log"],
        "aplomb run": [program, "run", "--quiet", "--out", "run", "--"],
    }
    taken = {name: [] for name in ways}
    for _ in range(given.rounds):
        for name, words in ways.items():
            folder = tempfile.mkdtemp(dir=given.folder)
            taken[name].append(seconds(words, parts, folder))
            shutil.rmtree(folder)
    for name, times in taken.items():
        rates = [parts * PART / each / 1e9 for each in times]
        cat, tee = (
            statistics.median(own / theirs for own, theirs in zip(times, taken[other], strict=True))
            for other in ("cat", "tee FILE")
        )
        rate = f"{statistics.median(rates):5.2f} GB/s, best {max(rates):5.2f}"
        print(f"{name:12} {rate}; {cat:.2f} x cat's time, {tee:.2f} x tee's")


if __name__ == "__main__":
    main()
