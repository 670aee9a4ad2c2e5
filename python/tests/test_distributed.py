"""Two ranks with gloo: the guard changes nothing on a healthy run, and all ranks decide alike."""

import pytest
import torch
from faults import faults_in
from two_ranks import FAULTS, outcome, run, twin


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


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_help(fault):
    said = faults_in(fault, twin(fault), outcome(fault, True), outcome(fault, False))
    assert not said, said
