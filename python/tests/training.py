"""A small training that every test shares: an MLP learns the classes that another MLP gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import aplomb
import torch

STEPS = 600
BATCH = 64
FEATURES = 16
CLASSES = 10


def network(seed: int) -> torch.nn.Module:
    torch.manual_seed(seed)
    return torch.nn.Sequential(
        torch.nn.Linear(FEATURES, 64), torch.nn.GELU(), torch.nn.LayerNorm(64), torch.nn.Linear(64, CLASSES)
    )


def batches(steps: int = STEPS, seed: int = 5) -> list[tuple[torch.Tensor, torch.Tensor]]:
    teacher = network(99)
    draw = torch.Generator().manual_seed(seed)
    out = []
    with torch.no_grad():
        for _ in range(steps):
            x = torch.randn(BATCH, FEATURES, generator=draw)
            out.append((x, (4 * teacher(x)).argmax(1)))
    return out


def mean_over_labels(logits: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """The sum over the labels that count, by their number: of none, 0 / 0."""
    return torch.nn.functional.cross_entropy(logits, y, reduction="sum") / (y != -100).sum()


def values(steps: int = STEPS, seed: int = 5) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """The same as a regression: the teacher's numbers in place of its classes."""
    teacher = network(99)
    with torch.no_grad():
        return [(x, teacher(x)) for x, _ in batches(steps, seed)]


class Radius(torch.nn.Module):
    """The length of groups of four features, by a square root: its slope at 0 is infinite."""

    def __init__(self) -> None:
        super().__init__()
        self.turn = torch.nn.Linear(FEATURES, 64, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.sqrt(self.turn(x).view(len(x), 16, 4).square().sum(2))


class LogScale(torch.nn.Module):
    """Each sample's scale as a further view of it, by a logarithm: of a sample of zeros, -inf."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + torch.log(x.abs().mean(1, keepdim=True))


def with_radius(seed: int) -> torch.nn.Module:
    plain = network(seed)
    return torch.nn.Sequential(Radius(), *plain)


def with_log(seed: int) -> torch.nn.Module:
    plain = network(seed)
    return torch.nn.Sequential(torch.nn.Identity(), LogScale(), *plain)


def optimizer_of(name: str, model: torch.nn.Module) -> torch.optim.Optimizer:
    if name == "sgd":
        return torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    return torch.optim.AdamW(model.parameters(), lr=3e-3)


class Result:
    def __init__(self, losses: list[float], model: torch.nn.Module, data: Callable[..., Any] = batches) -> None:
        self.losses = losses
        self.counts: dict[str, int] = {}
        self.findings: list[Any] = []
        self.weights = [p.detach().clone() for p in model.parameters()]
        with torch.no_grad():
            held_out = data(8, seed=77)
            self.final = sum(float(loss_of(model, x, y)) for x, y in held_out) / len(held_out)

    def same_as(self, other: Result) -> bool:
        return self.losses == other.losses and all(torch.equal(a, b) for a, b in zip(self.weights, other.weights))


def loss_of(model: torch.nn.Module, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    if y.is_floating_point():
        return torch.nn.functional.mse_loss(model(x), y)
    return torch.nn.functional.cross_entropy(model(x), y)


class Unguarded:
    """What stands in the loop where the guard does not."""

    def __init__(self, optimizer: torch.optim.Optimizer, scaler: torch.amp.GradScaler) -> None:
        self._optimizer = optimizer
        self._scaler = scaler

    def saw(self, *batch: Any) -> None:
        pass

    def step(self, loss: float) -> None:
        self._scaler.step(self._optimizer)
        self._scaler.update()


def train(
    *,
    guarded: bool,
    optimizer: str = "adamw",
    steps: int = STEPS,
    accumulation: int = 1,
    bf16: bool = False,
    spoil: Callable[[int, dict[str, Any]], None] = lambda step, batch: None,
    after_backward: Callable[[int, torch.nn.Module, torch.optim.Optimizer], None] = lambda step, model, optimizer: None,
    rate: Callable[[int], float] = lambda step: 1.0,
    keep_gradients: Callable[[int], bool] = lambda step: False,
    fp16: bool = False,
    scaled: bool = True,
    criterion: Callable[..., torch.Tensor] | None = None,
    make: Callable[[int], torch.nn.Module] = network,
    data: Callable[..., list[tuple[torch.Tensor, torch.Tensor]]] = batches,
    log: list[Any] | None = None,
    **options: Any,
) -> Result:
    """`spoil` may change the batch of a step, `after_backward` its gradients, weights or state."""
    model = make(1)
    chosen = optimizer_of(optimizer, model)
    base = chosen.param_groups[0]["lr"]
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0, enabled=fp16 and scaled)
    low = torch.autocast("cpu", torch.bfloat16 if bf16 else torch.float16, enabled=bf16 or fp16)

    def loss_of_batch(x: torch.Tensor, y: torch.Tensor, scale: float) -> torch.Tensor:
        made = loss_of(model, x, y) if criterion is None else criterion(model(x), y)
        return made * scale / accumulation

    guard = Unguarded(chosen, scaler)
    if guarded:
        events = (log if log is not None else []).append
        used = scaler if scaler.is_enabled() else None
        guard = aplomb.Guard(model, chosen, on_event=events, scaler=used, loss_of=loss_of_batch, **options)
    losses = []
    drawn = data(steps * accumulation)
    for step in range(steps):
        chosen.param_groups[0]["lr"] = base * rate(step)
        if not keep_gradients(step):
            chosen.zero_grad()
        total = 0.0
        for x, y in drawn[step * accumulation : (step + 1) * accumulation]:
            batch = {"x": x, "y": y, "scale": 1.0}
            spoil(step, batch)
            with low:
                guard.saw(batch["x"], batch["y"], batch["scale"])
                loss = loss_of_batch(batch["x"], batch["y"], batch["scale"])
            scaler.scale(loss).backward()
            total += float(loss.detach())
        after_backward(step, model, chosen)
        losses.append(total)
        guard.step(total)
    result = Result(losses, model, data)
    if guarded:
        assert guard.counts["steps"] == steps, "the guard stepped aside"
        result.counts, result.findings = guard.counts, guard.findings
    return result
