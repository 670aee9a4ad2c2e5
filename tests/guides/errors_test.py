"""Guide 001's table of error messages, each as a trainer's log ends with it; what masquerades as numerics (guide 002)."""

import pytest

STEPS = [
    f"{{'loss': {2.3 - 0.01 * step:.4f}, 'grad_norm': 0.8{step % 7}, 'learning_rate': 2e-05, 'epoch': {step / 100}}}"
    for step in range(1, 30)
]


def traceback(error, where="/opt/venv/lib/python3.11/site-packages/axolotl/train.py"):
    return ["Traceback (most recent call last):", f'  File "{where}", line 212, in train', "    trainer.train()", error]


# (cause, a word of the first fix or fixes, the log's end)
ROWS = [
    (
        "oom.host-ram",
        ["workers"],
        ["torch.distributed.elastic.multiprocessing.errors.ChildFailedError:", "  exitcode  : -9 (pid: 4711)"],
    ),
    ("setup.deepspeed-bus-error", ["pip install -U deepspeed"], ["DeepSpeed info: version=0.12.3", "exitcode: -7"]),
    ("hang.communicator-aborted", ["NCCL_DEBUG=INFO"], traceback("RuntimeError: NCCL communicator was aborted on rank 3.")),
    (
        "setup.pad-token-missing",
        ["pad_token"],
        traceback(
            "ValueError: Asking to pad but the tokenizer does not have a padding token. "
            "Please select a token to use as `pad_token`"
        ),
    ),
    (
        "setup.deepspeed-on-one-gpu",
        ["remove `deepspeed:`"],
        traceback("AttributeError: 'DummyOptim' object has no attribute 'step'"),
    ),
    (
        "setup.reward-module-not-importable",
        ["import my_rewards"],
        ["unable to load strategy graders.math_reward", *traceback("TypeError: 'NoneType' object is not callable")],
    ),
    (
        "setup.generation-batch-not-divisible",
        ["num_generations"],
        traceback("ValueError: generation_batch_size (6) must be divisible by num_generations (8)."),
    ),
    ("setup.fsdp1-flattened", ["fsdp_version: 2", "unwrap"], traceback("RuntimeError: 'weight' must be 2-D")),
    (
        "setup.checkpoint-reentrant",
        ['memory.checkpointing_reentrant": true'],
        traceback(
            "torch.utils.checkpoint.CheckpointError: torch.utils.checkpoint: A different number of tensors was saved during "
            "the original forward and recomputation."
        ),
    ),
    ("setup.bf16-numpy", ["float()"], traceback("TypeError: Got unsupported ScalarType BFloat16")),
    ("setup.template-boundary", ["eos_token"], traceback("ValueError: Content end boundary is before start boundary")),
    (
        "setup.storage-service",
        ["HF_HUB_DISABLE_XET=1"],
        traceback(
            "RuntimeError: Data processing error: CAS service error : ReqwestMiddleware Error: Request failed",
            "/opt/venv/lib/python3.11/site-packages/huggingface_hub/file_download.py",
        ),
    ),
    (
        "hang.async-prefetch-deadlock",
        ['rl.async_prefetch": false'],
        [
            "trl.async_prefetch: true",
            "fsdp_version: 2",
            "[rank1]:[E] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=88, OpType=ALLGATHER, NumelIn=4, "
            "Timeout(ms)=600000) ran for 600033 milliseconds before timing out.",
        ],
    ),
]


@pytest.mark.row("A16", "G2")
@pytest.mark.parametrize(("cause", "words", "lines"), ROWS, ids=[f"{at}-{row[0]}" for at, row in enumerate(ROWS)])
def test_message(diagnose, cause, words, lines):
    "each row of the table of errors is recognised in a log, with its cause and its fix"
    answer = diagnose({"train.log": lines})
    assert answer.verdict == "failed" and answer.first == cause, answer
    for word in words:
        assert any(word in fix for fix in answer.fixes), answer.fixes


@pytest.mark.row("A16")
def test_out_of_memory_message(diagnose):
    "CUDA out of memory leads to the ladder of fixes"
    answer = diagnose(
        {"train.log": [*STEPS[:5], *traceback("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.32 GiB.")]}
    )
    assert answer.verdict == "failed" and answer.first.startswith("oom."), answer
    assert any("batch.micro" in fix for fix in answer.fixes)


@pytest.mark.row("A16")
@pytest.mark.parametrize(
    ("config", "title"),
    [
        (
            "rl: grpo\nbase_model: a/b\nmicro_batch_size: 4\n"
            "learning_rate: 1e-6\nfsdp_version: 2\nfsdp_config:\n  reshard_after_forward: true\n"
            "trl:\n  use_vllm: true\n  async_prefetch: true\n",
            "prefetched by a second thread under FSDP",
        ),
        (
            "rl: grpo\nbase_model: a/b\nmicro_batch_size: 4\n"
            "learning_rate: 1e-6\nsequence_len: 512\ngradient_accumulation_steps: 1\n"
            "trl:\n  num_generations: 16\n",
            "generation batch only divides",
        ),
    ],
)
def test_known_before_the_run(program, write, config, title):
    "what a configuration shows of it is told by check before the run"
    said = program("check", write({"config.yaml": config}), status=1).stdout
    assert title in " ".join(said.split())


@pytest.mark.row("G3")
@pytest.mark.parametrize(
    ("cause", "end"),
    [
        ("setup.disk-full", traceback("OSError: [Errno 28] No space left on device: 'out/checkpoint-500/optimizer.pt'")),
        (
            "setup.cuda-build-mismatch",
            traceback("RuntimeError: CUDA error: no kernel image is available for execution on the device"),
        ),
        ("oom.host-ram", ["Killed"]),
    ],
)
def test_infrastructure_first(diagnose, cause, end):
    "a full disk, a build without kernels for the card and a bare Killed are told as what they are, not as numerics"
    answer = diagnose({"train.log": [*STEPS, *end]})
    assert answer.verdict == "failed" and answer.first == cause, answer
    assert not any(each["id"].startswith("nan.") for each in answer.causes[:1])


THREADED = """
import threading
import torch
model = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
out = {}
def run(x):
    out["y"] = model(x)
for x, y in loader:
    with torch.autocast("cuda", dtype=torch.bfloat16):
        thread = threading.Thread(target=run, args=(x,))
        thread.start()
        thread.join()
        loss = torch.nn.functional.cross_entropy(out["y"], y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


@pytest.mark.row("G3")
def test_autocast_of_another_thread(program, write):
    "autocast entered in one thread and a forward pass in another is told from the program"
    folder = write({"train.py": THREADED})
    shown = " ".join(program("check", folder / "train.py").stdout.split())
    assert "Autocast is entered in one thread" in shown and "train.py:10" in shown, shown
