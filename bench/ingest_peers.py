#!/usr/bin/env python3
"""aplomb's readers beside what people use today, on the same files, round by round.

usage: bench/ingest_peers.py [--bench build/bench/bench/ingest_bench] [--rounds 5] [--megabytes 4] [--json]

Peers: TensorBoard's EventAccumulator (all scalars kept), json.loads a line, json.load, csv.reader with float().
Before anything is timed the peer's points and extremes are compared with aplomb's; a difference ends the program.
Each round runs both, one after the other in alternating order; printed are the medians of each and the median of the
per-round ratios with its 10th and 90th percentile. Both are timed in seconds of their own processor time, so that a
busy machine does not decide; the files lie in the page cache. read(2) and memcpy of the same bytes are printed beside.
Needs numpy and tensorboard for the first peer (left out, and said, where they are missing).
"""

import argparse
import csv
import json
import math
import pathlib
import subprocess
import sys
import tempfile
import time


def summarise(columns):
    """name -> points, min and max, as `ingest_bench check` prints them."""
    return {name: (len(values), min(values), max(values)) for name, values in columns.items()}


def read_tensorboard(path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    accumulator = EventAccumulator(str(path), size_guidance={"scalars": 0})
    accumulator.Reload()
    return {tag: [event.value for event in accumulator.Scalars(tag)] for tag in accumulator.Tags()["scalars"]}


def gather(records):
    columns = {}
    for record in records:
        for name, value in record.items():
            columns.setdefault(name, []).append(value)
    columns.pop("step", None)
    return columns


def read_jsonl(path):
    with open(path, encoding="utf-8") as lines:
        return gather(json.loads(line) for line in lines)


def read_state(path):
    with open(path, encoding="utf-8") as text:
        return gather(json.load(text)["log_history"])


def read_csv(path):
    with open(path, newline="", encoding="utf-8") as lines:
        rows = csv.reader(lines)
        names = next(rows)
        columns = {name: [] for name in names}
        for row in rows:
            for name, cell in zip(names, row, strict=True):
                columns[name].append(float(cell))
    columns.pop("step")
    return columns


PEERS = {
    "tensorboard": ("EventAccumulator", read_tensorboard),
    "jsonl": ("json.loads a line", read_jsonl),
    "trainer-state": ("json.load", read_state),
    "csv": ("csv.reader + float", read_csv),
}


def ask(bench, *words):
    return json.loads(subprocess.run([bench, *map(str, words)], check=True, capture_output=True, text=True).stdout)


def same(ours, peers):
    for name, (points, least, most) in summarise(peers).items():
        mine = ours.get(name)
        if mine is None or mine["points"] != points:
            return False
        if not (math.isclose(mine["min"], least) and math.isclose(mine["max"], most)):
            return False
    return bool(peers)


def percentile(values, share):
    ordered = sorted(values)
    return ordered[round(share * (len(ordered) - 1))]


def compare(bench, form, rounds, megabytes, folder):
    path = folder / f"events.out.tfevents.{form}"  # EventAccumulator reads no other names
    subprocess.run([bench, "write", form, path, str(megabytes)], check=True)
    title, read = PEERS[form]
    try:
        peers = read(path)
    except ImportError as error:
        print(f"{form}: left out ({error})", file=sys.stderr)
        return None
    if not same(ask(bench, "check", form, path), peers):
        sys.exit(f"{form}: aplomb and {title} disagree: not timed")
    size = path.stat().st_size
    ours, theirs, limits = [], [], []
    for turn in range(rounds):
        for who in ("ours", "theirs") if turn % 2 == 0 else ("theirs", "ours"):
            if who == "ours":
                answer = ask(bench, "time", form, path, 3)
                ours.append(answer["reader_s"])
                limits.append((answer["read_gb_s"], answer["memcpy_gb_s"]))
            else:
                begin = time.process_time()
                read(path)
                theirs.append(time.process_time() - begin)
    ratios = [slow / quick for slow, quick in zip(theirs, ours, strict=True)]
    return {
        "format": form,
        "peer": title,
        "bytes": size,
        "aplomb_gb_s": size / percentile(ours, 0.5) / 1e9,
        "peer_gb_s": size / percentile(theirs, 0.5) / 1e9,
        "ratio": percentile(ratios, 0.5),
        "ratio_10": percentile(ratios, 0.1),
        "ratio_90": percentile(ratios, 0.9),
        "read_gb_s": percentile([limit[0] for limit in limits], 0.5),
        "memcpy_gb_s": percentile([limit[1] for limit in limits], 0.5),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bench", default="build/bench/bench/ingest_bench")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--megabytes", type=int, default=4)
    parser.add_argument("--formats", nargs="*", default=list(PEERS))
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for form in options.formats:
            row = compare(options.bench, form, options.rounds, options.megabytes, pathlib.Path(folder))
            if row is None:
                continue
            if options.json:
                print(json.dumps(row))
            else:
                print(
                    f"{row['format']:14} aplomb {row['aplomb_gb_s']:.2f} GB/s"
                    f"  {row['peer']} {row['peer_gb_s']:.4f} GB/s"
                    f"  ratio {row['ratio']:.0f} ({row['ratio_10']:.0f}-{row['ratio_90']:.0f})"
                    f"  read {row['read_gb_s']:.1f}  memcpy {row['memcpy_gb_s']:.1f} GB/s"
                )


if __name__ == "__main__":
    main()
