"""Autopsy: which module, operation and sample made a step non-finite, or a loss jump.

    finding = aplomb.autopsy(model, lambda x, y: criterion(model(x), y), x, y)
    print(finding)

The failing batch is run once more with everything watched (aplomb.nonfinite_origin), then in halves to find the samples
that do it alone. Nothing is watched before: a healthy run pays for keeping references to its last inputs.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import torch

from aplomb.nonfinite_origin import NonfiniteOrigin, NonfiniteTracer, is_bad, named_tensors, tensors_in
from aplomb.replay import Call, call_of, run_call, undisturbed

__all__ = ["Finding", "autopsy", "examine", "examine_spike"]

MOST_REPLAYS = 64  # of the search for samples
USUAL = 1.5  # times the usual loss: what the guard's spike rule takes for a spike
GROWN = 10.0  # times the output that a module had in the same training before; the guard skips such a gradient norm too
ALTERED = 3.0  # times the gradients of the replay, which differ by rounding else


@dataclasses.dataclass
class Finding:
    """What was wrong with a batch. `str(finding)` is one line for people."""

    phase: str  # input, weights, forward, loss, backward, gradient, sample, batch, module, none
    module: str = ""
    module_type: str = ""
    op: str = ""
    why: str = ""
    dtype: str = ""
    samples: list[int] = dataclasses.field(default_factory=list)  # of the batch, that do it alone
    batch_size: int = 0
    call: int = 0  # which micro-batch of the step
    fp32_cures: bool | None = None  # None: the step ran in fp32
    trail: list[tuple[str, float]] = dataclasses.field(default_factory=list)  # largest outputs before it, by module

    def __str__(self) -> str:
        place = (
            f"module {self.module} ({self.module_type})"
            if self.module
            else (f"the model ({self.module_type})" if self.module_type else "")
        )
        first = {
            "input": "the batch",
            "weights": f"the weights: {place}",
            "forward": f"forward, {place}",
            "loss": "the loss, outside the model's modules",
            "backward": f"backward, {place or 'the loss'}",
            "gradient": "after the backward",
            "sample": "a sample",
            "batch": "the batch",
            "module": place,
        }.get(self.phase, "not found")
        text = first + (f", {self.op}" if self.op and self.phase in ("forward", "loss", "backward") else "")
        text += f" in {self.dtype}" if self.dtype and self.phase in ("forward", "loss", "backward") else ""
        text += f": {self.why}" if self.why else ""
        if self.samples and self.batch_size:
            every = len(self.samples) == self.batch_size
            names = (
                "every sample does it"
                if every
                else f"{'sample' if len(self.samples) == 1 else 'samples'} " + ", ".join(map(str, self.samples[:8]))
            )
            text += f"; {names}" + ("" if every else f" of {self.batch_size}")
        if self.fp32_cures is not None:
            text += "; in float32 it " + ("is finite" if self.fp32_cures else "is the same")
        return text


def autopsy(model: torch.nn.Module, loss_of: Callable[..., Any], *batch: Any, **named: Any) -> Finding:
    """Runs loss_of(*batch, **named) and its backward once more, and says where the first NaN or Inf comes from."""
    return examine(model, [call_of(loss_of, batch, named)])


def examine(model: torch.nn.Module, calls: list[Call], scale: float = 1.0) -> Finding:
    """The first of the calls that gives something non-finite. `scale`: by which the loss was multiplied."""
    for number, call in enumerate(calls):
        with undisturbed(model, call.device):
            origin = _origin_of_failure(model, call, scale)
            if origin is None:
                continue
            samples = [] if origin.phase == "weights" else _samples(model, call, scale)
            cures = _cures(model, call, scale) if origin.phase in ("forward", "loss", "backward") else None
        return Finding(
            origin.phase,
            origin.module,
            origin.module_type,
            origin.op,
            origin.why,
            origin.dtype,
            samples,
            call.batch_size,
            number,
            cures,
            origin.trail,
        )
    return _beside_the_model(model)


def _origin_of_failure(model: torch.nn.Module, call: Call, scale: float) -> NonfiniteOrigin | None:
    tracer = NonfiniteTracer(model)
    with tracer:
        tracer.note_inputs(call.named_inputs())
        output, loss = run_call(call)
        if loss is None:
            bad = next((each for each in tensors_in(output) if is_bad(each)), None)
            return None if bad is None else tracer.origin_of(bad) or _unknown()
        if is_bad(loss):
            return tracer.origin_of(loss) or _unknown()
        gradients = _gradients(model, loss * scale)
    if not any(is_bad(each) for each in gradients):
        return None
    return tracer.backward or NonfiniteOrigin("backward", why="no single node of the graph shows it")


def _unknown() -> NonfiniteOrigin:
    return NonfiniteOrigin("forward", why="by an operation that torch functions do not show")


def _gradients(model: torch.nn.Module, loss: torch.Tensor) -> list[torch.Tensor]:
    wanted = [each for each in model.parameters() if each.requires_grad]
    if not loss.requires_grad or not wanted:
        return []
    with torch.autocast(loss.device.type, enabled=False):  # as loops call backward: outside of autocast
        return [each for each in torch.autograd.grad(loss, wanted, allow_unused=True) if each is not None]


def _is_harmful(model: torch.nn.Module, call: Call, scale: float, autocast: bool = True) -> bool:
    output, loss = run_call(call, autocast)
    if loss is None:
        return any(is_bad(each) for each in tensors_in(output))
    return is_bad(loss) or any(is_bad(each) for each in _gradients(model, loss * scale))


def _samples(model: torch.nn.Module, call: Call, scale: float) -> list[int]:
    """By halves."""
    if call.batch_size < 2:
        return list(range(call.batch_size))
    found: list[int] = []
    waiting = [list(range(call.batch_size))]
    for _ in range(MOST_REPLAYS):
        if not waiting:
            break
        part = waiting.pop()
        half = len(part) // 2
        for each in (part[:half], part[half:]):
            try:
                harmful = _is_harmful(model, call.samples(each), scale)
            except Exception:  # a model that takes no other batch size, a loss with its targets bound
                return []
            if harmful and len(each) == 1:
                found += each
            elif harmful:
                waiting.append(each)
    return sorted(found)


def _cures(model: torch.nn.Module, call: Call, scale: float) -> bool | None:
    """Whether the same step is finite in float32; None where it ran in float32 already."""
    low = {torch.float16, torch.bfloat16}
    if any(each.dtype in low for each in model.parameters()) or not call.autocast[0]:
        return None
    return not _is_harmful(model, call, 1.0 if scale != 1.0 else scale, autocast=False)


def _beside_the_model(model: torch.nn.Module) -> Finding:
    """Everything is finite when it is run again: look at the gradients as they lie there."""
    for name, parameter in model.named_parameters():
        if parameter.grad is None or parameter.grad.is_sparse or not is_bad(parameter.grad):
            continue
        places = (~torch.isfinite(parameter.grad)).nonzero()
        owner, _, leaf = name.rpartition(".")
        why = (
            f"the gradient of {name} holds {len(places)} non-finite elements, the first at {places[0].tolist()}, but "
            "the batch gives finite ones when it is run again: the loss's own code, something that changes gradients, "
            "another rank, or the device"
        )
        return Finding(
            "gradient", owner, type(model.get_submodule(owner)).__name__, leaf, why, str(parameter.grad.dtype)[6:]
        )
    return Finding(
        "none", why="the batch gives finite numbers when it is run again here: another rank, or the loss's own code"
    )


def magnitudes_of(model: torch.nn.Module, call: Call) -> dict[str, float]:
    """Largest output of each module for this call."""
    with undisturbed(model, call.device), NonfiniteTracer(model) as tracer:
        run_call(call, graph=False)
        return dict(tracer.magnitudes)


def examine_spike(
    model: torch.nn.Module, calls: list[Call], usual: dict[str, float], usual_loss: float | None, shrunk: float = 1.0
) -> Finding:
    """A finite step that stands out. In this order: gradients that are not those of the batch; the first module whose
    output has grown over `usual`; the samples whose loss explains the batch's; the batch as a whole. `shrunk`: by what
    others had clipped the gradients as they lie."""
    with undisturbed(model, calls[0].device):
        found = _altered(model, calls, shrunk)
    if found is not None:
        return found
    for number, call in enumerate(calls):
        with undisturbed(model, call.device):
            found = _grown(model, call, usual) or _outliers(call, usual_loss)
        if found is not None:
            found.call = number
            return found
    return Finding("none", why="no module's output has grown and no sample stands out of its batch")


def _altered(model: torch.nn.Module, calls: list[Call], shrunk: float) -> Finding | None:
    """Gradients that the batch does not give when it is run again: changed between backward and step."""
    distributed = torch.distributed
    if distributed.is_available() and distributed.is_initialized() and distributed.get_world_size() > 1:
        return None  # they are the mean over batches that other ranks have
    named = [
        (name, each)
        for name, each in model.named_parameters()
        if each.requires_grad and each.grad is not None and not each.grad.is_sparse
    ]
    again = [torch.zeros_like(each) for _, each in named]
    for call in calls:
        _, loss = run_call(call)
        if loss is None or not loss.requires_grad or is_bad(loss):
            return None
        with torch.autocast(loss.device.type, enabled=False):
            for total, each in zip(again, torch.autograd.grad(loss, [p for _, p in named], allow_unused=True)):
                if each is not None:
                    total += each
    there = [float(each.grad.double().norm()) * shrunk for _, each in named if each.grad is not None]
    new = [float(each.double().norm()) for each in again]
    most = max(range(len(named)), key=lambda i: there[i] - new[i], default=None)
    if most is None or sum(each * each for each in there) < ALTERED**2 * sum(each * each for each in new):
        return None
    ratios = [a / b for a, b in zip(there, new) if b > 0]
    if ratios and max(ratios) < 1.01 * min(ratios):
        why = (
            f"every gradient is {ratios[0]:.6g} times what the batch gives when it is run again: scaled between backward "
            "and step (a loss scale that was not taken out?)"
        )
        return Finding("gradient", why=why)
    name = named[most][0]
    owner, _, leaf = name.rpartition(".")
    why = (
        f"the gradient of {name} has the norm {there[most]:.4g}, but the batch gives {new[most]:.4g} when it is run "
        "again: changed between backward and step, or by the device"
    )
    return Finding("gradient", owner, type(model.get_submodule(owner)).__name__, leaf, why)


def _grown(model: torch.nn.Module, call: Call, usual: dict[str, float]) -> Finding | None:
    if not usual:
        return None
    now = magnitudes_of(model, call)
    types = {name: type(module).__name__ for name, module in model.named_modules()}
    inputs_grew = any(largest > GROWN * usual[key] for key, largest in input_sizes(call).items() if usual.get(key, 0) > 0)
    if inputs_grew:  # then every module's output grows, and none is to blame
        return None
    trail: list[tuple[str, float]] = []
    for name, size in now.items():
        if name not in types:  # logits
            continue
        before = usual.get(name, 0.0)
        trail.append((name, size))
        if before > 0 and size > GROWN * before:
            why = f"its output is up to {size:.4g}, {size / before:.0f} times that of before; its inputs have not grown"
            return Finding("module", name, types[name], "", why, trail=trail[-12:])
    return None


def input_sizes(call: Call) -> dict[str, float]:
    """Largest element of each floating-point input, by a name that no module has."""
    found = {}
    for name, tensor in named_tensors(call.named_inputs()):
        if tensor.is_floating_point() and tensor.numel() > 0:
            found[f"input {name}"] = float(tensor.detach().abs().max())
    return found


def _outliers(call: Call, usual_loss: float | None) -> Finding | None:
    """Samples without which the batch would have its usual loss."""
    size = call.batch_size
    if usual_loss is None or usual_loss <= 0 or size < 3 or size > MOST_REPLAYS:
        return None
    losses = []
    for i in range(size):
        try:
            _, loss = run_call(call.samples([i]))
        except Exception:  # a model that takes no batch of one
            return None
        if loss is None:
            return None
        losses.append(float(loss.detach()))
    together = float(run_call(call)[1].detach())
    if abs(sum(losses) - together) < abs(sum(losses) / size - together):
        losses = [each * size for each in losses]  # they were shares of the batch's loss
    order = sorted(range(size), key=lambda i: losses[i])
    middle = losses[order[size // 2]]
    if middle > USUAL * usual_loss:
        return Finding(
            "batch",
            why=f"its samples are alike, their median loss is {middle:.4g} where {usual_loss:.4g} is usual: its inputs, its "
            "targets or its weight as a whole",
        )
    out: list[int] = []
    while order and sum(losses[i] for i in order) / len(order) > USUAL * usual_loss and len(out) < size // 4:
        out.append(order.pop())
    if not out or sum(losses[i] for i in order) / len(order) > USUAL * usual_loss:
        return None
    why = (
        f"loss {max(losses[i] for i in out):.4g} where the batch's median is {middle:.4g}; without it the batch is as usual"
    )
    return Finding("sample", why=why, samples=sorted(out), batch_size=size)
