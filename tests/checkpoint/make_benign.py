#!/usr/bin/env python3
"""Write what training leaves, as the libraries themselves write it: the files that must not be called dangerous.

usage: make_benign.py FOLDER [PART ...]

State dicts, optimizers, schedulers, scalers, RNG states, arguments, whole modules, arrays, estimators; by torch.save (archives and the
older stream), pickle of every protocol, numpy and joblib. A library that is not installed is left out, and said. PART: torch, numpy, python, transformers, ...; all without one.
"""

import argparse
import collections
import copy
import datetime
import enum
import functools
import inspect
import pathlib
import pickle
import random
import sys
import uuid
import warnings

warnings.simplefilter("ignore")
FOLDER = pathlib.Path(sys.argv[1])
written = 0
left_out = []


def save_pickle(name, thing, protocols=(0, 2, 4, 5)):
    global written
    for protocol in protocols:
        try:
            raw = pickle.dumps(thing, protocol)
        except Exception:
            continue
        (FOLDER / f"{name}.p{protocol}.pkl").write_bytes(raw)
        written += 1


def save_torch(name, thing, ways=("zip", "legacy")):
    global written
    import torch

    for way in ways:
        path = FOLDER / f"{name}.{way}.pt"
        try:
            torch.save(thing, path, _use_new_zipfile_serialization=way == "zip")
            written += 1
        except Exception:
            path.unlink(missing_ok=True)


def part(function):
    try:
        function()
    except ImportError as missing:
        left_out.append(f"{function.__name__}: {missing}")


def torch_things():
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Embedding(10, 8), nn.LayerNorm(8), nn.Linear(8, 8), nn.ReLU(), nn.Dropout(0.1), nn.Linear(8, 4))
    save_torch("state_dict", model.state_dict())
    save_torch("tied", {"a": model[0].weight, "b": model[0].weight, "c": model[0].weight[2:4].t()})
    save_pickle("state_dict", model.state_dict())
    for dtype in ("float32", "float16", "bfloat16", "float64", "int64", "int8", "uint8", "bool", "complex64", "float8_e4m3fn"):
        save_torch(f"dtype_{dtype}", {"w": torch.zeros(4, 3).to(getattr(torch, dtype)), "dtype": getattr(torch, dtype)})
    save_torch("sparse", {"s": torch.eye(4).to_sparse(), "c": torch.eye(4).to_sparse_csr()})
    save_torch("quantized", torch.quantize_per_tensor(torch.ones(4), 0.1, 0, torch.qint8))
    save_torch("meta", {"m": torch.empty(3, device="meta"), "device": torch.device("cpu"), "size": torch.Size([1, 2])})
    save_torch("parameter", nn.Parameter(torch.ones(3)))
    save_torch("rng_state", {"python": random.getstate(), "numpy": __import__("numpy").random.get_state(), "cpu": torch.get_rng_state()})
    save_torch("generator", {"g": torch.Generator().get_state()})
    save_torch("whole_model", model)
    for name, module in inspect.getmembers(nn, inspect.isclass):
        if not issubclass(module, nn.Module):
            continue
        for arguments in ((), (4,), (4, 4), (4, 4, 3), (4, 2)):
            try:
                made = module(*arguments)
            except Exception:
                continue
            save_torch(f"nn_{name}", made)
            break
    for name, optimizer in inspect.getmembers(torch.optim, inspect.isclass):
        if not issubclass(optimizer, torch.optim.Optimizer) or name == "Optimizer":
            continue
        try:
            made = optimizer(nn.Linear(4, 4).parameters(), lr=1e-3)
            for group in made.param_groups:
                for p in group["params"]:
                    p.grad = torch.ones_like(p)
            made.step()
        except Exception:
            continue
        save_torch(f"optimizer_{name}", made.state_dict())
        save_torch(f"optimizer_object_{name}", made)
        save_pickle(f"optimizer_{name}", made.state_dict())
    from torch.optim import lr_scheduler as schedules

    recipes = {"StepLR": (3,), "MultiStepLR": ([3, 5],), "ExponentialLR": (0.9,), "CosineAnnealingLR": (10,), "LambdaLR": (divmod,),
               "CyclicLR": (0.1, 0.2), "OneCycleLR": (0.1, 100), "CosineAnnealingWarmRestarts": (5,), "LinearLR": (), "ConstantLR": (),
               "PolynomialLR": (), "ReduceLROnPlateau": ()}
    for name, arguments in recipes.items():
        sgd = torch.optim.SGD(nn.Linear(2, 2).parameters(), lr=0.1, momentum=0.9)
        if name == "LambdaLR":
            arguments = (functools.partial(torch.nn.functional.hardtanh),)
            try:
                made = schedules.LambdaLR(sgd, lambda step: 1.0)
            except Exception:
                continue
        else:
            made = getattr(schedules, name)(sgd, *arguments)
        save_torch(f"scheduler_{name}", made.state_dict())
        if name != "LambdaLR":
            save_torch(f"scheduler_object_{name}", made)
    save_torch("scaler", {"scale": 65536.0, "growth_factor": 2.0, "backoff_factor": 0.5, "growth_interval": 2000, "_growth_tracker": 0})
    save_torch("everything", {"epoch": 3, "model": model.state_dict(), "args": argparse.Namespace(lr=1e-3, out=pathlib.Path("out")),
                              "best": float("inf"), "history": collections.defaultdict(list, {"loss": [1.0, 0.5]}),
                              "when": datetime.datetime(2024, 1, 2), "counter": collections.Counter("aab"), "id": uuid.UUID(int=5),
                              "deque": collections.deque([1, 2], maxlen=5), "set": {1, 2}, "frozen": frozenset({3}), "range": range(3)})
    from torch.nn.utils import parametrizations, spectral_norm, weight_norm

    save_torch("weight_norm", weight_norm(nn.Linear(4, 4)).state_dict())
    save_torch("weight_norm_old", weight_norm(nn.Linear(4, 4)))
    save_torch("spectral_norm_old", spectral_norm(nn.Linear(4, 4)))
    save_torch("spectral", parametrizations.spectral_norm(nn.Linear(4, 4)).state_dict())
    save_torch("compiled_names", {"_orig_mod." + k: v for k, v in model.state_dict().items()})
    save_torch("subset", torch.utils.data.Subset(torch.utils.data.TensorDataset(torch.ones(4)), [0, 1]))
    save_torch("sampler", torch.utils.data.RandomSampler(range(10)))
    save_torch("ema", {"ema": copy.deepcopy(model).state_dict(), "updates": 100})
    global written
    import torch.distributed.checkpoint as dcp

    dcp.save({"model": model.state_dict(), "step": 3}, checkpoint_id=FOLDER / "dcp")
    written += 1
    with torch.no_grad():
        torch.jit.trace(nn.Linear(2, 2), torch.ones(1, 2)).save(str(FOLDER / "torchscript.pt"))
    written += 1


def numpy_things():
    global written
    import numpy

    for dtype in ("float64", "float32", "int32", "uint8", "bool", "complex128", "U8", "S4", "datetime64[s]"):
        array = numpy.zeros((3, 2), dtype=dtype)
        name = dtype.replace("[", "_").replace("]", "")
        save_pickle(f"array_{name}", {"x": array, "scalar": array[0, 0]})
        numpy.save(FOLDER / f"array_{name}.npy", array)
        numpy.savez(FOLDER / f"arrays_{name}.npz", a=array, b=array)
        numpy.savez_compressed(FOLDER / f"packed_{name}.npz", a=array)
        written += 3
    numpy.save(FOLDER / "objects.npy", numpy.array([{"a": 1}, [2]], dtype=object))
    written += 1
    save_pickle("objects", numpy.array([{"a": 1}, None], dtype=object))
    save_pickle("structured", numpy.zeros(3, dtype=[("a", "f4"), ("b", "i8")]))
    save_pickle("masked", numpy.ma.masked_array([1, 2, 3], mask=[0, 1, 0]))
    save_pickle("generator", numpy.random.default_rng(0))
    save_pickle("random_state", numpy.random.RandomState(0))
    save_pickle("python_random", random.Random(1))
    save_pickle("python_state", random.getstate())
    save_pickle("fortran", numpy.asfortranarray(numpy.ones((3, 4))))
    for name in ("MT19937", "PCG64", "Philox", "SFC64"):
        save_pickle(f"bits_{name}", numpy.random.Generator(getattr(numpy.random, name)(1)))


class Colour(enum.Enum):
    RED = 1


def python_things():
    import decimal
    import fractions
    import re
    import types

    things = {
        "plain": {"a": [1, 2.5, "x", b"y", None, True, 10**30, -5, (1,), {3}, 1 + 2j]},
        "dates": [datetime.date(2024, 1, 1), datetime.timedelta(1), datetime.UTC, datetime.time(1)],
        "paths": [pathlib.Path("a/b"), pathlib.PurePosixPath("/x"), pathlib.PureWindowsPath("C:/x")],
        "numbers": [decimal.Decimal("1.5"), fractions.Fraction(1, 3), uuid.uuid4()],
        "namespace": argparse.Namespace(a=1, b=types.SimpleNamespace(c=2)),
        "pattern": re.compile("a+b"),
        "ordered": collections.OrderedDict(a=collections.OrderedDict(b=1)),
        "errors": [ValueError("x"), KeyError("y")],
        "partial": functools.partial(dict, a=1),
        "bytes": bytearray(b"abc"),
        "slices": [slice(1, 2), range(3), Ellipsis, NotImplemented, type(None)],
        "shared": (lambda x: [x, x, {"x": x}])([1, 2]),
        "long": list(range(20000)),
        "text": ["é" * 300, "\n\\'\"", "\u20ac"],
    }
    for name, thing in things.items():
        save_pickle(f"python_{name}", thing)
        save_torch(f"python_{name}", thing)


def transformers_things():
    import torch
    import transformers
    from transformers import Seq2SeqTrainingArguments, TrainerControl, TrainerState, TrainingArguments

    for name, more in {"plain": {}, "cosine": {"lr_scheduler_type": "cosine", "bf16": True}, "eval": {"eval_strategy": "steps", "save_strategy": "epoch"},
                       "fsdp": {"fsdp": "full_shard auto_wrap"}, "optim": {"optim": "adafactor", "report_to": "none"}}.items():
        try:
            arguments = TrainingArguments(str(FOLDER / "out"), use_cpu=True, **more)
        except Exception:
            continue
        save_torch(f"training_args_{name}", arguments)
    save_torch("seq2seq_args", Seq2SeqTrainingArguments(str(FOLDER / "out"), use_cpu=True))
    save_pickle("trainer_state", TrainerState())
    save_pickle("trainer_control", TrainerControl())
    kinds = {"constant": {}, "linear": {"num_warmup_steps": 1, "num_training_steps": 10}, "cosine": {"num_warmup_steps": 1, "num_training_steps": 10}}
    for name, how in kinds.items():
        optimizer = torch.optim.AdamW(torch.nn.Linear(2, 2).parameters())
        schedule = transformers.get_scheduler(name, optimizer, **how)
        save_torch(f"hf_scheduler_{name}", schedule.state_dict())
        save_torch(f"hf_scheduler_object_{name}", schedule)
    small = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16, "vocab_size": 64}
    for name in ("Llama", "Mistral", "Bert", "Roberta", "Electra", "Qwen2", "Gemma", "Phi", "GPTNeoX", "Falcon", "OPT", "Deberta", "Mixtral", "StableLm",
                 "Starcoder2", "Cohere", "Olmo", "GPT2", "Bloom", "T5", "ViT", "Albert", "DistilBert", "Mamba"):
        config_class = getattr(transformers, name + "Config", None)
        if config_class is None:
            continue
        try:
            config = config_class(**small)
            model = getattr(transformers, name + "Model")(config)
        except Exception:
            save_pickle(f"config_{name}", config_class())
            continue
        save_pickle(f"config_{name}", config, (2, 4))
        save_torch(f"hf_model_{name}", model)
        save_torch(f"hf_state_{name}", model.state_dict())
    save_pickle("generation", transformers.GenerationConfig())
    cache = transformers.DynamicCache()
    save_torch("cache", cache)


def peft_things():
    import peft

    for name in ("LoraConfig", "IA3Config", "PrefixTuningConfig", "PromptTuningConfig", "AdaLoraConfig", "LoHaConfig", "VeraConfig", "OFTConfig"):
        try:
            save_pickle(f"peft_{name}", getattr(peft, name)(**({"total_step": 10} if name == "AdaLoraConfig" else {})), (2, 4))
        except Exception:
            continue
    import transformers

    config = transformers.LlamaConfig(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16, vocab_size=64)
    model = peft.get_peft_model(transformers.LlamaModel(config), peft.LoraConfig(target_modules=["q_proj"]))
    save_torch("peft_model", model)
    save_torch("peft_state", peft.get_peft_model_state_dict(model))


def trl_things():
    import trl

    for name in ("SFTConfig", "DPOConfig", "GRPOConfig", "KTOConfig", "RewardConfig", "RLOOConfig"):
        try:
            save_torch(f"trl_{name}", getattr(trl, name)(output_dir=str(FOLDER / "out"), use_cpu=True, bf16=False))
        except Exception:
            continue


def lightning_things():
    import torch
    from lightning.pytorch import LightningModule, Trainer
    from lightning.pytorch.callbacks import EarlyStopping, ModelCheckpoint

    class Net(LightningModule):
        def __init__(self, width=4):
            super().__init__()
            self.save_hyperparameters()
            self.layer = torch.nn.Linear(width, 1)

        def training_step(self, batch, _):
            loss = self.layer(batch[0]).mean()
            self.log("loss", loss)
            return loss

        def configure_optimizers(self):
            optimizer = torch.optim.Adam(self.parameters())
            return [optimizer], [torch.optim.lr_scheduler.StepLR(optimizer, 1)]

    data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.ones(8, 4)), batch_size=2)
    trainer = Trainer(max_epochs=1, logger=False, enable_progress_bar=False, enable_model_summary=False, accelerator="cpu",
                      default_root_dir=FOLDER / "lightning", callbacks=[ModelCheckpoint(FOLDER / "lightning"), EarlyStopping("loss")])
    trainer.fit(Net(), data)
    global written
    trainer.save_checkpoint(FOLDER / "lightning.ckpt")
    written += 2


def accelerate_things():
    import torch
    from accelerate import Accelerator

    accelerator = Accelerator(cpu=True)
    model = torch.nn.Linear(4, 4)
    model, optimizer = accelerator.prepare(model, torch.optim.AdamW(model.parameters()))
    accelerator.save_state(str(FOLDER / "accelerate"), safe_serialization=False)
    global written
    written += 3


def deepspeed_things():
    from deepspeed.runtime.fp16.loss_scaler import DynamicLossScaler, LossScaler
    from deepspeed.runtime.zero.config import ZeroStageEnum
    from deepspeed.utils.tensor_fragment import fragment_address

    save_torch("deepspeed_scaler", {"loss_scaler": LossScaler(1.0), "zero_stage": ZeroStageEnum.optimizer_states})
    save_torch("deepspeed_dynamic", {"a": fragment_address(1, 2), "v": "0.14"})
    save_pickle("deepspeed_stage", ZeroStageEnum.weights)
    del DynamicLossScaler


def pandas_things():
    import pandas

    frame = pandas.DataFrame({"a": [1, 2], "b": ["x", "y"], "c": pandas.to_datetime(["2024-01-01", "2024-01-02"])})
    for name, thing in {"frame": frame, "series": frame["a"], "dates": frame["c"], "index": frame.set_index("b"), "categories": frame["b"].astype("category"),
                        "stamp": pandas.Timestamp("2024-01-01"), "delta": pandas.Timedelta(1), "multi": frame.set_index(["a", "b"]),
                        "missing": pandas.Series([1, None], dtype="Int64")}.items():
        save_pickle(f"pandas_{name}", thing, (2, 4, 5))


def sklearn_things():
    global written
    import joblib
    import numpy
    from sklearn.utils import all_estimators

    x = numpy.random.default_rng(0).normal(size=(40, 4))
    y = (x[:, 0] > 0).astype(int)
    for kind in ("classifier", "regressor", "transformer", "cluster"):
        for name, estimator in all_estimators(type_filter=kind):
            try:
                made = estimator().fit(x, y)
            except Exception:
                continue
            save_pickle(f"sklearn_{name}", made, (2, 4))
            try:
                joblib.dump(made, FOLDER / f"sklearn_{name}.joblib")
                joblib.dump(made, FOLDER / f"sklearn_{name}.packed.joblib", compress=3)
                written += 2
            except Exception:
                continue


def omegaconf_things():
    from omegaconf import OmegaConf

    made = OmegaConf.create({"model": {"lr": 0.1, "layers": [1, 2]}, "path": "${model.lr}"})
    save_pickle("omegaconf", made, (2, 4))
    save_torch("omegaconf", {"cfg": made})


def easydict_things():
    from easydict import EasyDict

    save_pickle("easydict", EasyDict(a=1, b={"c": 2}), (2, 4))


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    for function in (torch_things, numpy_things, python_things, transformers_things, peft_things, trl_things, lightning_things, accelerate_things,
                     deepspeed_things, pandas_things, sklearn_things, omegaconf_things, easydict_things):
        if sys.argv[2:] and function.__name__.removesuffix("_things") not in sys.argv[2:]:
            continue
        try:
            part(function)
        except Exception as error:
            left_out.append(f"{function.__name__}: {type(error).__name__} {error}")
    print(written, "files;", "left out:", "; ".join(left_out) or "nothing")


if __name__ == "__main__":
    main()
