#!/usr/bin/env python3
"""The text log reader beside compiled Python `re`, in alternating rounds on one file.

usage: text_log_peer.py BENCH [--megabytes N] [--rounds N]

BENCH is the built text_log_bench. The file holds Hugging Face dict lines (fixed seed). The peer does
what scripts around logs do: one compiled pattern, one `finditer` over the text, floats into lists.
Both must find the same number of samples, or nothing is timed. Printed: median of the per-round
ratios, its 10th and 90th percentile, and both medians in GB/s of processor time.
"""

import argparse
import os
import pathlib
import re
import statistics
import subprocess
import tempfile
import time

PATTERN = re.compile(
    r"\{'loss': ([-+.\deE]+|nan|inf), 'grad_norm': ([-+.\deE]+|nan|inf), "
    r"'learning_rate': ([-+.\deE]+|nan|inf), 'epoch': ([-+.\deE]+)\}"
)


def peer(path: pathlib.Path) -> tuple[float, int]:
    begin = time.process_time()
    columns: tuple[list[float], ...] = ([], [], [], [])
    for match in PATTERN.finditer(path.read_text()):
        for column, text in zip(columns, match.groups()):
            column.append(float(text))
    return time.process_time() - begin, sum(len(column) for column in columns)


def ours(bench: str, path: pathlib.Path) -> tuple[float, int, int]:
    done = subprocess.run([bench, "--read", str(path)], capture_output=True, text=True, check=True)
    seconds, samples, kibibytes = done.stdout.split()
    return float(seconds), int(samples), int(kibibytes)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bench")
    parser.add_argument("--megabytes", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "hf.log"
        subprocess.run([options.bench, "--write", str(path), str(options.megabytes)], check=True)
        size = os.path.getsize(path)
        found, expected = ours(options.bench, path)[1], peer(path)[1]
        if found != expected:
            raise SystemExit(f"samples differ: {found} against {expected} of the peer; nothing is timed")
        ratios, mine, theirs, peak = [], [], [], 0
        for _ in range(options.rounds):
            seconds, _, kibibytes = ours(options.bench, path)
            other = peer(path)[0]
            ratios.append(other / seconds)
            mine.append(size / seconds * 1e-9)
            theirs.append(size / other * 1e-9)
            peak = max(peak, kibibytes)
        ratios.sort()
        tenth = ratios[len(ratios) // 10], ratios[-1 - len(ratios) // 10]
        print(f"text log reader {statistics.median(mine):.2f} GB/s, peak {peak / 1024:.0f} MiB; "
              f"re {statistics.median(theirs):.3f} GB/s; "
              f"ratio {statistics.median(ratios):.1f} ({tenth[0]:.1f} .. {tenth[1]:.1f})")


if __name__ == "__main__":
    main()
