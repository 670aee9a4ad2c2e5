"""Statistics of gradients, by their addresses, and what makes all ranks see the same."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from aplomb import _core
from aplomb.sharding import copies_of, is_sharded, local_part, without_sums_to_come

if TYPE_CHECKING:
    from collections.abc import Sequence

    import torch

Group = tuple[int, float]  # non-finite elements, sum of squares over the finite ones


class Measured(NamedTuple):
    """Of each group: the statistics of gradients that this rank holds whole, and its share of those of which each rank
    holds a part."""

    whole: list[Group]
    shares: list[Group]


class Gradients:
    """The gradients of all parameters that the optimizers hold, group by group; a tied parameter counts once, a frozen
    or unused one (grad is None) not at all. A group is a parameter group, or with `modules_of` a module: the one that
    the parameter is a member of."""

    def __init__(self, optimizers: list[Any], threads: int, modules_of: Any = None) -> None:
        self._optimizers = optimizers
        self._threads = threads
        self._module: dict[int, int] = {}  # by id of the parameter: its module's number
        self.names: list[str] = []  # of the modules
        if modules_of is not None:
            for name, module in modules_of.named_modules():
                own = [each for each in module.parameters(recurse=False) if id(each) not in self._module]
                self._module.update({id(each): len(self.names) for each in own})
                self.names += [name] if own else []

    @property
    def _count(self) -> int:
        if self._module:
            return len(self.names) + 1  # the last: parameters that are no part of the model
        return sum(len(optimizer.param_groups) for optimizer in self._optimizers)

    def _each(self) -> list[tuple[int, torch.Tensor]]:
        found = []
        seen = set()
        group_number = 0
        for optimizer in self._optimizers:
            for group in optimizer.param_groups:
                for parameter in group["params"]:
                    if parameter.grad is not None and id(parameter) not in seen:
                        seen.add(id(parameter))
                        number = self._module.get(id(parameter), len(self.names)) if self._module else group_number
                        found.append((number, parameter.grad))
                group_number += 1
        return found

    def measure(self) -> Measured:
        import torch

        plain = (torch.Tensor, torch.nn.Parameter)
        whole: list[tuple[int, torch.Tensor]] = []
        parts: dict[int, list[tuple[int, torch.Tensor]]] = {}  # by the number of ranks that hold the same
        with torch.no_grad():
            for number, gradient in self._each():
                if type(gradient) in plain:
                    whole.append((number, gradient))
                elif is_sharded(gradient):
                    summed = without_sums_to_come(gradient)
                    parts.setdefault(copies_of(summed), []).append((number, local_part(summed)))
                else:
                    raise TypeError(f"gradients of type {type(gradient).__name__} are not supported")
            shares = [(0, 0.0)] * self._count
            for copies, held in parts.items():
                shares = [
                    (nonfinite + count, squares + more / copies)
                    for (nonfinite, squares), (count, more) in zip(shares, self._scan(held))
                ]
            return Measured(self._scan(whole), shares)

    def _scan(self, gradients: list[tuple[int, torch.Tensor]]) -> list[Group]:
        address, size, dtype, group = [], [], [], []
        kept = []  # alive until they were read
        elsewhere: list[tuple[int, torch.Tensor]] = []
        for number, gradient in gradients:
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
        groups = _core.measure(address, size, dtype, group, self._count, self._threads)
        return _with_others(groups, elsewhere) if elsewhere else groups

    def scale(self, factor: float, group_factors: Sequence[float]) -> None:
        import torch

        by_factor: dict[float, list[torch.Tensor]] = {}
        with torch.no_grad():
            for number, gradient in self._each():
                whole = factor * (group_factors[number] if group_factors else 1.0)
                if whole != 1.0:
                    by_factor.setdefault(whole, []).append(local_part(gradient))
            for whole, gradients in by_factor.items():
                dense = [each for each in gradients if not each.is_sparse]
                if dense:
                    torch._foreach_mul_(dense, whole)
                for each in gradients:
                    if each.is_sparse:
                        each.mul_(whole)


PIECE = 1 << 24  # elements that are looked at in detail at a time: copies of whole gradients might not fit


def _with_others(groups: list[Group], elsewhere: list[Any]) -> list[Group]:
    """Adds gradients that lie on another device: their norms by torch, a few kernels that copy nothing, with one transfer
    for all. Only where a norm is not finite are its elements looked at."""
    import torch

    norms: list[Any] = [None] * len(elsewhere)
    alike: dict[Any, list[int]] = {}
    for i, (_, gradient) in enumerate(elsewhere):
        alike.setdefault((gradient.device, gradient.dtype), []).append(i)
    with torch.no_grad():
        for (_, dtype), which in alike.items():
            sum_in = torch.promote_types(dtype, torch.float32)
            for i, norm in zip(which, torch._foreach_norm([elsewhere[i][1] for i in which], 2, dtype=sum_in)):
                norms[i] = norm.double()
        device = elsewhere[0][1].device
        for (number, gradient), norm in zip(elsewhere, torch.stack([each.to(device) for each in norms]).tolist()):
            more = (0, norm * norm) if math.isfinite(norm) else _in_detail(gradient)
            groups[number] = (groups[number][0] + more[0], groups[number][1] + more[1])
    return groups


def _in_detail(gradient: Any) -> Group:
    import torch

    nonfinite, squares = 0, 0.0
    for piece in gradient.reshape(-1).split(PIECE):
        finite = torch.isfinite(piece)
        nonfinite += piece.numel() - int(finite.sum())
        squares += float(torch.where(finite, piece, 0).double().square().sum())
    return nonfinite, squares


def _sum(first: list[Group], second: list[Group]) -> list[Group]:
    return [(a + c, b + d) for (a, b), (c, d) in zip(first, second)]


def reduced(loss: float | None, measured: Measured, flag: bool = False) -> tuple[float | None, list[Group], bool]:
    """The same numbers on every rank: the mean loss; of the statistics of whole gradients (which ranks have in common)
    the largest, so that a fault of one rank is seen by all; of the shares the sum; and whether one has the flag."""
    import torch

    distributed = torch.distributed
    if not (distributed.is_available() and distributed.is_initialized()) or distributed.get_world_size() == 1:
        return loss, _sum(measured.whole, measured.shares), flag
    device = "cuda" if distributed.get_backend() == "nccl" else "cpu"
    mine = [float("nan") if loss is None else loss, float(flag)]
    for nonfinite, squares in [*measured.whole, *measured.shares]:
        mine += [float(nonfinite), squares]
    row = torch.tensor(mine, dtype=torch.float64, device=device)
    rows = [torch.empty_like(row) for _ in range(distributed.get_world_size())]
    distributed.all_gather(rows, row)
    table = [each.tolist() for each in rows]
    if loss is not None:
        loss = sum(each[0] for each in table) / len(table)
    columns = list(zip(*table))[2:]  # every rank adds them up in the same order
    half = 2 * len(measured.whole)
    whole = [(int(max(columns[i])), max(columns[i + 1])) for i in range(0, half, 2)]
    shares = [(int(sum(columns[i])), sum(columns[i + 1])) for i in range(half, len(columns), 2)]
    return loss, _sum(whole, shares), any(each[1] > 0 for each in table)
