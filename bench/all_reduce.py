#!/usr/bin/env python3
"""Sums over ranks: ours beside torch.distributed's gloo, the same bytes, in turns in one run.

usage: all_reduce.py BUILD/train/train/all_reduce_bench [--ranks 2] [--mib 25] [--rounds 5]

The Python that runs it needs torch. Prints the median seconds of each, GB/s of the array, and the ratio with quartiles.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile

REPEATS = 7  # of a round; the first one is left out


def gloo_rank(folder: str, rank: int, size: int, count: int) -> None:
    import time

    import torch

    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=size)
    values = torch.empty(count // 4)
    for _ in range(REPEATS):
        values.fill_(rank + 1)
        torch.distributed.barrier()
        began = time.perf_counter()
        torch.distributed.all_reduce(values)
        took = time.perf_counter() - began
        assert bool((values == size * (size + 1) / 2).all())
        if rank == 0:
            print(f"{took:.9f}", flush=True)
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()


def seconds_of(commands: list[list[str]], environments: list[dict[str, str]]) -> list[float]:
    running = [subprocess.Popen(c, env={**os.environ, **e}, stdout=subprocess.PIPE, text=True)
               for c, e in zip(commands, environments)]
    answers = [each.communicate()[0] for each in running]
    if any(each.returncode for each in running):
        sys.exit(f"{commands[0]}: ended with {[each.returncode for each in running]}")
    return [float(line) for line in answers[0].split()][1:]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--mib", type=float, default=25)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--gloo-rank", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    count = int(args.mib * 2**20)
    if args.gloo_rank:
        gloo_rank(args.gloo_rank[0], int(args.gloo_rank[1]), args.ranks, count)
        return
    environments = [{"RANK": str(rank), "WORLD_SIZE": str(args.ranks), "LOCAL_RANK": str(rank),
                     "LOCAL_WORLD_SIZE": str(args.ranks)} for rank in range(args.ranks)]
    ours: list[float] = []
    theirs: list[float] = []
    ratios = []
    for _ in range(args.rounds):
        a = seconds_of([[args.program, str(count), str(REPEATS)]] * args.ranks, environments)
        with tempfile.TemporaryDirectory() as folder:
            b = seconds_of([[sys.executable, __file__, args.program, f"--ranks={args.ranks}", f"--mib={args.mib}",
                             "--gloo-rank", folder, str(rank)] for rank in range(args.ranks)], environments)
        ratios.append(statistics.median(b) / statistics.median(a))
        ours += a
        theirs += b
    for name, all_seconds in (("ring", ours), ("gloo", theirs)):
        median = statistics.median(all_seconds)
        print(f"{name}: {1e3 * median:.2f} ms, {count / median / 1e9:.2f} GB/s of {args.mib} MiB on {args.ranks} ranks")
    low, middle, high = statistics.quantiles(ratios, n=4) if len(ratios) > 1 else [ratios[0]] * 3
    print(f"gloo's time over ours: {middle:.2f} ({low:.2f} to {high:.2f}), load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
