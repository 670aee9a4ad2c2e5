"""Guides 001 and 002: where a NaN comes from, by what went first and by what the log and the program say."""

import math

import pytest


def rows(count, bad, rise=0, loss_late=0):
    """NaN from step `bad` on; the norm rises for `rise` steps before, the loss follows `loss_late` steps later."""
    made = []
    for step in range(1, count + 1):
        norm = 0.7 + 0.05 * math.sin(3 * step)
        if rise and step >= bad - rise:
            norm *= 2.2 ** (step - bad + rise)
        loss = 1.3 + math.exp(-step / 40) + 0.02 * math.sin(5 * step)
        made.append(
            {
                "step": step,
                "loss": math.nan if step >= bad + loss_late else round(loss, 4),
                "grad_norm": math.nan if step >= bad else round(norm, 4),
                "learning_rate": 2e-5,
            }
        )
    return made


@pytest.mark.row("A11")
@pytest.mark.parametrize("bad", [90, 141])
def test_explosion(diagnose, bad):
    "a norm that climbs until it is no number is an explosion: warm-up, clipping, a lower rate"
    answer = diagnose({"log.jsonl": rows(bad + 20, bad, rise=9)})
    assert answer.verdict == "failed" and answer.first in ("nan.lr-too-high", "nan.no-grad-clip"), answer
    assert any("optim.grad_clip" in fix for fix in answer.fixes)


@pytest.mark.row("A11")
def test_gradient_first(diagnose):
    "a gradient that is NaN while the loss still is finite is told as a fault of the backward pass"
    answer = diagnose({"log.jsonl": rows(150, 120, loss_late=1)})
    assert answer.verdict == "failed" and answer.first == "nan.unstable-op", answer
    assert any("cross_entropy" in fix for fix in answer.fixes)


@pytest.mark.row("A11")
def test_loss_first(diagnose):
    "a loss that is NaN out of nothing while norms were flat points to that batch"
    answer = diagnose({"log.jsonl": rows(150, 120)})
    assert answer.verdict == "failed" and answer.first == "nan.bad-data-nonfinite", answer
    assert "batch of the failing step" in answer.fixes[0]


@pytest.mark.row("A11")
def test_softmax_before_log(program, write):
    "a softmax written out before a logarithm is to be log_softmax, not softmax and a logarithm of it"
    script = (
        "import torch\ndef logps(logits, ids):\n    p = torch.exp(logits) / torch.exp(logits).sum(-1, keepdim=True)\n"
        "    return torch.log(p).gather(-1, ids.unsqueeze(-1)).squeeze(-1)\n"
    )
    said = program("check", write({"train.py": script}), status=1).stdout
    assert "torch.log_softmax(logits, dim=-1)" in said, said


@pytest.mark.row("A11", "A12")
def test_zero_scale(diagnose, program, write):
    "NaN from the first step in an FP8 run over padding: the scale of an all-zero block; check says it before the run"
    config = (
        "base_model: a/b\nmicro_batch_size: 4\nlearning_rate: 2e-5\nsequence_len: 2048\nbf16: true\nfp8: true\n"
        "pad_to_sequence_len: true\n"
    )
    answer = diagnose({"log.jsonl": rows(20, 1), "c.yaml": config})
    assert answer.verdict == "failed" and answer.first == "nan.fp8-zero-scale", answer
    assert "scale" in answer.fixes[0]
    said = " ".join(program("check", write({"c.yaml": config}), status=1).stdout.split())
    assert "fp8 over rows of padding" in said


@pytest.mark.row("A13")
def test_patched_kernel(diagnose):
    "a Triton kernel that was patched needs its cache cleared"
    answer = diagnose(
        {
            "report.txt": [
                "I put a guard into act_quant_kernel (tl.where(s == 0, 1.0, s)), but training with",
                "fp8: true gives NaN as before, as if the patch of the kernel were not used.",
                "step 1 loss nan grad_norm nan",
                "step 2 loss nan grad_norm nan",
            ]
        }
    )
    assert answer.first == "nan.fp8-zero-scale", answer
    assert "rm -rf ~/.triton/cache" in answer.fixes[0], answer.fixes


@pytest.mark.row("P11")
def test_reproducible_step(diagnose):
    "a NaN out of nothing in mid-run: replay that batch, check the data; and the test that tells data from numerics"
    answer = diagnose({"log.jsonl": rows(190, 163)})
    assert answer.first == "nan.bad-data-nonfinite" and "step 163" in answer.text, answer
    assert "same seed" in answer.text


OPERATIONS = """
import torch
import torch.nn.functional as F
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(4, 4)
    def forward(self, x):
        x = self.fc(x)
        a = {log}
        b = {root}
        c = {quotient}
        d = {exponential}
        return a.mean() + b.mean() + c.mean() + d.mean()
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x in loader:
    loss = model(x)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
BARE = {
    "log": "torch.log(F.relu(x))",
    "root": "x.var(-1).sqrt()",
    "quotient": "(x - x.mean(-1, keepdim=True)) / x.std(-1, keepdim=True)",
    "exponential": "torch.exp(x) / torch.exp(x).sum(-1, keepdim=True)",
}
BOUNDED = {
    "log": "torch.log(F.relu(x) + 1e-6)",
    "root": "(x.var(-1) + 1e-6).sqrt()",
    "quotient": "(x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + 1e-6)",
    "exponential": "torch.softmax(x, -1)",
}


@pytest.mark.row("P8")
@pytest.mark.parametrize("bounded", [False, True])
def test_operations_of_a_program(program, write, bounded):
    "a logarithm, root, quotient or softmax by hand without a bound is named from the program alone, at its line"
    folder = write({"train.py": OPERATIONS.format(**(BOUNDED if bounded else BARE))})
    shown = " ".join(program("check", "--verbose", folder / "train.py").stdout.split())
    for line in (10, 11, 12, 13):
        assert (f"train.py:{line}:" in shown) != bounded, shown
