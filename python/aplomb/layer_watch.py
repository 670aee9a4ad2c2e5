"""LayerWatch: which layer was the first to give a NaN or Inf, without running anything again."""

from __future__ import annotations

from typing import Any

import torch

from aplomb.nonfinite_origin import tensors_in
from aplomb.replay import is_replay


class LayerWatch:
    """Adds up the output of each block, on its own device; one transfer of a number a block, and only when somebody asks.
    A sum is not finite where an element is not (or where it overflows float32, which no healthy layer comes near)."""

    def __init__(self, model: torch.nn.Module) -> None:
        self._sums: dict[str, torch.Tensor] = {}
        self._hooks = [block.register_forward_hook(self._note(name)) for name, block in _blocks(model)]

    def _note(self, name: str) -> Any:
        def note(module: torch.nn.Module, inputs: Any, output: Any) -> None:
            if torch.compiler.is_compiling() or not module.training or is_replay():
                return
            first = next((each for each in tensors_in(output) if each.is_floating_point()), None)
            if first is not None:
                total = first.detach().sum(dtype=torch.float32)
                self._sums[name] = total if name not in self._sums else self._sums[name] + total

        return note

    def first_bad(self) -> str | None:
        """Path of the first block, in the order of the forward pass, whose output was not finite since clear()."""
        if not self._sums:
            return None
        device = next(iter(self._sums.values())).device
        finite = torch.isfinite(torch.stack([each.to(device) for each in self._sums.values()])).tolist()
        return next((name for name, fine in zip(self._sums, finite) if not fine), None)

    def clear(self) -> None:
        self._sums = {}

    def remove(self) -> None:
        for each in self._hooks:
            each.remove()


def _blocks(model: torch.nn.Module) -> list[tuple[str, torch.nn.Module]]:
    """The members of the outermost ModuleLists; where there is none, those of the outermost Sequentials, else the model's
    children. Lists within a block are not looked into: one sum a block is what the check may cost."""
    for kind in (torch.nn.ModuleList, torch.nn.Sequential):
        found: list[tuple[str, torch.nn.Module]] = []
        inside: list[str] = []
        for name, each in model.named_modules():
            if isinstance(each, kind) and not any(name.startswith(outer) for outer in inside):
                inside.append(f"{name}." if name else "")
                found += [(f"{name}.{key}".lstrip("."), block) for key, block in each.named_children()]
        if found:
            return found
    return list(model.named_children())
