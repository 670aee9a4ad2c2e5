#!/usr/bin/env python3
"""Write the ZeRO checkpoints below tests/checkpoint/data with DeepSpeed (0.19.8 wrote those that stand there).

usage: make_zero.py FOLDER

FOLDER gets zero1/, zero2/ and zero3/, each of two ranks after three steps of AdamW, and expected.json in the form of
make_fixtures.py: the fp32 weights by DeepSpeed's own zero_to_fp32, the moments by the same function, with the moments
put where the weights were.
The model has two parameter groups, a frozen layer, a buffer, and sizes that do not divide by two.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve()
sys.path.insert(0, str(HERE.parent))


def moments(checkpoint, key):
    """Adam's moments, put together by DeepSpeed: its function takes them for the weights."""
    import torch
    from deepspeed.utils.zero_to_fp32 import get_fp32_state_dict_from_zero_checkpoint

    with tempfile.TemporaryDirectory() as copy:
        shutil.copytree(checkpoint, copy, dirs_exist_ok=True)
        for path in pathlib.Path(copy).rglob("*_optim_states.pt"):
            shard = torch.load(path, weights_only=False)
            state = shard["optimizer_state_dict"]
            base = state.get("base_optimizer_state") or state["optimizer_state_dict"]
            flat = "fp32_flat_groups" if "fp32_flat_groups" in state else "single_partition_of_fp32_groups"
            state[flat] = [base["state"][group][key] for group in range(len(state[flat]))]
            torch.save(shard, path)
        return get_fp32_state_dict_from_zero_checkpoint(copy)


def tiny():
    import torch

    class Tiny(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first = torch.nn.Linear(7, 5)
            self.norm = torch.nn.LayerNorm(5)
            self.frozen = torch.nn.Linear(5, 5, bias=False)
            self.last = torch.nn.Linear(5, 3, bias=False)
            self.register_buffer("steps", torch.arange(4.0))
            self.frozen.weight.requires_grad_(False)

        def forward(self, x):
            return self.last(self.frozen(self.norm(self.first(x))))

    torch.manual_seed(3)
    return Tiny()


def train(out, stage, rank):
    import deepspeed
    import torch

    model = tiny()
    decay = [p for p in model.parameters() if p.requires_grad and p.dim() > 1]
    rest = [p for p in model.parameters() if p.requires_grad and p.dim() == 1]
    optimizer = torch.optim.AdamW([{"params": decay, "weight_decay": 0.1}, {"params": rest, "weight_decay": 0.0}], lr=1e-3)
    zero = {"stage": stage} if stage < 3 else {"stage": 3, "sub_group_size": 20}
    config = {"train_micro_batch_size_per_gpu": 2, "bf16": {"enabled": True}, "zero_optimization": zero,
              "zero_allow_untested_optimizer": True, "zero_force_ds_cpu_optimizer": False}
    engine, *_ = deepspeed.initialize(model=model, optimizer=optimizer, config=config)
    for step in range(3):
        torch.manual_seed(10 * step + rank)
        engine.backward(engine(torch.randn(2, 7).bfloat16()).float().square().mean())
        engine.step()
    engine.save_checkpoint(str(out), tag="global_step3")


def describe(out):
    """expected.json of a checkpoint; DeepSpeed's scripts beside it are taken away."""
    from deepspeed.utils.zero_to_fp32 import get_fp32_state_dict_from_zero_checkpoint
    from make_fixtures import expected

    weights = get_fp32_state_dict_from_zero_checkpoint(str(out))
    states = {f"{name}.{key}": expected(tensor) for key in ("exp_avg", "exp_avg_sq")
              for name, tensor in moments(out, key).items() if "frozen" not in name and name != "steps"}
    said = {"weights": {name: expected(tensor) for name, tensor in weights.items()}, "states": states}
    (out / "expected.json").write_text(json.dumps(said))
    for extra in ("zero_to_fp32.py", "zero_to_torch.py"):
        (out / extra).unlink(missing_ok=True)


def work(folder, meet, rank):
    os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE="2", DS_ACCELERATOR="cpu", OMP_NUM_THREADS="1",
                      GLOO_SOCKET_IFNAME="lo")
    import deepspeed
    import torch

    torch.distributed.init_process_group("gloo", init_method=f"file://{meet}", rank=rank, world_size=2)
    sys.modules["deepspeed.comm.torch"].build_shm_op = lambda: None  # would compile C++; gloo does without
    deepspeed.init_distributed("gloo")
    for stage in (1, 2, 3):
        out = pathlib.Path(folder) / f"zero{stage}"
        train(out, stage, rank)
        torch.distributed.barrier()
        if rank == 0:
            describe(out)
    torch.distributed.barrier()


def main() -> None:
    if len(sys.argv) == 4:
        return work(sys.argv[1], sys.argv[2], int(sys.argv[3]))
    for stage in (1, 2, 3):
        shutil.rmtree(pathlib.Path(sys.argv[1]) / f"zero{stage}", ignore_errors=True)
    with tempfile.TemporaryDirectory() as meet:
        arguments = [sys.executable, str(HERE), sys.argv[1], meet + "/meet"]
        ranks = [subprocess.Popen([*arguments, str(rank)]) for rank in (0, 1)]
        if any([each.wait() for each in ranks]):
            sys.exit("a rank failed")


if __name__ == "__main__":
    main()
