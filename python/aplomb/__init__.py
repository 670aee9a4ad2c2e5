"""aplomb: finds out why a deep-learning training run went wrong, and guards one while it runs.

    guard = aplomb.Guard(model, optimizer, max_norm=1.0)
    for batch in data:
        optimizer.zero_grad()
        loss = model(batch).loss
        loss.backward()
        guard.step(loss)              # in place of clip_grad_norm_ and optimizer.step()

    report = aplomb.diagnose("out/")  # whatever the run left
    print(report.causes[0].title)

Diagnostic runs with a verdict are in aplomb.experiments; callbacks in aplomb.transformers, aplomb.lightning and
aplomb.axolotl, which are there as soon as they are named.

Importing this module imports no torch.
"""

from typing import TYPE_CHECKING, Any

from aplomb.guard import Guard, Halt
from aplomb.live_page import LivePage, live
from aplomb.report import Cause, Report, Symptom, diagnose

if TYPE_CHECKING:
    from aplomb import axolotl, composer, experiments, jax, keras, lightning, ray, torchtune, trackers, transformers
    from aplomb.autopsies import Finding, autopsy
    from aplomb.softmax import z_loss

__all__ = [
    "Cause", "Finding", "Guard", "Halt", "LivePage", "Report", "Symptom", "autopsy", "axolotl", "composer", "diagnose",
    "experiments", "jax", "keras", "lightning", "live", "ray", "torchtune", "trackers", "transformers", "z_loss",
]

# Modules that need what the user may not have (torch, a trainer): imported when they are first named.
_LATER = (
    "axolotl", "composer", "experiments", "jax", "keras", "lightning", "ray", "torchtune", "trackers", "transformers"
)
_NEED_TORCH = {"Finding": "aplomb.autopsies", "autopsy": "aplomb.autopsies", "z_loss": "aplomb.softmax"}


def __getattr__(name: str) -> Any:
    import importlib

    if name in _LATER:
        return importlib.import_module(f"aplomb.{name}")
    if name not in _NEED_TORCH:
        raise AttributeError(f"module 'aplomb' has no attribute {name!r}")
    return getattr(importlib.import_module(_NEED_TORCH[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext aplomb`: the magic %aplomb (aplomb.magics)."""
    from aplomb.magics import load

    load(shell)
