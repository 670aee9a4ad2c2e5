"""Stands first on PYTHONPATH under `aplomb run --guard`, `--record` or `--deterministic`, so that every Python of the
program runs it at its start. For the first two (APLOMB_ATTACH) it waits until torch's optimizers are imported and attaches
aplomb to them (aplomb.attach). For the third (APLOMB_SEED, a number) it seeds `random`, and NumPy and torch as they are
imported, and asks torch for deterministic kernels; the program may seed or ask otherwise afterwards, which is said at its
end. The sitecustomize that would have run without it runs as ever. Nothing that fails here reaches the program."""

from __future__ import annotations

import atexit
import importlib.machinery
import importlib.util
import multiprocessing
import os
import random
import sys
from collections.abc import Callable, Sequence
from types import ModuleType


def _say(text: str) -> None:
    """Once a run: neither workers of a loader nor ranks but the first speak."""
    if multiprocessing.parent_process() is None and os.environ.get("RANK", "0") == "0":
        print(f"aplomb: {text}", file=sys.stderr, flush=True)


def _attach(name: str, module: ModuleType) -> None:
    try:
        from aplomb import attach
    except Exception as error:
        if name == "torch.optim.optimizer":
            print(f"aplomb: no guard: the program's Python has no aplomb package ({error})", file=sys.stderr)
        return
    attach.imported(name, module)


def _attach_to(name: str) -> Callable[[ModuleType], None]:
    return lambda module: _attach(name, module)


def _seed_numpy(module: ModuleType) -> None:
    module.seed(_seed)


def _seed_torch(torch: ModuleType) -> None:
    torch.manual_seed(_seed)
    torch.use_deterministic_algorithms(True)
    torch.backends.cudnn.deterministic = True
    torch.backends.cudnn.benchmark = False
    _say(f"deterministic: seed {_seed} for Python, NumPy and torch; use_deterministic_algorithms and cudnn.deterministic"
         " on, cudnn.benchmark off")
    atexit.register(_say_what_was_undone, torch)


def _say_what_was_undone(torch: ModuleType) -> None:
    undone = []
    if not torch.are_deterministic_algorithms_enabled():
        undone.append("use_deterministic_algorithms off")
    if not torch.backends.cudnn.deterministic:
        undone.append("cudnn.deterministic off")
    if torch.backends.cudnn.benchmark:
        undone.append("cudnn.benchmark on")
    if torch.initial_seed() != _seed:
        undone.append(f"torch's seed to {torch.initial_seed()}")
    if undone:
        _say(f"not as asked by --deterministic: the program itself has set {', '.join(undone)}")


_seed = int(os.environ.get("APLOMB_SEED", "-1"))
_once_imported: dict[str, Callable[[ModuleType], None]] = {}
if os.environ.get("APLOMB_ATTACH"):
    for _name in ("torch.optim.optimizer", "torch.nn.utils.clip_grad"):
        _once_imported[_name] = _attach_to(_name)
if _seed >= 0:
    random.seed(_seed)
    _once_imported["numpy.random"] = _seed_numpy
    _once_imported["torch"] = _seed_torch


class _Waiter:
    """A finder that hands on what the others find, and acts on some modules as soon as they have been run."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        act = _once_imported.get(name)
        if act is None:
            return None
        try:
            spec = importlib.machinery.PathFinder.find_spec(name, path, target)
            if spec is None or spec.loader is None:
                return None
            run = spec.loader.exec_module

            def run_and_act(module: ModuleType) -> None:
                run(module)
                try:
                    act(module)
                except Exception as error:
                    _say(f"{name} is left as it is ({type(error).__name__}: {error})")

            spec.loader.exec_module = run_and_act  # type: ignore[method-assign]
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
