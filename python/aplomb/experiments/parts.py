"""What an experiment needs, taken out of a training script."""

from __future__ import annotations

import dataclasses
import importlib.util
import os
import sys
from collections.abc import Callable, Iterable
from typing import Any


@dataclasses.dataclass
class Parts:
    model: Any
    optimizer: Any
    loss_of: Callable[..., Any]
    batches: Iterable[Any]


def parts_of(trainer: Any) -> Parts:
    """Of a Hugging Face Trainer (and those of TRL), before or after train(): its loss, its batches as its loader and
    _prepare_inputs give them, its optimizer."""
    if trainer.optimizer is None:
        trainer.create_optimizer()
    optimizer = getattr(trainer.optimizer, "optimizer", trainer.optimizer)
    model = trainer.model

    def loss_of(inputs: dict[str, Any]) -> Any:
        return trainer.compute_loss(model, trainer._prepare_inputs(dict(inputs)))

    return Parts(model, optimizer, loss_of, trainer.get_train_dataloader())


def load(place: str) -> Parts:
    """`train.py:parts` or `package.module:parts`: a function without arguments that gives (model, optimizer, loss_of,
    batches), a Parts, or a Trainer. The file is run as a module: what stands under `if __name__ == "__main__"` is not."""
    where, _, name = place.partition(":")
    if not where or not name:
        raise ValueError(f"[aplomb] {place}: FILE.py:FUNCTION or MODULE:FUNCTION is wanted")
    if where.endswith(".py"):
        spec = importlib.util.spec_from_file_location(os.path.basename(where)[:-3], where)
        if spec is None or spec.loader is None or not os.path.exists(where):
            raise ValueError(f"[aplomb] {where}: no such file")
        sys.path.insert(0, os.path.dirname(os.path.abspath(where)))
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
    else:
        sys.path.insert(0, os.getcwd())
        module = importlib.import_module(where)
    if not hasattr(module, name):
        raise ValueError(f"[aplomb] {where} has no {name}")
    given = getattr(module, name)()
    if isinstance(given, Parts):
        return given
    if hasattr(given, "compute_loss"):
        return parts_of(given)
    return Parts(*given)
