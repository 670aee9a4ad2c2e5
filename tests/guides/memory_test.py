"""Guide 001: out of memory, its ladder, the logits of a policy, and the exceptions of checkpointing."""

import pytest

QWEN = {
    "architectures": ["Qwen2ForCausalLM"],
    "model_type": "qwen2",
    "hidden_size": 3584,
    "intermediate_size": 18944,
    "num_hidden_layers": 28,
    "num_attention_heads": 28,
    "num_key_value_heads": 4,
    "vocab_size": 151936,
    "max_position_embeddings": 32768,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
}


@pytest.mark.row("A14")
def test_ladder(program, write):
    "plan --fit: the steps that make a run fit, each with what it saves"
    config = (
        "base_model: Qwen/Qwen2.5-7B\nbf16: true\nadapter: lora\nlora_r: 16\nlearning_rate: 1e-4\nmicro_batch_size: 8\n"
        "sequence_len: 4096\n"
    )
    folder = write({"config.json": QWEN, "c.yml": config})
    said = program("plan", "--fit", "--gpu", "RTX 4090", folder / "c.yml", folder / "config.json").stdout
    assert "micro_batch_size" in said or "micro-batch" in said, said
    assert "gradient_checkpointing" in said or "checkpointing" in said
    assert "GiB" in said


@pytest.mark.row("A15", "A16")
@pytest.mark.parametrize(
    ("config", "said"),
    [
        (
            "deepspeed: deepspeed_configs/zero3_bf16.json\nbase_model: a/b\nlearning_rate: 1e-5\nmicro_batch_size: 1\n",
            "Non-reentrant checkpointing under ZeRO-3",
        ),
        (
            "rl: ebft\nebft:\n  mode: strided\n  stride: 4\nflex_attention: true\nbase_model: a/b\nlearning_rate: 1e-5\n"
            "micro_batch_size: 1\n",
            "Non-reentrant checkpointing over flex attention",
        ),
    ],
)
def test_reentrant_exceptions(program, write, config, said):
    "ZeRO-3 and strided EBFT over flex attention want re-entrant checkpointing: told with the key to set"
    text = config + "gradient_checkpointing: true\ngradient_checkpointing_kwargs:\n  use_reentrant: false\nbf16: true\n"
    shown = " ".join(program("check", write({"c.yaml": text}), status=1).stdout.split())
    assert said in shown and "use_reentrant: true" in shown, shown


@pytest.mark.row("A15")
@pytest.mark.parametrize("form", ["true", "false"])
def test_no_exception(program, write, form):
    "elsewhere neither form is warned of, where all weights train"
    text = (
        "base_model: a/b\nlearning_rate: 1e-5\nmicro_batch_size: 1\nsequence_len: 512\nbf16: true\n"
        f"gradient_checkpointing: true\ngradient_checkpointing_kwargs:\n  use_reentrant: {form}\n"
    )
    assert "eentrant checkpointing" not in program("check", write({"c.yaml": text})).stdout


@pytest.mark.row("A18")
def test_log_is_kept(program, write):
    "aplomb run keeps the output of the training in a file"
    folder = write(
        {
            "train.py": [
                "import time",
                "for step in range(12):",
                "    print({'loss': 2.3 - 0.05 * step, 'grad_norm': 0.8, 'step': step}, flush=True)",
            ]
        }
    )
    program("run", "--", "python3", "train.py", cwd=folder)
    kept = list(folder.rglob("output.log"))
    assert kept and "'loss': 2.3" in kept[0].read_text(encoding="utf-8"), sorted(folder.rglob("*"))
