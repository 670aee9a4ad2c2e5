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


CARD = ("GPU 0 has a total capacity of 79.11 GiB of which 1.20 GiB is free. Including non-PyTorch memory, this process has "
        "77.90 GiB memory in use.")


def out_of_memory(*lines, asked="1.96 GiB", stack=()):
    return [*lines, "Step 0: loss: 2.31, grad_norm: 0.8", "Traceback (most recent call last):",
            '  File "finetune.py", line 210, in <module>', "    trainer.train()", *stack,
            f"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {asked}. {CARD}"]


def micro_batches(answer):
    """What the fixes of the first cause set the micro-batch to."""
    return [each["set"]["batch.micro"] for each in answer.causes[0]["remedies"] if "batch.micro" in each["set"]]


@pytest.mark.row("C4", "A14")
@pytest.mark.parametrize("lines", [("--per_device_train_batch_size=4 --batch_size=32 --bf16=True",),
                                   ("batch_size: 32", "per_device_train_batch_size: 4")])
def test_the_batch_in_force(diagnose, lines):
    "batch_size beside per_device_train_batch_size is the batch of all devices: the fix goes down from what is in force"
    answer = diagnose({"train.log": out_of_memory(*lines)})
    assert answer.report["settings"]["batch.micro"] == 4
    assert micro_batches(answer) and max(micro_batches(answer)) < 4, answer.fixes


@pytest.mark.row("C4", "A14")
@pytest.mark.parametrize("switch", ["gradient_checkpointing: true", "use_gradient_checkpointing: True"])
def test_checkpointing_in_force(diagnose, switch):
    "where checkpointing is on and the micro-batch is one, neither is told again, and no form of checkpointing either"
    answer = diagnose({"train.log": out_of_memory("per_device_train_batch_size: 1", switch)})
    said = " ".join(answer.fixes)
    assert "Recompute activations" not in said and "reentrant" not in said, answer.fixes
    assert answer.causes[0]["remedies"], answer
    assert "without checkpointing" not in answer.causes[0]["because"], answer.causes[0]["because"]


LOGITS = ['  File "/x/transformers/loss/loss_utils.py", line 60, in ForCausalLMLoss', "    logits = logits.float()"]


@pytest.mark.row("A14")
def test_logits_of_this_run(diagnose):
    "logits that do not fit: the numbers are this run's, or none; a smaller micro-batch comes first"
    answer = diagnose({"train.log": out_of_memory(asked="3.91 GiB", stack=LOGITS)})
    assert answer.first == "oom.logits-tensor", answer
    assert "74 GiB" not in answer.text and "151936" not in answer.text and "generations x" not in answer.text
    known = ["micro_batch_size: 8, max_completion_length: 2048, num_generations: 16, vocab_size: 151936"]
    answer = diagnose({"train.log": out_of_memory(*known, asked="74.19 GiB", stack=LOGITS)})
    assert answer.first == "oom.logits-tensor", answer
    assert "16 generations x 2048 tokens x 151936 words x 2 bytes = 74.19 GiB" in answer.text, answer.causes[0]
    assert micro_batches(answer)[0] in (2, 4) and "icro-batch" in answer.fixes[0], answer.fixes


@pytest.mark.row("D4")
def test_memory_at_the_first_optimizer_step(diagnose):
    "the first optimizer step needs more than there is: shard, then 8-bit Adam, then the host's memory"
    step = ['  File "/x/torch/optim/adamw.py", line 120, in _init_group', "    state['exp_avg'] = torch.zeros_like(p)"]
    answer = diagnose({"train.log": out_of_memory("per_device_train_batch_size: 1", stack=step)})
    assert answer.first == "oom.optimizer-states", answer
    told = [next((at for at, fix in enumerate(answer.fixes) if word in fix), -1)
            for word in ("Shard the state", "8-bit Adam", "host memory")]
    assert told == sorted(told) and told[0] == 0, answer.fixes


@pytest.mark.row("A14")
def test_rungs_of_a_full_fine_tuning(program, write):
    "the ladder of a full fine-tuning with eager attention has a kernel without scores, an adapter and a base in 4 bits"
    config = ("base_model: meta-llama/Llama-3.1-8B\nbf16: true\nlearning_rate: 1e-5\nmicro_batch_size: 4\n"
              "sequence_len: 4096\nattn_implementation: eager\noptimizer: adamw_torch\n")
    said = " ".join(program("plan", "--fit", "--gpu", "RTX 3090", write({"c.yml": config})).stdout.split())
    at = [said.index(words) for words in ("micro-batch of one", "does not store its scores", "gradient checkpointing",
                                          "LoRA in place", "frozen base in 4 bits", "half the sequence length")]
    assert at == sorted(at), said
    assert "micro_batch_size: 1" in said and "batch.micro" not in said, said
