"""The last calls of a model, kept so that a failing batch can be run again, and the running again: same weights, same
random numbers, same autocast, and nothing of the training changed by it (gradients, buffers, random state)."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import torch

from aplomb.nonfinite_origin import tensors_in

MOST_BYTES = 64 << 20  # of inputs that are kept over one optimizer step; of more, the last call alone


_replays = 0


def is_replay() -> bool:
    """Whether the model is being run for an autopsy: what others count per forward pass is not to be counted then."""
    return _replays > 0


@dataclasses.dataclass
class Call:
    """One forward pass in training, as it was: of the model, or of the function that makes the loss of a batch."""

    run: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    random: list[torch.Tensor]
    autocast: tuple[bool, torch.dtype]
    device: str

    def named_inputs(self) -> dict[str, Any]:
        return {**{f"#{i}": each for i, each in enumerate(self.args)}, **self.kwargs}

    @property
    def batch_size(self) -> int:
        sizes = [each.shape[0] for each in tensors_in([self.args, self.kwargs]) if each.dim() > 0]
        return max(set(sizes), key=sizes.count) if sizes else 0

    def samples(self, chosen: list[int]) -> Call:
        """The same call with these samples of the batch alone."""
        size = self.batch_size

        def cut(thing: Any) -> Any:
            if isinstance(thing, torch.Tensor):
                return thing[chosen] if thing.dim() > 0 and thing.shape[0] == size else thing
            if isinstance(thing, dict):
                return {key: cut(value) for key, value in thing.items()}
            if isinstance(thing, (list, tuple)) and not hasattr(thing, "_fields"):
                return type(thing)(cut(each) for each in thing)
            return thing

        return dataclasses.replace(self, args=cut(self.args), kwargs=cut(self.kwargs))


def call_of(run: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
    """A call that is about to be made, with the random state and the autocast of now."""
    device = next((each.device.type for each in tensors_in([args, kwargs])), "cpu")
    autocast = (torch.is_autocast_enabled(device), torch.get_autocast_dtype(device))
    return Call(run, args, kwargs, _random_state(device), autocast, device)


class CallWatch:
    """Keeps the calls since the last optimizer step: references to their inputs, no copies."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self._hooks: list[Any] = []
        self._bytes = 0
        self._run: Any = None

    def attach(self, model: torch.nn.Module, run: Callable[..., Any]) -> None:
        """Notes every call of the model in training, to be made again by `run`."""
        self._run = run
        self._hooks.append(model.register_forward_pre_hook(self._before, with_kwargs=True))

    def detach(self) -> None:
        for each in self._hooks:
            each.remove()
        self._hooks = []

    def clear(self) -> None:
        self.calls = []
        self._bytes = 0

    def note(self, run: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._bytes += sum(each.numel() * each.element_size() for each in tensors_in([args, kwargs]))
        if self._bytes > MOST_BYTES:
            self.calls = []
        self.calls.append(call_of(run, args, kwargs))

    def _before(self, model: torch.nn.Module, args: Any, kwargs: Any) -> None:
        if not torch.compiler.is_compiling() and model.training and torch.is_grad_enabled():
            self.note(self._run, args, kwargs)


def loss_in(output: Any) -> torch.Tensor | None:
    """The loss of an output that holds one, as those of transformers do; of a lone scalar, itself."""
    if isinstance(output, torch.Tensor):
        return output if output.dim() == 0 else None
    loss = output.get("loss") if hasattr(output, "get") else getattr(output, "loss", None)
    return loss if isinstance(loss, torch.Tensor) else None


def run_call(call: Call, autocast: bool = True, graph: bool = True) -> tuple[Any, Any]:
    """(output, loss or None) of the call; without `graph` nothing is kept for a backward. Use inside undisturbed()."""
    _set_random_state(call.device, call.random)
    on, dtype = call.autocast
    with torch.set_grad_enabled(graph), torch.autocast(call.device, dtype, enabled=on and autocast):
        output = call.run(*call.args, **call.kwargs)
        loss = loss_in(output)
    return output, loss


@contextlib.contextmanager
def undisturbed(model: torch.nn.Module, device: str) -> Iterator[None]:
    """Whatever runs inside leaves the random state and the model's buffers as they were. Gradients are left alone by
    torch.autograd.grad, which the callers use."""
    global _replays
    random = _random_state(device)
    _replays += 1
    buffers = [(each, each.detach().clone()) for each in model.buffers()]
    try:
        yield
    finally:
        _replays -= 1
        with torch.no_grad():
            for each, kept in buffers:
                if not torch.equal(each, kept):
                    each.copy_(kept)
        _set_random_state(device, random)


def _random_state(device: str) -> list[torch.Tensor]:
    states = [torch.get_rng_state()]
    if device == "cuda":
        states.append(torch.cuda.get_rng_state())
    return states


def _set_random_state(device: str, states: list[torch.Tensor]) -> None:
    torch.set_rng_state(states[0])
    if device == "cuda":
        torch.cuda.set_rng_state(states[1])
