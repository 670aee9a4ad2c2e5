"""Where a NaN or Inf comes from: every operation of one forward and backward pass, watched.

Forward by a TorchFunctionMode (it sees what the model's code calls, so `log` and `cross_entropy` and not their
kernels), backward by hooks on the nodes of the graph; both are public interfaces of torch. A non-finite tensor is
followed to the operation, parameter or input that it comes from; the -inf of a mask is no fault as long as what reads
it gives numbers.
"""

from __future__ import annotations

import collections
import dataclasses
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from aplomb.logits import note_logits
from aplomb.origin_text import explain_backward, explain_forward, operand_note

# What writes -inf on purpose: masks and constants.
MASKING = {
    "masked_fill",
    "masked_fill_",
    "full",
    "full_like",
    "new_full",
    "fill_",
    "where",
    "tensor",
    "triu",
    "triu_",
    "tril",
    "scatter",
    "scatter_",
    "index_fill",
    "index_fill_",
    "__setitem__",
    "zeros",
    "ones",
}
# Not computed with: they only look, or give memory that is still to be written.
IGNORED = {"isfinite", "isnan", "isinf", "empty", "empty_like", "new_empty", "size", "dim", "requires_grad_"}
TRAIL = 12  # module outputs that are remembered on the way


@dataclasses.dataclass
class NonfiniteOrigin:
    """The first operation on the way of a NaN or Inf to the result."""

    phase: str  # input, weights, forward, loss, backward
    module: str = ""  # path; "" is the model itself
    module_type: str = ""
    op: str = ""
    why: str = ""
    dtype: str = ""
    mask: bool = False
    trail: list[tuple[str, float]] = dataclasses.field(default_factory=list)


def tensors_in(thing: Any, found: list[torch.Tensor] | None = None) -> list[torch.Tensor]:
    """All tensors of nested lists, tuples, dicts and outputs of transformers."""
    found = [] if found is None else found
    if isinstance(thing, torch.Tensor):
        found.append(thing)
    elif isinstance(thing, dict):
        for each in thing.values():
            tensors_in(each, found)
    elif isinstance(thing, (list, tuple)):
        for each in thing:
            tensors_in(each, found)
    return found


def named_tensors(thing: Any, name: str = "") -> list[tuple[str, torch.Tensor]]:
    """Likewise with their keys: `pixel_values`, `#0`, `batch.mask`; that of a lone dict in a call is left out."""
    if isinstance(thing, torch.Tensor):
        return [(name, thing)]
    found = []
    if isinstance(thing, dict):
        for key, each in thing.items():
            lone = str(key).startswith("#") and isinstance(each, dict)
            found += named_tensors(each, name if lone else f"{name}.{key}".lstrip("."))
    elif isinstance(thing, (list, tuple)):
        for i, each in enumerate(thing):
            found += named_tensors(each, f"{name}[{i}]")
    return found


def is_bad(tensor: torch.Tensor) -> bool:
    return tensor.is_floating_point() and tensor.numel() > 0 and not bool(torch.isfinite(tensor).all())


def largest(tensor: torch.Tensor) -> float:
    """Of the finite elements, by magnitude."""
    flat = tensor.detach().float()
    return float(torch.where(torch.isfinite(flat), flat, 0.0).abs().max()) if flat.numel() else 0.0


class NonfiniteTracer(TorchFunctionMode):
    """Watches what runs inside it: `with NonfiniteTracer(model) as tracer: out = model(x)`; then origin_of(out)."""

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self.backward: NonfiniteOrigin | None = None
        self._names = {id(module): name for name, module in model.named_modules()}
        self._model = model
        self._origin: dict[int, NonfiniteOrigin] = {}  # by id of the tensor
        self._first: NonfiniteOrigin | None = None  # that reached the result of an operation
        self._kept: list[Any] = []  # so that no id is used twice
        self._stack: list[torch.nn.Module] = []
        self._trail: collections.deque[tuple[str, float]] = collections.deque(maxlen=TRAIL)
        self._hooks: list[Any] = []
        self._tags: dict[Any, tuple[str, str, str, str]] = {}  # node: module, its type, op, note on operands
        self.magnitudes: dict[str, float] = {}  # largest output of each module
        self._busy = False

    def __enter__(self) -> NonfiniteTracer:
        for name, tensor in [*self._model.named_parameters(), *self._model.named_buffers()]:
            if is_bad(tensor):
                owner, _, leaf = name.rpartition(".")
                kind = type(self._model.get_submodule(owner)).__name__
                count = int((~torch.isfinite(tensor)).sum())
                why = f"{name} itself holds {count} non-finite of {tensor.numel()} elements"
                if "mask" in leaf:  # buffers of -inf above the diagonal
                    continue
                self._origin[id(tensor)] = NonfiniteOrigin("weights", owner, kind, leaf, why, _dtype(tensor))
        for module in self._model.modules():
            self._hooks.append(module.register_forward_pre_hook(self._enter_module))
            self._hooks.append(module.register_forward_hook(self._leave_module, always_call=True))
        super().__enter__()  # type: ignore[no-untyped-call]
        return self

    def __exit__(self, *what: Any) -> None:
        super().__exit__(*what)  # type: ignore[no-untyped-call]
        for each in self._hooks:
            each.remove()

    def note_inputs(self, named: dict[str, Any]) -> None:
        for name, tensor in named_tensors(named):
            if is_bad(tensor):
                places = (~torch.isfinite(tensor)).nonzero()
                why = f"the input {name} itself holds {len(places)} non-finite elements, the first at {places[0].tolist()}"
                self._origin[id(tensor)] = NonfiniteOrigin("input", "", "", name, why, _dtype(tensor))

    def origin_of(self, thing: Any) -> NonfiniteOrigin | None:
        """Where the non-finite part of a result comes from; None where it has none, or it is not known."""
        for tensor in tensors_in(thing):
            if is_bad(tensor):
                return self._origin.get(id(tensor)) or self._first
        return None

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "") or str(func)
        if self._busy or name in IGNORED or name == "__get__":
            return func(*args, **kwargs)
        result = func(*args, **kwargs)
        self._busy = True
        try:
            note_logits(self.magnitudes, self._here()[0], name, args, kwargs)
            self._watch(name, args, kwargs, result)
        finally:
            self._busy = False
        return result

    def _watch(self, name: str, args: Any, kwargs: Any, result: Any) -> None:
        outputs = tensors_in(args[0]) if name == "__setitem__" else tensors_in(result)
        given = None
        for output in outputs:
            if output.grad_fn is not None:
                given = tensors_in([args, kwargs]) if given is None else given
                self._tag(output.grad_fn, name, given, args)
            if not is_bad(output):
                continue
            given = tensors_in([args, kwargs]) if given is None else given
            self._kept.append(output)
            origin = self._origin_of_output(name, args, kwargs, given, output)
            self._origin[id(output)] = origin
            if self._first is None and not origin.mask:
                self._first = origin

    def _origin_of_output(
        self, name: str, args: Any, kwargs: Any, given: list[torch.Tensor], output: torch.Tensor
    ) -> NonfiniteOrigin:
        from_masks = None
        for tensor in given:
            if not is_bad(tensor):
                continue
            origin = self._origin.get(id(tensor))
            if origin is None:  # out of an operation that torch functions do not show (autograd.Function, an extension)
                origin = self._first
            if origin is not None and not origin.mask:
                return origin
            from_masks = origin or from_masks
        nan = bool(torch.isnan(output).any())
        if not nan and (name in MASKING or from_masks is not None):
            return from_masks or NonfiniteOrigin("forward", mask=True, op=name)
        where, kind = self._here()
        why = explain_forward(name, args, kwargs, given, output)
        return NonfiniteOrigin(
            "forward" if self._stack else "loss", where, kind, _plain(name), why, _dtype(output), False, list(self._trail)
        )

    def _here(self) -> tuple[str, str]:
        if not self._stack:
            return "", ""
        module = self._stack[-1]
        return self._names.get(id(module), ""), type(module).__name__

    def _enter_module(self, module: torch.nn.Module, inputs: Any) -> None:
        self._stack.append(module)

    def _leave_module(self, module: torch.nn.Module, inputs: Any, output: Any) -> None:
        if self._stack and self._stack[-1] is module:
            self._stack.pop()
        self._busy = True
        try:
            name = self._names.get(id(module), "")
            floats = [each for each in tensors_in(output) if each.is_floating_point()]
            if floats:
                size = largest(floats[0])
                self.magnitudes[name] = max(size, self.magnitudes.get(name, 0.0))
                self._trail.append((name or type(module).__name__, size))
        finally:
            self._busy = False

    def _tag(self, node: Any, name: str, given: list[torch.Tensor], args: Any) -> None:
        """Says of every node that the operation added which module it belongs to, and watches it."""
        where, kind = self._here()
        note = operand_note(name, args)
        waiting = [node]
        while waiting:
            each = waiting.pop()
            if each is None or each in self._tags or each.name().endswith("AccumulateGrad"):
                continue
            self._tags[each] = (where, kind, _plain(name), note)
            self._hooks.append(each.register_hook(lambda into, out, at=each: self._saw_gradient(at, into, out)))
            waiting += [next_node for next_node, _ in each.next_functions]

    def _saw_gradient(self, node: Any, into: Any, out: Any) -> None:
        if self.backward is not None or any(is_bad(each) for each in tensors_in(out)):
            return
        bad = next((each for each in tensors_in(into) if is_bad(each)), None)
        if bad is None:
            return
        where, kind, op, note = self._tags[node]
        incoming = max((largest(each) for each in tensors_in(out)), default=0.0)
        why = explain_backward(node.name(), note, incoming, bad)
        self.backward = NonfiniteOrigin("backward", where, kind, op, why, _dtype(bad), False, [])


def _dtype(tensor: torch.Tensor) -> str:
    return str(tensor.dtype)[6:]


def _plain(name: str) -> str:
    """`__truediv__` as `div`."""
    short = name.strip("_")
    known = {"truediv": "div", "rtruediv": "div", "rdiv": "div", "itruediv": "div", "matmul": "matmul", "rpow": "pow"}
    return known.get(short, short)
