"""The guard on an optimizer whose step() a loop of others calls: torchtune's recipes, Composer's Trainer."""

import sys
import types

import pytest
import torch
from aplomb import Halt
from aplomb.step_hooks import guard_steps
from aplomb.torchtune import guarded


def train(make, bad=(), steps=80):
    torch.manual_seed(1)
    net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
    optimizer = make(net.parameters())
    rates = []
    for step in range(steps):
        x = torch.randn(16, 8)
        if step in bad:
            x[0, 0] = float("nan")
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(net(x), x[:, :1].nan_to_num()).backward()
        optimizer.step()
        rates.append(optimizer.param_groups[0]["lr"])
    return net, rates


def same(a, b):
    return all(torch.equal(x, y) for x, y in zip(a.parameters(), b.parameters()))


def test_a_healthy_training_is_bit_identical():
    plain = train(lambda p: torch.optim.AdamW(p, lr=1e-2))
    events = []
    ours = train(lambda p: guarded(p, lr=1e-2, guard={"on_event": events.append}))
    assert same(plain[0], ours[0]) and plain[1] == ours[1] and not events


def test_a_bad_step_is_left_out(tmp_path):
    record = tmp_path / "steps.aplomb"
    options = {"on_event": lambda _: None, "record": str(record)}
    net, rates = train(lambda p: guarded(p, "torch.optim.SGD", options, lr=0.1), bad=(40,))
    assert all(torch.isfinite(each).all() for each in net.parameters())
    assert rates == [0.1] * 80, "lowered for one step at most"
    assert record.stat().st_size > 0


def test_a_halt_reaches_the_loop():
    with pytest.raises(Halt):
        train(lambda p: guarded(p, lr=1e-2, guard={"on_event": lambda _: None, "most_skips_in_a_row": 3}), bad=range(80))


def test_a_base_that_is_no_class_is_told():
    with pytest.raises(ValueError, match="names no class"):
        guarded([torch.nn.Parameter(torch.zeros(1))], base="AdamW")


def test_torchtunes_own_instantiate_makes_one():
    config = pytest.importorskip("torchtune.config")
    optimizer = config.instantiate(
        {"_component_": "aplomb.torchtune.guarded", "lr": 2e-5, "guard": {"most_skips_in_a_row": 5}},
        [torch.nn.Parameter(torch.zeros(1))],
    )
    assert isinstance(optimizer, torch.optim.AdamW)


def test_composers_callback_by_its_documented_interface(monkeypatch):
    """Stands in for composer where it is not installed: Callback, and the events in the order of its Trainer."""
    if "composer" not in sys.modules:
        module = types.ModuleType("composer")
        module.core = types.ModuleType("composer.core")
        module.core.Callback = object
        monkeypatch.setitem(sys.modules, "composer", module)
        monkeypatch.setitem(sys.modules, "composer.core", module.core)
    from aplomb.composer import GuardCallback

    torch.manual_seed(1)
    net = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    stopped, logged = [], {}
    state = types.SimpleNamespace(
        model=net, optimizers=[optimizer], scaler=None, loss=None, stop_training=lambda: stopped.append(True)
    )
    logger = types.SimpleNamespace(log_metrics=logged.update)
    callback = GuardCallback(on_event=lambda _: None, most_skips_in_a_row=4)
    callback.fit_start(state, logger)
    for step in range(60):
        optimizer.zero_grad()
        x = torch.randn(8, 4)
        if step == 30 or step >= 50:
            x[0, 0] = float("nan")
        for half in x.split(4):
            state.loss = net(half).square().mean() / 2
            callback.after_loss(state, logger)
            state.loss.backward()
        optimizer.step()
        callback.batch_end(state, logger)
    callback.fit_end(state, logger)
    assert all(torch.isfinite(each).all() for each in net.parameters())
    assert stopped and logged["guard/skipped"] >= 1
    assert sys.modules.pop("aplomb.composer", None) is not None
    monkeypatch.undo()


def test_what_the_loop_says_of_the_loss_is_judged():
    net = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    events = []
    guard_steps(optimizer, net, loss=lambda: float("nan"), on_event=events.append, autopsy=False)
    before = net.weight.clone()
    net(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    assert torch.equal(net.weight, before) and events[0].policy == "nonfinite"
