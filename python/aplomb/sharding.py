"""Tensors of which each rank holds a part: the DTensors of FSDP2 (`fully_shard`) and of tensor parallelism."""

from __future__ import annotations

from typing import Any


def is_sharded(tensor: Any) -> bool:
    """Told by its interface, so that torch.distributed.tensor is imported by those alone who use it."""
    return hasattr(tensor, "to_local") and hasattr(tensor, "placements")


def local_part(tensor: Any) -> Any:
    """What this rank holds of it, in the same memory; any other tensor is whole here. Call it without gradients."""
    return tensor.to_local() if is_sharded(tensor) else tensor


def copies_of(tensor: Any) -> int:
    """How many ranks hold the same part as this one (2 in a mesh that replicates over two nodes and shards within)."""
    count = 1
    for dimension, placement in enumerate(tensor.placements):
        if not placement.is_shard():
            count *= tensor.device_mesh.size(dimension)
    return count


def without_sums_to_come(tensor: Any) -> Any:
    """A gradient whose parts are still to be added up over ranks, added up: a collective, on every rank alike."""
    if not any(each.is_partial() for each in tensor.placements):
        return tensor
    from torch.distributed.tensor import Replicate

    return tensor.redistribute(placements=[Replicate() if each.is_partial() else each for each in tensor.placements])


def like(tensor: Any, part: Any) -> Any:
    """A tensor sharded as `tensor` is, of which this rank holds `part`."""
    from torch.distributed.tensor import DTensor

    return DTensor.from_local(
        part, tensor.device_mesh, tensor.placements, run_check=False, shape=tensor.shape, stride=tensor.stride()
    )
