"""Statistics of gradients, by their addresses, and what makes all ranks see the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aplomb import _core

if TYPE_CHECKING:
    import torch


class Gradients:
    """The gradients of all parameters that the optimizers hold, group by group; a tied parameter
    counts once, a frozen or unused one (grad is None) not at all."""

    def __init__(self, optimizers: list[Any], threads: int) -> None:
        self._optimizers = optimizers
        self._threads = threads

    def _each(self) -> list[tuple[int, torch.Tensor]]:
        found = []
        seen = set()
        group_number = 0
        for optimizer in self._optimizers:
            for group in optimizer.param_groups:
                for parameter in group["params"]:
                    if parameter.grad is not None and id(parameter) not in seen:
                        seen.add(id(parameter))
                        found.append((group_number, parameter.grad))
                group_number += 1
        return found

    def measure(self) -> list[tuple[int, float]]:
        """(non-finite elements, sum of squares over the finite ones), a parameter group each."""
        import torch

        count = sum(len(optimizer.param_groups) for optimizer in self._optimizers)
        address, size, dtype, group = [], [], [], []
        kept = []  # alive until they were read
        elsewhere: list[tuple[int, torch.Tensor]] = []
        for number, gradient in self._each():
            if type(gradient) not in (torch.Tensor, torch.nn.Parameter):
                raise TypeError(f"gradients of type {type(gradient).__name__} are not supported")
            if gradient.is_sparse:
                gradient = gradient.coalesce().values()
            if gradient.device.type != "cpu":
                elsewhere.append((number, gradient))
                continue
            gradient = gradient.detach().contiguous()
            kept.append(gradient)
            address.append(gradient.data_ptr())
            size.append(gradient.numel())
            dtype.append(str(gradient.dtype)[6:])
            group.append(number)
        groups = _core.measure(address, size, dtype, group, count, self._threads)
        return _with_others(groups, elsewhere) if elsewhere else groups

    def scale(self, factor: float, group_factors: list[float]) -> None:
        import torch

        by_factor: dict[float, list[torch.Tensor]] = {}
        for number, gradient in self._each():
            whole = factor * (group_factors[number] if group_factors else 1.0)
            if whole != 1.0:
                by_factor.setdefault(whole, []).append(gradient)
        with torch.no_grad():
            for whole, gradients in by_factor.items():
                dense = [each for each in gradients if not each.is_sparse]
                if dense:
                    torch._foreach_mul_(dense, whole)
                for each in gradients:
                    if each.is_sparse:
                        each.mul_(whole)


def _with_others(groups: list[tuple[int, float]], elsewhere: list[Any]) -> list[tuple[int, float]]:
    """Adds gradients that lie on another device: by torch, with one transfer for all."""
    import torch

    numbers = []
    for _, gradient in elsewhere:
        flat = gradient.detach().float()
        finite = torch.isfinite(flat)
        squares = torch.where(finite, flat, 0).double().square().sum()
        numbers.append(torch.stack([(~finite).sum().double(), squares]).to(elsewhere[0][1].device))
    for (number, _), (nonfinite, squares) in zip(elsewhere, torch.stack(numbers).tolist()):
        groups[number] = (groups[number][0] + int(nonfinite), groups[number][1] + squares)
    return groups


def reduced(
    loss: float | None, groups: list[tuple[int, float]], flag: bool = False
) -> tuple[float | None, list[tuple[int, float]], bool]:
    """The same numbers on every rank: the mean loss, of the statistics (which whole gradients
    have in common) the largest, so that a fault of one rank is seen by all, and whether one has the flag."""
    import torch

    distributed = torch.distributed
    if not (distributed.is_available() and distributed.is_initialized()) or distributed.get_world_size() == 1:
        return loss, groups, flag
    device = "cuda" if distributed.get_backend() == "nccl" else "cpu"
    mine = [float("nan") if loss is None else loss, float(flag)]
    for nonfinite, squares in groups:
        mine += [float(nonfinite), squares]
    row = torch.tensor(mine, dtype=torch.float64, device=device)
    rows = [torch.empty_like(row) for _ in range(distributed.get_world_size())]
    distributed.all_gather(rows, row)
    table = [each.tolist() for each in rows]
    if loss is not None:
        loss = sum(each[0] for each in table) / len(table)
    out = []
    for i in range(len(groups)):
        nonfinite = max(each[2 + 2 * i] for each in table)
        out.append((int(nonfinite), max(each[3 + 2 * i] for each in table)))
    return loss, out, any(each[1] > 0 for each in table)
