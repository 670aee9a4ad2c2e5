"""Stands first on PYTHONPATH under `aplomb run --guard` or `--record`, so that every Python of the program runs it at its
start. It waits until torch's optimizers are imported and then attaches aplomb to them (aplomb.attach). The sitecustomize
that would have run without it runs as ever. Nothing that fails here reaches the program."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import sys
from collections.abc import Sequence
from types import ModuleType


def _attach(name: str, module: ModuleType) -> None:
    try:
        from aplomb import attach
    except Exception as error:
        if name == "torch.optim.optimizer":
            print(f"aplomb: no guard: the program's Python has no aplomb package ({error})", file=sys.stderr)
        return
    attach.imported(name, module)


class _Waiter:
    """A finder that hands on what the others find, and looks at two modules as soon as they have been run."""

    wanted = ("torch.optim.optimizer", "torch.nn.utils.clip_grad")

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name not in self.wanted:
            return None
        try:
            spec = importlib.machinery.PathFinder.find_spec(name, path, target)
            if spec is None or spec.loader is None:
                return None
            run = spec.loader.exec_module

            def run_and_attach(module: ModuleType) -> None:
                run(module)
                _attach(name, module)

            spec.loader.exec_module = run_and_attach  # type: ignore[method-assign]
            return spec
        except Exception:
            return None


def _run_the_next() -> None:
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [each for each in sys.path if os.path.abspath(each) != here]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", sys.path)
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


sys.meta_path.insert(0, _Waiter())
_run_the_next()
