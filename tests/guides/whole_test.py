"""Guide 004: whole checkpoints as loops of one's own save them: several optimizers and schedules under any names."""

import argparse
import collections
import json
import pathlib

import pytest

torch = pytest.importorskip("torch")


def trained(make_schedule):
    """A small network after 30 steps of two optimizers, each with its schedule."""
    torch.manual_seed(1)
    net = torch.nn.Sequential(torch.nn.Linear(20, 20), torch.nn.LayerNorm(20), torch.nn.GELU(), torch.nn.Linear(20, 20))
    matrices = [each for each in net.parameters() if each.ndim == 2]
    rest = [each for each in net.parameters() if each.ndim < 2]
    optimizers = [torch.optim.SGD(matrices, lr=2e-3, momentum=0.95, nesterov=True), torch.optim.AdamW(rest, lr=3e-4)]
    schedules = [make_schedule(each) for each in optimizers]
    for _ in range(30):
        given = torch.randn(16, 20)
        (net(given) - given.flip(-1)).square().mean().backward()
        for each in (*optimizers, *schedules):
            each.step()
        for each in optimizers:
            each.zero_grad()
    return net, optimizers, schedules


SCHEDULES = {
    "cosine": lambda each: torch.optim.lr_scheduler.CosineAnnealingLR(each, 100),
    "lambda": lambda each: torch.optim.lr_scheduler.LambdaLR(each, lambda step: min(1.0, (step + 1) / 10)),
    "sequence": lambda each: torch.optim.lr_scheduler.SequentialLR(
        each,
        [torch.optim.lr_scheduler.LinearLR(each, 0.1, total_iters=5), torch.optim.lr_scheduler.CosineAnnealingLR(each, 95)],
        [5],
    ),
}
NAMES = {
    "lists": lambda states, plans: {"optimizers": states, "schedulers": plans},
    "behind": lambda states, plans: {
        "optimizer_muon": states[0], "optimizer_adamw": states[1], "scheduler_muon": plans[0], "scheduler_adamw": plans[1],
    },
    "in front": lambda states, plans: {
        "muon_state_dict": states[0], "adamw_state_dict": states[1], "muon_sched_state_dict": plans[0],
        "adamw_sched_state_dict": plans[1],
    },
    "nested": lambda states, plans: {
        "optimizer": {"muon": states[0], "adamw": states[1]}, "lr_scheduler": {"muon": plans[0], "adamw": plans[1]},
    },
}  # fmt: skip


@pytest.mark.row("F4")
@pytest.mark.parametrize("schedule", sorted(SCHEDULES))
@pytest.mark.parametrize("names", sorted(NAMES))
def test_two_optimizers_under_any_names(program, tmp_path, names, schedule):
    "two optimizers and their schedules are found whatever they are called, with their kinds and their number"
    net, optimizers, schedules = trained(SCHEDULES[schedule])
    states = [each.state_dict() for each in optimizers]
    plans = [each.state_dict() for each in schedules]
    path = tmp_path / "last.pt"
    torch.save({"model": net.state_dict(), **NAMES[names](states, plans), "step": 30}, path)
    held = " ".join(program("ckpt", "optimizer", path).stdout.split())
    assert "2 groups of 2 optimizers" in held and "momentum" in held and "Adam" in held, held
    said = " ".join(program("ckpt", "resume", path).stdout.split())
    assert "scheduler there" in said and "2 schedules for 2 optimizers" in said and "suspicious" not in said, said


@pytest.mark.row("F4")
def test_one_schedule_of_two(program, tmp_path):
    "where only one of two optimizers has a schedule, that is said"
    net, optimizers, schedules = trained(SCHEDULES["cosine"])
    path = tmp_path / "last.pt"
    states = [each.state_dict() for each in optimizers]
    plans = [schedules[0].state_dict()]
    torch.save({"model": net.state_dict(), "optimizers": states, "schedulers": plans, "step": 30}, path)
    assert "1 schedule for 2 optimizers" in " ".join(program("ckpt", "resume", path).stdout.split())


@pytest.mark.row("F4")
def test_what_people_save_beside_the_weights(program, tmp_path):
    "arguments, paths, histories and random states of one's own are no suspicious pickle"
    net, optimizers, schedules = trained(SCHEDULES["cosine"])
    path = tmp_path / "last.pt"
    extra = {
        "args": argparse.Namespace(lr=3e-4, out=pathlib.Path("out/a"), dtype=torch.bfloat16, device=torch.device("cpu")),
        "history": collections.defaultdict(list, {"loss": [2.0, 1.5]}),
        "best": collections.Counter(step=30),
        "rng": torch.get_rng_state(),
        "shape": torch.Size([3, 4]),
    }
    torch.save({"model": net.state_dict(), "optimizer": optimizers[1].state_dict(), "step": 30, **extra}, path)
    said = json.loads(program("ckpt", "scan", "--json", path).stdout)
    assert "pickle.suspicious" not in json.dumps(said), said
