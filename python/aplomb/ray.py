"""What Ray Train's controller is told, kept where `aplomb diagnose` finds it.

    run_config = ray.train.RunConfig(callbacks=[aplomb.ray.RunCallback("out/aplomb")])

Within the workers the guard is the framework's: aplomb.Guard in a loop of torch, the callbacks of Transformers and
Lightning. RunCallback writes what workers report, one JSON line a report and rank, and what they died of; at a failure
it diagnoses the folder and prints the headline. Needs ray.train.UserCallback (Ray 2.44 and later, Train V2).
"""

from __future__ import annotations

import json
import os
import time
import traceback
import warnings
from typing import Any

from ray.train import UserCallback

from aplomb.report import diagnose

__all__ = ["RunCallback"]


class RunCallback(UserCallback):  # type: ignore[misc]
    def __init__(self, folder: str, diagnose: bool = True) -> None:
        self._folder = folder
        self._diagnose = diagnose
        self._step = 0

    def after_report(self, run_context: Any, metrics: list[dict[str, Any]], checkpoint: Any) -> None:
        self._step += 1
        for rank, each in enumerate(metrics):
            numbers = {name: value for name, value in each.items() if isinstance(value, (int, float))}
            numbers.setdefault("step", self._step)
            self._append(f"rank_{rank}.jsonl", json.dumps(numbers))

    def after_exception(self, run_context: Any, worker_exceptions: dict[int, Exception]) -> None:
        for rank, error in worker_exceptions.items():
            text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
            self._append(f"rank_{rank}.err", f"{time.strftime('%Y-%m-%d %H:%M:%S')}\n{text}")
        if not self._diagnose:
            return
        try:
            report = diagnose(self._folder)
            print(f"aplomb: {report.verdict}: {report.data.get('summary', {}).get('headline', '')}", flush=True)
        except Exception as error:  # never harm the run
            warnings.warn(f"aplomb: no diagnosis ({type(error).__name__}: {error})", stacklevel=2)

    def _append(self, name: str, text: str) -> None:
        try:
            os.makedirs(self._folder, exist_ok=True)
            with open(os.path.join(self._folder, name), "a", encoding="utf-8") as file:
                file.write(text.rstrip("\n") + "\n")
        except OSError as error:
            warnings.warn(f"aplomb: {name} cannot be written ({error})", stacklevel=2)
