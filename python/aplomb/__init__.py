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

from aplomb.guard import Guard, Halt
from aplomb.report import Cause, Report, Symptom, diagnose

__all__ = ["Cause", "Guard", "Halt", "Report", "Symptom", "diagnose"]
