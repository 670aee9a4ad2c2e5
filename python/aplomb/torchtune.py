"""The guard in torchtune's recipes, which have no callbacks: as the optimizer of the configuration.

    optimizer:
      _component_: aplomb.torchtune.guarded
      base: torch.optim.AdamW
      lr: 2e-5
      guard: {record: steps.aplomb}

A recipe's own clip_grad_norm stays in force; it clips before the guard judges. torchtune hands an optimizer no loss and no
model: gradients alone are judged, and there are neither autopsies nor rollbacks. Recipes that put the optimizer's step into
the backward pass (optimizer_in_bwd) make an optimizer a parameter, and are not for this.
"""

from __future__ import annotations

import importlib
from typing import Any

from aplomb.step_hooks import guard_steps

__all__ = ["guarded"]


def guarded(params: Any, base: str = "torch.optim.AdamW", guard: dict[str, Any] | None = None, **options: Any) -> Any:
    """An optimizer of the class `base`, with the guard before each of its steps. guard: options of aplomb.Guard."""
    module, _, name = base.rpartition(".")
    if not module:
        raise ValueError(f"[aplomb] base: {base!r} names no class of a module, as torch.optim.AdamW does")
    optimizer = getattr(importlib.import_module(module), name)(params, **options)
    guard_steps(optimizer, **{"autopsy": False, "inspections": False, **dict(guard or {})})
    return optimizer
