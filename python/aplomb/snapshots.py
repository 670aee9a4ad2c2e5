"""Copies of what training changes, in host memory, for a rollback."""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

from aplomb.sharding import is_sharded, like, local_part


class Kept(NamedTuple):
    """A copy of what this rank holds of a tensor."""

    part: Any
    device: Any
    sharded: Any  # the tensor itself where it is: how, and over which ranks

    def put_into(self, current: Any) -> Any:
        """`current` with the numbers of the copy; a new tensor where it is none of that shape any more."""
        import torch

        if isinstance(current, torch.Tensor) and is_sharded(current) == (self.sharded is not None):
            there = local_part(current)
            if there.shape == self.part.shape and there.dtype == self.part.dtype:
                there.copy_(self.part)
                return current
        fresh = self.part.to(self.device, copy=True)
        return fresh if self.sharded is None else like(self.sharded, fresh)


def kept(thing: Any) -> Any:
    """A copy of nested lists and dicts of tensors and plain values."""
    import torch

    if isinstance(thing, torch.Tensor):
        with torch.no_grad():
            part = local_part(thing.detach())
            return Kept(part.to("cpu", copy=True), part.device, thing if is_sharded(thing) else None)
    if isinstance(thing, dict):
        return {key: kept(value) for key, value in thing.items()}
    if type(thing) in (list, tuple):
        return type(thing)(kept(each) for each in thing)
    return copy.deepcopy(thing)


def put_back(current: Any, copied: Any) -> Any:
    """The value that `current` should have now: tensors keep their place in memory where they can."""
    if isinstance(copied, Kept):
        return copied.put_into(current)
    if isinstance(copied, dict):
        current = current if isinstance(current, dict) else {}
        return {key: put_back(current.get(key), value) for key, value in copied.items()}
    if type(copied) in (list, tuple):
        old = list(current) if isinstance(current, (list, tuple)) and len(current) == len(copied) else [None] * len(copied)
        return type(copied)(put_back(a, b) for a, b in zip(old, copied))
    return copy.deepcopy(copied)


class KeptOptimizer:
    """An optimizer's state, and what its groups say (but the learning rate, where the schedule goes on)."""

    def __init__(self, optimizer: Any) -> None:
        self._optimizer = optimizer
        self._state = [(parameter, kept(state)) for parameter, state in optimizer.state.items()]
        groups = optimizer.param_groups
        self._groups = [{key: kept(value) for key, value in group.items() if key != "params"} for group in groups]

    def put_back(self, *, rates: bool) -> None:
        state = self._optimizer.state
        before = dict(state)
        state.clear()
        for parameter, copied in self._state:
            state[parameter] = put_back(before.get(parameter), copied)
        for group, copied in zip(self._optimizer.param_groups, self._groups):
            for key, value in copied.items():
                if rates or key != "lr":
                    group[key] = put_back(group.get(key), value)


class Snapshots:
    """The last two. Weights that are not trained (the base under an adapter) are not copied."""

    def __init__(self, model: Any, optimizers: list[Any]) -> None:
        self._model = model
        self._optimizers = optimizers
        self._kept: list[tuple[int, dict[str, Kept], list[KeptOptimizer]]] = []

    def take(self, step: int) -> None:
        if self._model is None:
            raise ValueError("snapshot_every needs the model")
        frozen = {name for name, each in self._model.named_parameters(remove_duplicate=False) if not each.requires_grad}
        weights = {
            name: kept(tensor)
            for name, tensor in self._model.state_dict().items()
            if name not in frozen and hasattr(tensor, "detach")
        }
        self._kept = [*self._kept[-1:], (step, weights, [KeptOptimizer(each) for each in self._optimizers])]

    def restore(self, step: int) -> None:
        for kept_step, weights, optimizers in self._kept:
            if kept_step == step:
                self._put_back(weights)
                for each in optimizers:
                    each.put_back(rates=False)
                return
        raise ValueError(f"no snapshot of step {step}")

    def _put_back(self, weights: dict[str, Kept]) -> None:
        import torch

        whole = {name: each.part for name, each in weights.items() if each.sharded is None}
        with torch.no_grad():
            if len(whole) < len(weights):  # a part each, without a word to other ranks
                current = self._model.state_dict()
                for name, each in weights.items():
                    if name not in whole:
                        each.put_into(current[name])
            if whole:
                self._model.load_state_dict(whole, strict=False)
