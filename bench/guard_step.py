#!/usr/bin/env python3
"""What the guard costs a step in Python, beside the clip that it replaces. Processor time of one thread, paired.

usage: guard_step.py [gradients|record|import|blocks|step]...     (with the aplomb package and torch installed)
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time

import aplomb
import torch
from aplomb import _core
from aplomb.layer_watch import LayerWatch

ROUNDS = 9


def paired(first, second, rounds: int = ROUNDS) -> tuple[float, float, float]:
    """Medians of both in ms, and of their ratio."""
    a, b = [], []
    for _ in range(rounds):
        for work, into in ((first, a), (second, b)):
            begin = time.process_time()
            work()
            into.append(1e3 * (time.process_time() - begin))
    return statistics.median(a), statistics.median(b), statistics.median([x / y for x, y in zip(a, b)])


def parameters(count: int, size: int, dtype: torch.dtype) -> list[torch.nn.Parameter]:
    draw = torch.Generator().manual_seed(1)
    made = []
    for _ in range(count):
        each = torch.nn.Parameter(torch.empty(size, dtype=dtype), requires_grad=True)
        each.grad = (torch.randn(size, generator=draw) / 1e4).to(dtype)
        made.append(each)
    return made


def compare(what: str, held: list[torch.nn.Parameter]) -> None:
    guard = aplomb.Guard(None, torch.optim.SGD(held, lr=0.1), max_norm=1e9)
    mine, clip, ratio = paired(lambda: guard.judge(2.0), lambda: torch.nn.utils.clip_grad_norm_(held, 1e9))
    print(f"{what:<36} guard {mine:8.2f} ms   clip_grad_norm_ {clip:8.2f} ms   ratio {ratio:.2f}")


def step_of_a_model() -> None:
    """A transformer block stack of 101 M parameters, 1,024 tokens a step: the guard's share of a step, measured inside
    it, and the step beside one with the clip."""
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(1024, 16, 4096, batch_first=True, dropout=0.0)
    model = torch.nn.TransformerEncoder(layer, 8, enable_nested_tensor=False)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    with tempfile.TemporaryDirectory() as folder:
        guard = aplomb.Guard(model, optimizer, max_norm=1e9, record=os.path.join(folder, "steps"))
        x = torch.randn(4, 256, 1024)
        inside, clips = [], []

        def step(guarded: bool) -> None:
            optimizer.zero_grad()
            loss = model(x).square().mean()
            loss.backward()
            begin = time.process_time()
            if guarded:
                guard.judge(loss)
                inside.append(time.process_time() - begin)
            else:
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1e9)
                clips.append(time.process_time() - begin)
            optimizer.step()
            begin = time.process_time()
            if guarded:
                guard.after_step()
                inside[-1] += time.process_time() - begin

        step(True)
        inside.clear()
        mine, clip, ratio = paired(lambda: step(True), lambda: step(False), 5)
    size = sum(p.numel() for p in model.parameters()) / 1e6
    print(f"step of a model of {size:.0f} M parameters    guard {mine:8.1f} ms   clip {clip:8.1f} ms   ratio {ratio:.4f}")
    share, of_clip = 1e3 * statistics.median(inside), 1e3 * statistics.median(clips)
    print(f"  in the guard {share:.1f} ms, {100 * share / mine:.2f} % of its step")
    print(f"  in clip_grad_norm_ {of_clip:.1f} ms, {100 * of_clip / clip:.2f} % of its step")


def blocks() -> None:
    """The sums over every block's output that are always on, as their own time within forward and backward."""
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(1024, 16, 4096, batch_first=True, dropout=0.0)
    model = torch.nn.TransformerEncoder(layer, 8, enable_nested_tensor=False)
    x = torch.randn(4, 256, 1024)
    watch = LayerWatch(model)
    inside: list[float] = []
    for block in model.layers:
        for key, hook in list(block._forward_hooks.items()):

            def timed(module, inputs, output, hook=hook):
                begin = time.process_time()
                hook(module, inputs, output)
                inside[-1] += time.process_time() - begin

            block._forward_hooks[key] = timed
    shares = []
    for _ in range(5):
        inside.append(0.0)
        begin = time.process_time()
        model(x).square().mean().backward()
        watch.clear()
        shares.append(inside[-1] / (time.process_time() - begin))
    print(f"sums of {len(model.layers)} blocks: {100 * statistics.median(shares):.3f} % of forward and backward")


def importing() -> None:
    """Of the package alone, in a Python of its own, without what its start takes."""
    code = "import time; begin = time.process_time(); import aplomb; print(time.process_time() - begin)"
    took = [float(subprocess.run([sys.executable, "-c", code], capture_output=True).stdout) for _ in range(ROUNDS)]
    print(f"import aplomb: {1e3 * statistics.median(took):.0f} ms")


def record() -> None:
    with tempfile.TemporaryDirectory() as folder:
        recorder = _core.Recorder.open(os.path.join(folder, "steps"))
        values = [(recorder.name(f"metric{i}"), float(i)) for i in range(8)]
        calls = 20000
        ns = []
        for _ in range(ROUNDS):
            begin = time.process_time()
            for step in range(calls):
                recorder.record(step, 0.0, values)
            ns.append(1e9 * (time.process_time() - begin) / calls)
        print(f"record of 8 values from Python: {statistics.median(ns):.0f} ns")


def gradients() -> None:
    compare("100 x 1 M float32", parameters(100, 1_000_000, torch.float32))
    compare("100 x 1 M bfloat16", parameters(100, 1_000_000, torch.bfloat16))
    compare("2,000 x 512 float32", parameters(2000, 512, torch.float32))


if __name__ == "__main__":
    torch.set_num_threads(1)
    parts = {"gradients": gradients, "record": record, "import": importing, "blocks": blocks, "step": step_of_a_model}
    for name in sys.argv[1:] or parts:
        parts[name]()
