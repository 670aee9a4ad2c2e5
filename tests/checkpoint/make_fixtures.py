#!/usr/bin/env python3
"""Write small checkpoints with torch, safetensors, transformers and peft, and what is in them.

usage: make_fixtures.py FOLDER

FOLDER gets the files and `expected.json`: {file: {tensor name: {dtype, shape, count, zeros, nan, inf, sum, norm,
max_abs, order, first}}}; the statistics are torch's
and numpy's in float64, `order` a sum that tells the elements' places. Exit status 3 where torch is missing.
"""

import json
import math
import pathlib
import pickle
import sys

try:
    import torch
except ImportError:
    sys.exit(3)


def expected(tensor):
    """What a reader must find. Non-finite values count apart, as in TensorStats."""
    flat = tensor.detach().reshape(-1)
    wide = torch.view_as_real(flat).reshape(-1) if flat.is_complex() else flat
    wide = wide.to(torch.float64)
    finite = wide[torch.isfinite(wide)]
    places = torch.arange(wide.numel(), dtype=torch.float64) % 251 + 1
    return {
        "dtype": str(tensor.dtype).removeprefix("torch."),
        "shape": list(tensor.shape),
        "count": tensor.numel(),
        "zeros": int((wide == 0).sum()),
        "nan": int(wide.isnan().sum()),
        "inf": int(wide.isinf().sum()),
        "sum": float(finite.sum()),
        "norm": float(math.sqrt(float((finite * finite).sum()))),
        "max_abs": float(finite.abs().max()) if finite.numel() else 0.0,
        "order": float((torch.where(torch.isfinite(wide), wide, 0.0) * places).sum()),
        "first": float(wide[0]) if wide.numel() and torch.isfinite(wide[0]) else None,
    }


def every_dtype():
    torch.manual_seed(7)
    made = {}
    for dtype in (torch.float64, torch.float32, torch.float16, torch.bfloat16):
        made[f"w_{str(dtype)[6:]}"] = torch.randn(5, 7).to(dtype)
    for dtype in (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8):
        made[f"w_{str(dtype)[6:]}"] = torch.randint(0, 100, (4, 3)).to(dtype)
    made["w_float8_e4m3fn"] = torch.randn(6).to(torch.float8_e4m3fn)
    made["w_float8_e5m2"] = torch.randn(6).to(torch.float8_e5m2)
    made["w_bool"] = torch.tensor([True, False, True])
    made["w_empty"] = torch.zeros(0, 4)
    made["w_scalar"] = torch.tensor(3.5)
    made["w_bad"] = torch.tensor([1.0, float("nan"), float("inf"), 0.0, -2.0])
    return made


def views():
    base = torch.arange(60, dtype=torch.float32).reshape(6, 10)
    return {
        "transposed": base.t(),
        "slice": base[1:4, 2:9:3],
        "expanded": torch.ones(3, 1).expand(3, 4),
        "narrow": base[2:],
        "tied": base,
        "parameter": torch.nn.Parameter(torch.full((3,), 2.0)),
        "complex": torch.tensor([1 + 2j, 3 - 4j]),
    }


class Writer:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.expected = {}

    def note(self, name, tensors):
        self.expected[name] = {key: expected(value) for key, value in tensors.items()}

    def torch_files(self):
        state = every_dtype()
        torch.save(state, self.folder / "dtypes.pt")
        self.note("dtypes.pt", state)
        torch.save(views(), self.folder / "views.pt")
        self.note("views.pt", views())
        torch.save(views(), self.folder / "legacy.pt", _use_new_zipfile_serialization=False)
        self.note("legacy.pt", views())
        for protocol in (2, 3, 4, 5):
            name = f"protocol{protocol}.pt"
            torch.save({"layer.weight": state["w_float32"]}, self.folder / name, pickle_protocol=protocol)
            self.note(name, {"layer.weight": state["w_float32"]})
        nested = {"model": {"a.weight": state["w_bfloat16"]}, "epoch": 3, "global_step": 17,
                  "args": {"lr": 1e-3}, "optimizer": {"state": {}, "param_groups": []}}
        torch.save(nested, self.folder / "nested.ckpt")
        self.note("nested.ckpt", {"a.weight": state["w_bfloat16"]})

    def numpy_pickle(self):
        import numpy as np
        array = np.arange(12, dtype=np.float32).reshape(3, 4)
        fortran = np.asfortranarray(array)
        for protocol in (2, 4, 5):
            name = f"numpy{protocol}.pt"
            (self.folder / name).write_bytes(pickle.dumps({"c": array, "f": fortran}, protocol=protocol))
            self.note(name, {"c": torch.from_numpy(array), "f": torch.from_numpy(array)})

    def safetensors(self):
        from safetensors.torch import save_file
        state = {key: value.contiguous() for key, value in every_dtype().items()}
        save_file(state, self.folder / "dtypes.safetensors", metadata={"format": "pt"})
        self.note("dtypes.safetensors", state)

    def trained(self):
        """One step of AdamW on a tiny model: the folder of a Trainer's checkpoint."""
        from safetensors.torch import save_file
        torch.manual_seed(1)
        folder = self.folder / "checkpoint-3"
        folder.mkdir()
        model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.LayerNorm(3), torch.nn.Linear(3, 2))
        decay = [p for n, p in model.named_parameters() if n.endswith("weight") and not n.startswith("1.")]
        rest = [p for n, p in model.named_parameters() if not (n.endswith("weight") and not n.startswith("1."))]
        groups = [{"params": decay, "weight_decay": 0.1}, {"params": rest, "weight_decay": 0.0}]
        optimizer = torch.optim.AdamW(groups, lr=2e-3)
        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1.0)
        for _ in range(3):
            model(torch.randn(8, 4)).square().sum().backward()
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
        save_file(model.state_dict(), folder / "model.safetensors")
        torch.save(optimizer.state_dict(), folder / "optimizer.pt")
        torch.save(schedule.state_dict(), folder / "scheduler.pt")
        torch.save({"cpu": torch.get_rng_state()}, folder / "rng_state.pth")
        (folder / "trainer_state.json").write_text(json.dumps({"epoch": 1.0, "global_step": 3, "log_history": [],
                                                               "max_steps": 10}))
        self.note("checkpoint-3", model.state_dict())
        state = optimizer.state_dict()["state"]
        self.note("checkpoint-3/optimizer", {f"{i}.{key}": value for i, each in state.items()
                                             for key, value in each.items() if key != "step"})

    def transformers(self):
        from transformers import LlamaConfig, LlamaForCausalLM
        config = LlamaConfig(hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
                             num_key_value_heads=2, vocab_size=64, tie_word_embeddings=False)
        model = LlamaForCausalLM(config)
        model.save_pretrained(self.folder / "sharded", max_shard_size="20KB")
        self.note("sharded", model.state_dict())
        return model

    def trainer(self, model):
        """What transformers' own Trainer saves: weights, optimizer.pt, scheduler.pt, rng_state.pth, training_args.bin."""
        from transformers import Trainer, TrainingArguments
        rows = [{"input_ids": [1 + i, 2, 3, 4], "labels": [1 + i, 2, 3, 4]} for i in range(8)]
        arguments = TrainingArguments(self.folder / "trained", max_steps=2, save_steps=2, logging_steps=1, use_cpu=True,
                                      per_device_train_batch_size=2, report_to=[], disable_tqdm=True, weight_decay=0.1)
        trainer = Trainer(model=model, args=arguments, train_dataset=rows)
        trainer.train()
        self.note("trained/checkpoint-2", model.state_dict())
        state = trainer.optimizer.state_dict()["state"]
        self.note("trained/checkpoint-2/optimizer", {f"{i}.{key}": value for i, each in state.items()
                                                     for key, value in each.items() if key != "step"})

    def peft(self, model):
        from peft import LoraConfig, get_peft_model, get_peft_model_state_dict
        adapted = get_peft_model(model, LoraConfig(r=2, target_modules=["q_proj", "v_proj"]))
        adapted.save_pretrained(self.folder / "adapter")
        self.note("adapter", get_peft_model_state_dict(adapted))


def main() -> None:
    writer = Writer(sys.argv[1])
    writer.torch_files()
    writer.numpy_pickle()
    writer.safetensors()
    writer.trained()
    try:
        model = writer.transformers()
        writer.trainer(model)
        writer.peft(model)
    except ImportError as missing:
        print(f"left out: {missing}", file=sys.stderr)
    (pathlib.Path(sys.argv[1]) / "expected.json").write_text(json.dumps(writer.expected))


if __name__ == "__main__":
    main()
