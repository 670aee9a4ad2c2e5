"""Guide 001: profiler traces and CUDA memory snapshots, read instead of looked at."""

import json
import pickle

import pytest

GIB = 1 << 30
MODEL = "/usr/lib/python3.12/site-packages/transformers/models/qwen2/modeling_qwen2.py"


def trace(loader=0.0, collective=0.0, sync=0.0, steps=6):
    """A Kineto trace of steps of 80 ms on one card, of which these shares go to the loader's iterator, to a collective that
    nothing overlaps and to waits of the host; the rest is matrix products."""
    events, step = [], 80_000.0
    for i in range(steps):
        at = 1_000_000 + i * step
        span = {
            ("user_annotation", f"ProfilerStep#{i + 3}"): (at, step),
            ("user_annotation", "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"): (at, loader * step),
            ("kernel", "sm80_xmma_gemm_bf16bf16_bf16f32_f32_tn_n"): (
                at + loader * step,
                (0.98 - loader - collective - sync) * step,
            ),
            ("cuda_runtime", "cudaStreamSynchronize"): (at + (0.98 - sync) * step, sync * step),
            ("kernel", "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL"): (
                at + (0.98 - collective) * step,
                collective * step,
            ),
        }
        events += [
            {"ph": "X", "cat": cat, "name": name, "pid": 7, "tid": 7, "ts": begin, "dur": duration}
            for (cat, name), (begin, duration) in span.items()
            if duration > 0
        ]
    return json.dumps({"schemaVersion": 1, "traceEvents": events})


@pytest.mark.row("A17")
@pytest.mark.parametrize(
    ("shares", "cause", "fix"),
    [
        ({"loader": 0.55}, "slow.data-starvation", "workers"),
        ({"collective": 0.66}, "slow.communication-bound", "accumulation"),
        ({"sync": 0.6}, "slow.host-device-sync", ".item()"),
    ],
)
def test_what_a_step_waits_for(diagnose, shares, cause, fix):
    "a trace alone: what the step waits for is the cause, with its share, and the run is not healthy"
    answer = diagnose({"rank0.pt.trace.json": trace(**shares)})
    assert (answer.verdict, answer.first) == ("warning", cause), answer
    assert any(fix in each for each in answer.fixes), answer.fixes
    share = next(iter(shares.values()))
    assert f"{100 * share:.0f} %" in answer.text or f"{share:.2f}" in answer.text, answer.text


@pytest.mark.row("A17")
def test_a_busy_card(diagnose):
    "a trace in which the card computes all the time names no cause"
    answer = diagnose({"rank0.pt.trace.json": trace()})
    assert answer.first is None or answer.causes[0]["probability"] < 0.5, answer
    assert answer.verdict != "warning"


def frame(name, path, line):
    return {"name": name, "filename": path, "line": line}


def snapshot(held, asked, *stack):
    """A snapshot of blocks [(GiB, frames)] that are held, and a request of `asked` GiB from `stack` that failed."""
    address, segments, entries = 0x7F0000000000, [], []
    for size, frames in held:
        block = {"size": int(size * GIB), "requested_size": int(size * GIB), "state": "active_allocated", "address": address}
        segment = {"device": 0, "address": address, "total_size": int(size * GIB), "allocated_size": int(size * GIB)}
        segments.append({**segment, "stream": 0, "segment_type": "large", "blocks": [{**block, "frames": frames}]})
        entries.append({"action": "alloc", "addr": address, "size": int(size * GIB), "stream": 0, "frames": frames})
        address += int(size * GIB)
    entries.append({"action": "oom", "size": int(asked * GIB), "device_free": GIB, "stream": 0, "frames": list(stack)})
    return pickle.dumps({"segments": segments, "device_traces": [entries], "allocator_settings": {}})


@pytest.mark.row("A17", "A14")
def test_the_allocation_that_failed(diagnose):
    "a memory snapshot: the allocation that failed, its size and the line of the user's own code; logits by their stack"
    layer = [frame("forward", MODEL, 231), frame("main", "sft.py", 40)]
    held = [(1.5, layer)] * 24
    logits = [
        frame("cross_entropy", "/usr/lib/python3.12/site-packages/torch/nn/functional.py", 3494),
        frame("ForCausalLMLoss", "/usr/lib/python3.12/site-packages/transformers/loss/loss_utils.py", 67),
        frame("loss_of_batch", "sft.py", 57),
        frame("main", "sft.py", 41),
    ]
    answer = diagnose({"oom.pickle": snapshot(held, 37.1, *logits)})
    assert (answer.verdict, answer.first) == ("failed", "oom.logits-tensor"), answer
    assert "37.1 GiB" in answer.text and "sft.py:57" in answer.text, answer.text


@pytest.mark.row("A17")
def test_activations_by_their_stack(diagnose):
    "blocks of forward passes that fill the card: activations, and recomputing them is a fix"
    layer = [frame("forward", MODEL, 231), frame("main", "sft.py", 40)]
    answer = diagnose({"oom.pickle": snapshot([(2, layer)] * 38, 1.5, *layer)})
    assert (answer.verdict, answer.first) == ("failed", "oom.activations"), answer
    assert any("ecompute" in each or "checkpointing" in each for each in answer.fixes), answer.fixes
