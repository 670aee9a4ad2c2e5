"""A training by two processes with gloo, one of which may have a fault."""

from __future__ import annotations

import functools
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import warnings

import aplomb
import torch
from faults import Fault, Outcome
from training import batches, loss_of, network

STEPS = 150


def _rank(folder: str, rank: int, guarded: bool, fault: float) -> None:
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=2)
    inner = network(1)
    model = torch.nn.parallel.DistributedDataParallel(inner)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    verdicts = []
    guard = aplomb.Guard(inner, optimizer, on_event=lambda v: verdicts.append((v.action, v.reason))) if guarded else None
    losses = []
    for step, (x, y) in enumerate(batches(STEPS)):
        optimizer.zero_grad()
        loss = loss_of(model, x[rank::2], y[rank::2])
        loss.backward()
        if fault and rank == 1 and step == 100:
            for each in inner.parameters():
                each.grad[0] = fault
        losses.append(float(loss.detach()))
        if guard is not None:
            guard.step(loss)
        else:
            optimizer.step()
    aside = guard is not None and guard.counts["steps"] != STEPS
    with open(f"{folder}/{rank}", "wb") as out:
        pickle.dump((losses, [p.detach().clone() for p in inner.parameters()], verdicts, aside), out)
    # Neither rank may close its connections while the other still sends.
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()


def _both_ranks(guarded: bool, fault: float) -> tuple[list | None, str]:
    """What the two ranks left, or nothing and what they said as one of them was ended by a signal."""
    with tempfile.TemporaryDirectory() as folder:
        ranks = []
        for rank in range(2):
            said = open(f"{folder}/said{rank}", "wb")  # noqa: SIM115
            command = [sys.executable, __file__, folder, str(rank), str(int(guarded)), repr(fault)]
            ranks.append((subprocess.Popen(command, stdout=said, stderr=said), said))
        try:
            codes = [process.wait(timeout=300) for process, _ in ranks]
        finally:
            for process, said in ranks:
                process.kill()
                said.close()
        text = ""
        for rank, code in enumerate(codes):
            with open(f"{folder}/said{rank}", errors="replace") as file:
                text += f"rank {rank} ended with {code}:\n{file.read()[-3000:]}\n"
        if any(code == -signal.SIGABRT for code in codes):
            return None, text
        assert codes == [0, 0], text
        out = []
        for rank in range(2):
            with open(f"{folder}/{rank}", "rb") as file:
                out.append(pickle.load(file))
        return out, text


def run(guarded: bool, fault: float = 0.0) -> list:
    """Losses, final weights, verdicts and "steps were counted wrongly" of each rank.

    gloo's own thread aborts the process when a connection breaks while it is being made or closed, which
    a busy machine may do; once that may happen, and is said."""
    out, text = _both_ranks(guarded, fault)
    if out is None:
        warnings.warn(f"aborted, tried once more: {text}", stacklevel=2)
        out, text = _both_ranks(guarded, fault)
    assert out is not None, text
    return out


def _final(weights):
    model = network(1)
    with torch.no_grad():
        for parameter, value in zip(model.parameters(), weights):
            parameter.copy_(value)
        held_out = batches(8, seed=77)
        return sum(float(loss_of(model, x, y)) for x, y in held_out) / len(held_out)


def outcome(fault: Fault | None, guarded: bool) -> Outcome:
    first = run(guarded, fault.task["value"] if fault is not None else 0.0)[0]
    counts = {"skipped": sum(action == "skip" for action, _ in first[2])}
    return Outcome(_final(first[1]), first[2], [], counts)


FAULTS = [
    Fault("NaN in the gradients of one rank", task={"value": float("nan")}),
    Fault("a gradient of 1e6 in one rank", task={"value": 1e6}),
]


@functools.lru_cache(None)
def _twin() -> Outcome:
    return outcome(None, False)


def twin(fault: Fault) -> Outcome:
    return _twin()


if __name__ == "__main__":
    _rank(sys.argv[1], int(sys.argv[2]), sys.argv[3] == "1", float(sys.argv[4]))
