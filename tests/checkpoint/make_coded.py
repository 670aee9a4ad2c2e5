#!/usr/bin/env python3
"""Write optimizer states in 8 and 4 bits with bitsandbytes and torchao (0.50.2 and 0.18.0 wrote those in data/coded).

usage: make_coded.py FOLDER

FOLDER/{adamw8bit,lion8bit,ao8bit,ao4bit,aofp8}/ each hold model.safetensors and optimizer.pt after three steps, and
expected.json what each library itself decodes of its states, in the form of make_fixtures.py. 4150 elements: the last
block is not full.
"""

import json
import pathlib
import sys

import torch
from safetensors.torch import save_file

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from make_fixtures import expected  # noqa: E402


def decoded(state):
    """{key: fp32 tensor} of one parameter's state in the library's own words."""
    state = {**state.pop("__bnb_optimizer_quant_state__", {}), **state}
    out = {}
    for key, value in state.items():
        if key.startswith("state") and value.dtype == torch.uint8:
            number = key[-1]
            import bitsandbytes.functional as functional

            blocks = functional.QuantState(absmax=state[f"absmax{number}"], code=state[f"qmap{number}"], blocksize=256,
                                           dtype=torch.float32)
            out[key] = functional.dequantize_blockwise(value, blocks)
        elif hasattr(value, "dequantize") and type(value) is not torch.Tensor:
            out[key] = value.dequantize()
        elif key.startswith(("state", "exp_avg")):
            out[key] = value
    if "state2" in out:
        out = {"exp_avg": out["state1"], "exp_avg_sq": out["state2"]}
    return out


def main():
    import bitsandbytes
    from torchao import optim

    makers = {"adamw8bit": (bitsandbytes.optim.AdamW8bit, 83), "lion8bit": (bitsandbytes.optim.Lion8bit, 83),
              "ao8bit": (optim.AdamW8bit, 128), "ao4bit": (optim.AdamW4bit, 128), "aofp8": (optim.AdamWFp8, 128)}
    said = {}
    for name, (maker, width) in makers.items():
        torch.manual_seed(4)
        folder = pathlib.Path(sys.argv[1]) / name
        folder.mkdir(parents=True, exist_ok=True)
        model = torch.nn.Linear(width, 50 if width == 83 else 64).bfloat16()
        optimizer = maker(model.parameters(), lr=1e-3)
        for _ in range(3):
            model(torch.randn(8, width).bfloat16()).float().square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()
        save_file(model.state_dict(), folder / "model.safetensors")
        torch.save(optimizer.state_dict(), folder / "optimizer.pt")
        states = optimizer.state_dict()["state"]
        said[name] = {f"{i}.{key}": expected(value) for i, state in states.items()
                      for key, value in decoded(dict(state)).items()}
    (pathlib.Path(sys.argv[1]) / "expected.json").write_text(json.dumps(said))


if __name__ == "__main__":
    main()
