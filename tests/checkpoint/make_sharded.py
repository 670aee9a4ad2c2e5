#!/usr/bin/env python3
"""Write the sharded checkpoints of torch beside .distcp files, with four ranks over gloo, and what is in them.

usage: make_sharded.py FOLDER

FOLDER/mesh       .distcp of a 2 x 2 mesh: weights cut along both axes, or along one and kept twice (HSDP, TP)
FOLDER/fsdp       .distcp of a model wrapped in fully_shard with its AdamW and the step, as torchtitan saves it
FOLDER/pickled    pytorch_model_fsdp_0_rank*.bin, optimizer_0_rank*.bin: DTensors pickled by each rank (accelerate, no DCP)
FOLDER/laid       the tensors of `mesh` pickled by each rank
FOLDER/sharded    ShardedTensors of FSDP 1 pickled by each rank
FOLDER/blocks     shard-*-model-*.safetensors of DCP's HuggingFaceStorageWriter
FOLDER/accelerate pytorch_model_fsdp_0/, optimizer_0/ as accelerate's save_state lays them out
expected.json in the form of make_fixtures.py. Exit status 3 where torch is missing.
"""

import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
try:
    import torch
    import torch.distributed as dist
    import torch.distributed.checkpoint as dcp
    from torch.distributed._shard import sharded_tensor
    from torch.distributed._shard.metadata import ShardMetadata
    from torch.distributed.checkpoint.state_dict import get_state_dict
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    from torch.distributed.tensor import Replicate, Shard, distribute_tensor
except ImportError:
    sys.exit(3)

from make_fixtures import expected  # noqa: E402

RANKS = 4


def whole(tensor):
    return tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor


def on_mesh(mesh):
    """Every way to lay a tensor on a mesh of two axes, with sizes that do not divide."""
    def laid(shape, *placements):
        return distribute_tensor(torch.randn(shape), mesh, placements)

    return {"both": laid((6, 10), Shard(0), Shard(1)), "rows": laid((7, 3), Shard(0), Shard(0)),
            "uneven": laid((3, 5), Replicate(), Shard(0)), "columns": laid((4, 9), Shard(1), Replicate()),
            "twice": laid((5, 2), Replicate(), Replicate()), "plain": torch.arange(6.0)}


def trained(mesh):
    model = torch.nn.Sequential(torch.nn.Linear(7, 5), torch.nn.LayerNorm(5), torch.nn.Linear(5, 3, bias=False))
    fully_shard(model.to(torch.bfloat16), mesh=mesh)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.1)
    for _ in range(3):
        model(torch.randn(4, 7, dtype=torch.bfloat16)).float().square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    return get_state_dict(model, optimizer)


def of_fsdp1(rank):
    """What FSDP 1 gives for SHARDED_STATE_DICT: rows of each rank, the last one fewer."""
    whole = torch.arange(22.0).reshape(11, 2)
    begin, end = 3 * rank, min(3 * rank + 3, 11)
    place = ShardMetadata(shard_offsets=[begin, 0], shard_sizes=[end - begin, 2], placement=f"rank:{rank}/cpu")
    shard = sharded_tensor.Shard(whole[begin:end].clone(), place)
    cut = sharded_tensor.init_from_local_shards([shard], 11, 2)
    return {"w": cut, "n": torch.arange(3)}, {"w": whole, "n": torch.arange(3)}


def said_of(weights, states=None):
    """A collective where tensors are sharded: every rank calls it."""
    return {"weights": {name: expected(whole(tensor)) for name, tensor in weights.items()},
            "states": {f"{name}.{key}": expected(whole(tensor)) for name, state in (states or {}).items()
                       for key, tensor in state.items() if key != "step"}}


def work(rank, folder):
    dist.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=RANKS)
    torch.manual_seed(0)
    square = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
    laid = on_mesh(square)
    sharded, sharded_whole = of_fsdp1(rank)
    weights, optimizer = trained(init_device_mesh("cpu", (RANKS,)))
    out = pathlib.Path(folder)
    for name in ("mesh", "pickled", "accelerate", "laid", "sharded"):
        (out / name).mkdir(exist_ok=True)
    dcp.save(laid, checkpoint_id=str(out / "mesh"))
    torch.save(laid, out / "laid" / f"pytorch_model_fsdp_0_rank{rank}.bin")
    torch.save(weights, out / "pickled" / f"pytorch_model_fsdp_0_rank{rank}.bin")
    torch.save(optimizer, out / "pickled" / f"optimizer_0_rank{rank}.bin")
    torch.save(sharded, out / "sharded" / f"pytorch_model_fsdp_0_rank{rank}.bin")
    dcp.save({"model": weights, "optimizer": optimizer, "step": 3}, checkpoint_id=str(out / "fsdp"))
    dcp.save({"model": weights}, checkpoint_id=str(out / "accelerate" / "pytorch_model_fsdp_0"))
    dcp.save({"optimizer": optimizer}, checkpoint_id=str(out / "accelerate" / "optimizer_0"))
    blocks = dcp.HuggingFaceStorageWriter(str(out / "blocks"), save_distributed=True)
    dcp.save(laid, storage_writer=blocks)
    states = optimizer["state"]
    said = {"fsdp": said_of(weights, states), "sharded": said_of(sharded_whole), "mesh": said_of(laid),
            "laid": said_of(laid), "blocks": said_of(laid),
            "pickled": said_of(weights, states), "accelerate": said_of(weights, states)}
    if rank == 0:
        (out / "expected.json").write_text(json.dumps(said))
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    pathlib.Path(sys.argv[1]).mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    torch.multiprocessing.spawn(work, args=(sys.argv[1],), nprocs=RANKS)
