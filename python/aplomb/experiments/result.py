"""What an experiment gives back, and the state that it puts back behind itself."""

from __future__ import annotations

import contextlib
import dataclasses
import random
import sys
from collections.abc import Iterator
from typing import Any

import torch

from aplomb.snapshots import KeptOptimizer, kept


@dataclasses.dataclass
class ExperimentResult:
    """`verdict` is a sentence; `cause` is the id that it points to (`aplomb explain ID`), where it points to one."""

    name: str
    passed: bool
    verdict: str
    cause: str | None = None
    numbers: dict[str, Any] = dataclasses.field(default_factory=dict)

    def __bool__(self) -> bool:
        return self.passed

    def __str__(self) -> str:
        points = f" ({self.cause})" if self.cause else ""
        return f"{'passed' if self.passed else 'failed'}: {self.name}: {self.verdict}{points}"

    def to_json(self) -> dict[str, Any]:
        return dataclasses.asdict(self)


def optimizers_in(optimizer: Any) -> list[Any]:
    if optimizer is None:
        return []
    return [optimizer] if hasattr(optimizer, "param_groups") else list(optimizer)


class State:
    """Weights, buffers, gradients, modes, optimizers and random numbers, to be put back as often as wanted."""

    def __init__(self, model: torch.nn.Module, optimizers: list[Any]) -> None:
        tensors = [*model.parameters(), *model.buffers()]
        tensors += [p for each in optimizers for group in each.param_groups for p in group["params"]]
        self._tensors = list({id(each): each for each in tensors}.values())
        self._data = [each.data for each in self._tensors]  # one may hang other memory below a parameter meanwhile
        self._copies = [kept(each) for each in self._tensors]
        self._gradients = [(each, each.grad, kept(each.grad)) for each in self._tensors]
        self._modes = [(module, module.training) for module in model.modules()]
        self._optimizers = optimizers
        self._kept = [KeptOptimizer(each) for each in optimizers]
        self._random = _random_state()

    def put_back(self) -> None:
        with torch.no_grad():
            for tensor, data, copy in zip(self._tensors, self._data, self._copies):
                tensor.data = data
                copy.put_into(data)
            for tensor, gradient, copy in self._gradients:
                tensor.grad = None if gradient is None else copy.put_into(gradient)
            for each in self._kept:
                each.put_back(rates=True)
        for module, training in self._modes:
            module.training = training
        _set_random_state(self._random)


@contextlib.contextmanager
def restored(model: torch.nn.Module, optimizers: list[Any]) -> Iterator[State]:
    """Whatever is done inside, model and optimizers are afterwards, bit for bit, what they were. Gradients are cleared for
    the inside; guards and hooks on steps stay on."""
    state = State(model, optimizers)
    try:
        clear(state)
        yield state
    finally:
        state.put_back()


def clear(state: State) -> None:
    for tensor, _, _ in state._gradients:
        tensor.grad = None


def again(state: State) -> None:
    """The start once more, without gradients."""
    state.put_back()
    clear(state)


def _random_state() -> list[Any]:
    numpy = sys.modules.get("numpy")
    cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_available() and torch.cuda.is_initialized() else None
    return [torch.get_rng_state(), cuda, random.getstate(), numpy.random.get_state() if numpy is not None else None]


def _set_random_state(state: list[Any]) -> None:
    torch.set_rng_state(state[0])
    if state[1] is not None:
        torch.cuda.set_rng_state_all(state[1])
    random.setstate(state[2])
    if state[3] is not None:
        sys.modules["numpy"].random.set_state(state[3])


def loss_from(made: Any) -> torch.Tensor:
    """The scalar loss in what the user's function gave."""
    from aplomb.replay import loss_in

    loss = loss_in(made)
    if loss is None:
        raise ValueError("[aplomb] loss_of must give a scalar tensor, or an output with a .loss that is one")
    return loss


def batch_of(thing: Any) -> tuple[Any, ...]:
    """A batch as loss_of takes it: a tuple or list is its arguments, anything else the only one."""
    return tuple(thing) if isinstance(thing, (tuple, list)) else (thing,)
