"""Copies of what training changes, in host memory, for a rollback."""

from __future__ import annotations

import copy
from typing import Any


class Snapshots:
    """The last two. Weights that are not trained (the base under an adapter) are not copied."""

    def __init__(self, model: Any, optimizers: list[Any]) -> None:
        self._model = model
        self._optimizers = optimizers
        self._kept: list[tuple[int, dict[str, Any], list[Any]]] = []

    def take(self, step: int) -> None:
        if self._model is None:
            raise ValueError("snapshot_every needs the model")
        frozen = {name for name, each in self._model.named_parameters(remove_duplicate=False) if not each.requires_grad}
        weights = {
            name: tensor.detach().cpu().clone()
            for name, tensor in self._model.state_dict().items()
            if name not in frozen and hasattr(tensor, "detach")
        }
        states = [copy.deepcopy(each.state_dict()) for each in self._optimizers]
        self._kept = [*self._kept[-1:], (step, weights, states)]

    def restore(self, step: int) -> None:
        for kept_step, weights, states in self._kept:
            if kept_step != step:
                continue
            self._model.load_state_dict(weights, strict=False)
            for each, state in zip(self._optimizers, states):
                rates = [group["lr"] for group in each.param_groups if "lr" in group]
                each.load_state_dict(copy.deepcopy(state))
                for group, rate in zip(each.param_groups, rates):
                    group["lr"] = rate  # the schedule goes on
            return
        raise ValueError(f"no snapshot of step {step}")
