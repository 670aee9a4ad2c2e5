#!/usr/bin/env python3
"""How long it takes from a step that is written until a viewer's page can have it, beside other trackers; and what viewers
cost the training.

usage: python3 bench/live_peers.py APLOMB [--steps 200] [--per-second 10] [--rounds 3] [--before 1000 100000] [--peers DIR]

The same steps are written by the same process, one after another, to a log in which `aplomb live` looks, to TensorBoard's
event files (flushed at each step, which is kind to it) and to Trackio, where the Python in DIR/bin has tensorboard,
tensorboardX and trackio. A client without a browser asks each server in the way its page does: aplomb's events,
TensorBoard's scalars every 20 ms (its page asks every 30 s, and only where reloading is switched on), Trackio's values of
a metric every 20 ms (its page asks every second). `--before`: so many lines stand in aplomb's log when it is started, one
measurement for each.

Then a program that prints as fast as it is read, under `aplomb run --live`, with no viewer and with 100 of them, in turn.
"""

import argparse
import http.client
import json
import os
import pathlib
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

WRITER = """
import json, sys, time
kind, where, steps, pause, before = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4]), int(sys.argv[5])
if kind == "log":
    out = open(where + "/train.log", "a", buffering=1)
    rest = "'grad_norm': 1.0, 'learning_rate': 2e-05"
    def put(step): out.write(f"{{'loss': {2 / step ** 0.1:.4f}, {rest}, 'step': {step}}}\\n")
elif kind == "events":
    from tensorboardX import SummaryWriter
    out = SummaryWriter(where)
    def put(step):
        out.add_scalar("loss", 2 / step ** 0.1, step)
        out.flush()
else:
    import trackio
    trackio.init(project="bench", name="run")
    def put(step): trackio.log({"loss": 2 / step ** 0.1}, step=step)
begin = time.monotonic()
for step in range(before + 1, before + steps + 1):
    time.sleep(max(0, begin + (step - before) * pause - time.monotonic()))
    print(step, time.time(), flush=True)
    put(step)
time.sleep(12)
"""


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def written(python, kind, where, steps, pause, before):
    """Starts the writer; the times at which each step was written come in the dictionary that is returned with it."""
    child = subprocess.Popen(
        [python, "-c", WRITER, kind, str(where), str(steps), str(pause), str(before)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    times = {}

    def read():
        for line in child.stdout:
            words = line.split()
            if len(words) == 2 and words[0].isdigit():
                times[int(words[0])] = float(words[1])

    threading.Thread(target=read, daemon=True).start()
    return child, times


def processor_seconds(process):
    """User and system time of a process and of those that it has begun, so far."""
    ticks, wanted = 0, {process.pid}
    for entry in sorted(pathlib.Path("/proc").glob("[0-9]*"), key=lambda each: int(each.name)):
        try:
            fields = (entry / "stat").read_text().rsplit(") ", 1)[1].split()
        except OSError:
            continue
        if int(entry.name) in wanted or int(fields[1]) in wanted:
            wanted.add(int(entry.name))
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


class Viewer:
    """A page's line for events: calls `heard(step)` for each point of the loss."""

    def __init__(self, address, heard=lambda step: None):
        found = re.match(r"http://([^:/]+):(\d+)/\?(token=\w+)", address)
        self.line = http.client.HTTPConnection(found[1], int(found[2]), timeout=60)
        self.line.request("GET", "/?" + found[3])
        answer = self.line.getresponse()
        cookie = answer.getheader("Set-Cookie").split(";")[0]
        answer.read()
        self.line.request("GET", "/api/events", headers={"Cookie": cookie})
        self.answer = self.line.getresponse()
        if self.answer.status != 200:
            sys.exit(f"/api/events answered {self.answer.status}")
        self.heard = heard
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        try:
            kind = b""
            while line := self.answer.readline():
                if line.startswith(b"event:"):
                    kind = line[6:].strip()
                elif line.startswith(b"data:") and kind == b"points":
                    for step, _ in json.loads(line[5:])["series"].get("loss", []):
                        self.heard(step)
        except (OSError, ValueError, AttributeError):
            pass  # the server has ended


def address_of(child, patience=60):
    """The address that aplomb prints, on either of its outputs."""
    found = []

    def read(stream):
        for line in iter(stream.readline, b""):
            match = re.search(rb"http://\S+token=\w+", line)
            if match:
                found.append(match[0].decode())

    for stream in (child.stdout, child.stderr):
        threading.Thread(target=read, args=(stream,), daemon=True).start()
    end = time.monotonic() + patience
    while not found:
        if time.monotonic() > end:
            sys.exit("aplomb printed no address")
        time.sleep(0.02)
    return found[0]


def peak_mib(process):
    """The most memory that it held so far."""
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+)", status)[1]) / 1024


def of_aplomb(program, steps, pause, folder, before=0):
    with open(folder / "train.log", "w") as log:
        for step in range(1, before + 1):
            log.write(f"{{'loss': {2 / step**0.1:.4f}, 'grad_norm': 1.0, 'learning_rate': 2e-05, 'step': {step}}}\n")
    live = subprocess.Popen([program, "live", str(folder)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    seen = {}
    viewer = Viewer(address_of(live), lambda step: seen.setdefault(int(step), time.time()))
    time.sleep(5 if before else 0)  # what is there is read, and judged
    seen.clear()
    return watched(live, sys.executable, "log", folder, steps, pause, seen, lambda: viewer, before)


def watched(server, python, kind, folder, steps, pause, seen, ask, first=0):
    """Late by how much each step was seen, the share of a core that the server took meanwhile, and its memory."""
    before, begin = processor_seconds(server), time.monotonic()
    writer, times = written(python, kind, folder, steps, pause, first)
    end = time.monotonic() + steps * pause + 60
    while len(seen) < steps and time.monotonic() < end and (writer.poll() is None or len(seen) < len(times)):
        ask()
        time.sleep(0.02)
    share = (processor_seconds(server) - before) / (time.monotonic() - begin)
    peak = peak_mib(server)
    writer.terminate()
    server.terminate()
    server.wait()
    # The first three seconds are left out: every one of them looks for new files every second or two.
    late = [seen[step] - times[step] for step in seen if step in times and (step - first) * pause > 3]
    if len(late) < (steps - 3 / pause) / 2:
        sys.exit(f"{kind}: {len(late)} of {steps} steps were seen")
    return late, share, peak


def of_tensorboard(python, steps, pause, folder, reload):
    port = free_port()
    server = subprocess.Popen(
        [python, "-m", "tensorboard.main", "--logdir", str(folder), "--port", str(port), "--reload_interval", str(reload)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    wait_for(port)
    seen = {}
    url = f"http://127.0.0.1:{port}/data/plugin/scalars/scalars?run=.&tag=loss&format=json"

    def ask():
        try:
            points = json.load(urllib.request.urlopen(url, timeout=20))
        except (OSError, ValueError):
            return  # no such run yet
        now = time.time()
        for _, step, _ in points:
            seen.setdefault(int(step), now)

    return watched(server, python, "events", folder, steps, pause, seen, ask)


def of_trackio(python, steps, pause, folder):
    os.environ["TRACKIO_DIR"] = str(folder)  # of the writer as well
    port = free_port()
    show = f"import trackio; trackio.show(project='bench', open_browser=False, block_thread=True, server_port={port})"
    server = subprocess.Popen([python, "-c", show], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_for(port)
    seen = {}
    asked = json.dumps({"project": "bench", "run": "run", "metric_name": "loss"}).encode()
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/api/get_metric_values", asked, {"Content-Type": "application/json"}
    )

    def ask():
        try:
            points = json.load(urllib.request.urlopen(request, timeout=20))["data"]
        except (OSError, ValueError, KeyError):
            return  # no such run yet
        now = time.time()
        for point in points:
            seen.setdefault(int(point["step"]), now)

    return watched(server, python, "trackio", folder, steps, pause, seen, ask)


def wait_for(port, patience=90):
    end = time.monotonic() + patience
    while time.monotonic() < end:
        with socket.socket() as one:
            if one.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    sys.exit(f"nothing listens on port {port}")


def output_seconds(program, viewers, folder):
    """Wall time of 200,000 lines printed under `run --live` with so many viewers."""
    printing = "import sys\nfor i in range(1, 200001):\n    print({'loss': 2.0, 'grad_norm': 1.0, 'step': i})\n"
    child = subprocess.Popen(
        [program, "run", "--live", "--", sys.executable, "-c", "input()\n" + printing],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=folder,
    )
    address = address_of(child)
    held = [Viewer(address) for _ in range(viewers)]
    begin = time.perf_counter()
    child.stdin.write(b"\n")
    child.stdin.close()
    child.wait()
    del held
    return time.perf_counter() - begin


def told(name, late, share, peak):
    ordered = sorted(each * 1000 for each in late)
    middle, high = statistics.median(ordered), ordered[len(ordered) * 9 // 10]
    print(
        f"{name:34} median {middle:7.0f} ms, 90th percentile {high:7.0f} ms of {len(ordered)} steps; {share:.2%} of a core, "
        f"{peak:.0f} MiB at most",
        flush=True,
    )


def main():
    about = argparse.ArgumentParser()
    about.add_argument("program")
    about.add_argument("--steps", type=int, default=200)
    about.add_argument("--per-second", type=float, default=10)
    about.add_argument("--rounds", type=int, default=3)
    about.add_argument("--before", type=int, nargs="*", default=[], help="lines that stand in aplomb's log at its start")
    about.add_argument("--peers", help="a virtual environment with tensorboard, tensorboardX and trackio")
    given = about.parse_args()
    os.environ["APLOMB_STORE"] = "off"
    program, pause = str(pathlib.Path(given.program).resolve()), 1 / given.per_second
    for _ in range(given.rounds):
        folder = pathlib.Path(tempfile.mkdtemp())
        told("aplomb live", *of_aplomb(program, given.steps, pause, folder))
        for lines in given.before:
            (long := folder / f"before-{lines}").mkdir()
            told(f"aplomb live, {lines} lines before", *of_aplomb(program, given.steps, pause, long, lines))
        if given.peers:
            python = f"{given.peers}/bin/python"
            for reload in (5, 1):
                (events := folder / f"events-{reload}").mkdir()
                told(f"TensorBoard, reload_interval {reload}", *of_tensorboard(python, given.steps, pause, events, reload))
            (kept := folder / "trackio").mkdir()
            told("Trackio", *of_trackio(python, given.steps, pause, kept))
        shutil.rmtree(folder)
    ratios = []
    for _ in range(given.rounds):
        folder = pathlib.Path(tempfile.mkdtemp())
        alone, beside = output_seconds(program, 0, folder), output_seconds(program, 100, folder)
        ratios.append(beside / alone)
        shutil.rmtree(folder)
    print(f"output of a program under 100 viewers: {statistics.median(ratios):.3f} of the time without one ({ratios})")


if __name__ == "__main__":
    main()
