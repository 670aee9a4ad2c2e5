"""What one training step of a model really keeps, by torch's own accounting on the CPU.

Every storage that an operator makes is watched (a dispatch mode sees them all), so that what is alive at
a moment is known to the byte; what autograd saved is told apart by its hooks (saved_tensors_hooks), each
storage counted once. Nothing is estimated here: this is what `aplomb plan` is held to.
"""

import contextlib
import weakref

import torch
from torch.autograd.graph import saved_tensors_hooks
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


def storages_of(tensors):
    """Bytes by storage: tensors that share one are counted once."""
    held = {}
    for tensor in tensors:
        if isinstance(tensor, torch.Tensor):
            storage = tensor.untyped_storage()
            held[storage._cdata] = storage.nbytes()
    return held


class Watch(TorchDispatchMode):
    """Bytes of all storages made since it began and still alive, and the most that there were."""

    def __init__(self, known=()):
        super().__init__()
        self.alive = {}
        self.born = {}
        self.bytes = 0
        self.peak = 0
        self.known = set(known)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        for tensor in tree_leaves(out):
            if isinstance(tensor, torch.Tensor):
                self.add(tensor, func)
        return out

    def add(self, tensor, func):
        storage = tensor.untyped_storage()
        key = storage._cdata
        if key in self.alive or key in self.known:
            return
        size = storage.nbytes()
        self.alive[key] = (size, str(func), tuple(tensor.shape), str(tensor.dtype))
        weakref.finalize(storage, self.drop, key)
        self.bytes += size
        self.peak = max(self.peak, self.bytes)

    def drop(self, key):
        gone = self.alive.pop(key, None)
        if gone is not None:
            self.bytes -= gone[0]


class Saved:
    """What autograd holds for backward, while it holds it."""

    def __init__(self):
        self.held = {}

    class Kept:
        def __init__(self, tensor):
            self.tensor = tensor

    def pack(self, tensor):
        kept = Saved.Kept(tensor)
        self.held[id(kept)] = weakref.ref(kept)
        return kept

    @staticmethod
    def unpack(kept):
        return kept.tensor

    def tensors(self):
        found = [each() for each in self.held.values()]
        return [each.tensor for each in found if each is not None]


def measure_step(model, optimizer, batch, autocast=None, verbose=False):
    """One step after one that made the optimizer's state. Bytes by part."""
    model.train()
    scope = torch.autocast("cpu", dtype=autocast) if autocast else contextlib.nullcontext()

    def forward():
        with scope:
            return model(**batch).loss

    forward().backward()
    optimizer.step()
    weights = storages_of(list(model.parameters()) + list(model.buffers()))
    gradients = storages_of(each.grad for each in model.parameters())
    states = storages_of(tree_leaves([list(each.values()) for each in optimizer.state.values()]))
    optimizer.zero_grad(set_to_none=True)
    inputs = storages_of(batch.values())
    saved = Saved()
    watch = Watch({*weights, *states, *inputs})
    with watch:
        with saved_tensors_hooks(saved.pack, saved.unpack):
            loss = forward()
        kept = storages_of(saved.tensors())
        kept = {key: size for key, size in kept.items() if key not in weights and key not in inputs}
        alive = watch.bytes
        rows = sorted(watch.alive.values(), key=lambda row: -row[0]) if verbose else []
        loss.backward()
        peak = watch.peak
    if verbose:
        for row in rows:
            print(*row)
    return {
        "weights": sum(weights.values()),
        "gradients": sum(gradients.values()),
        "optimizer": sum(states.values()),
        "saved": sum(kept.values()),
        "alive": alive,
        "peak": peak,
    }
