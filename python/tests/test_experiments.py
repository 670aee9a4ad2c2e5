"""Diagnostic runs: models that pass and models that fail each, and everything put back behind them."""

import json
import os
import subprocess
import sys

import pytest
import torch
from aplomb import experiments
from aplomb.experiments.__main__ import main
from training import batches, loss_of, network

DATA = batches(30)
X, Y = DATA[0]


def adamw(model, lr=3e-3):
    return torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=lr)


def trained(steps=3, make=network, lr=3e-3):
    """A model with gradients, buffers and optimizer state, in the middle of its training."""
    model = make(1)
    optimizer = adamw(model, lr)
    for x, y in DATA[:steps]:
        optimizer.zero_grad()
        loss_of(model, x, y).backward()
        optimizer.step()
    return model, optimizer, lambda x, y: loss_of(model, x, y)


def everything(model, optimizer):
    tensors = [*model.parameters(), *model.buffers(), *(p.grad for p in model.parameters() if p.grad is not None)]
    tensors += [value for state in optimizer.state.values() for value in state.values()]
    plain = [[(key, value) for key, value in group.items() if key != "params"] for group in optimizer.param_groups]
    return (
        [each.detach().clone() for each in tensors],
        [id(each) for each in model.parameters()],
        [each.data_ptr() for each in model.parameters()],
        [module.training for module in model.modules()],
        plain,
        torch.get_rng_state(),
    )


def with_buffers(seed):
    return torch.nn.Sequential(*network(seed), torch.nn.Dropout(0.1), torch.nn.BatchNorm1d(10))


def in_bf16(seed):
    return network(seed).bfloat16()


RUNS = {
    "gradient_flow": lambda m, o, f: experiments.gradient_flow(m, o, f, X, Y),
    "overfit_one_batch": lambda m, o, f: experiments.overfit_one_batch(m, o, f, X, Y, steps=150),
    "lr_range_test": lambda m, o, f: experiments.lr_range_test(m, o, f, DATA),
    "compare_precisions": lambda m, o, f: experiments.compare_precisions(m, o, f, DATA),
    "check_determinism": lambda m, o, f: experiments.check_determinism(m, o, f, DATA),
}


@pytest.mark.parametrize("name", RUNS)
def test_a_good_model_passes_each(name):
    result = RUNS[name](*trained())
    assert result.passed and result.cause is None, result
    assert result.name == name and len(result.verdict) > 20 and result.numbers
    json.dumps(result.to_json())


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.parametrize("make", [with_buffers, in_bf16])
def test_everything_is_put_back_bit_for_bit(name, make):
    model = make(1)
    optimizer = adamw(model)

    def loss_of_either(x, y):
        out = model(x.to(model[0].weight.dtype))
        return torch.nn.functional.cross_entropy(out.float(), y)

    loss_of_either(X, Y).backward()
    optimizer.step()
    model[1].eval()
    before = everything(model, optimizer)
    RUNS[name](model, optimizer, loss_of_either)
    after = everything(model, optimizer)
    assert all(torch.equal(a, b) for a, b in zip(before[0], after[0])) and len(before[0]) == len(after[0])
    assert before[1:5] == after[1:5] and torch.equal(before[5], after[5])


def test_it_is_put_back_behind_a_loss_that_fails():
    model, optimizer, _ = trained()
    before = everything(model, optimizer)
    calls = []

    def fails(x, y):
        calls.append(1)
        if len(calls) == 5:
            raise RuntimeError("injected")
        return loss_of(model, x, y)

    with pytest.raises(RuntimeError, match="injected"):
        experiments.overfit_one_batch(model, optimizer, fails, X, Y)
    assert all(torch.equal(a, b) for a, b in zip(before[0], everything(model, optimizer)[0]))


def overfit(model, optimizer, loss=None, batch=(X, Y), **more):
    loss = loss or (lambda x, y: loss_of(model, x, y))
    return experiments.overfit_one_batch(model, optimizer, loss, *batch, **more)


def test_overfit_tells_the_rate_from_the_task():
    model = network(1)
    low = overfit(model, adamw(model, 1e-7))
    assert not low and low.cause == "stall.lr-too-low" and low.numbers["lowest_with_adamw"] < 0.1 * low.numbers["first"]
    high = overfit(model, torch.optim.SGD(model.parameters(), lr=300.0))
    assert not high and high.cause == "diverge.lr-too-high"
    assert overfit(model, adamw(model, 0.0)).cause == "stall.lr-schedule-zero"
    slow = overfit(model, adamw(model), steps=12)
    assert not slow and slow.cause is None and "still falls" in slow.verdict
    contradictory = overfit(model, adamw(model), batch=(torch.zeros_like(X), Y))
    assert not contradictory and contradictory.cause is None and "contradict" in contradictory.verdict


def test_overfit_names_a_cut_graph_frozen_and_masked():
    model = network(1)
    detached = overfit(model, adamw(model), lambda x, y: loss_of(model, x, y).detach())
    assert detached.cause == "stall.detached-graph"
    forgotten = overfit(model, torch.optim.SGD([torch.nn.Parameter(torch.zeros(3))], lr=0.1))
    assert forgotten.cause == "stall.frozen-params"
    masked = overfit(model, adamw(model), lambda x, y: loss_of(model, x, y) * 0)
    assert masked.cause == "stall.all-labels-masked"
    poisoned = X.clone()
    poisoned[0, 0] = float("nan")
    assert overfit(model, adamw(model), batch=(poisoned, Y)).cause == "nan.bad-data-nonfinite"


def test_overfit_sees_updates_that_are_lost_in_16_bits():
    model = network(1).bfloat16()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-5)
    result = overfit(model, optimizer, lambda x, y: loss_of(model, x.bfloat16(), y), steps=30)
    assert not result and result.cause == "stall.bf16-update-underflow"


@pytest.mark.parametrize(("rate", "cause"), [(3e-9, "stall.lr-too-low"), (30.0, "diverge.lr-too-high")])
def test_lr_range_test_places_the_rate(rate, cause):
    model, optimizer, loss = trained(lr=rate, steps=0)
    result = experiments.lr_range_test(model, optimizer, loss, DATA)
    assert not result and result.cause == cause, result
    assert 1e-4 < result.numbers["suggested"] < 1


def test_lr_range_test_of_what_no_rate_helps():
    model = network(1)
    noise = [(x, torch.randint(0, 10, y.shape, generator=torch.Generator().manual_seed(i))) for i, (x, y) in enumerate(DATA)]
    result = experiments.lr_range_test(model, adamw(model), lambda x, y: loss_of(model, x, y), noise)
    assert not result and result.cause is None and "no rate" in result.verdict


class Large(torch.nn.Module):
    """Activations up to 1e5: fine in bfloat16, beyond float16."""

    def __init__(self):
        super().__init__()
        self.inner = network(1)

    def forward(self, x):
        return self.inner((x.to(torch.get_autocast_dtype("cpu")) if torch.is_autocast_enabled("cpu") else x) * 1e5 / 1e5)


def test_precisions_tell_overflow_from_an_unstable_operation():
    model = Large()
    result = experiments.compare_precisions(model, adamw(model), lambda x, y: loss_of(model, x, y), DATA)
    assert not result and result.cause == "nan.fp16-overflow" and "bfloat16 stays" in result.verdict
    everywhere = experiments.compare_precisions(model, adamw(model), lambda x, y: loss_of(model, x, y).sub(9).log(), DATA)
    assert not everywhere and everywhere.cause == "nan.unstable-op" and "not the precision" in everywhere.verdict


def test_precisions_see_a_loss_that_rounding_spoils():
    model = network(1)

    def cancelled(x, y):  # a small difference of large numbers
        logits = model(x)
        return loss_of(model, x, y) + ((logits + 1000) - 1000 - logits).abs().mean()

    result = experiments.compare_precisions(model, adamw(model), cancelled, DATA, dtypes=("float32", "bfloat16"))
    assert not result and result.cause == "diverge.mixed-precision-loss"


def test_precisions_of_weights_in_16_bits():
    model = network(1).bfloat16()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-5)
    loss = lambda x, y: loss_of(model, x.to(model[0].weight.dtype), y)  # noqa: E731
    result = experiments.compare_precisions(model, optimizer, loss, DATA, dtypes=("float32", "bfloat16"))
    assert not result and result.cause == "stall.bf16-update-underflow"
    assert all(p.dtype == torch.bfloat16 for p in model.parameters())


@pytest.mark.row("P19")
def test_determinism_says_where_two_runs_part():
    """of two runs of one seed the first step that differs is told, with the difference"""
    model, optimizer, _ = trained()
    hidden = torch.Generator().manual_seed(7)  # a generator that nobody sets back

    def noisy(x, y):
        return loss_of(model, x + torch.randn(x.shape, generator=hidden), y)

    result = experiments.check_determinism(model, optimizer, noisy, DATA)
    assert not result and "forward" in result.verdict and "do not mend" in result.verdict and result.cause is None

    class Noisy(torch.autograd.Function):
        @staticmethod
        def forward(context, x):
            return x.clone()

        @staticmethod
        def backward(context, gradient):
            if torch.are_deterministic_algorithms_enabled():
                return gradient
            return gradient * (1 + 1e-6 * torch.randn(gradient.shape, generator=hidden))

    backward = experiments.check_determinism(model, optimizer, lambda x, y: Noisy.apply(loss_of(model, x, y)), DATA)
    assert not backward and "backward" in backward.verdict and backward.cause == "resume.nondeterministic-kernels"
    assert not torch.are_deterministic_algorithms_enabled()


def flow(model, optimizer=None, loss=None, **more):
    return experiments.gradient_flow(model, optimizer, loss or (lambda x, y: loss_of(model, x, y)), X, Y, **more)


@pytest.mark.row("F2")
def test_gradient_flow_names_what_gets_none():
    """parameters that no gradient reaches are named; exceptions that are declared pass"""
    model = network(1)
    model.extra = torch.nn.Linear(2, 2)
    result = flow(torch.nn.ModuleDict({"used": network(1)}), loss=lambda x, y: loss_of(network(1), x, y))
    assert not result and result.cause == "stall.detached-graph"

    class Routed(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.router = network(1), torch.nn.Linear(16, 1)

        def forward(self, x):
            return self.body(x * self.router(x).detach().sigmoid())

    routed = Routed()
    result = flow(routed)
    assert not result and result.cause == "stall.detached-graph" and "router.weight" in result.verdict
    assert flow(routed, expected=["router.*"])
    forgotten = flow(routed, adamw(routed.body), expected=["router.*"])
    assert not forgotten and forgotten.cause == "stall.frozen-params" and "router.bias" in forgotten.verdict


@pytest.mark.row("F2")
def test_gradient_flow_sees_vanishing_exploding_and_nan():
    """gradients that vanish, explode or are NaN are named by parameter"""
    narrow = [each for _ in range(30) for each in (torch.nn.Linear(16, 16), torch.nn.Sigmoid())]
    deep = torch.nn.Sequential(*narrow, torch.nn.Linear(16, 10))
    result = flow(deep)
    assert not result and result.cause == "stall.vanishing-gradient" and "0.weight" in result.verdict
    model = network(1)
    assert flow(model, loss=lambda x, y: loss_of(model, x, y) * 1e4).cause == "diverge.bad-init"
    assert flow(model, loss=lambda x, y: (loss_of(model, x, y) - loss_of(model, x, y)).sqrt()).cause == "nan.unstable-op"


def test_the_command_gives_verdicts_and_a_status(tmp_path, capsys):
    script = tmp_path / "train.py"
    script.write_text(
        "import torch\n"
        "def parts(rate=3e-3):\n"
        "    torch.manual_seed(0)\n"
        "    model = torch.nn.Sequential(torch.nn.Linear(4, 32), torch.nn.GELU(), torch.nn.Linear(32, 1))\n"
        "    optimizer = torch.optim.AdamW(model.parameters(), lr=rate)\n"
        "    data = [(x, x.sum(1, keepdim=True)) for x in torch.randn(20, 16, 4)]\n"
        "    return model, optimizer, lambda x, y: (model(x) - y).square().mean(), data\n"
        "def frozen():\n"
        "    return parts(0.0)\n"
        "if __name__ == '__main__':\n"
        "    raise SystemExit('training')\n"
    )
    command = [sys.executable, "-m", "aplomb", "experiments", f"{script}:parts"]
    one_thread = {**os.environ, "OMP_NUM_THREADS": "1"}
    good = subprocess.run(command, capture_output=True, text=True, check=False, env=one_thread)
    assert good.returncode == 0, good.stdout + good.stderr
    assert [line.split(":")[1].strip() for line in good.stdout.splitlines()] == [*RUNS]
    assert main([f"{script}:frozen", "--only", "overfit_one_batch", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)[0]["cause"] == "stall.lr-schedule-zero"


def test_the_command_says_what_it_cannot_run(tmp_path, capsys):
    assert main([f"{tmp_path}/missing.py:parts"]) == 2
    assert main(["json:parts"]) == 2
    assert "json has no parts" in capsys.readouterr().err
