"""Two ranks with gloo: the guard changes nothing on a healthy run, and all ranks decide alike."""

import os
import pickle
import tempfile

import aplomb
import pytest
import torch
from training import batches, loss_of, network

STEPS = 150


def _rank(rank, folder, guarded, fault):
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
            inner[0].weight.grad[0, 0] = fault
        losses.append(float(loss.detach()))
        if guard is not None:
            guard.step(loss)
        else:
            optimizer.step()
    aside = guard is not None and guard.counts["steps"] != STEPS
    with open(f"{folder}/{guarded}{rank}", "wb") as out:
        pickle.dump((losses, [p.detach().clone() for p in inner.parameters()], verdicts, aside), out)
    torch.distributed.destroy_process_group()


def run(guarded, fault=0.0):
    with tempfile.TemporaryDirectory() as folder:
        torch.multiprocessing.spawn(_rank, (folder, guarded, fault), nprocs=2)
        out = []
        for rank in range(2):
            with open(f"{folder}/{guarded}{rank}", "rb") as file:
                out.append(pickle.load(file))
        return out


def same(a, b):
    return a[0] == b[0] and all(torch.equal(x, y) for x, y in zip(a[1], b[1]))


def test_bit_identical():
    plain, guarded = run(False), run(True)
    assert all(same(a, b) and not b[2] and not b[3] for a, b in zip(plain, guarded))


@pytest.mark.parametrize("fault", [float("nan"), 1e6])
def test_a_fault_of_one_rank_is_seen_by_all(fault):
    first, second = run(True, fault)
    assert [action for action, _ in first[2]] == ["skip"]
    assert first[2] == second[2]
    assert all(torch.equal(a, b) for a, b in zip(first[1], second[1])), "the ranks drifted apart"
