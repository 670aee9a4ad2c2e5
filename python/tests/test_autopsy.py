"""The autopsy names where a NaN is born: module, operation, sample; and it leaves the training as it was."""

import aplomb
import pytest
import torch
from aplomb.clip_watch import ClipWatch

F = torch.nn.functional


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = torch.nn.LayerNorm(16)
        self.inner = torch.nn.Linear(16, 16)
        self.fault = None

    def forward(self, x):
        y = self.inner(self.norm(x))
        if self.fault is not None:
            y = self.fault(y, x)
        return x + y


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Linear(8, 16)
        self.layers = torch.nn.ModuleList(Block() for _ in range(4))
        self.drop = torch.nn.Dropout(0.1)
        self.head = torch.nn.Linear(16, 5)

    def forward(self, x):
        x = self.embed(x)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.drop(x))


@pytest.fixture
def case():
    torch.manual_seed(0)
    model, x, y = Model(), torch.randn(8, 8), torch.randint(0, 5, (8,))
    return model, x, y, lambda x, y: F.cross_entropy(model(x), y)


def marked(x):
    """True for the sample whose embedding is the largest."""
    return x.abs().sum(1, keepdim=True) > 100


FAULTS = {
    "log": (lambda y, x: torch.log(torch.where(marked(x), -1.0, y.abs() + 1)), "forward", "log"),
    "div": (lambda y, x: y / (~marked(x)).float(), "forward", "div"),
    "exp": (lambda y, x: y + torch.exp(torch.where(marked(x), 200.0, 0.0)), "forward", "exp"),
    "sqrt at 0": (lambda y, x: torch.sqrt(torch.where(marked(x), y * 0, y.square() + 1)), "backward", "sqrt"),
    "where hides": (
        lambda y, x: torch.where(marked(x), y, torch.sqrt(y * 0) if bool(marked(x).any()) else y),
        "backward",
        "sqrt",
    ),
    "masked row": (lambda y, x: y + y.masked_fill(marked(x), float("-inf")).softmax(-1), "forward", "softmax"),
    "0 * Inf": (lambda y, x: y * torch.where(marked(x), float("inf"), 1.0) * 0 + y, "forward", "mul"),
}


@pytest.mark.row("P8", "P9")
@pytest.mark.parametrize("name", FAULTS)
def test_module_operation_and_sample(case, name):
    """logarithm, root, quotient, exponential and their kin: the layer, the operation and the sample are named"""
    model, x, y, loss_of = case
    x[5] *= 300
    model.layers[2].fault, phase, op = FAULTS[name]
    finding = aplomb.autopsy(model, loss_of, x, y)
    assert (finding.phase, finding.module, finding.op) == (phase, "layers.2", op), str(finding)
    assert name == "where hides" or finding.samples == [5], str(finding)
    assert "not explained" not in str(finding)


def test_a_causal_mask_is_no_fault(case):
    model, x, y, loss_of = case

    def attend(y, x):
        scores = (y @ y.T).masked_fill(torch.ones(len(y), len(y)).triu(1).bool(), float("-inf"))
        return scores.softmax(-1) @ y

    model.layers[1].fault = attend
    assert aplomb.autopsy(model, loss_of, x, y).phase == "none"
    model.layers[3].fault = lambda y, x: torch.log(y * 0 - 1)
    finding = aplomb.autopsy(model, loss_of, x, y)
    assert (finding.module, finding.op) == ("layers.3", "log")


def test_input_weights_and_labels(case):
    model, x, y, loss_of = case
    poisoned = x.clone()
    poisoned[3, 1] = float("inf")
    finding = aplomb.autopsy(model, loss_of, poisoned, y)
    assert (finding.phase, finding.samples) == ("input", [3]) and "[3, 1]" in str(finding)

    assert "(ignored)" in str(aplomb.autopsy(model, loss_of, x, torch.full_like(y, -100)))

    with torch.no_grad():
        model.layers[1].inner.weight[2, 2] = float("nan")
    finding = aplomb.autopsy(model, loss_of, x, y)
    assert (finding.phase, finding.module) == ("weights", "layers.1.inner") and "1 non-finite of 256" in str(finding)


@pytest.mark.row("P8")
def test_half_overflow_is_cured_by_float32(case):
    """what leaves the range of fp16 (65504) is told as an overflow that float32 cures"""
    model, x, y, loss_of = case
    x[6] *= 1e5
    with torch.autocast("cpu", torch.float16):
        finding = aplomb.autopsy(model, loss_of, x, y)
    assert (finding.module, finding.dtype, finding.samples, finding.fp32_cures) == ("embed", "float16", [6], True), str(
        finding
    )


@pytest.mark.row("P9")
def test_nothing_of_the_training_is_disturbed(case):
    """the search replays the one step and leaves weights, random numbers and modes as they were"""
    model, x, y, loss_of = case
    model.append_norm = torch.nn.BatchNorm1d(5)
    run = lambda x, y: F.cross_entropy(model.append_norm(model(x)), y)  # noqa: E731
    run(x, y).backward()
    gradients = [p.grad.clone() for p in model.parameters()]
    buffers = [b.clone() for b in model.buffers()]
    random = torch.get_rng_state()
    x[2, 2] = float("nan")
    assert aplomb.autopsy(model, run, x, y).phase == "input"
    assert torch.equal(random, torch.get_rng_state())
    assert all(torch.equal(p.grad, kept) for p, kept in zip(model.parameters(), gradients))
    assert all(torch.equal(b, kept) for b, kept in zip(model.buffers(), buffers))
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in model.modules())


def test_the_guard_writes_it_into_record_and_report(case, tmp_path):
    model, x, y, loss_of = case
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    record = str(tmp_path / "steps.aplomb")
    guard = aplomb.Guard(
        model, optimizer, record=record, autopsy=str(tmp_path / "bad"), loss_of=loss_of, on_event=lambda v: None
    )
    for step in range(30):
        batch = x + 0.01 * step
        if step == 20:
            batch[4, 4] = float("nan")
        optimizer.zero_grad()
        guard.saw(batch, y)
        loss = loss_of(batch, y)
        loss.backward()
        guard.step(loss)
    assert [(step, f.phase, f.samples) for step, f in guard.findings] == [(20, "input", [4])]
    kept = torch.load(tmp_path / "bad" / "autopsy-step-20.pt")
    assert torch.isnan(kept["args"][0][4, 4])
    del guard
    with open(record, "rb") as file:
        assert b"sample 4 of 8" in file.read()
    assert "sample 4 of 8" in str(aplomb.diagnose(record).data)


def test_the_norm_from_before_a_clip_is_known():
    watch = ClipWatch()
    watch.start()
    try:
        weight = torch.nn.Parameter(torch.zeros(4))
        weight.grad = torch.full((4,), 3.0)
        torch.nn.utils.clip_grad_norm_([weight], 1.0)
        assert watch.take() == pytest.approx(6.0)
        assert watch.take() is None
    finally:
        watch.stop()
    assert not hasattr(torch.nn.utils.clip_grad_norm_, "__wrapped__") or watch not in ClipWatch._watches


@pytest.mark.row("P9")
@pytest.mark.parametrize("replays", [True, False])
def test_a_layer_that_fails_once_is_known_without_a_replay(case, replays):
    """a layer that fails once is known from the watch that is always on"""
    model, x, y, loss_of = case
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    guard = aplomb.Guard(model, optimizer, loss_of=loss_of, on_event=lambda v: None)
    guard._examiner._broken = not replays  # as where other ranks take part in a forward pass
    for step in range(20):
        optimizer.zero_grad()
        guard.saw(x, y)
        if step == 15:  # a device that errs in one pass
            model.layers[2].fault = lambda h, x: h * float("nan")
        loss = loss_of(x, y)
        model.layers[2].fault = None
        loss.backward()
        guard.step(loss)
    assert [(step, f.phase, f.module) for step, f in guard.findings] == [(15, "forward", "layers.2")]
    assert ("when the batch is run again" in guard.findings[0][1].why) == replays


def test_z_loss():
    logits = torch.randn(3, 7, requires_grad=True)
    labels = torch.tensor([1, -100, 2])
    z = torch.logsumexp(logits, -1)
    torch.testing.assert_close(aplomb.z_loss(logits), 1e-4 * z.square().mean())
    torch.testing.assert_close(aplomb.z_loss(logits, labels), 1e-4 * (z[0] ** 2 + z[2] ** 2) / 2)
    assert float(aplomb.z_loss(logits.detach(), torch.full((3,), -100))) == 0
    drifted = torch.nn.Parameter(logits.detach() + 40)
    optimizer = torch.optim.SGD([drifted], lr=2000.0)
    for _ in range(200):
        optimizer.zero_grad()
        aplomb.z_loss(drifted).backward()
        optimizer.step()
    assert float(torch.logsumexp(drifted.detach(), -1).abs().max()) < 1


def test_compiled_code_stays_whole_and_its_batches_are_examined(case):
    model, x, y, _ = case
    compiled = torch.compile(model, backend="aot_eager", fullgraph=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    guard = aplomb.Guard(compiled, optimizer, on_event=lambda v: None)
    for step in range(15):
        batch = x.clone()
        if step == 12:
            batch[6, 0] = float("nan")
        optimizer.zero_grad()
        loss = F.cross_entropy(compiled(batch), y)
        loss.backward()
        guard.step(loss)
    assert guard.counts["steps"] == 15 and guard.counts["skipped"] == 1
    assert [(step, f.phase, f.samples) for step, f in guard.findings] == [(12, "input", [6])]
