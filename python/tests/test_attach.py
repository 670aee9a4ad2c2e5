"""`aplomb run --guard`: attached to a program that knows nothing of it. One program does several trainings, for starting
it costs more than they do."""

import functools
import json
import os
import subprocess
import sys
import tempfile

import aplomb
import pytest
import torch
from aplomb import attach
from aplomb.report import _program
from training import batches, loss_of, network, train

SCRIPT = """
import hashlib, sys, torch
from torch.nn.utils import clip_grad_norm_
torch.set_num_threads(1)

def train(fault, loop):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(16, 64), torch.nn.GELU(), torch.nn.Linear(64, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.003)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 / (1 + step / 100))

    def backward(step):
        optimizer.zero_grad()
        x = torch.randn(64, 16)
        loss = (model(x)[:, 0] - x.sum(1)).square().mean()
        bad = {"nan": float("nan"), "spike": 1e4, "none": 1.0}[fault] if step in (60, 61) else 1.0
        (loss * bad).backward()
        if loop == "clip":
            clip_grad_norm_(model.parameters(), 1.0)
        return loss

    for step in range(120):
        if loop == "closure":
            loss = optimizer.step(lambda: backward(step))
        else:
            loss = backward(step)
            optimizer.step()
        assert all(p.grad is not None for p in model.parameters()), "the program's gradients are gone"
        schedule.step()
        print(f"step {step} loss {loss.item():.6f}")
    digest = hashlib.sha256(b"".join(p.detach().numpy().tobytes() for p in model.parameters())).hexdigest()
    finite = "finite" if all(torch.isfinite(p).all() for p in model.parameters()) else "lost"
    print("end", fault, loop, finite, digest)

for case in sys.argv[1:]:
    print("begin", case, file=sys.stderr)
    train(*case.split("-"))
sys.exit(4)
"""
HEALTHY = ("none-plain", "none-clip", "none-closure")
BAD = ("nan-plain", "nan-clip", "spike-clip", "spike-closure")


@pytest.fixture(autouse=True, scope="module")
def needs_attach():
    told = subprocess.run([_program(), "run", "--help"], capture_output=True, check=False).stdout
    if b"--guard" not in told:
        pytest.skip("this program has no `run --guard`")


def run(folder, cases, *options, code=SCRIPT, **environment):
    script = os.path.join(folder, "train.py")
    with open(script, "w") as file:
        file.write(code)
    command = [sys.executable, script, *cases]
    if options:
        command = [_program(), "run", "--out", os.path.join(folder, "out"), *options, "--", *command]
    environment = {**os.environ, **environment}
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False, env=environment)
    assert done.returncode == 4, done.stderr
    return done


@functools.lru_cache(None)
def all_cases(*options):
    """What the program says, and for each of its cases what it and aplomb say on standard error."""
    with tempfile.TemporaryDirectory() as folder:
        done = run(folder, (*HEALTHY, *BAD), *options)
    parts = [each.split("\n", 1) for each in done.stderr.split("begin ")[1:]]
    return done.stdout, {name: text for name, text in parts}


def ends(output):
    return {"-".join(line.split()[1:3]): line.split()[3:] for line in output.splitlines() if line.startswith("end ")}


@pytest.mark.parametrize("case", HEALTHY)
def test_a_healthy_training_is_left_as_it_is(case):
    (plain, _), (guarded, said) = all_cases(), all_cases("--guard")
    assert ends(plain)[case] == ends(guarded)[case]
    assert "aplomb: step" not in said[case]
    first = len(plain.split("end none closure")[0])
    assert plain[:first] == guarded[:first], "losses of the healthy trainings"


@pytest.mark.parametrize("case", BAD)
def test_bad_steps_are_left_out(case):
    (plain, _), (guarded, said) = all_cases(), all_cases("--guard")
    assert said[case].count(": skip: ") == 2 and "aplomb: step 60: skip: " in said[case], said[case]
    assert ends(guarded)[case][0] == "finite"
    assert ends(plain)[case] != ends(guarded)[case]
    if case.startswith("nan"):
        assert ends(plain)[case][0] == "lost", "the fault does no harm"


def test_a_recorder_changes_nothing_and_the_report_joins_record_and_log(tmp_path):
    recorded = run(tmp_path, ["nan-plain"], "--record")
    assert ends(recorded.stdout)["nan-plain"] == ends(all_cases()[0])["nan-plain"]
    assert "skip" not in recorded.stderr
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    points = {each["name"]: each["points"] for each in report["series"]}
    assert points["loss"] == points["grad_norm"] == points["lr"] == 120
    alone = aplomb.diagnose(tmp_path / "out" / "steps.aplomb")
    assert any(each.id == "grad_norm.nonfinite" and each.first_step == 60 for each in alone.symptoms)


@pytest.fixture
def stub(tmp_path):
    """A torch without torch: the two modules that are waited for, which start in no time."""
    for name in ("torch", "torch/optim", "torch/nn", "torch/nn/utils"):
        (tmp_path / "stub" / name).mkdir(parents=True)
        (tmp_path / "stub" / name / "__init__.py").write_text("")
    hooks = "hooks = []\nregister_optimizer_step_pre_hook = register_optimizer_step_post_hook = hooks.append\n"
    (tmp_path / "stub/torch/optim/optimizer.py").write_text(hooks)
    (tmp_path / "stub/torch/nn/utils/clip_grad.py").write_text("def clip_grad_norm_(): pass\n")
    return str(tmp_path / "stub")


WITH_STUB = """
import sys, torch.nn.utils.clip_grad, torch.optim.optimizer
print(len(torch.optim.optimizer.hooks), hasattr(torch.nn.utils.clip_grad.clip_grad_norm_, "__wrapped__"))
sys.exit(4)
"""


def test_another_sitecustomize_runs_as_ever(tmp_path, stub):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "sitecustomize.py").write_text("import builtins\nbuiltins.was_here = True\n")
    path = os.pathsep.join([str(tmp_path / "mine"), stub, os.environ.get("PYTHONPATH", "")])
    attached = run(tmp_path, [], "--guard", code="assert was_here" + WITH_STUB, PYTHONPATH=path)
    assert attached.stdout == "2 True\n"


def test_a_python_without_the_package_runs_as_ever(tmp_path, stub):
    attached = run(tmp_path, [], "--guard", code=WITH_STUB, PYTHONPATH=stub)
    if "no aplomb package" not in attached.stderr:
        pytest.skip("the package is installed in this Python")
    assert attached.stdout == "0 False\n" and attached.stderr.count("aplomb package") == 1


def hooked(attached, steps, optimizer=None, model=None, poisoned=()):
    """Steps of a training in this process whose optimizer has the hooks as its own."""
    model = network(1) if model is None else model
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3) if optimizer is None else optimizer
    optimizer.register_step_pre_hook(attached.before)
    optimizer.register_step_post_hook(attached.after)
    for step, (x, y) in enumerate(batches(steps)):
        optimizer.zero_grad()
        loss_of(model, x, y).backward()
        if step in poisoned:
            model[0].weight.grad[0, 0] = float("nan")
        optimizer.step()
    return [p.detach().clone() for p in model.parameters()]


def test_what_fails_inside_is_told_once_and_the_training_goes_on(tmp_path, monkeypatch, capfd):
    plain = train(guarded=False, steps=30)
    monkeypatch.setattr(attach.Steps, "judge", lambda *_: 1 / 0)
    weights = hooked(attach.Attached(str(tmp_path), True), 30)
    assert all(torch.equal(a, b) for a, b in zip(plain.weights, weights))
    assert capfd.readouterr().err.count("steps aside") == 1


def test_an_optimizer_with_a_guard_of_its_own_is_left_to_it(tmp_path, capfd):
    model = network(1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    guard = aplomb.Guard(model, optimizer)
    hooked(attach.Attached(str(tmp_path), True), 5, optimizer=optimizer, model=model, poisoned=(3,))
    assert "skip" not in capfd.readouterr().err and guard.counts["steps"] == 0
    assert not list(tmp_path.iterdir())


def test_where_ranks_train_together_nothing_is_changed(tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(torch.distributed, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.distributed, "get_world_size", lambda: 2)
    monkeypatch.setenv("RANK", "1")
    weights = hooked(attach.Attached(str(tmp_path), True), 5, poisoned=(3,))
    said = capfd.readouterr().err
    assert "several ranks" in said and "skip" not in said
    assert not all(bool(torch.isfinite(each).all()) for each in weights), "it was left out on one rank alone"
    assert (tmp_path / "steps-rank1.aplomb").exists()


def test_an_optimizer_that_nobody_knows_is_only_recorded(tmp_path, capfd):
    class Demanding(torch.optim.SGD):
        def step(self, closure=None):
            assert all(p.grad is not None for group in self.param_groups for p in group["params"])
            return super().step(closure)

    torch.optim.SGD(network(1).parameters(), lr=0.1)  # its step has the hooks too: a step within a step
    model = network(1)
    optimizer = Demanding(model.parameters(), lr=0.1)
    hooked(attach.Attached(str(tmp_path), True), 5, optimizer=optimizer, model=model, poisoned=(3,))
    said = capfd.readouterr().err
    assert "Demanding is not known" in said and "skip" not in said
    (norm,) = [each for each in aplomb.diagnose(tmp_path / "steps.aplomb").data["series"] if each["name"] == "grad_norm"]
    assert norm["points"] == 5


def test_of_many_optimizers_only_some_are_recorded(tmp_path, capfd):
    attached = attach.Attached(str(tmp_path), True)
    weights = [torch.nn.Parameter(torch.ones(3)) for _ in range(attach.MOST_RECORDS + 3)]
    for each in weights:
        optimizer = torch.optim.SGD([each], lr=0.1)
        optimizer.register_step_pre_hook(attached.before)
        optimizer.register_step_post_hook(attached.after)
        each.grad = torch.full((3,), float("nan"))
        optimizer.step()
    assert len(list(tmp_path.iterdir())) == attach.MOST_RECORDS
    assert all(torch.equal(each, torch.ones(3)) for each in weights), "the rest is guarded all the same"
    assert capfd.readouterr().err.count(": skip: ") == len(weights)
