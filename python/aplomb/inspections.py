"""Looks inside a running training at a few steps (10, 20, 40, 80, ...), for what no loss and no norm shows for long.

- weights in 16 bits that no update moves (each update is below half of their spacing),
- parameters that the optimizer holds and that no gradient has reached so far,
- logits of attention and output that have grown since the first look,
- rows of zeros that go into FP8 modules, whose scale is then 0.

Each is told once, by name, with its numbers. Twice as many steps lie apart each time, so that the cost of a long run is
nothing; between two looks copies of at most 4 M weights are kept.
"""

from __future__ import annotations

from typing import Any

import torch

from aplomb.replay import is_replay
from aplomb.sharding import local_part

INSPECTED_AT = frozenset(10 << i for i in range(40))
LOW = (torch.bfloat16, torch.float16)
MOST_TENSORS = 32
MOST_ELEMENTS = 1 << 22  # of all copies
UNMOVED = 0.5  # of a tensor's elements, as the diagnosis of checkpoints has it
SETTLED = 40  # steps: what lies before may be warm-up
LOGITS = 50.0  # attention: knowledge/causes/diverge.yaml; beyond it a softmax in 16 bits is one-hot
GROWN = 4.0
COMPENSATED = ("comp", "kahan", "shift", "residual")  # state of optimizers that carry on what rounding loses


class Inspections:
    def __init__(self, model: torch.nn.Module | None, optimizers: list[Any]) -> None:
        named = dict(model.named_parameters()) if model is not None else {}
        self._names = {id(parameter): name for name, parameter in named.items()}
        self._optimizers = optimizers
        self._copies: list[tuple[str, Any, torch.Tensor]] = []
        self._rate = float("inf")
        self._silent: dict[int, Any] | None = None
        self._first: dict[str, float] = {}
        self._told: set[str] = set()
        self._zero_rows = ZeroRows(model) if model is not None else None

    def after_step(self, step: int, sizes: dict[str, float]) -> list[tuple[str, str]]:
        """What is to be told behind step number `step`: (kind, text). `sizes`: of logits, where a look at them was had."""
        if self._zero_rows is not None:
            self._zero_rows.armed = step + 1 in INSPECTED_AT
        if step not in INSPECTED_AT:
            return []
        found = {
            "unmoved": self._unmoved(step),
            "no-gradient": self._without_gradient(step),
            "attention-logits": self._grown("attention logits", sizes),
            "output-logits": self._grown("output logits", sizes),
            "zero-rows": self._zero_rows.told() if self._zero_rows is not None else "",
        }
        new = [(kind, text) for kind, text in found.items() if text and kind not in self._told]
        self._told.update(kind for kind, _ in new)
        return new

    def forget(self) -> None:
        """The weights were put back."""
        self._copies = []

    def detach(self) -> None:
        if self._zero_rows is not None:
            self._zero_rows.detach()

    def _held(self) -> list[Any]:
        held = [p for each in self._optimizers for group in each.param_groups for p in group["params"]]
        return list({id(each): each for each in held if each.requires_grad}.values())

    def _name(self, parameter: Any) -> str:
        return self._names.get(id(parameter), "a parameter")

    def _unmoved(self, step: int) -> str:
        """Compares with the copies of the last look, and makes new ones."""
        rate = max((float(group.get("lr", 0.0)) for each in self._optimizers for group in each.param_groups), default=0.0)
        rises, self._rate = rate > self._rate * 1.001, rate
        stuck, looked = [], 0
        with torch.no_grad():
            for name, parameter, copy in self._copies:
                if parameter.grad is None:
                    continue
                part, gradient = self._part(parameter), self._part(parameter.grad)
                share = ((part == copy) & (gradient != 0)).sum() / (gradient != 0).sum().clamp(min=1)
                looked += 1
                if float(share) > UNMOVED:
                    stuck.append(f"{name} ({float(share):.0%})")
            self._copy()
        if not stuck or rises or step < 2 * SETTLED or rate == 0:
            return ""
        shown = ", ".join(stuck[:4]) + (f" and {len(stuck) - 4} more" if len(stuck) > 4 else "")
        return (
            f"in {step // 2} steps at a rate of {rate:.2g} no update has moved most elements of {len(stuck)} of {looked} "
            f"16-bit tensors that were looked at, though their gradients are not 0: {shown}; updates below half of a "
            "weight's spacing are lost (keep the weights in float32)"
        )

    def _copy(self) -> None:
        self._copies = []
        low = [each for each in self._held() if each.dtype in LOW and not self._is_compensated(each)]
        low.sort(key=lambda each: (each.dim() > 1, each.numel()))  # weights of norms, which stand near 1, first
        left = MOST_ELEMENTS
        for each in low[:MOST_TENSORS]:
            part = self._part(each)
            if part.numel() > left:
                break
            left -= part.numel()
            self._copies.append((self._name(each), each, part.clone()))

    @staticmethod
    def _part(tensor: Any) -> torch.Tensor:
        """Of a large tensor the beginning."""
        part: torch.Tensor = local_part(tensor.detach())
        return part.reshape(-1)[: MOST_ELEMENTS // MOST_TENSORS]

    def _is_compensated(self, parameter: Any) -> bool:
        keys = [str(key).lower() for each in self._optimizers for key in each.state.get(parameter, {})]
        return any(word in key for key in keys for word in COMPENSATED)

    def _without_gradient(self, step: int) -> str:
        if step > SETTLED:
            return ""
        held = [each for each in self._held() if each.grad is None or not each.grad.is_sparse]
        with torch.no_grad():
            reached = [(local_part(each.grad) != 0).any() for each in held if each.grad is not None]
            flags = iter(torch.stack([each.to(reached[0].device) for each in reached]).tolist() if reached else [])
        now = {id(each): each for each in held if each.grad is None or not next(flags)}
        self._silent = now if self._silent is None else {key: p for key, p in self._silent.items() if key in now}
        if step < SETTLED or not self._silent or len(self._silent) == len(held):
            return ""
        names = [self._name(each) for each in self._silent.values()]
        shown = ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
        return f"no gradient has reached {len(names)} of the {len(held)} parameters that the optimizer holds: {shown}"

    def _grown(self, what: str, sizes: dict[str, float]) -> str:
        most = max((key for key in sizes if key.startswith(what)), key=lambda key: sizes[key], default=None)
        if most is None:
            return ""
        first = self._first.setdefault(what, sizes[most])
        if sizes[most] <= LOGITS or sizes[most] <= GROWN * first:
            return ""
        where = most[len(what) :].strip()
        return f"the {what}{' of ' + where if where else ''} have grown from {first:.3g} to {sizes[most]:.3g}"


class ZeroRows:
    """Counts rows of zeros in the inputs of FP8 modules: of torchao, Transformer Engine and their like."""

    def __init__(self, model: torch.nn.Module) -> None:
        self.armed = False
        self._counts: dict[str, tuple[torch.Tensor, int]] = {}
        self._hooks = [
            module.register_forward_pre_hook(self._note(name)) for name, module in model.named_modules() if is_fp8(module)
        ]

    def _note(self, name: str) -> Any:
        def note(module: torch.nn.Module, inputs: Any) -> None:
            if torch.compiler.is_compiling() or not self.armed or not module.training or is_replay():
                return
            first = next((each for each in inputs if isinstance(each, torch.Tensor) and each.dim() > 1), None)
            if first is not None:
                with torch.no_grad():
                    zeros = (first == 0).all(-1).sum()
                self._counts[name] = (zeros, first.numel() // first.shape[-1])

        return note

    def told(self) -> str:
        counts, self._counts = self._counts, {}
        found = [(name, int(zeros), rows) for name, (zeros, rows) in counts.items() if int(zeros) > 0]
        if not found:
            return ""
        name, zeros, rows = found[0]
        more = f", and {len(found) - 1} more modules" if len(found) > 1 else ""
        return (
            f"{zeros} of {rows} rows that go into {name}{more} are all zeros before their FP8 quantisation: the scale of "
            "such a row is 0 unless the kernel guards it, and 0 / 0 is NaN"
        )

    def detach(self) -> None:
        for each in self._hooks:
            each.remove()


def is_fp8(module: torch.nn.Module) -> bool:
    kind = type(module)
    named = any(word in kind.__name__.lower() for word in ("float8", "fp8"))
    return named or (kind.__module__.startswith("transformer_engine") and hasattr(module, "weight"))
