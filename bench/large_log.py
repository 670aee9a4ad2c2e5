#!/usr/bin/env python3
"""What `aplomb diagnose` takes of a large log, read whole and with --max-read, and whether both say the same.

usage: bench/large_log.py PROGRAM [BYTES [BOUND...]]      1000000000 bytes, bounds 16M and 0 (all) without a word

The log is chatter with a record of metrics in every 50th line, and breaks at its end; a second one is records alone.
Printed are processor time and wall time of one process each, the verdict, and the line of the first evidence.
"""

import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time


def write_chatter(path, size):
    step = 0
    with open(path, "w") as file:
        while file.tell() < size:
            part = []
            for i in range(20_000):
                if i % 50:
                    part.append(f"[rank0] INFO data.loader: shard of {i} records opened, workers are up, prefetching\n")
                    continue
                step += 1
                part.append(f"step {step} | loss {2 + 3 / (1 + step / 500):.4f} | grad_norm 1.{step % 97:02d} | lr 1e-3\n")
            file.write("".join(part))
        for _ in range(300):
            step += 1
            file.write(f"step {step} | loss nan | grad_norm nan | lr 1e-3\n")


def write_records(path, size):
    step = 0
    noise = random.Random(0)
    with open(path, "w") as file:
        while file.tell() < size:
            part = []
            for _ in range(20_000):
                step += 1
                loss = 2 + 3 / (1 + step / 500) + 0.1 * noise.random()
                norm = f"1.{step * 31 % 9973:04d}"
                part.append(f"{{'loss': {loss:.4f}, 'grad_norm': {norm}, 'learning_rate': 1e-05, 'epoch': 1.0}}\n")
            file.write("".join(part))
        file.write("RuntimeError: CUDA error: device-side assert triggered\n")


def main():
    program = sys.argv[1]
    size = int(sys.argv[2]) if len(sys.argv) > 2 else 10**9
    bounds = sys.argv[3:] or ["16M", "0"]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "train.log")
        for write in (write_chatter, write_records):
            write(path, size)
            for bound in bounds:
                before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
                done = subprocess.run(
                    [program, "diagnose", "--agent", "--max-read", bound, path], capture_output=True, text=True, check=False
                )
                wall, after = time.monotonic() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
                seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
                report = json.loads(done.stdout)
                evidence = [each.get("line") for cause in report["causes"][:1] for each in cause["evidence"]]
                print(
                    f"{write.__name__[6:]:8} {size / 1e6:6.0f} MB  --max-read {bound:4} {seconds:6.2f} s of processor time, "
                    f"{wall:6.2f} s wall, load {os.getloadavg()[0]:.0f}, {len(done.stdout)} bytes, {report['verdict']}, "
                    f"{report['causes'][0]['id'] if report['causes'] else '-'}, lines {evidence[:3]}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
