#!/usr/bin/env python3
"""Write torch distributed checkpoints with two ranks over gloo, and what is in them.

usage: make_dcp.py FOLDER

FOLDER/fsdp: a model wrapped in fully_shard with its AdamW, cut along the first axis. FOLDER/columns: a tensor cut along
its second axis, as tensor parallelism does. expected.json in the form of make_fixtures.py. Exit status 3 where torch is
missing.
"""

import json
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
try:
    import torch
    import torch.distributed as dist
    import torch.distributed.checkpoint as dcp
    from torch.distributed.checkpoint.state_dict import get_state_dict
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    from torch.distributed.tensor import Shard, distribute_tensor
except ImportError:
    sys.exit(3)

from make_fixtures import expected  # noqa: E402


def whole(tensor):
    return tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor


def work(rank, folder):
    os.environ.update(MASTER_ADDR="127.0.0.1")
    dist.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=2)
    mesh = init_device_mesh("cpu", (2,))
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(7, 5), torch.nn.LayerNorm(5), torch.nn.Linear(5, 3, bias=False))
    fully_shard(model.to(torch.bfloat16), mesh=mesh)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.1)
    for _ in range(3):
        model(torch.randn(4, 7, dtype=torch.bfloat16)).float().square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    weights, states = get_state_dict(model, optimizer)
    dcp.save({"model": weights, "optimizer": states, "step": 3}, checkpoint_id=f"{folder}/fsdp")
    columns = distribute_tensor(torch.randn(6, 10, 2), mesh, [Shard(1)])
    dcp.save({"w": columns, "n": torch.arange(3)}, checkpoint_id=f"{folder}/columns")
    said = {"fsdp": {"weights": {name: expected(whole(tensor)) for name, tensor in weights.items()},
                     "states": {f"{name}.{key}": expected(whole(tensor)) for name, state in states["state"].items()
                                for key, tensor in state.items() if key != "step"}},
            "columns": {"weights": {"w": expected(whole(columns)), "n": expected(torch.arange(3))}, "states": {}}}
    values = whole(columns).flatten().tolist()
    if rank == 0:
        said["columns"]["values"] = values
        pathlib.Path(folder, "expected.json").write_text(json.dumps(said))
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    pathlib.Path(sys.argv[1]).mkdir(parents=True, exist_ok=True)
    torch.multiprocessing.spawn(work, args=(sys.argv[1],), nprocs=2)
