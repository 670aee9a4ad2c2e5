"""Two ranks with gloo, whole gradients (DDP) and sharded ones (FSDP2): the guard changes nothing on a healthy run, and
all ranks decide alike."""

import pytest
import sharded_ranks
import torch
import two_ranks
from faults import faults_in
from two_ranks import run


def same(a, b):
    return a[0] == b[0] and all(torch.equal(x, y) for x, y in zip(a[1], b[1]))


def test_bit_identical():
    plain, guarded = run(False), run(True)
    assert all(same(a, b) and not b[2] and not b[3] for a, b in zip(plain, guarded))


@pytest.mark.parametrize("fault", two_ranks.FAULTS, ids=lambda fault: fault.name)
def test_a_fault_of_one_rank_is_seen_by_all(fault):
    first, second = run(True, fault.name)
    assert [action for action, _ in first[2]] == ["skip"]
    assert first[2] == second[2]
    assert all(torch.equal(a, b) for a, b in zip(first[1], second[1])), "the ranks drifted apart"


def _help():
    for lab in (two_ranks, sharded_ranks):
        for fault in lab.FAULTS:
            yield pytest.param(lab, fault, id=fault.name)


@pytest.mark.parametrize(("lab", "fault"), list(_help()))
def test_help(lab, fault):
    said = faults_in(fault, lab.twin(fault), lab.outcome(fault, True), lab.outcome(fault, False))
    assert not said, said


def test_sharded_bit_identical():
    for rank in sharded_ranks.answers():
        plain, guarded = rank["plain"], rank["guarded"]
        assert plain["losses"] == guarded["losses"]
        assert all(torch.equal(a, b) for a, b in zip(plain["weights"], guarded["weights"]))
        assert not guarded["verdicts"]


def test_sharded_norms_are_those_of_the_whole_gradients():
    for rank in sharded_ranks.answers():
        for whole, judged, _ in rank["guarded"]["norms"]:
            assert judged == pytest.approx(whole, rel=1e-12)


def test_sharded_gradients_are_clipped_together_and_by_module():
    for rank in sharded_ranks.answers():
        torch.testing.assert_close(rank["clipped"]["losses"], rank["clipped by torch"]["losses"], rtol=1e-4, atol=1e-5)
        assert any(before > sharded_ranks.LIMIT for before, _, _ in rank["clipped"]["norms"]), "nothing was clipped"
        limit = sharded_ranks.LIMIT / 3
        modules = [norm for _, _, each in rank["modules clipped"]["norms"] for norm in each]
        assert len(modules) == 9 and max(modules) == pytest.approx(limit, rel=1e-3) and max(modules) <= limit * (1 + 1e-6)


@pytest.mark.parametrize("fault", sharded_ranks.FAULTS, ids=lambda fault: fault.name)
def test_sharded_ranks_decide_alike(fault):
    first, second = (rank["with " + fault.name] for rank in sharded_ranks.answers())
    assert first["verdicts"] == second["verdicts"] and first["verdicts"]
    assert all(torch.equal(a, b) for a, b in zip(first["weights"], second["weights"]))
    if fault.options:
        assert "rollback" in [action for action, _ in first["verdicts"]]
