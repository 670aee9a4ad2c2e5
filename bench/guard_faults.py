#!/usr/bin/env python3
"""The table of docs/guard.md: injected faults, and how the run ends with and without the guard.

usage: guard_faults.py [plain|ranks|sharded|trainer|trl|lightning]...     (with the aplomb package, torch and the trainers)

One line a fault; the last column says what of its promises does not hold (python/tests/faults.py).
"""

from __future__ import annotations

import contextlib
import importlib
import os
import pathlib
import sys
import warnings

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "python" / "tests"))
from faults import Outcome, faults_in  # noqa: E402

LOOPS = {
    "plain": ("plain loop", "plain_faults", "FAULTS"),
    "ranks": ("2 ranks, gloo", "two_ranks", "FAULTS"),
    "sharded": ("2 ranks, FSDP2", "sharded_ranks", "FAULTS"),
    "trainer": ("Trainer + PEFT", "trainer_faults", "FAULTS"),
    "trl": ("TRL SFT", "trainer_faults", "SFT_FAULTS"),
    "lightning": ("Lightning", "lightning_faults", "FAULTS"),
}


@contextlib.contextmanager
def quiet():
    """Trainers print; the table is what counts."""
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def number(value: float) -> str:
    return "NaN" if value != value else f"{value:.3f}" if abs(value) < 100 else f"{value:.0e}"


def row(loop: str, lab, fault) -> str:
    with quiet():
        twin = lab.twin(fault)
        helped: Outcome
        if hasattr(lab, "outcome"):
            helped, without = lab.outcome(fault, True), lab.outcome(fault, False)
        else:
            helped, without = lab.run(fault, True, fault.task), lab.run(fault, False, fault.task)
    found = str(helped.findings[0][1]).split(":")[0] if helped.findings else ""
    if helped.findings and 0 < len(helped.findings[0][1].samples) < helped.findings[0][1].batch_size / 2:
        found += "; sample " + ", ".join(map(str, helped.findings[0][1].samples))
    said = "; ".join(faults_in(fault, twin, helped, without))
    cells = [
        loop,
        fault.name,
        number(twin.final),
        number(helped.final),
        number(without.final),
        str(helped.lost),
        found,
        said,
    ]
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    torch.set_num_threads(1)
    print("| loop | fault | fault-free twin | with the guard | without | steps skipped | the autopsy says | not held |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for name in sys.argv[1:] or LOOPS:
        title, module, faults = LOOPS[name]
        lab = importlib.import_module(module)
        for fault in getattr(lab, faults):
            print(row(title, lab, fault), flush=True)


if __name__ == "__main__":
    main()
