#!/usr/bin/env python3
"""`aplomb plan` beside torch's own accounting: every combination of model and method, to the byte on the CPU.

usage: memory_peers_test.py APLOMB [--table] [NAME...]

For each combination a small model is built, one step is taken, and what torch holds (weights, gradients, optimizer
state, what autograd saved, all storages alive after forward) is compared with the plan made from the model's
config.json and a training_args.json alone. No part may be off by more than 5 %, or what knowledge/plan.yaml states for
the family. `--table` prints the table of
docs/plan.md. Exits with 77 (skipped) where torch, transformers or peft is not installed.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
try:
    import torch
    import transformers
    from peft import LoraConfig, get_peft_model
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from measured_memory import measure_step  # noqa: E402

torch.set_num_threads(1)
LIMIT = 0.05
LENGTH = 96
BATCH = 2
VOCABULARY = 512

LLAMA = {"model_type": "llama", "hidden_size": 192, "intermediate_size": 512, "num_hidden_layers": 3,
         "num_attention_heads": 6, "num_key_value_heads": 2, "vocab_size": VOCABULARY, "max_position_embeddings": 256}
QWEN3 = {**LLAMA, "model_type": "qwen3", "head_dim": 48, "tie_word_embeddings": True}
QWEN2 = {**LLAMA, "model_type": "qwen2", "num_key_value_heads": 6}
MIXTRAL = {**LLAMA, "model_type": "mixtral", "num_local_experts": 4, "num_experts_per_tok": 2}
QWEN3_MOE = {**LLAMA, "model_type": "qwen3_moe", "head_dim": 32, "num_experts": 8, "num_experts_per_tok": 3,
             "moe_intermediate_size": 128, "decoder_sparse_step": 1, "mlp_only_layers": []}
GPT2 = {"model_type": "gpt2", "n_embd": 192, "n_layer": 3, "n_head": 6, "vocab_size": VOCABULARY, "n_positions": 256}
PHI3 = {**LLAMA, "model_type": "phi3", "pad_token_id": 0}
GEMMA2 = {**LLAMA, "model_type": "gemma2", "head_dim": 32}
GEMMA3 = {**LLAMA, "model_type": "gemma3_text", "head_dim": 32}
OLMO2 = {**LLAMA, "model_type": "olmo2"}
GLM4 = {**LLAMA, "model_type": "glm4", "head_dim": 32, "pad_token_id": 0, "attention_bias": True}
COHERE = {**LLAMA, "model_type": "cohere", "pad_token_id": 0, "tie_word_embeddings": True}
STARCODER = {**LLAMA, "model_type": "starcoder2", "residual_dropout": 0.0, "embedding_dropout": 0.0}
NEOX = {**LLAMA, "model_type": "gpt_neox", "num_key_value_heads": 6}
OPT = {"model_type": "opt", "hidden_size": 192, "ffn_dim": 512, "num_hidden_layers": 3, "num_attention_heads": 6,
       "vocab_size": VOCABULARY, "max_position_embeddings": 256, "word_embed_proj_dim": 192, "dropout": 0.0}
QUIET_GPT2 = {**GPT2, "resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}

# name: model, attention, precision (weights, compute), method, checkpointing, optimizer
COMBINATIONS = {
    "llama full fp32 sdpa": (LLAMA, "sdpa", ("fp32", "fp32"), "full", False, "adamw"),
    "llama full fp32 eager": (LLAMA, "eager", ("fp32", "fp32"), "full", False, "adamw"),
    "llama full autocast sdpa": (LLAMA, "sdpa", ("fp32", "bf16"), "full", False, "adamw"),
    "llama full autocast eager": (LLAMA, "eager", ("fp32", "bf16"), "full", False, "adamw"),
    "llama full autocast sdpa checkpointed": (LLAMA, "sdpa", ("fp32", "bf16"), "full", True, "adamw"),
    "llama full bf16 sdpa": (LLAMA, "sdpa", ("bf16", "fp32"), "full", False, "adamw"),
    "llama full bf16 sdpa sgd": (LLAMA, "sdpa", ("bf16", "fp32"), "full", False, "sgd"),
    "llama full fp32 sdpa adafactor": (LLAMA, "sdpa", ("fp32", "fp32"), "full", False, "adafactor"),
    "llama lora autocast sdpa": (LLAMA, "sdpa", ("fp32", "bf16"), "lora", False, "adamw"),
    "llama lora bf16 autocast eager": (LLAMA, "eager", ("bf16", "bf16"), "lora", False, "adamw"),
    "llama lora bf16 checkpointed": (LLAMA, "sdpa", ("bf16", "bf16"), "lora", True, "adamw"),
    "llama dora fp32 sdpa": (LLAMA, "sdpa", ("fp32", "fp32"), "dora", False, "adamw"),
    "llama dora bf16 autocast eager": (LLAMA, "eager", ("bf16", "bf16"), "dora", False, "adamw"),
    "qwen2 full autocast eager": (QWEN2, "eager", ("fp32", "bf16"), "full", False, "adamw"),
    "qwen3 full fp32 sdpa": (QWEN3, "sdpa", ("fp32", "fp32"), "full", False, "adamw"),
    "qwen3 full autocast eager checkpointed": (QWEN3, "eager", ("fp32", "bf16"), "full", True, "adamw"),
    "qwen3 lora autocast sdpa": (QWEN3, "sdpa", ("fp32", "bf16"), "lora", False, "adamw"),
    "gpt2 full fp32 sdpa": (QUIET_GPT2, "sdpa", ("fp32", "fp32"), "full", False, "adamw"),
    "gpt2 full fp32 eager with dropout": (GPT2, "eager", ("fp32", "fp32"), "full", False, "adamw"),
    "gpt2 full autocast eager": (QUIET_GPT2, "eager", ("fp32", "bf16"), "full", False, "adamw"),
    "gpt2 lora fp32 sdpa": (QUIET_GPT2, "sdpa", ("fp32", "fp32"), "lora", False, "adamw"),
    "gpt2 full autocast checkpointed": (QUIET_GPT2, "sdpa", ("fp32", "bf16"), "full", True, "adamw"),
    "mixtral full fp32 sdpa": (MIXTRAL, "sdpa", ("fp32", "fp32"), "full", False, "adamw"),
    "mixtral full bf16 eager": (MIXTRAL, "eager", ("bf16", "bf16"), "full", False, "adamw"),
    "mixtral lora autocast sdpa": (MIXTRAL, "sdpa", ("fp32", "bf16"), "lora", False, "adamw"),
    "qwen3-moe full autocast sdpa": (QWEN3_MOE, "sdpa", ("fp32", "bf16"), "full", False, "adamw"),
}
# Families of knowledge/plan.yaml that state an error of their own, and one that is not listed there (taken as Llama-like).
OTHERS = {
    "phi3 full autocast sdpa": (PHI3, "sdpa", ("fp32", "bf16"), "full", False, "adamw"),
    "gemma2 lora bf16 eager": (GEMMA2, "eager", ("bf16", "bf16"), "lora", False, "adamw"),
    "gemma3 full autocast sdpa": (GEMMA3, "sdpa", ("fp32", "bf16"), "full", False, "adamw"),
    "olmo2 full autocast sdpa": (OLMO2, "sdpa", ("fp32", "bf16"), "full", False, "adamw"),
    "glm4 full autocast sdpa": (GLM4, "sdpa", ("fp32", "bf16"), "full", False, "adamw"),
    "cohere full autocast sdpa": (COHERE, "sdpa", ("fp32", "bf16"), "full", False, "adamw"),
    "starcoder2 full autocast sdpa": (STARCODER, "sdpa", ("fp32", "bf16"), "full", False, "adamw"),
    "gpt-neox full autocast sdpa": (NEOX, "sdpa", ("fp32", "bf16"), "full", False, "adamw"),
    "opt lora bf16 eager": (OPT, "eager", ("bf16", "bf16"), "lora", False, "adamw"),
}
COMBINATIONS.update(OTHERS)
DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}
TORCH_NAMES = {"fp32": "float32", "bf16": "bfloat16"}


def targets_of(model):
    """Every linear layer but the head, as peft's all-linear takes them."""
    kinds = (torch.nn.Linear, transformers.pytorch_utils.Conv1D)
    return sorted({name.split(".")[-1] for name, each in model.named_modules()
                   if isinstance(each, kinds) and "lm_head" not in name})


def measured(config, attention, precision, method, checkpointing, optimizer, verbose=False):
    torch.manual_seed(0)
    weights, compute = precision
    made = transformers.AutoConfig.for_model(**config)
    model = transformers.AutoModelForCausalLM.from_config(made, attn_implementation=attention, dtype=DTYPES[weights])
    model.config.use_cache = False
    if checkpointing:
        model.activation_checkpointing_enable({"use_reentrant": False})
    if method != "full":
        model = get_peft_model(model, LoraConfig(r=8, target_modules=targets_of(model), use_dora=method == "dora",
                                                 fan_in_fan_out=config["model_type"] == "gpt2"))
        if checkpointing:
            model.enable_input_require_grads()
    trained = [each for each in model.parameters() if each.requires_grad]
    optimizers = {"adamw": torch.optim.AdamW, "sgd": torch.optim.SGD, "adafactor": torch.optim.Adafactor}
    batch = {"input_ids": torch.randint(0, VOCABULARY, (BATCH, LENGTH)),
             "labels": torch.randint(0, VOCABULARY, (BATCH, LENGTH)),
             "attention_mask": torch.ones(BATCH, LENGTH, dtype=torch.long)}
    autocast = torch.bfloat16 if compute == "bf16" else None
    return measure_step(model, optimizers[optimizer](trained, lr=1e-4), batch, autocast, verbose)


def planned(aplomb, config, attention, precision, method, checkpointing, optimizer):
    weights, compute = precision
    with tempfile.TemporaryDirectory() as folder:
        place = pathlib.Path(folder)
        (place / "config.json").write_text(json.dumps({**config, "torch_dtype": TORCH_NAMES[weights]}))
        (place / "training_args.json").write_text(json.dumps({
            "per_device_train_batch_size": BATCH, "bf16": compute == "bf16", "optim": optimizer,
            "gradient_checkpointing": checkpointing}))
        done = subprocess.run([aplomb, "plan", folder, "--json", "--length", str(LENGTH), "--attention", attention,
                               "--method", method, "--rank", "8", "--precision", compute,
                               "--set", "env.device=cpu"], capture_output=True, text=True, check=False)
        if done.returncode not in (0, 1):
            raise SystemExit(f"aplomb plan: {done.stderr}")
        plan = json.loads(done.stdout)
        return plan["memory"], plan["model"]["error"]


KEPT = ("activations", "scores", "logits", "cast-weights", "passing")


def compare(aplomb, name, verbose=False):
    torch_says = measured(*COMBINATIONS[name], verbose=verbose)
    plan, stated = planned(aplomb, *COMBINATIONS[name])
    forward, backward = plan["after_forward"], plan["after_backward"]
    rows = {
        "weights": (forward["weights"] + forward["adapter"], torch_says["weights"]),
        "gradients": (backward["gradients"], torch_says["gradients"]),
        "optimizer": (backward["optimizer"], torch_says["optimizer"]),
        "activations": (sum(forward[part] for part in KEPT), torch_says["alive"]),
    }
    standing = forward["weights"] + forward["adapter"] + forward["optimizer"]
    peak = max(moment["peak"]["total"] for moment in plan["moments"] if moment["name"] in ("forward", "backward"))
    limit = max(LIMIT, stated) if name in OTHERS else LIMIT
    return rows, (peak - standing, torch_says["peak"]), torch_says, limit


def off(planned_bytes, measured_bytes):
    return 0.0 if planned_bytes == measured_bytes else planned_bytes / max(measured_bytes, 1) - 1


def main() -> int:
    if len(sys.argv) < 2:
        print(__doc__)
        return 2
    table = "--table" in sys.argv
    wanted = [name for name in sys.argv[2:] if name in COMBINATIONS] or list(COMBINATIONS)
    failed = 0
    if table:
        print("| model and method | weights | gradients | optimizer | activations | peak |")
        print("| --- | --- | --- | --- | --- | --- |")
    for name in wanted:
        rows, peak, says, limit = compare(sys.argv[1], name, verbose="--verbose" in sys.argv)
        errors = {part: off(*pair) for part, pair in rows.items()}
        bad = [part for part, error in errors.items() if abs(error) > limit]
        # Where nothing is checkpointed, what is alive after forward is what autograd saved.
        if not COMBINATIONS[name][4] and abs(off(says["saved"], says["alive"])) > 0.01:
            bad.append(f"saved {says['saved']} of {says['alive']} alive")
        failed += bool(bad)
        cells = " | ".join(f"{100 * errors[part]:+.1f} %" for part in rows)
        if table:
            print(f"| {name} | {cells} | {100 * off(*peak):+.1f} % |")
        else:
            print(f"{'FAILED' if bad else 'ok':<7}{name}: {cells} | peak {100 * off(*peak):+.1f} %"
                  + (f"  {bad} {rows}" if bad else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
