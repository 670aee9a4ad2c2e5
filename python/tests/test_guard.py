"""The guard in the loops that people write."""

import math
import subprocess
import sys

import aplomb
import pytest
import torch
from aplomb import _core, gradients
from training import batches, loss_of, network, train


def loop(model, optimizers, guard, steps, loss=loss_of):
    for x, y in batches(steps):
        for each in optimizers:
            each.zero_grad()
        value = loss(model, x, y)
        value.backward()
        guard.step(value)


def test_import_needs_no_torch():
    code = "import sys, aplomb; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_several_optimizers_frozen_tied_and_grouped_parameters():
    model = network(1)
    model[0].weight.requires_grad_(False)
    tied = model[3].bias
    first = torch.optim.SGD([{"params": [model[3].weight], "lr": 0.01}, {"params": [tied]}], lr=0.02)
    second = torch.optim.AdamW([model[0].bias, tied, *model[2].parameters()], lr=1e-3)
    guard = aplomb.Guard(model, [first, second])
    x, y = batches(1)[0]
    loss_of(model, x, y).backward()
    seen = {id(p): p.grad for p in model.parameters() if p.grad is not None}
    expected = math.sqrt(sum(float(g.double().square().sum()) for g in seen.values()))
    before = model[0].bias.detach().clone()
    verdict = guard.step(2.3)
    assert verdict.grad_norm == pytest.approx(expected, rel=1e-12)
    assert not torch.equal(before, model[0].bias)


def test_sparse_gradients():
    torch.manual_seed(0)
    model = torch.nn.Embedding(50, 8, sparse=True)
    optimizer = torch.optim.SparseAdam(model.parameters(), lr=0.01)
    guard = aplomb.Guard(model, optimizer, max_norm=0.5)
    model(torch.tensor([3, 3, 7])).square().sum().backward()
    norm = float(model.weight.grad.coalesce().to_dense().norm())
    verdict = guard.step(1.0)
    assert verdict.grad_norm == pytest.approx(norm, rel=1e-6)
    assert verdict.action == "clip"
    assert float(model.weight.grad.coalesce().to_dense().norm()) == pytest.approx(0.5, rel=1e-5)


def test_modules_are_clipped_one_by_one():
    model = network(1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    guard = aplomb.Guard(model, optimizer, max_module_norm=0.05)
    x, y = batches(1)[0]
    loss_of(model, x, y).backward()
    model[2].weight.grad.mul_(1e-3)
    model[2].bias.grad.mul_(1e-3)

    def norms():
        return [math.sqrt(sum(float(p.grad.double().square().sum()) for p in model[i].parameters())) for i in (0, 2, 3)]

    before = norms()
    assert guard.step(2.3).action == "clip" and before[1] < 0.05 < min(before[0], before[2])
    assert norms() == pytest.approx([0.05, before[1], 0.05], rel=1e-4)
    with pytest.raises(ValueError, match="max_module_norm"):
        aplomb.Guard(None, optimizer, max_module_norm=1.0)


@pytest.mark.parametrize("guard_first", [False, True])
def test_a_compiled_model_learns_what_it_learns_without_the_guard(guard_first):
    def learn(guarded):
        model = torch.nn.ModuleDict({"layers": network(1)})
        model.forward = lambda x: model["layers"](x)
        optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
        guard = aplomb.Guard(model, optimizer) if guarded and guard_first else None
        compiled = torch.compile(model, backend="aot_eager", fullgraph=True)
        if guarded and not guard_first:
            guard = aplomb.Guard(compiled, optimizer)
        losses = []
        for x, y in batches(50):
            optimizer.zero_grad()
            loss = loss_of(compiled, x, y)
            loss.backward()
            losses.append(float(loss.detach()))
            if guard is not None:
                guard.step(loss)
            else:
                optimizer.step()
        assert guard is None or guard.counts == {"steps": 50, "clipped": 0, "skipped": 0, "rollbacks": 0}
        return losses, [p.detach().clone() for p in model.parameters()]

    (plain, weights), (guarded, same) = learn(False), learn(True)
    assert plain == guarded and all(torch.equal(a, b) for a, b in zip(weights, same))


def test_counts_go_to_the_loops_own_summary_writer():
    class Writer:
        def __init__(self):
            self.seen = []

        def add_scalar(self, name, value, step):
            self.seen.append((name, value, step))

    writer = Writer()
    train(guarded=True, steps=40, after_backward=poison_at(30), writer=writer)
    assert writer.seen == [("guard/clipped", 0, 30), ("guard/skipped", 1, 30), ("guard/rollbacks", 0, 30)]


def poison_at(when):
    def poison(step, model, optimizer):
        if step == when:
            model[0].weight.grad[0, 0] = float("nan")

    return poison


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_dtypes_and_layouts(dtype):
    weight = torch.nn.Parameter(torch.zeros(7, 5, dtype=dtype))
    weight.grad = torch.arange(35, dtype=dtype).reshape(5, 7).t() / 16
    guard = aplomb.Guard(None, torch.optim.SGD([weight], lr=0.1))
    assert guard.judge(1.0).grad_norm == pytest.approx(float(weight.grad.double().norm()), rel=1e-12)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_statistics_by_torch_are_those_of_the_scan(dtype, monkeypatch):
    """Gradients on another device are measured by torch; here on this one, so that both can be had."""
    monkeypatch.setattr(gradients, "PIECE", 300)
    fine = (torch.randn(1000, generator=torch.Generator().manual_seed(3)) * 100).to(dtype)
    bad = fine.clone()
    bad[[3, 500]] = torch.tensor([float("nan"), float("-inf")], dtype=dtype)
    found = gradients._with_others([(0, 0.0), (0, 0.0)], [(0, fine), (1, bad), (0, torch.ones(4))])
    address, size = [fine.data_ptr(), bad.data_ptr()], [1000, 1000]
    scanned = _core.measure(address, size, [str(dtype)[6:]] * 2, [0, 1], 2, 1)
    assert [count for count, _ in found] == [count for count, _ in scanned] == [0, 2]
    assert found[0][1] == pytest.approx(scanned[0][1] + 4, rel=1e-5)
    assert found[1][1] == pytest.approx(scanned[1][1], rel=1e-12)


def test_closure_is_judged_before_its_step():
    model = network(1)
    optimizer = torch.optim.LBFGS(model.parameters(), lr=0.1, max_iter=4)
    events = []
    guard = aplomb.Guard(model, optimizer, on_event=events.append)
    x, y = batches(1)[0]

    def closure(factor=1.0):
        optimizer.zero_grad()
        value = loss_of(model, x, y) * factor
        value.backward()
        return value

    first = float(loss_of(model, x, y).detach())
    for _ in range(5):
        guard.step(closure=closure)
    assert float(loss_of(model, x, y).detach()) < first
    weights = [p.detach().clone() for p in model.parameters()]
    guard.step(closure=lambda: closure(float("nan")))
    assert [e.action for e in events] == ["skip"]
    assert all(torch.equal(a, b) for a, b in zip(weights, model.parameters()))


def test_grad_scaler_is_unscaled_before_the_clip():
    model = network(1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    events = []
    guard = aplomb.Guard(model, optimizer, scaler=scaler, max_norm=0.1, on_event=events.append)
    for step, (x, y) in enumerate(batches(30)):
        optimizer.zero_grad()
        with torch.autocast("cpu", torch.float16):
            loss = loss_of(model, x, y)
        scaler.scale(loss).backward()
        if step == 20:
            model[0].weight.grad[0, 0] = float("inf")
        before = model[0].weight.detach().clone()
        verdict = guard.step(loss)
        if step == 20:
            assert verdict.action == "skip"
            assert torch.equal(before, model[0].weight)
        else:
            assert verdict.action == "clip"
            assert 0.1 < verdict.grad_norm < 10
            total = math.sqrt(sum(float(p.grad.double().square().sum()) for p in model.parameters()))
            assert total == pytest.approx(0.1, rel=1e-3)
    assert scaler.get_scale() == 512.0, "the scaler backed off by itself"
    assert guard.counts["steps"] == 30


def test_a_guard_that_fails_steps_aside_once_and_the_run_goes_on(monkeypatch):
    plain = train(guarded=False, steps=60)

    def broken(*_):
        raise RuntimeError("injected")

    monkeypatch.setattr(_core, "measure", broken)
    model = network(1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    guard = aplomb.Guard(model, optimizer)
    with pytest.warns(UserWarning, match="injected.*steps aside") as warned:
        loop(model, [optimizer], guard, 60)
    assert len(warned) == 1
    assert all(torch.equal(a, b) for a, b in zip(plain.weights, model.parameters()))


@pytest.mark.row("P14")
def test_halt_says_why():
    """steps left out one after another end the run, with the reason"""
    model = network(1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    guard = aplomb.Guard(model, optimizer, most_skips_in_a_row=5, on_event=lambda _: None)
    with pytest.raises(aplomb.Halt, match="5 steps in a row"):
        loop(model, [optimizer], guard, 10, lambda *args: loss_of(*args) * float("nan"))


@pytest.mark.row("P14")
def test_a_spike_that_lasts_resets_momentum(monkeypatch):
    """a spike that lasts sets the optimizer's first moments to 0 once; the second moments stay"""
    model = network(1)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    guard = aplomb.Guard(model, optimizer, lower_lr=False, rollback_retries=0, on_event=lambda _: None)
    resets, step = [], 0
    real = aplomb.guard.reset_momentum

    def reset(optimizers):
        second = [state["exp_avg_sq"].clone() for state in optimizer.state.values()]
        real(optimizers)
        assert not any(state["exp_avg"].any() for state in optimizer.state.values())
        assert all(torch.equal(a["exp_avg_sq"], b) for a, b in zip(optimizer.state.values(), second))
        resets.append(step)

    monkeypatch.setattr(aplomb.guard, "reset_momentum", reset)
    for step, (x, y) in enumerate(batches(200)):
        optimizer.zero_grad()
        loss_of(model, x, y).backward()
        guard.step(1.0 + 0.01 * (step % 3) if step < 120 else 5.0)
    assert len(resets) == 1 and resets[0] >= 120, resets


def test_state_comes_back():
    model = network(1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    guard = aplomb.Guard(model, optimizer)
    loop(model, [optimizer], guard, 100)
    other = aplomb.Guard(model, optimizer)
    other.load_state_dict(guard.state_dict())
    assert other.counts == guard.counts
    assert other.state_dict() == guard.state_dict()
    with pytest.raises(ValueError):
        aplomb.Guard(model, optimizer, lower_lr=False).load_state_dict(guard.state_dict())


def test_record_is_diagnosed(tmp_path):
    def poisoned(step, batch):
        if step == 60:
            batch["x"] = batch["x"] * float("nan")

    path = str(tmp_path / "steps.aplomb")
    train(guarded=True, steps=150, spoil=poisoned, record=path)
    report = aplomb.diagnose(path)
    loss = next(s for s in report.data["series"] if s["name"] == "loss")
    assert loss["points"] == 150
    assert any(s.id == "loss.nonfinite" and s.first_step == 60 for s in report.symptoms)
    assert report.causes and 0 < report.causes[0].probability <= 1
    with pytest.raises(ValueError):
        aplomb.diagnose(tmp_path / "missing")
