#!/usr/bin/env python3
"""The difference of two tensors beside torch's, on one thread, in processor time.

usage: difference_torch.py DIFFERENCE_BENCH [ROUNDS]

Alternates runs of build/bench/bench/difference_bench (2 x 50 x 1,000,448 fp32; changed, ULPs, largest difference, norms)
with `(a - b).abs().max()` over tensors of the same size, and prints the median of the rounds' ratios and their range.
"""

import re
import statistics
import subprocess
import sys
import time

import torch


def ours(program):
    said = subprocess.run([program, "--rounds", "3"], capture_output=True, text=True, check=True).stdout
    share = float(re.search(r"share of the read, processor time: ([0-9.]+)", said)[1])
    return float(re.search(r"difference .*?cpu\s+([0-9.]+) ms", said)[1]), share


def theirs(before, after):
    begin = time.process_time()
    largest = max(float((a - b).abs().max()) for a, b in zip(before, after))
    return (time.process_time() - begin) * 1e3, largest


def main():
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 9
    torch.set_num_threads(1)
    before = [torch.randn(1_000_448) * 0.02 for _ in range(50)]
    after = [each + 1e-6 for each in before]
    ratios, shares = [], []
    for _ in range(rounds):
        peer, _ = theirs(before, after)
        own, share = ours(sys.argv[1])
        ratios.append(peer / own)
        shares.append(share)
    ratios.sort()
    print(f"torch {torch.__version__} (a - b).abs().max() / difference, processor time: {statistics.median(ratios):.2f} "
          f"({ratios[0]:.2f}-{ratios[-1]:.2f}); the difference is {statistics.median(shares):.2f} of the read")


if __name__ == "__main__":
    main()
