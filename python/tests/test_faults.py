"""Injected faults in four trainers: with the guard the run ends within 2 % of its fault-free twin, a bad batch costs one
step at most, and the autopsy names module and sample; without the guard the harm is shown."""

import importlib

import pytest

LOOPS = {
    "plain": ("plain_faults", "FAULTS", "torch"),
    "trainer": ("trainer_faults", "FAULTS", "peft"),
    "trl": ("trainer_faults", "SFT_FAULTS", "trl"),
    "lightning": ("lightning_faults", "FAULTS", "lightning"),
}


def _faults():
    for loop, (module, name, needs) in LOOPS.items():
        try:
            importlib.import_module(needs)
        except ImportError:
            yield pytest.param(None, None, id=loop, marks=pytest.mark.skip(reason=f"{needs} is not installed"))
            continue
        lab = importlib.import_module(module)
        for fault in getattr(lab, name):
            yield pytest.param(lab, fault, id=f"{loop}: {fault.name}")


@pytest.mark.parametrize(("lab", "fault"), list(_faults()))
def test_help(lab, fault):
    from faults import faults_in

    twin, helped, without = lab.twin(fault), lab.run(fault, True, fault.task), lab.run(fault, False, fault.task)
    said = faults_in(fault, twin, helped, without)
    assert not said, (said, [(e.action, e.reason) for e in helped.events], [str(f) for _, f in helped.findings])
