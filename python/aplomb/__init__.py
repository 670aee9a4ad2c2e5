"""aplomb: finds out why a deep-learning training run went wrong, and guards one while it runs.

    guard = aplomb.Guard(model, optimizer, max_norm=1.0)
    for batch in data:
        optimizer.zero_grad()
        loss = model(batch).loss
        loss.backward()
        guard.step(loss)              # in place of clip_grad_norm_ and optimizer.step()

    report = aplomb.diagnose("out/")  # whatever the run left
    print(report.causes[0].title)

Importing this module imports no torch.
"""

from typing import TYPE_CHECKING, Any

from aplomb.guard import Guard, Halt
from aplomb.report import Cause, Report, Symptom, diagnose

if TYPE_CHECKING:
    from aplomb.autopsy import Finding, autopsy

__all__ = ["Cause", "Finding", "Guard", "Halt", "Report", "Symptom", "autopsy", "diagnose"]


def __getattr__(name: str) -> Any:
    if name in ("Finding", "autopsy"):  # they need torch
        import importlib

        return getattr(importlib.import_module("aplomb.autopsy"), name)
    raise AttributeError(f"module 'aplomb' has no attribute {name!r}")
