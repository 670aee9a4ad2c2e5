"""What is seen inside a model at steps 10, 20, 40, ...: told once where it is there, silent where it is not."""

import warnings

import aplomb
import pytest
import torch
from aplomb.layer_watch import LayerWatch
from training import batches, loss_of, network

DATA = batches(170)


def run(model, optimizer, loss=None, record=None, steps=170, **options):
    loss = loss or (lambda x, y: loss_of(model, x, y))
    told = []
    guard = aplomb.Guard(
        model, optimizer, loss_of=loss, record=record, on_event=lambda v: told.append((v.policy, v.reason)), **options
    )
    for x, y in DATA[:steps]:
        optimizer.zero_grad()
        guard.saw(x, y)
        value = loss(x, y)
        value.backward()
        guard.step(value)
    assert guard.counts["steps"] == steps, "the guard stepped aside"
    guard.detach()
    return told


def kinds(told):
    return [policy for policy, _ in told]


def test_weights_in_16_bits_that_no_update_moves(tmp_path):
    model = network(1).bfloat16()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, weight_decay=0.0)
    record = str(tmp_path / "steps.aplomb")
    told = run(model, optimizer, lambda x, y: loss_of(model, x.bfloat16(), y).float(), record)
    assert kinds(told) == ["inspection.unmoved"] and "2.weight (100%)" in told[0][1], told
    causes = [each.id for each in aplomb.diagnose(record).causes]
    assert causes[0] == "stall.bf16-update-underflow"
    moving = network(1).bfloat16()
    fast = torch.optim.AdamW(moving.parameters(), lr=1e-2)
    assert not run(moving, fast, lambda x, y: loss_of(moving, x.bfloat16(), y).float())


def test_a_rate_that_is_still_rising_is_waited_for():
    model = network(1).bfloat16()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, weight_decay=0.0)
    seen = []

    def loss(x, y):
        seen.append(1)
        optimizer.param_groups[0]["lr"] = 1e-7 * len(seen)
        return loss_of(model, x.bfloat16(), y).float()

    assert not run(model, optimizer, loss)


def test_parameters_that_no_gradient_reaches():
    model = network(1)
    model.add_module("5", torch.nn.Linear(3, 3))
    told = run(model, torch.optim.AdamW(model.parameters()), lambda x, y: loss_of(model[:4], x, y))
    assert kinds(told) == ["inspection.no-gradient"] and "5.weight, 5.bias" in told[0][1]
    partly = torch.optim.AdamW(model[:4].parameters())
    assert not run(model, partly, lambda x, y: loss_of(model[:4], x, y))


class Attention(torch.nn.Module):
    def __init__(self, eager):
        super().__init__()
        self.query, self.head, self.eager, self.gain = torch.nn.Linear(16, 16), torch.nn.Linear(16, 10), eager, 1.0

    def forward(self, x):
        each = self.query(x).view(8, 1, 8, 16) * self.gain
        if self.eager:
            mask = torch.zeros(8, 8).masked_fill(torch.ones(8, 8).triu(1).bool(), torch.finfo(torch.float32).min)
            mixed = torch.softmax(each @ each.transpose(-1, -2) / 4 + mask, -1) @ x.view(8, 1, 8, 16)
        else:
            mixed = torch.nn.functional.scaled_dot_product_attention(each, each, x.view(8, 1, 8, 16), is_causal=True)
        return self.head(mixed).view(64, 10)


@pytest.mark.parametrize("eager", [False, True])
def test_attention_logits_that_grow(eager):
    torch.manual_seed(2)
    model = Attention(eager)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    calls = []

    def loss(x, y):
        calls.append(1)
        model.gain = 1.0 if len(calls) < 100 else 20.0
        return loss_of(model, x, y)

    told = run(model, optimizer, loss)
    assert "inspection.attention-logits" in kinds(told), told
    large_from_the_start = run(model, optimizer, lambda x, y: loss_of(model, x, y), steps=50)
    assert "inspection.attention-logits" not in kinds(large_from_the_start)


def test_output_logits_that_drift():
    model = network(1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    calls = []

    def loss(x, y):
        calls.append(1)
        return torch.nn.functional.cross_entropy(model(x) + len(calls), y)

    assert kinds(run(model, optimizer, loss)) == ["inspection.output-logits"]


class Float8Linear(torch.nn.Linear):
    """Scales each row by its largest element, as row-wise FP8 does; with or without a guard of the scale."""

    def forward(self, x):
        scale = x.abs().amax(-1, keepdim=True).clamp(min=1e-12)
        return super().forward(x / scale) * scale


@pytest.mark.parametrize("padded", [0, 5])
def test_rows_of_zeros_before_fp8(padded):
    model = torch.nn.Sequential(Float8Linear(16, 32), torch.nn.ReLU(), Float8Linear(32, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)

    def loss(x, y):
        rows = x.clone()
        rows[:padded] = 0
        return loss_of(model, rows, y)

    told = run(model, optimizer, loss, steps=30)
    assert kinds(told) == (["inspection.zero-rows"] if padded else []), told
    assert not padded or "5 of 64 rows that go into 0 " in told[0][1]


def test_an_inspection_that_fails_is_left_out():
    model = network(1)
    guard = aplomb.Guard(model, torch.optim.SGD(model.parameters(), lr=0.1))
    guard._inspections.after_step = lambda *_: 1 / 0
    for x, y in DATA[:5]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            loss_of(model, x, y).backward()
            guard.step(1.0)
    assert guard._inspections is None and guard.counts["steps"] == 5


def test_the_first_bad_block_is_known_where_nothing_can_be_run_again():
    """Blocks are the members of the outermost lists; what is nested in them is theirs."""
    block = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Linear(4, 4)))
    model = torch.nn.Module()
    model.front = torch.nn.Sequential(torch.nn.Linear(4, 4))
    model.layers = torch.nn.ModuleList([block, torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)])
    watch = LayerWatch(model)
    x = torch.randn(3, 4)
    for each in model.layers:
        x = each(x)
    assert watch.first_bad() is None
    assert list(watch._sums) == ["layers.0", "layers.1", "layers.2"]
    watch.clear()
    model.layers[2](model.layers[1](torch.full((3, 4), float("inf"))))
    assert watch.first_bad() == "layers.1"
    watch.remove()
    watch.clear()
    model.layers[1](x)
    assert not watch._sums
